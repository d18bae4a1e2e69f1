import type { FastifyRequest } from 'fastify'
import { stateOf } from '../state.js'
import type { Decision } from './refusal.js'
import type { CompiledRule, Firewall } from './firewall.js'
import { userFrom, type StoredUser, type User } from './users.js'
import { decideAccess, type Voter } from './voters.js'

/** The settings that decide about the rights of a user. */
interface Policy {
  voters: readonly Voter[]
  /** A user's roles with the inherited ones. */
  rolesOf: (roles: readonly string[]) => readonly string[]
}

/** The user of a request, the attempts to recognize it, and the decisions about its rights. */
export class SecurityContext {
  readonly request: FastifyRequest
  readonly firewall: Firewall | null
  /** The path to which the rules apply. */
  readonly path: string
  readonly #policy: Policy
  user: User | null = null
  /** The user's roles, with inherited ones. */
  roles: readonly string[] = []
  authenticatedBy: string | null = null
  /** Whether the session was read: then a response that depends on the user is private. */
  sessionRead = false
  /** The outcome of each authenticator that was tried. */
  readonly attempts: Array<{ name: string, outcome: 'succeeded' | 'failed' | 'not supported', reason?: string }> = []
  /** The rule of `accessControl` that applies; null if there is none. */
  rule: CompiledRule['facts'] & { granted: boolean } | null = null
  /** `by`: what required it: `access_control`, `is-granted` or `request.isGranted`. */
  readonly decisions: Array<Decision & { by: string }> = []
  expression: { expression: string, result: boolean, error?: Error } | null = null

  constructor (policy: Policy, request: FastifyRequest, firewall: Firewall | null, path: string) {
    this.#policy = policy
    this.request = request
    this.firewall = firewall
    this.path = path
  }

  /** Sets the user whom an authenticator has recognized. */
  login (stored: StoredUser, authenticator: string): void {
    this.user = userFrom(stored)
    this.roles = this.#policy.rolesOf(this.user.roles)
    this.authenticatedBy = authenticator
    this.attempts.push({ name: authenticator, outcome: 'succeeded' })
  }

  /** Records that an authenticator does not support the request. */
  skip (authenticator: string): void {
    this.attempts.push({ name: authenticator, outcome: 'not supported' })
  }

  /** Returns the decision of the voters, and records their votes. */
  async isGranted (attribute: string, subject: unknown, by: string): Promise<boolean> {
    const { request, roles } = this
    // A right that all have does not make the response private.
    const user = attribute === 'PUBLIC_ACCESS' ? this.user : userOf(request)
    const decision = await decideAccess(this.#policy.voters, attribute, subject, { user, roles, request })
    this.decisions.push({ by, ...decision })
    return decision.granted
  }

  /** The data of the Security panel: plain, without secrets. */
  get record () {
    const { firewall, attempts: authenticators, user, authenticatedBy, roles, rule, decisions, expression } = this
    const assigned = user?.roles ?? []
    return {
      firewall: firewall && firewall.facts,
      authenticators,
      user: user && { identifier: user.identifier, attributes: user.attributes },
      authenticatedBy,
      roles: assigned,
      inheritedRoles: roles.slice(assigned.length),
      rule,
      decisions,
      expression: expression && { ...expression, error: expression.error?.message }
    }
  }
}

export type SecurityRecord = SecurityContext['record']

/** The context of a request; null before its firewall, and after the response. */
export function securityContextOf (request: FastifyRequest): SecurityContext | null {
  return stateOf(request).security ?? null
}

/** The user of a request, for code that makes the response depend on it. */
export function userOf (request: FastifyRequest): User | null {
  const context = securityContextOf(request)
  if (context?.sessionRead === true) stateOf(request).sessionUsed = true
  return context?.user ?? null
}

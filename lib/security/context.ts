import type { FastifyRequest } from 'fastify'
import { stateOf } from '../lifecycle/request-state.js'
import type { RecordedVote, Strategy } from './access-control.js'
import type { Authenticator } from './authenticators.js'
import type { Firewall } from './firewall.js'
import type { Security } from './security.js'
import { userFrom, type StoredUser, type User } from './users.js'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** The user of the request and how it was recognized; undefined before the firewall and after the response. */
    security?: SecurityContext | undefined
    /** Whether a user was recognized by credentials of any kind: the response is for this client alone. */
    credentialsUsed?: boolean
  }
}

/** What happened to one authenticator. */
export interface RecordedAttempt {
  name: string
  outcome: 'succeeded' | 'failed' | 'not supported' | 'not reached'
  reason?: string
}

/** One decision of the voters. */
export interface RecordedDecision {
  /** What required it: `access_control`, `is-granted`, `request.isGranted`. */
  by: string
  attribute: string
  subject: string | null
  granted: boolean
  strategy: Strategy
  votes: RecordedVote[]
}

/** What the Security panel shows of a request: plain data without secrets. */
export interface SecurityRecord {
  firewall: { name: string, pattern: string, security: boolean, stateless: boolean } | null
  authenticators: RecordedAttempt[]
  user: { identifier: string, attributes: unknown } | null
  authenticatedBy: string | null
  roles: string[]
  inheritedRoles: string[]
  /** The rule of `accessControl` that applies; null if there is none. */
  rule: { index: number, path: string, methods: string[], ips: string[], roles: string[], granted: boolean } | null
  decisions: RecordedDecision[]
  expression: { expression: string, result: boolean, error?: string } | null
}

/** A record without any data. */
export function emptyRecord (): SecurityRecord {
  return {
    firewall: null,
    authenticators: [],
    user: null,
    authenticatedBy: null,
    roles: [],
    inheritedRoles: [],
    rule: null,
    decisions: [],
    expression: null
  }
}

/** The user of a request, and how it was recognized. */
export class SecurityContext {
  readonly security: Security
  readonly request: FastifyRequest
  readonly firewall: Firewall | null
  /** The path to which the rules apply. */
  readonly path: string
  user: User | null = null
  /** The user's roles, with inherited ones. */
  roles: readonly string[] = []
  authenticator: Pick<Authenticator, 'name' | 'insufficient'> | null = null
  /** Whether the session was read: then a response that depends on the user is private. */
  sessionRead = false
  readonly record = emptyRecord()

  constructor (security: Security, request: FastifyRequest, firewall: Firewall | null, path: string) {
    this.security = security
    this.request = request
    this.firewall = firewall
    this.path = path
    if (firewall === null) return
    const { name, pattern, security: isOn, stateless } = firewall
    this.record.firewall = { name, pattern, security: isOn, stateless }
  }

  /** Sets the user. */
  login (stored: StoredUser, authenticator: Pick<Authenticator, 'name' | 'insufficient'>): void {
    this.user = userFrom(stored)
    this.roles = this.security.rolesOf(this.user.roles)
    this.authenticator = authenticator
    const { identifier, attributes, roles: given } = this.user
    Object.assign(this.record, {
      user: { identifier, attributes },
      authenticatedBy: authenticator.name,
      roles: [...given],
      inheritedRoles: this.roles.slice(given.length)
    })
  }
}

/** The context of a request; null before its firewall, and after the response. */
export function contextOf (request: FastifyRequest): SecurityContext | null {
  return stateOf(request).security ?? null
}

/** The user of a request, for code that makes the response depend on it. */
export function userOf (request: FastifyRequest): User | null {
  const context = contextOf(request)
  if (context?.sessionRead === true) stateOf(request).sessionTouched = true
  return context?.user ?? null
}

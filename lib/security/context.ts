import type { FastifyRequest } from 'fastify'
import { stateOf } from '../lifecycle/request-state.js'
import type { Authenticator } from './authenticators/authenticator.js'
import type { Firewall } from './firewall.js'
import { emptyRecord, type SecurityRecord } from './record.js'
import { userFrom, type StoredUser, type User } from './user.js'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** The user of the request, as far as the firewall has found out; null after the end of the request. */
    security?: SecurityContext | null
    /** Whether a user was recognized by credentials of any kind: the response is for this client alone. */
    credentialsUsed?: boolean
  }
}

/** What is known about who sent a request; dropped when the request is finished. */
export class SecurityContext {
  readonly firewall: Firewall | null
  /** The path that the rules are about. */
  readonly path: string
  user: User | null = null
  /** The user's roles, inherited ones among them. */
  roles: readonly string[] = []
  authenticator: Pick<Authenticator, 'name' | 'insufficient'> | null = null
  /** Whether the answer was sought in the session: whoever asks who the user is makes the response a private one. */
  sessionRead = false
  /** What the profile will say; null outside debug mode. */
  readonly record: SecurityRecord | null

  constructor (firewall: Firewall | null, path: string, debug: boolean) {
    this.firewall = firewall
    this.path = path
    this.record = debug ? emptyRecord() : null
    if (this.record !== null && firewall !== null) {
      const { name, pattern, security, stateless } = firewall
      this.record.firewall = { name, pattern, security, stateless }
    }
  }

  /** Takes a user in. */
  login (stored: StoredUser, authenticator: Pick<Authenticator, 'name' | 'insufficient'>, rolesOf: (roles: readonly string[]) => readonly string[]): void {
    this.user = userFrom(stored)
    this.roles = rolesOf(this.user.roles)
    this.authenticator = authenticator
    if (this.record === null) return
    this.record.user = { identifier: this.user.identifier, attributes: this.user.attributes }
    this.record.authenticatedBy = authenticator.name
    this.record.roles = [...this.user.roles]
    this.record.inheritedRoles = this.roles.slice(this.user.roles.length)
  }
}

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** The user of the request, as far as the firewall has found out; null after the end of the request. */
    security?: SecurityContext | null
    /** Whether a user was recognized by credentials of any kind: the response is for this client alone. */
    credentialsUsed?: boolean
  }
}

/** What is known about who sent a request; null ahead of its firewall, and behind the end of the request. */
export function contextOf (request: FastifyRequest): SecurityContext | null {
  return stateOf(request).security ?? null
}

/** The user of a request, for whoever makes the response depend on it. */
export function userOf (request: FastifyRequest): User | null {
  const context = contextOf(request)
  if (context === null) return null
  if (context.sessionRead) stateOf(request).sessionTouched = true
  return context.user
}

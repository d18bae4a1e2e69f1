import { createHash } from 'node:crypto'
import { Tokens } from '@fastify/csrf'
import type { FastifyRequest } from 'fastify'
import { serviceOf, stateOf } from '../state.js'
import type { Firewall } from './firewall.js'
import { InvalidCsrfTokenError } from './errors.js'
import type { StoredUser } from './users.js'

/** The data of one firewall in a session. */
export interface SessionLogin {
  /** The user who is logged in; the stamp depends on the password. */
  user?: { identifier: string, stamp: string }
  /** Path and query that a browser requested before it was redirected to the login. */
  target?: string
  /** The message of the last failed attempt, for the login page. */
  failure?: string
}

/** The cookies of a request, by whichever plugin they were parsed. */
export function cookiesOf (request: FastifyRequest): Readonly<Record<string, string | undefined>> {
  return (request as { cookies?: Record<string, string> }).cookies ?? {}
}

/** Whether a request has the session cookie. */
export function hasSession (request: FastifyRequest): boolean {
  const { sessionCookie } = serviceOf(request)
  return sessionCookie !== undefined && cookiesOf(request)[sessionCookie] !== undefined
}

/** The data of a firewall in the session, empty without a session cookie. It does not count as a use of the session. */
export function readLogin (request: FastifyRequest, { name }: Firewall): SessionLogin {
  if (!hasSession(request)) return {}
  const state = stateOf(request)
  // Reading the session sets `sessionUsed`, which would make the response private.
  const { sessionUsed } = state
  const { session } = request
  state.sessionUsed = sessionUsed
  return session?._security?.[name] ?? {}
}

/** Changes the data of a firewall in the session; undefined removes a member. */
export function updateLogin (
  { session }: FastifyRequest, { name }: Firewall, change: { [K in keyof SessionLogin]: SessionLogin[K] | undefined }
): void {
  const kept = Object.entries({ ...session._security?.[name], ...change }).filter(([, value]) => value !== undefined)
  // A store may hold the object itself: its members are replaced, never changed.
  session._security = { ...session._security, [name]: Object.fromEntries(kept) }
}

/** A hash of the stored password: sessions with another stamp have ended, as the password was changed. */
export function stampOf ({ password = '' }: StoredUser): string {
  return createHash('sha256').update(password).digest('base64url')
}

/** Gives the session a new id, against session fixation. Its data stay, but not the CSRF secret. */
export async function renewSession (request: FastifyRequest): Promise<void> {
  const { session } = request
  await session.regenerate(Object.keys(session).filter((key) => key !== 'cookie' && key !== '_csrf'))
}

const tokens = new Tokens({ userInfo: true })

/** Makes a CSRF token of this session for one purpose. */
export function csrfToken (request: FastifyRequest, purpose: string): string {
  const { session } = request
  session._csrf ??= tokens.secretSync()
  return tokens.create(session._csrf, purpose)
}

/** Throws `InvalidCsrfTokenError` unless the token was made for this session and purpose. */
export function checkCsrfToken (request: FastifyRequest, purpose: string, token: unknown): void {
  const secret = request.session?._csrf
  if (secret === undefined || typeof token !== 'string' || !tokens.verify(secret, token, purpose)) {
    throw new InvalidCsrfTokenError('Invalid CSRF token.')
  }
}

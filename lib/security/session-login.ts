import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import type { StoredUser } from './user.js'

/** What a session knows about one firewall. */
export interface SessionLogin {
  /** Who is logged in; the stamp changes with the password, the mark when all sessions of the user are ended. */
  user?: { identifier: string, stamp: string, mark?: string }
  /** Where a browser wanted to go before it was sent to the login: path and query. */
  target?: string
  /** What the login page has to say about the last attempt. */
  failure?: { message: string, username: string }
}

declare module 'fastify' {
  interface Session {
    /** What each firewall keeps, by its name. */
    _security?: Record<string, SessionLogin>
  }
}

/** Reads what a firewall keeps in the session, without counting as a use of it; nothing where the request brought none. */
export function peekLogin (request: FastifyRequest, firewall: string, cookieName: string): SessionLogin | null {
  if (servicesOf(request).cookiesOf(request)[cookieName] === undefined) return null
  const state = stateOf(request)
  const { sessionTouched } = state
  const { session } = request
  state.sessionTouched = sessionTouched
  return session?._security?.[firewall] ?? {}
}

/** Changes what a firewall keeps in the session; undefined takes a member away. */
export function keepLogin (request: FastifyRequest, firewall: string, change: { [K in keyof SessionLogin]: SessionLogin[K] | undefined }): void {
  const { session } = request
  const kept = Object.entries({ ...session._security?.[firewall], ...change }).filter(([, value]) => value !== undefined)
  // A store may hold the object itself: what is in it is replaced, never changed.
  session._security = { ...session._security, [firewall]: Object.fromEntries(kept) }
}

/** Changes when the user's password does, so that sessions from before end. */
export function stampOf ({ password = '' }: StoredUser): string {
  return createHash('sha256').update(password).digest('base64url')
}

/**
 * Gives the session a new id, so that one who knew the old one (session fixation) has nothing of the login;
 * what the application keeps in it stays, the CSRF secret does not.
 */
export async function renewSession (request: FastifyRequest): Promise<void> {
  const { session } = request
  await session.regenerate(Object.keys(session).filter((key) => key !== 'cookie' && key !== '_csrf'))
}

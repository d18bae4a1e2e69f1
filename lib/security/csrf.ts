import { Tokens } from '@fastify/csrf'
import type { FastifyRequest } from 'fastify'
import { InvalidCsrfTokenError } from './errors.js'

declare module 'fastify' {
  interface Session {
    /** The secret that the session's CSRF tokens are made with. */
    _csrf?: string
  }
}

const tokens = new Tokens({ userInfo: true })

/** A token that only this session has, for one purpose; made anew for each form. */
export function csrfToken (request: FastifyRequest, purpose: string): string {
  const { session } = request
  session._csrf ??= tokens.secretSync()
  return tokens.create(session._csrf, purpose)
}

/** Throws unless the token was made for this session and purpose. */
export function checkCsrfToken (request: FastifyRequest, purpose: string, token: unknown): void {
  const secret = request.session?._csrf
  if (secret === undefined || typeof token !== 'string' || !tokens.verify(secret, token, purpose)) {
    throw new InvalidCsrfTokenError('Invalid CSRF token.')
  }
}

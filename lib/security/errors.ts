import { httpError } from '../http/http-errors.js'

/** Nobody is known to have sent the request, or not with valid credentials (RFC 9110, section 15.5.2). */
export class AuthenticationError extends httpError('AuthenticationError', 'HINDSIGHT_AUTHENTICATION', 401) {
  headers: Record<string, string> = {}
  #reason: string | null = null

  /** Says why, for the profile alone: whoever sent the request is told the message and no more. */
  because (reason: string): this {
    this.#reason = reason
    return this
  }

  /** Why, as the profile may say it. */
  static reasonOf (error: AuthenticationError): string {
    return error.#reason ?? error.message
  }
}

/** The user is known, and not allowed (RFC 9110, section 15.5.4). */
export class AccessDeniedError extends httpError('AccessDeniedError', 'HINDSIGHT_ACCESS_DENIED', 403) {
  headers: Record<string, string> = {}
}

/** The form, or the link, was not made for the session that sent it. */
export class InvalidCsrfTokenError extends httpError('InvalidCsrfTokenError', 'HINDSIGHT_INVALID_CSRF_TOKEN', 403) {}

/** Too many logins have failed (RFC 6585, section 4). */
export class TooManyLoginAttemptsError extends httpError('TooManyLoginAttemptsError', 'HINDSIGHT_TOO_MANY_LOGIN_ATTEMPTS', 429) {
  headers: Record<string, string> = {}
}

/** What every failed login is told, whatever its reason: a user who does not exist is none that a message gives away. */
export const INVALID_CREDENTIALS = 'Invalid credentials.'

/** What a request is told that came without credentials where some are needed. */
export const AUTHENTICATION_REQUIRED = 'Full authentication is required to access this resource.'

/** What a user is told who may not. */
export const ACCESS_DENIED = 'Access Denied.'

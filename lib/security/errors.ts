import { httpError } from '../http/http-errors.js'

/** The credentials are missing or invalid (RFC 9110, section 15.5.2). */
export class AuthenticationError extends httpError('AuthenticationError', 'HINDSIGHT_AUTHENTICATION', 401) {
  headers: Record<string, string> = {}
  #reason: string | null = null

  /** Sets the reason that the profile shows; the client receives the message alone. */
  because (reason: string): this {
    this.#reason = reason
    return this
  }

  /** The reason for the profile. */
  static reasonOf (error: AuthenticationError): string {
    return error.#reason ?? error.message
  }
}

/** The user is recognized and lacks the right (RFC 9110, section 15.5.4). */
export class AccessDeniedError extends httpError('AccessDeniedError', 'HINDSIGHT_ACCESS_DENIED', 403) {
  headers: Record<string, string> = {}
}

/** The CSRF token was not made for the session of the request. */
export class InvalidCsrfTokenError extends httpError('InvalidCsrfTokenError', 'HINDSIGHT_INVALID_CSRF_TOKEN', 403) {}

/** Too many logins have failed (RFC 6585, section 4). */
export class TooManyLoginAttemptsError
  extends httpError('TooManyLoginAttemptsError', 'HINDSIGHT_TOO_MANY_LOGIN_ATTEMPTS', 429) {
  headers: Record<string, string> = {}
}

/** The message of every failed login, whatever its reason: it does not reveal whether a user exists. */
export const INVALID_CREDENTIALS = 'Invalid credentials.'

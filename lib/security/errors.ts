import { httpError } from 'fastify-hindsight/recorder'

/** The credentials are missing or invalid (RFC 9110, section 15.5.2). */
export class AuthenticationError extends httpError('AuthenticationError', 'HINDSIGHT_AUTHENTICATION', 401) {
  headers: Record<string, string> = {}
  #reason = ''

  /** The error of each failed login, whatever its reason: the message does not reveal whether a user exists. */
  static invalid (reason: string): AuthenticationError {
    const error = new AuthenticationError('Invalid credentials.')
    error.#reason = reason
    return error
  }

  /** Why an authentication failed, for the profile; the client receives the message alone. */
  static reasonOf (error: unknown): string {
    if (error instanceof AuthenticationError && error.#reason !== '') return error.#reason
    return error instanceof Error ? error.message : String(error)
  }
}

/** The user is recognized and lacks the right (RFC 9110, section 15.5.4). */
export class AccessDeniedError extends httpError('AccessDeniedError', 'HINDSIGHT_ACCESS_DENIED', 403) {}

/** The CSRF token was not made for the session of the request. */
export class InvalidCsrfTokenError extends httpError('InvalidCsrfTokenError', 'HINDSIGHT_INVALID_CSRF_TOKEN', 403) {}

/** Too many logins have failed (RFC 6585, section 4). */
export class TooManyLoginAttemptsError
  extends httpError('TooManyLoginAttemptsError', 'HINDSIGHT_TOO_MANY_LOGIN_ATTEMPTS', 429) {
  headers: Record<string, string> = {}
}

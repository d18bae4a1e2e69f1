import createError from '@fastify/error'

type Arguments = [message: string, options?: { cause: unknown }]

/** Nothing answers at this URL (RFC 9110, section 15.5.5). */
export class NotFoundError extends createError<Arguments>('HINDSIGHT_NOT_FOUND', '%s', 404) {
  override name = 'NotFoundError'
}

/** The URL exists, the method does not (RFC 9110, section 15.5.6): answered with the `Allow` header in `headers`. */
export class MethodNotAllowedError extends createError<Arguments>('HINDSIGHT_METHOD_NOT_ALLOWED', '%s', 405) {
  override name = 'MethodNotAllowedError'
  headers: Record<string, string> = {}
}

/** The request is malformed at the message level (RFC 9110, section 15.5.1). */
export class BadRequestError extends createError<Arguments>('HINDSIGHT_BAD_REQUEST', '%s', 400) {
  override name = 'BadRequestError'
}

/** What the message itself was found guilty of: the cause of a bad-request error. */
export class SuspiciousOperationError extends createError<Arguments>('HINDSIGHT_SUSPICIOUS_OPERATION', '%s', 400) {
  override name = 'SuspiciousOperationError'
}

/** The route lookup found nothing: the cause of a not-found error. */
export class ResourceNotFoundError extends createError<Arguments>('HINDSIGHT_RESOURCE_NOT_FOUND', '%s', 404) {
  override name = 'ResourceNotFoundError'
}

/** The route lookup found the path under other methods only: the cause of a method-not-allowed error. */
export class MethodLookupError extends createError<Arguments>('HINDSIGHT_METHOD_LOOKUP', '%s', 405) {
  override name = 'MethodLookupError'
}

/** The HTTP parser refused the message (RFC 9112). */
export class MalformedMessageError extends createError<Arguments>('HINDSIGHT_MALFORMED_MESSAGE', '%s', 400) {
  override name = 'MalformedMessageError'
}

/** The header section was larger than the server takes (RFC 6585, section 5). */
export class HeaderOverflowError extends createError<Arguments>('HINDSIGHT_HEADER_OVERFLOW', '%s', 431) {
  override name = 'HeaderOverflowError'
}

/** The request did not arrive in time (RFC 9110, section 15.5.9). */
export class RequestTimeoutError extends createError<Arguments>('HINDSIGHT_REQUEST_TIMEOUT', '%s', 408) {
  override name = 'RequestTimeoutError'
}

/** The request expects what the server cannot do (RFC 9110, section 15.5.18). */
export class ExpectationFailedError extends createError<Arguments>('HINDSIGHT_EXPECTATION_FAILED', '%s', 417) {
  override name = 'ExpectationFailedError'
}

/** The connection was gone before the response could be sent. */
export class ClientGoneError extends createError<Arguments>('HINDSIGHT_CLIENT_GONE', '%s', 499) {
  override name = 'ClientGoneError'
}

/** A 400 that carries the underlying error, as section 7 of the observed document has it. */
export function badRequest (message: string): BadRequestError {
  return new BadRequestError(message, { cause: new SuspiciousOperationError(message) })
}

/**
 * The status that answers a raised value: its own where it is one of 400 to 599,
 * the reply's where the handler has set such a one already, 500 otherwise.
 */
export function statusOf (raised: unknown, replyStatus: number): number {
  if (typeof raised === 'object' && raised !== null) {
    try {
      const { statusCode, status } = raised as { statusCode?: unknown, status?: unknown }
      if (isErrorStatus(statusCode)) return statusCode
      if (isErrorStatus(status)) return status
    } catch {
      // A getter that throws says nothing about the status.
    }
  }
  return isErrorStatus(replyStatus) ? replyStatus : 500
}

function isErrorStatus (status: unknown): status is number {
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599
}

import { withStackLimit } from '../call.js'

/** Makes the base of an error class with a name, a code and an HTTP status. */
export function httpError (name: string, code: string, statusCode: number) {
  return class extends Error {
    // V8 writes the name into the stack before a constructor could set it.
    static { this.prototype.name = name }
    readonly code: string = code
    readonly statusCode: number = statusCode
  }
}

// The statuses are those of RFC 9110, section 15, RFC 6585 (431) and nginx (499).
export class NotFoundError extends httpError('NotFoundError', 'HINDSIGHT_NOT_FOUND', 404) {}

/** The path has routes for other methods only; `headers` contains `Allow`. */
export class MethodNotAllowedError extends httpError('MethodNotAllowedError', 'HINDSIGHT_METHOD_NOT_ALLOWED', 405) {
  headers: Record<string, string> = {}
}

export class BadRequestError extends httpError('BadRequestError', 'HINDSIGHT_BAD_REQUEST', 400) {}
export class RequestTimeoutError extends httpError('RequestTimeoutError', 'HINDSIGHT_REQUEST_TIMEOUT', 408) {}
export class HeaderOverflowError extends httpError('HeaderOverflowError', 'HINDSIGHT_HEADER_OVERFLOW', 431) {}
/** The HTTP parser refused the message (RFC 9112). */
export class MalformedMessageError extends httpError('MalformedMessageError', 'HINDSIGHT_MALFORMED_MESSAGE', 400) {}

// Causes of the errors above.
export class SuspiciousOperationError
  extends httpError('SuspiciousOperationError', 'HINDSIGHT_SUSPICIOUS_OPERATION', 400) {}
export class ResourceNotFoundError extends httpError('ResourceNotFoundError', 'HINDSIGHT_RESOURCE_NOT_FOUND', 404) {}
export class MethodLookupError extends httpError('MethodLookupError', 'HINDSIGHT_METHOD_LOOKUP', 405) {}
export class ParamConversionError extends httpError('ParamConversionError', 'HINDSIGHT_PARAM_CONVERSION', 404) {}

// Endings of a request without a complete response.
export class ProcessExitError extends httpError('ProcessExitError', 'HINDSIGHT_PROCESS_EXIT', 500) {}
/** The server closed the connection: a timeout, or the application itself. */
export class NoResponseError extends httpError('NoResponseError', 'HINDSIGHT_NO_RESPONSE', 500) {}
export class ClientGoneError extends httpError('ClientGoneError', 'HINDSIGHT_CLIENT_GONE', 499) {}

/** Characters of a message, which may quote a header. */
const MAX_MESSAGE = 2_000
/** Calls that are those of Hindsight and Fastify: hooks have up to 50, and their text is long. */
export const MAX_INTERNAL_CALLS = 10

/** A bad-request error whose cause has the same message, as in section 7 of the observed document. */
export function badRequest (text: string): BadRequestError {
  const message = text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text
  return withStackLimit(MAX_INTERNAL_CALLS, () => {
    const cause = new SuspiciousOperationError(message)
    const error = new BadRequestError(message, { cause })
    // The first frame is the caller's.
    for (const one of [error, cause]) Error.captureStackTrace(one, badRequest)
    return error
  })
}

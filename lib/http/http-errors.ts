import createError from '@fastify/error'

type Arguments = [message: string, options?: { cause: unknown }]

/**
 * Makes the base of an error class with a code and a status.
 * The stack is taken once, behind the name and above every constructor: its first frame is whoever raised.
 */
export function httpError (name: string, code: string, statusCode: number) {
  return class extends createError<Arguments>(code, '%s', statusCode, Error, false) {
    constructor (message: string, options?: { cause: unknown }) {
      // Without a message there is nothing to format, which would cost more than all the rest.
      super(...[] as unknown as Arguments)
      this.message = message
      if (options !== undefined && 'cause' in options) this.cause = options.cause
      this.name = name
      if (Error.stackTraceLimit > 0) Error.captureStackTrace(this, new.target)
    }
  }
}

/** Makes errors whose stacks nobody will read, without what a stack costs. */
export function withoutStack<T> (make: () => T): T {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return make()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Nothing answers at this URL (RFC 9110, section 15.5.5). */
export class NotFoundError extends httpError('NotFoundError', 'HINDSIGHT_NOT_FOUND', 404) {}

/** The URL exists, the method does not (RFC 9110, section 15.5.6): answered with the `Allow` header in `headers`. */
export class MethodNotAllowedError extends httpError('MethodNotAllowedError', 'HINDSIGHT_METHOD_NOT_ALLOWED', 405) {
  headers: Record<string, string> = {}
}

/** The request is malformed at the message level (RFC 9110, section 15.5.1). */
export class BadRequestError extends httpError('BadRequestError', 'HINDSIGHT_BAD_REQUEST', 400) {}

/** What the message itself was found guilty of: the cause of a bad-request error. */
export class SuspiciousOperationError extends httpError('SuspiciousOperationError', 'HINDSIGHT_SUSPICIOUS_OPERATION', 400) {}

/** The route lookup found nothing: the cause of a not-found error. */
export class ResourceNotFoundError extends httpError('ResourceNotFoundError', 'HINDSIGHT_RESOURCE_NOT_FOUND', 404) {}

/** The route lookup found the path under other methods only: the cause of a method-not-allowed error. */
export class MethodLookupError extends httpError('MethodLookupError', 'HINDSIGHT_METHOD_LOOKUP', 405) {}

/** The HTTP parser refused the message (RFC 9112). */
export class MalformedMessageError extends httpError('MalformedMessageError', 'HINDSIGHT_MALFORMED_MESSAGE', 400) {}

/** The header section was larger than the server takes (RFC 6585, section 5). */
export class HeaderOverflowError extends httpError('HeaderOverflowError', 'HINDSIGHT_HEADER_OVERFLOW', 431) {}

/** A precondition of the request does not hold (RFC 9110, section 15.5.13). */
export class PreconditionFailedError extends httpError('PreconditionFailedError', 'HINDSIGHT_PRECONDITION_FAILED', 412) {}

/** A value of the path means nothing to its converter: the cause of a not-found error. */
export class ParamConversionError extends httpError('ParamConversionError', 'HINDSIGHT_PARAM_CONVERSION', 404) {}

/** A route names a template that its engine does not find. */
export class TemplateNotFoundError extends httpError('TemplateNotFoundError', 'HINDSIGHT_TEMPLATE_NOT_FOUND', 500) {}

/** The request did not arrive in time (RFC 9110, section 15.5.9). */
export class RequestTimeoutError extends httpError('RequestTimeoutError', 'HINDSIGHT_REQUEST_TIMEOUT', 408) {}

/** The request expects what the server cannot do (RFC 9110, section 15.5.18). */
export class ExpectationFailedError extends httpError('ExpectationFailedError', 'HINDSIGHT_EXPECTATION_FAILED', 417) {}

/** The process exited before the response was sent. */
export class ProcessExitError extends httpError('ProcessExitError', 'HINDSIGHT_PROCESS_EXIT', 500) {}

/** The connection was gone before the response could be sent. */
export class ClientGoneError extends httpError('ClientGoneError', 'HINDSIGHT_CLIENT_GONE', 499) {}

/** Characters of a message, which may quote a header. */
const MAX_MESSAGE = 2_000

/** A 400 that carries the underlying error, as section 7 of the observed document has it. */
export function badRequest (text: string): BadRequestError {
  const message = text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text
  const error = new BadRequestError(message, { cause: new SuspiciousOperationError(message) })
  // The first frame is whoever found it bad.
  Error.captureStackTrace(error, badRequest)
  Error.captureStackTrace(error.cause as Error, badRequest)
  return error
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

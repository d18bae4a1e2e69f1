import { MethodNotAllowedError } from '../http/http-errors.js'
import type { Refusal, RequestTrace } from '../recording/trace.js'
import type { Mask } from '../mask/mask.js'
import { cutText, formatInteger, visibleLine } from '../view/text.js'
import { codeOf } from './thrown-value.js'

const REFUSED: ReadonlySet<number> = new Set([401, 403, 405, 413, 415, 429])

/**
 * Why a request was refused; null where it was not, where the response is about another failure, and where other code
 * decided: the sentence about the failure has its place.
 */
export function refusalOf (trace: RequestTrace, status: number): Refusal | null {
  const { request, reply, mask, recording: { failure, raised, raisedBy, routeError } } = trace
  // A hook of a not-found handler may have refused the request.
  if (routeError instanceof MethodNotAllowedError && failure === null) {
    return wrongMethod(request.method, maskedLine(mask, String(routeError.headers.allow ?? 'others')))
  }
  // The error of an error handler has not decided the status.
  if (!REFUSED.has(status) || failure?.after === 'failure') return null
  const code = codeOf(raised)
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const limit = request.routeOptions.bodyLimit ?? Number(request.server.initialConfig.bodyLimit)
    const what = `The body is larger than the bodyLimit here, ${formatInteger(limit)} bytes, or than that of its parser`
    return byOption('size', what, 'bodyLimit of Fastify, of addContentTypeParser or of the route')
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    const type = maskedLine(mask, request.headers['content-type'] ?? '')
    const ofType = type === '' ? 'without a Content-Type' : `of the type "${type}"`
    const sentence = `No parser accepts a body ${ofType} here: addContentTypeParser() of Fastify adds one.`
    return { kind: 'type', sentence, option: 'addContentTypeParser of Fastify' }
  }
  if (status === 405 && raisedBy?.listener === 'router') {
    return wrongMethod(request.method, maskedLine(mask, String(reply.getHeader('allow') ?? 'others')))
  }
  return trace.services.lifecycle?.refusalOf?.(trace, status) ?? null
}

/** A refusal by an option of Hindsight, of Fastify or of a route; `what` is the beginning of its sentence. */
export function byOption (kind: Refusal['kind'], what: string, option: string): Refusal {
  return { kind, sentence: `${what}: the option ${option} decides.`, option }
}

function wrongMethod (method: string, allowed: string): Refusal {
  const what = `No route accepts ${method} at this path: its routes accept ${allowed}`
  return byOption('method', what, 'method of the route')
}

export function maskedLine (mask: Mask, text: string): string {
  return cutText(visibleLine(mask.text(text)), 200)
}

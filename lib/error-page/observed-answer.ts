import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FactsOfParts } from '../errors/report.js'
import { prefersHtml } from '../http/header-text.js'
import { read } from '../errors/thrown-value.js'
import { STATUS_CODES } from '../http/node-http.js'
import { addVary, dropReplaced, preventCaching } from '../http/responses.js'
import { recordingOf, stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import { diagnosticPage } from './diagnostic-page.js'

declare module '../recording/recording.js' {
  interface Recording {
    /** Bodies of a framework's default responses to the error, which the diagnostic page may replace. */
    defaultAnswers?: readonly string[]
  }
}

/**
 * The diagnostic page in place of Fastify's default error, for a request that prefers HTML and may see it; null for any
 * other response. A body that the application made is never replaced. `factsOfParts` returns what the parts say.
 */
export function diagnosticAnswer (
  request: FastifyRequest, reply: FastifyReply, payload: unknown,
  factsOfParts: (request: FastifyRequest, reply: FastifyReply) => FactsOfParts
): string | null {
  const { statusCode } = reply
  if (statusCode < 400 || request.method === 'HEAD' || !prefersHtml(request.headers.accept)) return null
  if (!servicesOf(request).mayReceiveDetails(request) || !isDefaultAnswer(request, reply, payload)) return null
  const state = stateOf(request)
  state.recording.events?.setCurrentCode(reply, 'diagnostic page')
  const reason = STATUS_CODES[statusCode] ?? 'Error'
  const { body } = diagnosticPage(request, reply, 'html', reason, factsOfParts)
  dropReplaced(reply)
  preventCaching(reply)
  addVary(reply, 'Accept')
  reply.headers({
    'content-type': 'text/html; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'content-security-policy': state.ownPolicy
  })
  return body
}

function isDefaultAnswer (request: FastifyRequest, reply: FastifyReply, payload: unknown): boolean {
  const { failure, raised, defaultAnswers = [] } = recordingOf(request)
  if (typeof payload !== 'string') return false
  if (defaultAnswers.includes(payload)) return true
  // Also an error handler may call `reply.callNotFound()`.
  if (request.is404 && payload === defaultNotFound(request)) return true
  if (failure === null) return false
  if (raised instanceof Error) return isDefaultError(raised, reply, payload)
  // Fastify sends a raised value that is no error as it is.
  if (raised === null || raised === undefined) return false
  return payload === (typeof raised === 'string' ? raised : JSON.stringify(raised))
}

function defaultNotFound ({ raw: { method, url } }: FastifyRequest): string {
  return JSON.stringify({ message: `Route ${method}:${url} not found`, error: 'Not Found', statusCode: 404 })
}

// `{"statusCode":500,"code":"…","error":"Internal Server Error","message":"…"}`; `code` only if the error has one.
function isDefaultError (error: Error, { statusCode }: FastifyReply, payload: string): boolean {
  const [code, message] = [read(error, 'code'), read(error, 'message')]
  const expected = { ...(code !== undefined && { code }), error: STATUS_CODES[statusCode], message, statusCode }
  const body = parsed(payload)
  return Object.keys(body).sort().join() === Object.keys(expected).join() &&
    Object.entries(expected).every(([name, value]) => String(body[name]) === String(value))
}

function parsed (json: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(json)) as Record<string, unknown>
  } catch {
    return {}
  }
}

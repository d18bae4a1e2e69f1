import type { FastifyReply, FastifyRequest } from 'fastify'
import { attempt } from '../call.js'
import type { FlattenedException } from '../errors/exception.js'
import { type ErrorReport, type FactsOfParts, reportOf } from '../errors/report.js'
import { read } from '../errors/thrown-value.js'
import { addVary, dropReplaced, invalidHeaders, noncesOf, preventCaching, type Nonces } from '../http/responses.js'
import { prefersHtml, type Representation } from '../http/requests.js'
import { STATUS_CODES } from '../http/node-http.js'
import { recordingOf, servicesOf, stateOf } from '../lifecycle/state.js'
import type { EditorLink } from '../view/editor.js'
import { safeJson } from '../view/text.js'
import { renderHtml } from './render-html.js'
import { detail, renderText } from './render-text.js'

declare module '../recording/recording.js' {
  interface Recording {
    /** Bodies of a framework's default responses to the error, which the diagnostic page may replace. */
    defaultAnswers?: readonly string[]
  }
}

/** Returns the sentences and hints of the parts. */
type FactsOf = (request: FastifyRequest, reply: FastifyReply) => FactsOfParts

/**
 * Makes the diagnostic page of a failed request, and sets its Content-Security-Policy as `ownPolicy` of the state. The
 * exception is the one that the page is about.
 */
export function diagnosticPage (
  request: FastifyRequest, reply: FastifyReply, type: Representation['type'], factsOfParts: FactsOf
): { body: string, exception?: FlattenedException | undefined } {
  const state = stateOf(request)
  const nonce = noncesOf(state)
  state.ownPolicy = `default-src 'none'; style-src 'nonce-${nonce.style}'; script-src 'nonce-${nonce.script}'; ` +
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  const reason = STATUS_CODES[reply.statusCode] ?? 'Error'
  const report = reportOf(request, reply.statusCode, reason, factsOfParts(request, reply))
  const body = renderReport(report, type, nonce, servicesOf(request).editor)
  return { body, exception: report.exceptions.at(-1) }
}

/** Renders a report; plain text is Markdown. HTML needs the nonces of its policy; `editor` makes links to source. */
export function renderReport (
  report: ErrorReport, type: Representation['type'], nonce: Nonces, editor: EditorLink | null = null
): string {
  if (type === 'html') return String(renderHtml(report, nonce, editor))
  return type === 'json' ? renderJson(report) : renderText(report)
}

/** The report as a problem document (RFC 9457); its other parts are extension members. */
function renderJson (report: ErrorReport): string {
  const { reason, request, logs, ...members } = report
  // The path stays as the client sent it, unlike that of a parsed URL.
  const instance = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*([^?#]+)/i.exec(request.url)?.[1]
  return safeJson({
    type: 'about:blank',
    title: reason,
    detail: detail(report),
    instance,
    ...members,
    // Each context by itself: one that cannot be serialized must not replace the document.
    logs: logs.map((record) => ({ ...record, context: JSON.parse(safeJson(record.context)) as unknown }))
  }, 2).replaceAll('<', '\\u003c')
}

/**
 * The diagnostic page in place of Fastify's default error, for a request that prefers HTML and may see it; null for any
 * other response. A body that the application made is never replaced.
 */
export function diagnosticAnswer (
  request: FastifyRequest, reply: FastifyReply, payload: unknown, factsOfParts: FactsOf
): string | null {
  const { statusCode } = reply
  if (statusCode < 400 || request.method === 'HEAD' || !prefersHtml(request.headers.accept)) return null
  if (!servicesOf(request).mayReceiveDetails(request) || !isDefaultAnswer(request, reply, payload)) return null
  const state = stateOf(request)
  state.recording.events?.setCurrentCode(reply, 'diagnostic page')
  const { body } = diagnosticPage(request, reply, 'html', factsOfParts)
  dropReplaced(reply)
  // Others fail first, as without the page.
  const refused = state.recording.failure?.refused === undefined ? [] : invalidHeaders(reply)
  for (const [name] of refused) reply.removeHeader(name)
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
  const body = attempt(() => Object(JSON.parse(payload)) as Record<string, unknown>) ?? {}
  return Object.keys(body).sort().join() === Object.keys(expected).join() &&
    Object.entries(expected).every(([name, value]) => String(body[name]) === String(value))
}

import type { FastifyReply } from 'fastify'
import { parsedJson } from '../call.js'
import type { FailureProfile } from '../error-page/failure-profile.js'
import { renderFailure } from '../error-page/render-failure.js'
import type { FlattenedException } from '../errors/exception.js'
import { failureSummary } from '../errors/failure-summary.js'
import { hintsFor, type Hint } from '../errors/hints.js'
import { codeOf, messageOf } from '../errors/thrown-value.js'
import { STATUS_CODES } from '../http/node-http.js'
import { absoluteUrl } from '../http/origin.js'
import { prefersHtml, targetOf, type Representation } from '../http/requests.js'
import { addVary, dropReplaced, invalidHeaders, noncesOf, preventCaching } from '../http/responses.js'
import type { RequestTrace } from './trace.js'
import { hasSuccessOf } from './profiles.js'
import { severeLines } from '../logs/log-record.js'
import { unfinishedProfile } from '../parts/collect.js'
import { hintsOf, sentencesOf } from '../parts/read.js'
import { MIN_SLOW } from '../store/profile.js'

/** The profile of a failed request until now, and what its page shows besides. */
function failureProfile (trace: RequestTrace): FailureProfile {
  const { request, mask, scope: { hindsight: { originOf, parts } } } = trace
  const { events, log, profile: stored, raisedBy, timing } = trace.recording
  const origin = originOf(request)
  const shown = parts.filter(({ hints, sentence }) => hints !== undefined || sentence !== undefined)
  const profile = unfinishedProfile(trace, shown)
  const hints = hintsFor(trace, profile.status)
  const ofParts = hintsOf(parts, profile).filter((one) => !hints.some((hint) => isSame(hint, one)))
  return {
    ...profile,
    url: mask.url(absoluteUrl(origin, targetOf(request))),
    ip: origin.ip,
    ...severeLines(log, events?.events() ?? [], timing.startedTime, mask),
    collectors: { ...profile.collectors, exceptions: failureSummary(trace, profile.exceptions) },
    hints: [...hints, ...ofParts],
    sentences: profile.duration < MIN_SLOW ? [] : sentencesOf(shown, profile),
    ...raisedBy !== null && {
      raisedBy: { stage: raisedBy.stage, listener: raisedBy.listener, source: raisedBy.source }
    },
    isObserved: trace.services.lifecycle === null,
    hasSuccess: hasSuccessOf(trace.declaredRoute),
    ...stored !== undefined && { profileUrl: stored.url }
  }
}

// Both may have the routes that nearly match.
function isSame (hint: Hint, other: Hint): boolean {
  return hint.title === other.title || (hint.routes !== undefined && other.routes !== undefined)
}

/**
 * Makes the diagnostic page of a failed request, and sets its Content-Security-Policy as `diagnosticPolicy` of the
 * trace. The exception is the one that the page is about.
 */
export function diagnosticPage (
  trace: RequestTrace, type: Representation['type']
): { body: string, exception?: FlattenedException | undefined } {
  const nonce = noncesOf(trace)
  trace.diagnosticPolicy =
    `default-src 'none'; style-src 'nonce-${nonce.style}'; script-src 'nonce-${nonce.script}'; ` +
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  const failure = failureProfile(trace)
  return {
    body: renderFailure(failure, type, nonce, trace.services.editor),
    exception: failure.exceptions.at(-1)
  }
}

/**
 * The diagnostic page in place of Fastify's default error, for a request that prefers HTML and may see it; null for any
 * other response. A body that the application made is never replaced.
 */
export function diagnosticAnswer (trace: RequestTrace, payload: unknown): string | null {
  const { request, reply, recording, services } = trace
  const { statusCode } = reply
  if (statusCode < 400 || request.method === 'HEAD' || !prefersHtml(trace.accept)) return null
  if (!services.mayReceiveDetails(request) || !isDefaultAnswer(trace, payload)) return null
  recording.events?.setCurrentCode(reply, 'diagnostic page')
  const { body } = diagnosticPage(trace, 'html')
  dropReplaced(reply)
  // Others fail first, as without the page.
  const refused = recording.failure?.refused === undefined ? [] : invalidHeaders(reply)
  for (const [name] of refused) reply.removeHeader(name)
  preventCaching(reply)
  addVary(reply, 'Accept')
  reply.headers({
    'content-type': 'text/html; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'content-security-policy': trace.diagnosticPolicy
  })
  return body
}

function isDefaultAnswer ({ request, reply, recording }: RequestTrace, payload: unknown): boolean {
  const { failure, raised, defaultAnswers = [] } = recording
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

function defaultNotFound ({ raw: { method, url } }: RequestTrace['request']): string {
  return JSON.stringify({ message: `Route ${method}:${url} not found`, error: 'Not Found', statusCode: 404 })
}

// `{"statusCode":500,"code":"…","error":"Internal Server Error","message":"…"}`; `code` only if the error has one.
function isDefaultError (error: Error, { statusCode }: FastifyReply, payload: string): boolean {
  const [code, message] = [codeOf(error), messageOf(error)]
  const expected = { ...(code !== '' && { code }), error: STATUS_CODES[statusCode], message, statusCode }
  const body = Object(parsedJson(payload)) as Record<string, unknown>
  return Object.keys(body).sort().join() === Object.keys(expected).join() &&
    Object.entries(expected).every(([name, value]) => String(body[name]) === String(value))
}

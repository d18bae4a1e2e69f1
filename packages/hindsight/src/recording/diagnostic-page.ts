import type { FastifyReply, FastifyRequest } from 'fastify'
import { attemptCall } from '../call.js'
import type { FailureProfile } from '../error-page/failure-profile.js'
import { renderFailure } from '../error-page/render-failure.js'
import type { FlattenedException } from '../errors/exception.js'
import { failureSummary } from '../errors/failure-summary.js'
import { hintsFor, type Hint } from '../errors/hints.js'
import { maskOf } from '../errors/masked-exceptions.js'
import { readProperty } from '../errors/thrown-value.js'
import { STATUS_CODES } from '../http/node-http.js'
import { absoluteUrl } from '../http/origin.js'
import { prefersHtml, targetOf, type Representation } from '../http/requests.js'
import { addVary, dropReplaced, invalidHeaders, noncesOf, preventCaching } from '../http/responses.js'
import { recordingOf, servicesOf, stateOf } from '../lifecycle/state.js'
import { severeLines } from '../logs/log-record.js'
import { unfinishedProfile } from '../parts/collect.js'
import { hintsOf, sentencesOf } from '../parts/read.js'

declare module './recording.js' {
  interface Recording {
    /** The profile of a failed request, where one is kept. */
    profile?: { token: string, url: string }
    /** Bodies of a framework's default responses to the error, which the diagnostic page may replace. */
    defaultAnswers?: readonly string[]
  }
}

/** Milliseconds from which a request is slow: its diagnostic page has the sentences of the parts. */
const MIN_SLOW = 100

/** The profile of a failed request until now, and what its page shows besides. */
function failureProfile (request: FastifyRequest, reply: FastifyReply): FailureProfile {
  const { events, log, profile: stored, raisedBy, timing } = recordingOf(request)
  const { originOf, parts } = servicesOf(request)
  const mask = maskOf(request)
  const origin = originOf(request)
  const shown = parts.filter(({ name, hints, sentence }) => hints ?? sentence ?? name === 'request')
  const profile = unfinishedProfile(request, reply, shown)
  const hints = hintsFor(request, profile.status)
  const ofParts = hintsOf(parts, profile).filter((one) => !hints.some((hint) => isSame(hint, one)))
  return {
    ...profile,
    url: mask.url(absoluteUrl(origin, targetOf(request))),
    ip: origin.ip,
    ...severeLines(log, events?.events() ?? [], timing.startedTime, mask),
    collectors: { ...profile.collectors, exceptions: failureSummary(request, profile.exceptions) },
    hints: [...hints, ...ofParts],
    sentences: profile.duration < MIN_SLOW ? [] : sentencesOf(shown, profile),
    ...raisedBy !== null && {
      raisedBy: { stage: raisedBy.stage, listener: raisedBy.listener, source: raisedBy.source }
    },
    ...stored !== undefined && { profileUrl: stored.url }
  }
}

// Both may have the routes that nearly match.
function isSame (hint: Hint, other: Hint): boolean {
  return hint.title === other.title || (hint.routes !== undefined && other.routes !== undefined)
}

/**
 * Makes the diagnostic page of a failed request, and sets its Content-Security-Policy as `ownPolicy` of the state. The
 * exception is the one that the page is about.
 */
export function diagnosticPage (
  request: FastifyRequest, reply: FastifyReply, type: Representation['type']
): { body: string, exception?: FlattenedException | undefined } {
  const state = stateOf(request)
  const nonce = noncesOf(state)
  state.ownPolicy = `default-src 'none'; style-src 'nonce-${nonce.style}'; script-src 'nonce-${nonce.script}'; ` +
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  const failure = failureProfile(request, reply)
  return {
    body: renderFailure(failure, type, nonce, servicesOf(request).editor),
    exception: failure.exceptions.at(-1)
  }
}

/**
 * The diagnostic page in place of Fastify's default error, for a request that prefers HTML and may see it; null for any
 * other response. A body that the application made is never replaced.
 */
export function diagnosticAnswer (request: FastifyRequest, reply: FastifyReply, payload: unknown): string | null {
  const { statusCode } = reply
  if (statusCode < 400 || request.method === 'HEAD' || !prefersHtml(request.headers.accept)) return null
  if (!servicesOf(request).mayReceiveDetails(request) || !isDefaultAnswer(request, reply, payload)) return null
  const state = stateOf(request)
  state.recording.events?.setCurrentCode(reply, 'diagnostic page')
  const { body } = diagnosticPage(request, reply, 'html')
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
  const [code, message] = [readProperty(error, 'code'), readProperty(error, 'message')]
  const expected = { ...(code !== undefined && { code }), error: STATUS_CODES[statusCode], message, statusCode }
  const body = attemptCall(() => Object(JSON.parse(payload)) as Record<string, unknown>) ?? {}
  return Object.keys(body).sort().join() === Object.keys(expected).join() &&
    Object.entries(expected).every(([name, value]) => String(body[name]) === String(value))
}

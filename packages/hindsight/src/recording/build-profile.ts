import { performance } from '../clock.js'
import { firstAppFrame } from '../errors/exception.js'
import { caughtErrors, caughtLines, silentChain, silentError } from '../errors/caught-errors.js'
import { errorsOf, flattenError, maskExceptions, type RequestErrors } from '../errors/masked-exceptions.js'
import { failureSummary } from '../errors/failure-summary.js'
import { appSource } from '../errors/stack-frame.js'
import { codeOf } from '../errors/thrown-value.js'
import { NoResponseError, ProcessExitError } from '../http/http-errors.js'
import { absoluteUrl } from '../http/origin.js'
import type { MalformedMessage } from '../http/refused-message.js'
import { targetOf } from '../http/requests.js'
import type { Headers } from './events.js'
import type { JobTrace, RequestTrace } from './trace.js'
import type { LogRecord } from '../logs/log-record.js'
import type { Mask } from '../mask/mask.js'
import { cutMasked } from '../mask/text.js'
import { matchedRoute, recordedData } from '../parts/collect.js'
import type { Part } from '../parts/part.js'
import { formatSize } from '../view/components.js'
import { fittingLogs } from '../store/summary.js'
import { newToken, PROFILE_VERSION, type Profile } from '../store/profile.js'
import type { Recording } from './recording.js'
import { lostResponse } from './lost-response.js'
import { isConnectionError, isHeadersSent, type Sending } from './sending.js'

/** The bytes of a line's JSON, beside its text. */
const LINE_BYTES = 200
const UNREAD = 'Further errors may have been caught: too many were thrown to read all of them.'

export interface BuildOptions {
  /** The maximum bytes of the profile as JSON; log lines beyond it are left out. */
  maxBytes: number
  /** Data of further collectors, not masked yet. */
  collected?: Readonly<Record<string, unknown>>
  /** The data of parts that all profiles of the application have. */
  ofApplication: Readonly<Record<string, unknown>>
}

/** Makes the profile of a request after its response, or until now with the status 0: plain data, masked. */
export function buildProfile (trace: RequestTrace, options: BuildOptions): Profile {
  const { maxBytes, collected = {}, ofApplication } = options
  const { request, recording } = trace
  const { followOf, parent = followOf ?? undefined, replayOf, sending, timing, token = '' } = recording
  const { originOf, parts } = trace.scope.hindsight
  const sentHeaders = sending.headers
  trace.hideParamsOf(sentHeaders.location)
  const { mask } = trace
  const origin = originOf(request)
  const isOver = timing.endedAt !== 0
  const end = timing.endedAt || performance.now()
  // The page of an error that came later has taken no time of the request.
  const internal = timing.internalStart < end ? timing.own : 0
  if (isOver) {
    recording.events?.finish(sentHeaders)
  }
  const events = recording.events?.events(mask.header) ?? []
  const status = isOver ? sending.status(recording.failure !== null) : 0
  const { exceptions: raised, otherErrors } = errorsAtEnd(trace)
  const mayExplain = isOver && (status >= 500 || sending.state.kind === 'upgraded')
  const caught = isOver ? caughtErrors(recording) : []
  const silent = raised.length === 0 && mayExplain ? silentError(recording, caught) : undefined
  const exceptions = silent === undefined ? raised : silentChain(silent, mask)
  const collectors: Record<string, unknown> = recordedData(trace)
  Object.assign(collectors, ofApplication, mask.value(collected))
  const route = matchedRoute(trace)
  const hasFailed = recording.failure !== null || recording.routeError !== null
  if (hasFailed && status >= 400) {
    const { summary, handler } = failureSummary(trace, exceptions)
    collectors.exceptions = { summary, ...firstAppFrame(exceptions) === undefined && { handler } }
  }
  if (!sending.wasSent) delete collectors.response
  const cut = endingSentence(sending.state, sentHeaders)
  const { exceptions: failure = null } = collectors as { exceptions?: { summary: string } }
  if (cut !== null && failure !== null) failure.summary += ` ${cut}`
  else if (cut !== null && (status === 0 || !hasFailed)) collectors.exceptions = { summary: cut }
  // A part of the response was sent, with its status.
  if (cut !== null && status !== 0) Object.assign(Object(collectors.exceptions), { isCutOff: true })
  for (const { name, build } of parts) {
    const data = build?.({ trace, status, collectors })
    if (data !== undefined) collectors[name] = data
  }
  if (otherErrors.length > 0) collectors.otherErrors = otherErrors
  const others = caught.filter(({ error }) => error !== silent?.error)
  if (others.length > 0) {
    const note = recording.missesThrown ? { note: UNREAD } : {}
    collectors.caughtErrors = { count: others.length, lines: caughtLines(others, mask), ...note }
  }
  return {
    version: PROFILE_VERSION,
    token,
    time: new Date(timing.startedTime).toISOString(),
    duration: Math.round((end - timing.startedAt - internal) * 1000) / 1000,
    method: request.method,
    url: mask.url(absoluteUrl(origin, targetOf(request))),
    ip: origin.ip,
    status,
    route,
    exceptions,
    logs: logsOf(recording, mask, maxBytes),
    events,
    collectors,
    ...(parent !== undefined && { parent }),
    ...(typeof followOf === 'string' && { followOf }),
    ...(replayOf !== undefined && { replayOf })
  }
}

/** The characters of a name or an id of a job: a queue may put whole addresses there. */
const MAX_NAME = 200

/** A name or an id of a job, masked before it is truncated. */
export function shownName (mask: Mask, name: string): string {
  return cutMasked(mask.text, name, MAX_NAME).shown
}

/** Makes the profile of a job after its end, or until now. */
export function buildJobProfile (
  trace: JobTrace, parts: readonly Part[], { maxBytes, ofApplication, collected = {} }: BuildOptions
): Profile {
  const { facts, recording, mask } = trace
  const { failure, missesThrown, otherErrors: others, parent, timing, token = '' } = recording
  const name = shownName(mask, facts.name)
  const { id } = facts
  const { exceptions, otherErrors } = errorsOf(trace, others)
  const collectors: Record<string, unknown> = { ...recordedData(trace), ...ofApplication, ...collected }
  let outcome: NonNullable<Profile['outcome']> = recording.isOver ? 'done' : 'running'
  if (failure !== null) {
    outcome = 'failed'
  }
  for (const part of parts) {
    const data = part.build?.({ trace, status: 0, collectors })
    if (data !== undefined) collectors[part.name] = data
  }
  if (otherErrors.length > 0) collectors.otherErrors = otherErrors
  const caught = recording.isOver ? caughtErrors(recording) : []
  if (caught.length > 0) {
    const note = missesThrown ? { note: UNREAD } : {}
    collectors.caughtErrors = { count: caught.length, lines: caughtLines(caught, mask), ...note }
  }
  return {
    version: PROFILE_VERSION,
    token,
    ...facts,
    ...id !== undefined && { id: shownName(mask, id) },
    name,
    outcome,
    time: new Date(timing.startedTime).toISOString(),
    duration: Math.round(((timing.endedAt || performance.now()) - timing.startedAt) * 1000) / 1000,
    method: facts.kind.toUpperCase(),
    url: name,
    ip: '',
    status: 0,
    route: null,
    exceptions,
    logs: logsOf(recording, mask, maxBytes),
    events: [],
    collectors,
    ...parent !== undefined && { parent }
  }
}

/** The error that the response is about, and further ones, when the response has ended. */
function errorsAtEnd (trace: RequestTrace): RequestErrors {
  const { recording, mask } = trace
  const { failure, raised, otherErrors, sending: { state } } = recording
  if (state.kind === 'replaced') {
    // The body of the response that is lost is written after that.
    const isLate = (one: unknown): boolean => codeOf(one) === 'ERR_STREAM_WRITE_AFTER_END'
    const earlier = otherErrors.filter((one) => !isLate(one))
    return errorsOf(trace, [...earlier, lostResponse(state.lost), ...otherErrors.filter(isLate)])
  }
  if (!('error' in state)) return errorsOf(trace, otherErrors)
  const { error } = state
  // An upload that its client breaks off is an error of the parser, too.
  if (failure !== null && isConnectionError(raised)) {
    const [exceptions = [], ...others] = [error, raised, ...otherErrors].map((one) =>
      maskExceptions(flattenError(one), mask))
    return { exceptions, otherErrors: others }
  }
  // Where the application has raised an error before, its connection was closed for that one.
  const isOfServer = error instanceof NoResponseError || error instanceof ProcessExitError
  const follows = (isOfServer || isHeadersSent(error)) && !isConnectionError(otherErrors[0])
  const others = follows ? [...otherErrors, error] : [error, ...otherErrors]
  return errorsOf(trace, [...new Set(others)])
}

/** That an error has cut off a response, or that the server sent none; null: it is complete. */
function endingSentence (state: Sending, { 'content-length': length }: Headers): string | null {
  if (state.kind !== 'failed') return null
  const { begun, error } = state
  if (error instanceof ProcessExitError || (!begun && error instanceof NoResponseError)) return `${error.message}.`
  if (error instanceof NoResponseError) return null
  if (!begun) return 'The server closed the connection before the response was sent.'
  const sent = state.bytes === undefined ? '' : ` after ${formatSize(state.bytes)} with its headers`
  const body = length === undefined ? '' : `, of a body of ${formatSize(Number(length))}`
  return `The response was cut off${sent}${body}.`
}

// Masking is slower than parsing: lines for which there is no space are not masked.
function logsOf ({ log }: Recording, mask: Mask, maxBytes: number): LogRecord[] {
  const lines = log?.records(appSource) ?? []
  if (log === undefined || lines.length === 0) return []
  const isShort = log.bytes + lines.length * LINE_BYTES < maxBytes / 2
  const reason = `they are longer than ${formatSize(maxBytes)}`
  const fitting = isShort ? lines : fittingLogs(lines, maxBytes, reason)
  return fitting.map((line) => log.masked(line, mask))
}

/** The profile of a message that never became a request: no route, no events, the refused bytes as masked text. */
export function malformedProfile (refused: MalformedMessage, mask: Mask): Profile {
  const { error, status, method, url, ip, packet } = refused
  return {
    version: PROFILE_VERSION,
    token: newToken(),
    time: new Date().toISOString(),
    duration: 0,
    method,
    url: mask.url(url),
    ip,
    status,
    route: null,
    exceptions: maskExceptions(flattenError(error), mask),
    logs: [],
    events: [],
    collectors: { request: { rawMessage: mask.message(packet) } }
  }
}

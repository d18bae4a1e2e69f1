import { roundTime } from '../../clock.js'
import { attemptCall } from '../../call.js'
import { declaredPlace } from '../../errors/declared-place.js'
import { shortFile } from '../../errors/stack-frame.js'
import { codeOf } from '../../errors/thrown-value.js'
import { isRetrieval } from '../../http/requests.js'
import { isLifecycleStage } from '../../recording/events.js'
import { RequestTrace, type WorkTrace } from '../../recording/trace.js'
import type { Profile } from '../../store/profile.js'
import { formatTime } from '../../view/components.js'
import { cutText, presentItems } from '../../view/text.js'
import { recordedData } from '../collect.js'
import { definePart, type Part } from '../part.js'
import { lineOf, timelineOf } from '../read.js'
import { releaseResources } from './resources.js'
import { releaseWaits, waitsOf } from './trace.js'

/** The code that a request is in. */
interface CurrentCode {
  /** Such as `the preHandler hook authenticate`. */
  name: string
  /** `file:line`, where a hook was added or a route was declared; null: unknown. */
  source: string | null
  /** Milliseconds since the request arrived; null: unknown. */
  start: number | null
}

/** Something that a request has begun and that has not ended. */
interface PendingWork extends CurrentCode {
  /** `timer`, `await`, `promise`, or the name of such an entry of the timeline: `query`, `outgoing HTTP call`, … */
  kind: string
}

type Validator = (() => unknown) & { schemaEnv?: { $async?: boolean } }

/** What a request waits for, masked: the data of the part `waiting`. */
export interface Waiting {
  in: CurrentCode | null
  for: PendingWork[]
  /** Whether its timers and promises were traced; otherwise they are missing. */
  traced: boolean
}

const VALIDATED = ['params', 'body', 'querystring', 'headers'] as const
const MAX_PENDING = 20
const MAX_NAME = 300

/** Milliseconds after which a request that has not ended is shown. */
export const MIN_AGE = 1_000

/** What a request waited for when its handler had no more time, or when its connection was closed. */
export const waited = definePart<Waiting>({
  name: 'waiting',
  fail (trace, error) {
    if (codeOf(error) === 'FST_ERR_HANDLER_TIMEOUT') keepWaiting(trace, trace.scope.hindsight.parts)
    return undefined
  },
  end (trace, parts, error) {
    const { recording } = trace
    const isWhole = recording.isRecording && !recording.isPartial
    if (isWhole && recording.age >= MIN_AGE && error !== undefined) keepWaiting(trace, parts)
    releaseWaits(recording)
    releaseResources(recording)
  },
  pending (trace, parts) {
    const data = waitingOf(trace, parts)
    return { data, sentences: waitingSentences(data, Math.round(trace.recording.age)) }
  }
})

function keepWaiting (trace: WorkTrace, parts: readonly Part[]): void {
  trace.recording.set(waited, waitingOf(trace, parts))
}

/** What a request, or other work, waits for that has not ended, as far as that is certain. */
function waitingOf (trace: WorkTrace, parts: readonly Part[]): Waiting {
  // Getters of the application may throw.
  return attemptCall(() => readWaiting(trace, parts), () => ({ in: null, for: [], traced: false }))
}

function readWaiting (trace: WorkTrace, parts: readonly Part[]): Waiting {
  const { recording } = trace
  const { timing: { startedAt } } = recording
  const pending = pendingEntries(trace, parts)
  const waits = waitsOf(recording)
  const traced = (waits ?? [])
    .map(({ startedAt: began, ...wait }) => ({ ...wait, start: roundTime(began - startedAt) }))
  return {
    in: trace instanceof RequestTrace ? currentCode(trace) : null,
    // A line that waits for a query is that of the query.
    for: [...pending, ...traced.filter(({ source }) => pending.every((entry) => entry.source !== source))]
      .slice(0, MAX_PENDING),
    traced: waits !== null
  }
}

/** The queries, calls and spans that have not ended. */
function pendingEntries (trace: WorkTrace, all: readonly Part[]): PendingWork[] {
  const parts = all
    .filter(({ name, timeline, collect }) => timeline !== undefined && collect === undefined && name !== 'performance')
  const collectors = recordedData(trace, parts.map(({ name }) => name))
  const { age } = trace.recording
  const profile = { duration: age, collectors, exceptions: [], logs: [], events: [] } as unknown as Profile
  return timelineOf(parts, profile).filter(({ duration }) => duration === null)
    .map(({ legend: kind, name, source, start }) =>
      ({ kind, name: cutText(name, MAX_NAME), source: source == null ? null : lineOf(source), start }))
}

function currentCode (trace: RequestTrace): CurrentCode | null {
  const { reply, declaredRoute, recording } = trace
  const { events, sending: { hasResponse }, timing: { startedAt, handlerStart, handlerEnd } } = recording
  const { options = {}, declaredAt } = declaredRoute ?? {}
  const route = (declaredAt && declaredPlace(declaredAt)?.source) ?? null
  const isHijacked = reply.sent && !hasResponse
  const run = events?.current
  if (run != null) {
    const code = codeAt(functionName(run.callee), run.callee.source, roundTime(run.startedAt - startedAt))
    if (isHijacked) code.name += ', whose hijacked reply has not ended'
    return code
  }
  if (isHijacked) return codeAt('a hijacked reply that has not ended', route)
  if (reply.raw.headersSent) return codeAt(`the response, ${unsentPart(trace)}`, route)
  const by = events?.currentCode
  if (by === 'error handler') {
    const code = codeAt('the error handler')
    if (options.errorHandler !== undefined) code.source = route
    if (options.onError !== undefined) code.name += ' or an onError hook of the route'
    return code
  }
  // The hook is an option of the handler, which nothing reports.
  if (by === 'not-found handler') return codeAt('the not-found handler or its preHandler hook')
  if (handlerStart !== 0 && handlerEnd === 0) {
    const code = codeAt('the handler', route, roundTime(handlerStart - startedAt))
    if (by === 'handler or route hooks') code.name += ' or a preHandler hook of its route'
    return code
  }
  const { stages, others } = possibleCode(trace, route)
  const hooks = stages.flatMap((stage) =>
    [options[stage] ?? []].flat().map((hook) => ({ stage, listener: (hook as () => void).name })))
  const [first] = hooks
  const names = presentItems([first && 'a hook of the route', ...others.map(({ name }) => name)])
  if (hooks.length + others.length > 1) return codeAt(names.join(', or '), route)
  if (first === undefined) return others[0] ?? null
  return codeAt(`${functionName(first)} of the route`, route)
}

function codeAt (name: string, source: string | null = null, start: number | null = null): CurrentCode {
  return { name, source, start }
}

// A hook without a name may have that of its stage.
function functionName ({ stage, listener }: { stage: string, listener: string }): string {
  if (isLifecycleStage(stage)) return `the listener ${listener}`
  if (listener === '' || listener === stage) return `the ${stage} hook`
  return `the ${stage} hook ${listener}`
}

function unsentPart ({ reply, recording }: RequestTrace): string {
  if (reply.raw.writableNeedDrain) return 'which its client does not read'
  const part = reply.hasHeader('trailer') ? 'trailer' : 'body'
  return `whose ${recording.sending.stream ?? part} has not ended`
}

/** The stages whose hooks of the route may run while no recorded function does, and what else may. */
function possibleCode (trace: RequestTrace, route: string | null) {
  const { request: { body }, recording: { sending: { hasResponse, stream }, timing } } = trace
  if (timing.responseReadyAt !== 0) {
    const silent = stream !== undefined && codeAt(`the response, whose ${stream} has sent nothing`, route)
    return { stages: ['onSend'] as const, others: presentItems([silent]) }
  }
  if (hasResponse) return { stages: [], others: [] }
  if (timing.serializeStart !== 0) return { stages: ['preSerialization'] as const, others: [] }
  // Fastify itself waits for nothing before the handler.
  const isParsed = timing.parsedAt !== 0 || body != null
  if (isParsed) return { stages: ['preValidation'] as const, others: validatorsOf(trace, route) }
  return { stages: ['onRequest', 'preParsing'] as const, others: parsersOf(trace) }
}

function validatorsOf ({ request }: RequestTrace, route: string | null): CurrentCode[] {
  if (request.is404) return [codeAt('the preValidation hook of the not-found handler')]
  const waiting = VALIDATED.filter((part) => {
    const validate = request.getValidationFunction(part) as Validator | undefined
    // The functions of ajv are synchronous, unless their schema has `$async`.
    return typeof validate === 'function' && (validate.schemaEnv?.$async ?? !('schemaEnv' in validate))
  })
  return waiting.map((part) => codeAt(`the validator of the ${part}`, route))
}

function parsersOf ({ request, recording: { events } }: RequestTrace): CurrentCode[] {
  const { raw, headers } = request
  if (raw.complete === false && raw.readableLength < raw.readableHighWaterMark) {
    return [codeAt('the parser: the body of the request has not arrived')]
  }
  if (headers['content-type'] === undefined || isRetrieval(request)) return []
  const parsers = [codeAt('the content-type parser')]
  const hasHook = events?.events().some(({ stage }) => stage === 'preParsing')
  if (hasHook === true) parsers.push(codeAt('the stream that a preParsing hook returned'))
  return parsers
}

/** A sentence for the code that the request is in, and one for each work; `until`: milliseconds until its end. */
export function waitingSentences ({ in: code, for: pending }: Waiting, until: number): string[] {
  const sentence = (what: string, { source, start }: CurrentCode): string => presentItems([
    what,
    source !== null && shortFile(source),
    start !== null && `for ${formatTime(Math.max(0, until - start))}`
  ]).join(', ') + '.'
  const works = pending.map((work) => sentence(`Not ended: ${workText(work)}`, work))
  if (code === null) return works
  return [sentence(`In ${code.name}`, code), ...works]
}

function workText ({ kind, name }: PendingWork): string {
  if (name === '') return kind
  if (['await', 'promise', 'timer'].includes(kind)) return `${kind} in ${name}`
  return `${kind} ${name}`
}

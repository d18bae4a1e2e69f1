import { roundTime } from '../../clock.js'
import { attemptCall } from '../../call.js'
import { declaredPlace } from '../../errors/declared-place.js'
import { shortFile } from '../../errors/stack-frame.js'
import { readProperty } from '../../errors/thrown-value.js'
import { isRetrieval } from '../../http/requests.js'
import { isLifecycleStage } from '../../lifecycle/events.js'
import type { RequestTrace } from '../../lifecycle/state.js'
import type { Profile } from '../../store/profile.js'
import { formatTime } from '../../view/components.js'
import { cutText } from '../../view/text.js'
import { unfinishedProfile } from '../collect.js'
import { definePart } from '../part.js'
import { lineOf, timelineOf } from '../read.js'
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
    if (readProperty(error, 'code') === 'FST_ERR_HANDLER_TIMEOUT') keepWaiting(trace)
    return undefined
  },
  end (trace, ending) {
    const { recording } = trace
    const isWhole = recording.isRecording && !recording.isPartial
    if (isWhole && recording.age >= MIN_AGE && 'error' in ending) keepWaiting(trace)
    releaseWaits(recording)
  },
  pending (trace) {
    const data = waitingOf(trace)
    return { data, sentences: waitingSentences(data, Math.round(trace.recording.age)) }
  }
})

function keepWaiting (trace: RequestTrace): void {
  trace.recording.set(waited, waitingOf(trace))
}

/** What a request waits for that has not ended, as far as that is certain. */
function waitingOf (trace: RequestTrace): Waiting {
  // Getters of the application may throw.
  return attemptCall(() => readWaiting(trace), () => ({ in: null, for: [], traced: false }))
}

function readWaiting (trace: RequestTrace): Waiting {
  const { recording } = trace
  const { timing: { startedAt } } = recording
  const pending = pendingEntries(trace)
  const waits = waitsOf(recording)
  const traced = (waits ?? [])
    .map(({ startedAt: began, ...wait }) => ({ ...wait, start: roundTime(began - startedAt) }))
  return {
    in: currentCode(trace),
    // A line that waits for a query is that of the query.
    for: [...pending, ...traced.filter(({ source }) => pending.every((entry) => entry.source !== source))]
      .slice(0, MAX_PENDING),
    traced: waits !== null
  }
}

/** The queries, calls and spans that have not ended. */
function pendingEntries (trace: RequestTrace): PendingWork[] {
  const parts = trace.scope.hindsight.parts
    .filter(({ name, timeline, collect }) => timeline !== undefined && collect === undefined && name !== 'performance')
  const profile = { ...unfinishedProfile(trace, parts), url: '', events: [] } as unknown as Profile
  return timelineOf(parts, profile).filter(({ duration }) => duration === null)
    .map(({ legend: kind, name, source, start }) =>
      ({ kind, name: cutText(name, MAX_NAME), source: source == null ? null : lineOf(source), start }))
}

function currentCode (trace: RequestTrace): CurrentCode | null {
  const { reply, declaredRoute } = trace
  const { events, sending: { hasResponse, stream }, timing } = trace.recording
  const { startedAt, handlerStart, handlerEnd, serializeStart, responseReadyAt } = timing
  const code = (name: string, source: string | null = null, time?: number): CurrentCode =>
    ({ name, source, start: time === undefined ? null : roundTime(time - startedAt) })
  const run = events?.current
  const by = events?.currentCode
  const { options = {}, declaredAt } = declaredRoute ?? {}
  const route = declaredAt == null ? null : declaredPlace(declaredAt)?.source ?? null
  const isHijacked = reply.sent && !hasResponse
  if (run != null) {
    const { stage, listener, source } = run.callee
    const hook = `the ${stage} hook${listener === stage ? '' : ` ${listener}`}`
    const name = isLifecycleStage(stage) ? `the listener ${listener}` : hook
    return code(isHijacked ? `${name}, whose hijacked reply has not ended` : name, source, run.startedAt)
  }
  if (isHijacked) return code('a hijacked reply that has not ended', route)
  if (reply.raw.headersSent) {
    const isFull = reply.raw.writableNeedDrain
    const body = `whose ${stream ?? (reply.hasHeader('trailer') ? 'trailer' : 'body')} has not ended`
    return code(`the response, ${isFull ? 'which its client does not read' : body}`, route)
  }
  if (by === 'error handler') {
    const isOfRoute = options.errorHandler !== undefined
    const orHook = options.onError === undefined ? '' : ' or an onError hook of the route'
    return code(`the error handler${orHook}`, isOfRoute ? route : null)
  }
  if (by === 'not-found handler') {
    // The hook is an option of the handler, which nothing reports.
    return code('the not-found handler or its preHandler hook')
  }
  if (handlerStart !== 0 && handlerEnd === 0) {
    const mayBeHook = by === 'handler or route hooks'
    return code(mayBeHook ? 'the handler or a preHandler hook of its route' : 'the handler', route, handlerStart)
  }
  const isBefore = !hasResponse && serializeStart === 0
  const before = isBefore ? beforeHandler(trace, route) : { stages: ['preSerialization'] as const, others: [] }
  const stages = responseReadyAt !== 0 ? ['onSend'] as const : hasResponse ? [] : before.stages
  const hooks = stages.flatMap((stage) =>
    [options[stage] ?? []].flat().map((hook) => ({ stage, hook: hook as () => void })))
  const isSilent = responseReadyAt !== 0 && stream !== undefined
  const others = isSilent ? [code(`the response, whose ${stream} has sent nothing`, route)] : before.others
  const [first] = hooks
  const names = [...first === undefined ? [] : ['a hook of the route'], ...others.map(({ name }) => name)]
  if (hooks.length + others.length > 1) return code(names.join(', or '), route)
  if (first === undefined) return others[0] ?? null
  const { hook, stage } = first
  const name = hook.name === '' || hook.name === stage ? '' : ` ${hook.name}`
  return code(`the ${stage} hook${name} of the route`, route)
}

/**
 * The stages whose hooks of the route may run before the handler while no recorded function does, and what else may.
 * Fastify itself waits for nothing there.
 */
function beforeHandler ({ request, recording }: RequestTrace, route: string | null) {
  const { events, timing: { parsedAt } } = recording
  const { body, raw, headers } = request
  const code = (name: string, source: string | null = null): CurrentCode => ({ name, source, start: null })
  if (parsedAt !== 0 || body != null) {
    const validators = VALIDATED.flatMap((part) => {
      const validate = request.getValidationFunction(part) as Validator | undefined
      // The functions of ajv are synchronous, unless their schema has `$async`.
      const mayWait = typeof validate === 'function' && (validate.schemaEnv?.$async ?? !('schemaEnv' in validate))
      return mayWait ? [code(`the validator of the ${part}`, route)] : []
    })
    const hook = code('the preValidation hook of the not-found handler')
    return { stages: ['preValidation'] as const, others: request.is404 ? [hook] : validators }
  }
  const isFull = raw.readableLength >= raw.readableHighWaterMark
  const isBodyMissing = raw.complete === false && !isFull
  const hasStream = events?.events().some(({ stage }) => stage === 'preParsing') === true
  const hasBody = headers['content-type'] !== undefined && !isRetrieval(request)
  const parser = code('the content-type parser')
  const parsers = hasStream ? [parser, code('the stream that a preParsing hook returned')] : [parser]
  const missing = code('the parser: the body of the request has not arrived')
  return { stages: ['onRequest', 'preParsing'] as const, others: isBodyMissing ? [missing] : hasBody ? parsers : [] }
}

/** A sentence for the code that the request is in, and one for each work; `until`: milliseconds until its end. */
export function waitingSentences ({ in: code, for: pending }: Waiting, until: number): string[] {
  const sentence = (what: string, { source, start }: CurrentCode): string => [
    what,
    ...source === null ? [] : [shortFile(source)],
    ...start === null ? [] : [`since ${formatTime(Math.max(0, until - start))}`]
  ].join(', ') + '.'
  return [
    ...code === null ? [] : [sentence(`In ${code.name}`, code)],
    ...pending.map((work) => {
      const isOfFunction = ['await', 'promise', 'timer'].includes(work.kind)
      const name = work.name === '' ? '' : ` ${isOfFunction ? 'in ' : ''}${work.name}`
      return sentence(`Not ended: ${work.kind}${name}`, work)
    })
  ]
}

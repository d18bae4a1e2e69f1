import type { FastifyReply, FastifyRequest } from 'fastify'
import { functionPlace, handlerFrame } from '../../errors/declared-place.js'
import { maskOf } from '../../errors/masked-exceptions.js'
import { shortFile } from '../../errors/stack-frame.js'
import { recordingOf } from '../../lifecycle/request-state.js'
import { servicesOf } from '../../lifecycle/services.js'
import type { Profile } from '../../store/profile.js'
import { cut } from '../../view/visible.js'
import { attempt, round } from '../collect.js'
import { timelineOf } from '../read.js'
import { unfinishedProfile } from '../unfinished.js'
import { isTracing, waitsOf } from './trace.js'

/** The code that a request is in. */
interface CurrentCode {
  /** Such as `the preHandler hook authenticate`. */
  name: string
  /** `file:line`: of a hook where it was added, of the handler where it is defined; null: unknown. */
  source: string | null
  /** Milliseconds since the request arrived; null: unknown. */
  start: number | null
}

/** Something that a request has begun and that has not ended. */
interface PendingWork extends CurrentCode {
  /** `timer`, `await`, `promise`, or the name of such an entry of the timeline: `query`, `outgoing HTTP call`, … */
  kind: string
}

/** What a request waits for, masked: the data of the part `waiting`. */
export interface Waiting {
  in: CurrentCode | null
  for: PendingWork[]
  /** Whether its timers and promises were traced; otherwise they are missing. */
  traced: boolean
}

/** A body is read between the second and the third. */
const BEFORE_HANDLER = ['onRequest', 'preParsing', 'preValidation'] as const
const MAX_PENDING = 20
const MAX_NAME = 300

/** What a request waits for that has not ended, as far as that is certain. */
export function waitingOf (request: FastifyRequest, reply: FastifyReply): Waiting {
  // Getters of the application may throw.
  return attempt(() => readWaiting(request, reply), () => ({ in: null, for: [], traced: false }))
}

function readWaiting (request: FastifyRequest, reply: FastifyReply): Waiting {
  const recording = recordingOf(request)
  const { timing: { startedAt } } = recording
  const pending = pendingEntries(request, reply)
  const traced = waitsOf(recording)
    .map(({ startedAt: began, ...wait }) => ({ ...wait, start: round(began - startedAt) }))
  return {
    in: currentCode(request, reply),
    // A line that waits for a query is that of the query.
    for: [...pending, ...traced.filter(({ source }) => pending.every((entry) => entry.source !== source))]
      .slice(0, MAX_PENDING),
    traced: isTracing() && recording.waits !== undefined
  }
}

/** The queries, calls and spans that have not ended. */
function pendingEntries (request: FastifyRequest, reply: FastifyReply): PendingWork[] {
  const { redact } = maskOf(request)
  const parts = servicesOf(request).parts
    .filter(({ name, timeline, collect }) => timeline !== undefined && collect === undefined && name !== 'performance')
  const profile = { ...unfinishedProfile(request, reply, parts), url: '', events: [] } as unknown as Profile
  return timelineOf(parts, profile).filter(({ duration }) => duration === null)
    .map(({ legend = 'work', name, source, start }) => ({
      kind: legend, name: cut(redact(name), MAX_NAME), source: source?.replace(/(:\d+):\d+$/, '$1') ?? null, start
    }))
}

function currentCode (request: FastifyRequest, reply: FastifyReply): CurrentCode | null {
  const { events, failure, wasSent = false, streamed, timing } = recordingOf(request)
  const { startedAt, handlerStart, handlerEnd, serializeStart, responseReadyAt } = timing
  const code = (name: string, source: string | null = null, time?: number): CurrentCode =>
    ({ name, source, start: time === undefined ? null : round(time - startedAt) })
  const run = events?.current
  const { by, source: route = null } = events?.currentCode ?? {}
  const frame = handlerFrame(request)
  const handler = frame === null ? route : `${frame.file}:${frame.line}`
  const isHijacked = reply.sent && !wasSent
  if (run != null) {
    const { stage, listener, source } = run.callee
    const name = stage.startsWith('kernel.') ? `the listener ${listener}` : `the ${stage} hook ${listener}`
    return code(isHijacked ? `${name}, whose hijacked reply has not ended` : name, source, run.startedAt)
  }
  if (isHijacked) return code('a hijacked reply that has not ended', handler)
  if (reply.raw.headersSent) {
    const isFull = reply.raw.writableNeedDrain
    const body = `whose ${streamed ?? 'body'} has not ended`
    return code(`the response, ${isFull ? 'which its client does not read' : body}`, handler)
  }
  if (by === 'error handler') return code('the error handler')
  if (handlerStart !== 0 && handlerEnd === 0) {
    const mayBeHook = by === 'handler or route hooks'
    return code(mayBeHook ? 'the handler or a preHandler hook of its route' : 'the handler', handler, handlerStart)
  }
  const isBodyMissing = handlerStart === 0 && failure === null && request.raw.complete === false
  const before = BEFORE_HANDLER.slice(0, isBodyMissing ? 2 : 3)
  const beforeSend = serializeStart === 0 ? before : ['preSerialization'] as const
  const stages = responseReadyAt !== 0 ? ['onSend'] as const : wasSent ? [] : beforeSend
  const { options } = servicesOf(request).routeTable.of(request) ?? {}
  const hooks = stages.flatMap((stage) =>
    [options?.[stage] ?? []].flat().map((hook) => ({ stage, hook: hook as () => void })))
  const others = [
    ...isBodyMissing ? ['the parser: the body of the request has not arrived'] : [],
    ...responseReadyAt !== 0 && streamed !== undefined ? [`the response, whose ${streamed} has sent nothing`] : []
  ]
  const [first] = hooks
  if (first === undefined) return others[0] === undefined ? null : code(others[0], isBodyMissing ? null : handler)
  if (hooks.length + others.length > 1) return code(['a hook of the route', ...others].join(', or '), route)
  const { hook, stage } = first
  const name = hook.name === '' || hook.name === stage ? '' : ` ${hook.name}`
  return code(`the ${stage} hook${name} of the route`, functionPlace(hook) ?? route)
}

/** A sentence for the code that the request is in, and one for each work; `until`: milliseconds until its end. */
export function sentencesOf ({ in: code, for: pending }: Waiting, until: number): string[] {
  const sentence = (what: string, { source, start }: CurrentCode): string => [
    what,
    ...source === null ? [] : [shortFile(source)],
    ...start === null ? [] : [`since ${(Math.max(0, until - start) / 1000).toFixed(1)} s`]
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

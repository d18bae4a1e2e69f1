import { createHook, executionAsyncId } from 'node:async_hooks'
import { performance } from '../../clock.js'
import type { StackFrame } from '../../errors/exception.js'
import { packageOf, positionOf, splitStack, stackFrames } from '../../errors/stack-frame.js'
import { currentContext } from '../../recording/trace.js'
import type { Recording, Slot } from '../../recording/recording.js'
import type { WorkKind, WorkLog } from '../../recording/work-log.js'
import { withStackLimit } from '../../call.js'

/** Something that began in a request and has not ended: a timer, the rest of a function after `await`, a promise. */
interface Wait {
  kind: 'timer' | 'await' | 'promise'
  /** Its stack is that of the code that began it, formatted when it is read. */
  at: { stack?: string }
  /** On the clock of `performance.now()`. */
  startedAt: number
  timer?: Timer
  /** Keeps a wait that has ended. */
  log?: WorkLog | undefined
}

type Timer = Pick<NodeJS.Timeout, 'hasRef'>

/** A wait with the place that began it, `file:line`, and the function of that place; empty: it has no name. */
interface TracedWait extends Pick<Wait, 'kind' | 'startedAt'> { name: string, source: string }

/** What a request waits for, by asynchronous ids; only where that is traced. The profile has what is found in it. */
const tracedWaits: Slot<Map<number, Wait>> = { name: 'traced waits', data: () => undefined }

const AWAIT: WorkKind = { one: 'await', many: 'awaits', rank: 2 }
/** Milliseconds from which an `await` that has ended is kept. */
const MIN_WAIT = 1
const MAX_WAITS = 2_000
const MAX_FRAMES = 12

/** The waits that an asynchronous id belongs to. */
const owners = new Map<number, Map<number, Wait>>()
/** For whom waits are traced. */
const tracers = new Set<object>()

// An exception in one of these functions would end the process.
const hook = createHook({
  init: beginWait,
  before: endWait,
  promiseResolve: endWait,
  // A promise that nothing can settle is destroyed, too, and the request waits for it nevertheless.
  destroy (id) { if (owners.get(id)?.get(id)?.kind === 'timer') endWait(id) }
})

function beginWait (id: number, type: string, triggerId: number, resource: object): void {
  if (type !== 'PROMISE' && type !== 'Timeout') return
  const recording = currentContext()?.trace?.recording
  if (recording === undefined || recording.isOver) return
  const waits = recording.get(tracedWaits) ?? recording.set(tracedWaits, new Map<number, Wait>())
  if (waits.size >= MAX_WAITS) return
  const wait: Wait = { kind: 'timer', at: {}, startedAt: performance.now(), log: recording.work }
  // In a bundle this function is in the file of the application.
  withStackLimit(MAX_FRAMES, () => Error.captureStackTrace(wait.at, beginWait))
  if (type === 'Timeout') wait.timer = resource as Timer
  // A promise that another one has to settle first is made by `await` or `then`.
  else wait.kind = triggerId === executionAsyncId() ? 'promise' : 'await'
  waits.set(id, wait)
  owners.set(id, waits)
}

function endWait (id: number): void {
  const wait = owners.get(id)?.get(id)
  if (wait?.kind === 'await') keepWait(wait)
  owners.get(id)?.delete(id)
  owners.delete(id)
}

function keepWait ({ at, startedAt, log }: Wait): void {
  const endedAt = performance.now()
  if (endedAt - startedAt < MIN_WAIT) return
  log?.begin(AWAIT, {
    startedAt,
    endedAt,
    source () {
      const [frame] = appFrames(at, 'await')
      return frame === undefined ? null : positionOf(frame)
    }
  })
}

/** Begins or ends to trace the waits of requests for an application: it makes a request about 0.2 ms slower. */
export function traceWaits (tracer: object, isOn: boolean): void {
  if (isOn) tracers.add(tracer)
  else tracers.delete(tracer)
  if (tracers.size > 0) hook.enable()
  else {
    hook.disable()
    // What ends from now on is not recorded.
    for (const waits of owners.values()) waits.clear()
    owners.clear()
  }
}

export function isTracing (): boolean {
  return tracers.size > 0
}

/** Releases the waits of a request that is over. */
export function releaseWaits (recording: Recording): void {
  const waits = recording.get(tracedWaits)
  for (const id of waits?.keys() ?? []) owners.delete(id)
  waits?.clear()
}

/**
 * What a request waits for, as far as it is traced: timers, and the innermost code that has not continued. Null: it is
 * not traced.
 */
export function waitsOf (recording: Recording): TracedWait[] | null {
  const waits = recording.get(tracedWaits)
  if (waits === undefined || !isTracing()) return null
  const all = [...waits.values()].flatMap(({ at, kind, startedAt, timer }) => {
    // Nothing waits for an unreferenced timer, except for a promise.
    if (timer?.hasRef() === false && !at.stack?.includes('node:timers/promises')) return []
    const frames = appFrames(at, kind)
    const [source, ...callers] = frames.map(({ file, line }) => `${file}:${line}`)
    const name = frames[0]?.function.replace(/^.*<anonymous>$|^(?:async )?(?:Object\.)?/, '') ?? ''
    if (source === undefined) return []
    return [{ kind, startedAt, name, source, callers }]
  })
  const wanted = all.some(({ kind }) => kind === 'await') ? 'await' : 'promise'
  const promises = all.filter(({ kind }) => kind === wanted)
  // A function that waits for another one is a caller of what that one waits for.
  const outer = new Set(promises.flatMap(({ source, callers }) => callers.filter((place) => place !== source)))
  const found = [...all.filter(({ kind }) => kind === 'timer'), ...promises.filter(({ source }) => !outer.has(source))]
  return found.filter(({ source }, i) => found.findIndex((other) => other.source === source) === i)
    .map(({ callers: _, ...wait }) => wait)
}

/**
 * The calls of the application, up to Fastify: what has called Fastify is an earlier hook, which has ended. None for a
 * timer that a package or Node.js has set for itself.
 */
function appFrames ({ stack = '' }: Wait['at'], kind: Wait['kind']): StackFrame[] {
  const isOfOthers = ({ file, own }: StackFrame): boolean => packageOf(file) === 'fastify' ||
    (kind === 'timer' && !own && !/^node:(?:internal\/)?(?:timers|async_hooks|util\b)/.test(file))
  const frames: StackFrame[] = []
  for (const frame of stackFrames(splitStack(String(stack), '').frames)) {
    if (isOfOthers(frame)) break
    if (frame.own) frames.push(frame)
  }
  return frames
}

import type { FastifyReply } from 'fastify'
import { performance } from '../clock.js'
import {
  changesBetween, headersOf, shownChange, type Change, type HeaderMask, type Headers, type ListenerEvent,
  type Outcome, type PassName, type Slot
} from './events.js'

/** Code whose functions are not recorded. */
type UnrecordedCode =
  'before Hindsight' | 'route hooks' | 'handler' | 'handler or route hooks' | 'not-found handler' | 'error handler' |
  'Fastify' | 'diagnostic page' | 'Hindsight'

/** A header that was changed by code that is not recorded as an event. */
interface UnrecordedChange extends Change {
  by: UnrecordedCode
  /** Where the route was declared, `file:line`; of the handler and of hooks of the route. */
  source?: string
  /** How many events there were before it. */
  after: number
}

/** A function that is recorded: a listener, or a hook of the application. */
export interface RecordedFunction {
  stage: string
  listener: string
  /** The place in the order of listeners; -1 for a hook. */
  index: number
  /** Of a hook: the plugin that added it. */
  plugin?: string | undefined
  /** Of a hook: where it was added, `file:line`. */
  source?: string | undefined
}

/** Finds the place of code, `file:line`; it reads files, and is called when a profile is built. */
type FindSource = () => string | null | undefined

interface CurrentCode { by: UnrecordedCode, find?: FindSource | undefined }

/** A recorded function that runs, or has run. */
export class HookRun {
  readonly callee: RecordedFunction
  readonly pass: PassName
  /** The run that was running when this one began. */
  readonly outer: HookRun | null
  /** Milliseconds on the clock of `performance.now()`. */
  readonly startedAt: number
  duration = 0
  outcome: Outcome = 'running'
  reason: string | null = null
  readonly statusBefore: number
  statusAfter: number
  headers: Change[] | null = null
  isOver = false
  /** The number of events up to its own. */
  position = 0

  constructor (callee: RecordedFunction, pass: PassName, status: number, outer: HookRun | null) {
    this.callee = callee
    this.pass = pass
    this.outer = outer
    this.startedAt = performance.now()
    this.statusBefore = this.statusAfter = status
  }
}

/** Headers that Fastify sets after all hooks. */
const FRAMING: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding'])
/** Headers may be changed in a loop. */
const MAX_UNRECORDED_CHANGES = 100

/**
 * Records the listeners and hooks of a request in the order in which they began. Header changes are found by comparing
 * the headers whenever a recorded function begins or ends: a change is attributed to the function that was running, or
 * else to the code that `setCurrentCode` has named.
 */
export class EventRecorder {
  /** What the last hook has called back with: where no hook follows, Fastify takes a falsy value for an error. */
  calledBackWith: Error | undefined
  readonly #slots: readonly Slot[]
  #startedAt: number
  readonly #mask: HeaderMask
  readonly #runs: HookRun[] = []
  #running: HookRun | null = null
  #isOver = false
  #headers: Headers = {}
  #currentCode: CurrentCode = { by: 'before Hindsight' }
  /** `after` is the number of runs here. */
  readonly #unrecordedChanges: Array<{ change: Change, code: CurrentCode, after: number }> = []

  /** `startedAt`: milliseconds on the clock of `performance.now()`. */
  constructor (slots: readonly Slot[], startedAt: number, mask: HeaderMask) {
    this.#slots = slots
    this.#startedAt = startedAt
    this.#mask = mask
  }

  /** The request begins later than it arrived. */
  restart (startedAt: number): void {
    this.#startedAt = startedAt
  }

  /** Names the code to which header changes are attributed from now on while no recorded function runs. */
  setCurrentCode (reply: FastifyReply, by: UnrecordedCode, find?: FindSource): void {
    this.#compare(reply)
    this.#currentCode = { by, find }
  }

  /** Attributes the last header changes; to be called at the end of the response. */
  finish (sent: Headers): void {
    const changes = changesBetween(this.#headers, sent)
    this.#attribute(changes.filter(({ name }) => !FRAMING.has(name)))
    this.#currentCode = { by: 'Fastify' }
    this.#attribute(changes.filter(({ name }) => FRAMING.has(name)))
    this.#headers = sent
  }

  /** Records that a function begins. */
  enter (reply: FastifyReply, callee: RecordedFunction, pass: PassName): HookRun {
    const last = this.#runs.at(-1)
    // Between two functions of a stage no other code of the request runs. Comparing costs a tenth of a profile.
    const follows = last?.isOver === true && last.callee.stage === callee.stage && last.pass === pass
    if (!follows) this.#compare(reply)
    const run = new HookRun(callee, pass, reply.statusCode, this.#running)
    if (this.#isOver) return run
    this.#runs.push(run)
    this.#running = run
    return run
  }

  /** Records that a function has ended. */
  leave (run: HookRun, outcome: Outcome, reply: FastifyReply, reason: string | null = null): void {
    if (run.isOver) return
    // A listener that is skipped changes nothing.
    if (outcome !== 'skipped') this.#compare(reply)
    run.isOver = true
    run.duration = performance.now() - run.startedAt
    run.outcome = outcome
    run.reason = reason
    // A hook that answers runs the listeners of the response within it: a status that they set is not its own.
    if (this.#runs.at(-1) === run) run.statusAfter = reply.statusCode
    while (this.#running?.isOver === true) this.#running = this.#running.outer
  }

  /**
   * Ends the record after the response, and the hooks that did not call back: they have answered, continue, or have not
   * ended.
   */
  leaveAll (reply: FastifyReply): void {
    this.#isOver = true
    while (this.#running !== null) {
      const { callee: { stage } } = this.#running
      // A hook of a second response may still run.
      let outcome: Outcome = reply.sent ? 'answered' : 'running'
      if (stage === 'onResponse' || (stage === 'onSend' && reply.sent)) outcome = 'ran'
      this.leave(this.#running, outcome, reply)
    }
  }

  /** The function that runs, or that has answered; null: none. */
  get current (): HookRun | null {
    return this.#running ?? this.#runs.findLast(({ outcome }) => outcome === 'answered') ?? null
  }

  /** The code that runs while no recorded function does. */
  get currentCode (): UnrecordedCode {
    return this.#currentCode.by
  }

  /** Whether a listener was reached in a pass. */
  reached (index: number, pass: PassName): boolean {
    return this.#runs.some((run) => run.callee.index === index && run.pass === pass)
  }

  /** The events until now, with those of listeners that added no hook at registration. */
  events (mask: HeaderMask = this.#mask): ListenerEvent[] {
    const events: ListenerEvent[] = []
    // The listener before, while more listeners of its stage may follow.
    let last: HookRun | null = null
    let time = this.#startedAt
    for (const run of this.#runs) {
      const { callee: { index, stage }, pass } = run
      const previous: HookRun | null = last !== null && isNext(last, run.callee, pass) ? last : null
      if (last !== null && previous === null) this.#addRest(events, last, time)
      if (index !== -1) {
        const first = previous?.callee.index ?? this.#slots.findIndex((slot) => slot.stage === stage)
        this.#addSkipped(events, first, index, pass, time)
        time = run.startedAt + run.duration
      }
      run.position = events.push(this.#eventOf(run, mask))
      last = index === -1 ? null : run
    }
    if (last !== null) this.#addRest(events, last, time)
    return events
  }

  /** The header changes that belong to none of the events that `events` has returned. */
  unrecordedChanges (): UnrecordedChange[] {
    return this.#unrecordedChanges.map(({ change, code: { by, find }, after }) => {
      const source = find?.() ?? null
      return { ...change, by, ...source !== null && { source }, after: this.#runs[after - 1]?.position ?? 0 }
    })
  }

  #compare (reply: FastifyReply): void {
    if (this.#isOver) return
    const headers = headersOf(reply)
    const changes = changesBetween(this.#headers, headers)
    if (changes.length === 0) return
    this.#attribute(changes)
    this.#headers = headers
  }

  #attribute (changes: Change[]): void {
    if (this.#running !== null) {
      const { headers } = this.#running
      this.#running.headers = headers === null ? changes : [...headers, ...changes]
      return
    }
    for (const change of changes.slice(0, MAX_UNRECORDED_CHANGES - this.#unrecordedChanges.length)) {
      this.#unrecordedChanges.push({ change, code: this.#currentCode, after: this.#runs.length })
    }
  }

  /** Adds the listeners without a hook that follow the last recorded listener of a stage. */
  #addRest (events: ListenerEvent[], { callee, pass, outcome }: HookRun, time: number): void {
    // After a listener that raised or answered in the main pass nothing else was reached.
    if (pass === 'main' && (outcome === 'raised' || outcome === 'answered')) return
    const end = this.#slots.findLastIndex(({ stage }) => stage === callee.stage) + 1
    this.#addSkipped(events, callee.index + 1, end, pass, time)
  }

  #addSkipped (events: ListenerEvent[], from: number, to: number, pass: PassName, time: number): void {
    const start = milliseconds(time - this.#startedAt)
    for (const { stage, listener, reason } of this.#slots.slice(from, to)) {
      if (reason !== null) events.push({ stage, listener, pass, outcome: 'skipped', start, duration: 0, reason })
    }
  }

  #eventOf (run: HookRun, mask: HeaderMask): ListenerEvent {
    const { stage, listener, plugin, source } = run.callee
    const { pass, outcome, startedAt, reason, headers, statusBefore, statusAfter } = run
    const duration = run.isOver ? run.duration : performance.now() - startedAt
    const start = milliseconds(startedAt - this.#startedAt)
    const event: ListenerEvent = { stage, listener, pass, outcome, start, duration: milliseconds(duration) }
    if (reason !== null) event.reason = reason
    if (plugin !== undefined) event.plugin = plugin
    if (source !== undefined) event.source = source
    if (headers !== null) event.changes = { headers: headers.map((change) => shownChange(change, mask)) }
    if (statusBefore !== statusAfter) {
      event.changes = { ...event.changes, status: { from: statusBefore, to: statusAfter } }
    }
    return event
  }
}

/** Whether a listener follows another one in the same run of a stage. */
function isNext ({ callee, pass }: HookRun, next: RecordedFunction, passOfNext: PassName): boolean {
  return callee.index !== -1 && pass === passOfNext && callee.stage === next.stage && callee.index < next.index
}

function milliseconds (ms: number): number {
  return Math.max(0, Math.round(ms * 1_000) / 1_000)
}

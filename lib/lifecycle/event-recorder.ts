import { performance } from 'node:perf_hooks'
import type { FastifyReply } from 'fastify'
import type { HookStage, ListenerEvent, Outcome, PassName } from './events.js'
import { changesBetween, headersOf, shownChange, type Change, type HeaderMask, type Headers } from './header-values.js'
import type { Slot, Stage } from './lifecycle.js'

/** The code that runs while no recorded function does. */
type OutsideCode =
  'before Hindsight' | 'route hooks' | 'handler' | 'handler or route hooks' | 'error handler' | 'Fastify' |
  'diagnostic page' | 'Hindsight'

/** A header that was changed by code that is not recorded as an event. */
interface OutsideChange extends Change {
  by: OutsideCode
  /** Where the route was declared, `file:line`; of the handler and of hooks of the route. */
  source?: string
  /** How many events there were before it. */
  after: number
}

/** What is recorded: a listener or a hook of the application. */
export interface RecordedFunction {
  stage: Stage | HookStage
  listener: string
  /** The place in the order of listeners; -1 for a hook. */
  index: number
  /** Of a hook: the plugin that added it. */
  plugin?: string
  /** Of a hook: where it was added, `file:line`. */
  source?: string
}

/** A recorded function that runs, or has run, or a listener that had nothing to do at registration. */
export interface Frame {
  readonly what: RecordedFunction
  readonly pass: PassName
  /** Milliseconds on the clock of `performance.now()`. */
  readonly startedAt: number
  duration: number
  outcome: Outcome
  reason: string | null
  headers: Change[]
  status: { from: number, to: number }
  /** The frame that was running when this one began. */
  readonly outer: Frame | null
  isOver: boolean
}

/** Headers that Fastify sets after all hooks. */
const FRAMING: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding'])
/** Headers may be changed in a loop. */
const MAX_OUTSIDE_CHANGES = 100

/**
 * Records what each listener and each hook of a request did, in the order in which they began. Header changes are found
 * by comparing the headers whenever a recorded function begins or ends: what changed in between belongs to the function
 * that was running, or else to the code outside.
 */
export class EventRecorder {
  readonly outsideChanges: OutsideChange[] = []
  readonly #slots: readonly Slot[]
  readonly #startedAt: number
  readonly #mask: HeaderMask
  readonly #frames: Frame[] = []
  #running: Frame | null = null
  /** The listener that was entered last. */
  #last: Frame | null = null
  /** Whether more listeners of its stage may follow. */
  #isInStage = false
  #headers: Headers = {}
  #outside: { by: OutsideCode, source?: string } = { by: 'before Hindsight' }

  /** `startedAt`: milliseconds on the clock of `performance.now()`. */
  constructor (slots: readonly Slot[], startedAt: number, mask: HeaderMask) {
    this.#slots = slots
    this.#startedAt = startedAt
    this.#mask = mask
  }

  /** Attributes header changes from here on, while no recorded function runs, to this code. */
  setOutside (reply: FastifyReply, by: OutsideCode, source?: string | null): void {
    this.#compare(reply)
    this.#outside = { by, ...(source != null && { source }) }
  }

  /** Attributes the last header changes to the code outside; to be called at the end of the response. */
  finish (sent: Headers): void {
    const changes = changesBetween(this.#headers, sent)
    this.#attribute(changes.filter(({ name }) => !FRAMING.has(name)))
    this.#outside = { by: 'Fastify' }
    this.#attribute(changes.filter(({ name }) => FRAMING.has(name)))
    this.#headers = sent
  }

  /** Records that a function begins. */
  enter (reply: FastifyReply, what: RecordedFunction, pass: PassName): Frame {
    const last = this.#isInStage ? this.#last : null
    const goesOn = last !== null && last.pass === pass && last.what.stage === what.stage && last.what.index < what.index
    // Between two listeners of a stage no other code of the request runs. Comparing costs a tenth of a profile.
    if (!goesOn || !last.isOver) this.#compare(reply)
    if (!goesOn && this.#isInStage) this.#frames.push(...this.#restOfStage())
    const frame = frameOf(what, pass, performance.now(), reply.statusCode, this.#running)
    this.#isInStage = what.index !== -1
    if (this.#isInStage) {
      const first = goesOn ? last.what.index + 1 : this.#slots.findIndex(({ stage }) => stage === what.stage)
      if (first < what.index) this.#frames.push(...this.#skipped(first, what.index, pass))
      this.#last = frame
    }
    this.#frames.push(frame)
    this.#running = frame
    return frame
  }

  /** Records that a function has ended. */
  leave (frame: Frame, outcome: Outcome, reply: FastifyReply, reason: string | null = null): void {
    if (frame.isOver) return
    // A listener that is skipped changes nothing.
    if (outcome !== 'skipped') this.#compare(reply)
    frame.isOver = true
    frame.duration = performance.now() - frame.startedAt
    frame.outcome = outcome
    frame.reason = reason
    // A hook that answers runs the listeners of the response within it: a status that they set is not its own.
    if (this.#frames.at(-1) === frame) frame.status.to = reply.statusCode
    while (this.#running?.isOver === true) this.#running = this.#running.outer
  }

  /** Ends the hooks that did not call back: they have answered, or continue after the response. */
  leaveAll (reply: FastifyReply): void {
    while (this.#running !== null) {
      this.leave(this.#running, this.#running.what.stage === 'onResponse' ? 'ran' : 'answered', reply)
    }
  }

  /** Whether a listener was reached in a pass. */
  reached (index: number, pass: PassName): boolean {
    return this.#frames.some((frame) => frame.what.index === index && frame.pass === pass)
  }

  /** The events so far, with the listeners that had nothing to do at registration. */
  events (mask: HeaderMask = this.#mask): ListenerEvent[] {
    return [...this.#frames, ...this.#restOfStage()].map((frame) => this.#eventOf(frame, mask))
  }

  #compare (reply: FastifyReply): void {
    const headers = headersOf(reply)
    this.#attribute(changesBetween(this.#headers, headers))
    this.#headers = headers
  }

  #attribute (changes: Change[]): void {
    if (this.#running !== null) {
      this.#running.headers.push(...changes)
      return
    }
    for (const change of changes.slice(0, MAX_OUTSIDE_CHANGES - this.outsideChanges.length)) {
      this.outsideChanges.push({ ...change, ...this.#outside, after: this.#frames.length })
    }
  }

  /** The listeners without work that come after the last one in its stage. */
  #restOfStage (): Frame[] {
    if (!this.#isInStage || this.#last === null) return []
    const { what, pass, outcome } = this.#last
    // After a listener that raised or answered in the main pass nothing else was reached.
    if (pass === 'main' && (outcome === 'raised' || outcome === 'answered')) return []
    return this.#skipped(what.index + 1, this.#slots.findLastIndex(({ stage }) => stage === what.stage) + 1, pass)
  }

  #skipped (from: number, to: number, pass: PassName): Frame[] {
    const time = this.#last === null ? this.#startedAt : this.#last.startedAt + this.#last.duration
    return this.#slots.slice(from, to).filter(({ reason }) => reason !== null)
      .map((slot) => frameOf(slot, pass, time, 0, null, slot.reason))
  }

  #eventOf (frame: Frame, mask: HeaderMask): ListenerEvent {
    const { stage, listener, plugin, source } = frame.what
    const { pass, outcome, startedAt, duration, reason, headers, status } = frame
    const start = milliseconds(startedAt - this.#startedAt)
    const event: ListenerEvent = { stage, listener, pass, outcome, start, duration: milliseconds(duration) }
    if (reason !== null) event.reason = reason
    if (plugin !== undefined) event.plugin = plugin
    if (source !== undefined) event.source = source
    if (headers.length > 0 || status.from !== status.to) {
      event.changes = {
        ...(headers.length > 0 && { headers: headers.map((change) => shownChange(change, mask)) }),
        ...(status.from !== status.to && { status })
      }
    }
    return event
  }
}

function frameOf (
  what: RecordedFunction, pass: PassName, startedAt: number, status: number, outer: Frame | null,
  reason: string | null = null
): Frame {
  return {
    what,
    pass,
    startedAt,
    duration: 0,
    outcome: reason === null ? 'ran' : 'skipped',
    reason,
    headers: [],
    status: { from: status, to: status },
    outer,
    isOver: reason !== null
  }
}

function milliseconds (ms: number): number {
  return Math.max(0, Math.round(ms * 1_000) / 1_000)
}

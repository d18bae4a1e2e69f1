import { performance } from 'node:perf_hooks'
import type { FastifyReply } from 'fastify'
import type { HookStage, ListenerEvent, Outcome, PassName } from './events.js'
import { changesBetween, headersOf, shownValue, type Change, type HeaderMask, type Headers } from '../http/header-values.js'
import type { Slot } from './lifecycle.js'
import type { Stage } from './stage.js'

/** The code that runs while no recorded function does. */
export type OutsideCode = 'before Hindsight' | 'route hooks' | 'handler' | 'handler or route hooks' | 'error handler' | 'Fastify' | 'diagnostic page' | 'Hindsight'

/** A header that was changed by code that is not recorded as an event. */
export interface OutsideChange extends Change {
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

/** A recorded function that runs, or has run. */
export interface Frame {
  readonly what: RecordedFunction
  readonly pass: PassName
  readonly startedAt: number
  duration: number
  outcome: Outcome
  reason: string | null
  headers: Change[]
  /** The status when it began. */
  readonly statusBefore: number
  status: { from: number, to: number } | null
  /** How many events there were when it began. */
  readonly index: number
  readonly outer: Frame | null
  isOver: boolean
}

/** Headers that Fastify sets after all hooks. */
const FRAMING: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding'])
/** Headers may be changed in a loop. */
const MAX_OUTSIDE_CHANGES = 100

/**
 * Records what each listener and each hook of a request did, in the order in which they began. Header changes are found by comparing the headers
 * whenever a recorded function begins or ends: what changed in between belongs to the function that was running, or else to the code outside.
 */
export class EventRecorder {
  readonly outsideChanges: OutsideChange[] = []
  readonly #slots: readonly Slot[]
  readonly #startedAt: number
  readonly #mask: HeaderMask
  readonly #frames: Frame[] = []
  #running: Frame | null = null
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
    this.#compare(reply)
    const frame: Frame = {
      what,
      pass,
      startedAt: performance.now(),
      duration: 0,
      outcome: 'ran',
      reason: null,
      headers: [],
      statusBefore: reply.statusCode,
      status: null,
      index: this.#frames.length,
      outer: this.#running,
      isOver: false
    }
    this.#frames.push(frame)
    this.#running = frame
    return frame
  }

  /** Records that a function has ended. */
  leave (frame: Frame, outcome: Outcome, reply: FastifyReply, reason: string | null = null): void {
    if (frame.isOver) return
    this.#compare(reply)
    frame.isOver = true
    frame.duration = performance.now() - frame.startedAt
    frame.outcome = outcome
    frame.reason = reason
    // A hook that answers runs the listeners of the response within it: a change of theirs is not its own.
    const isStatusOwn = this.#frames.length === frame.index + 1
    if (isStatusOwn && reply.statusCode !== frame.statusBefore) frame.status = { from: frame.statusBefore, to: reply.statusCode }
    if (this.#running === frame) this.#running = runningAround(frame)
  }

  /** Attributes header changes to what a listener did before: those that it makes after the hooks of the application. */
  amend (index: number, reply: FastifyReply, change: (reply: FastifyReply) => void): void {
    this.#compare(reply)
    change(reply)
    const headers = headersOf(reply)
    this.#frames.findLast(({ what }) => what.index === index)?.headers.push(...changesBetween(this.#headers, headers))
    this.#headers = headers
  }

  /** Ends the hooks that did not call back: they have answered, or go on after the response. */
  leaveAll (reply: FastifyReply): void {
    while (this.#running !== null) this.leave(this.#running, this.#running.what.stage === 'onResponse' ? 'ran' : 'answered', reply)
  }

  /** Whether a listener was reached in a pass. */
  reached (index: number, pass: PassName): boolean {
    return this.#frames.some((frame) => frame.what.index === index && frame.pass === pass)
  }

  /** The events so far, with the listeners that had nothing to do at registration filled in at their places. */
  events (mask: HeaderMask = this.#mask): ListenerEvent[] {
    return laidOut(this.#slots, this.#frames).map((entry) => 'outcome' in entry ? this.#eventOf(entry, mask) : { ...entry.skipped, ...this.#end(entry.after) })
  }

  /** The position in `events()` of the event that came after so many recorded ones. */
  positionOf (recorded: number): number {
    const frame = this.#frames[recorded - 1]
    return frame === undefined ? 0 : laidOut(this.#slots, this.#frames).indexOf(frame) + 1
  }

  #compare (reply: FastifyReply): void {
    const headers = headersOf(reply)
    this.#attribute(changesBetween(this.#headers, headers))
    this.#headers = headers
  }

  #attribute (changes: Change[]): void {
    if (changes.length === 0) return
    if (this.#running !== null) this.#running.headers.push(...changes)
    else this.outsideChanges.push(...changes.slice(0, MAX_OUTSIDE_CHANGES - this.outsideChanges.length).map((change) => ({ ...change, ...this.#outside, after: this.#frames.length })))
  }

  #eventOf ({ what: { stage, listener, plugin, source }, pass, outcome, startedAt, duration, reason, headers, status }: Frame, mask: HeaderMask): ListenerEvent {
    const event: ListenerEvent = { stage, listener, pass, outcome, start: milliseconds(startedAt - this.#startedAt), duration: milliseconds(duration) }
    if (reason !== null) event.reason = reason
    if (plugin !== undefined) event.plugin = plugin
    if (source !== undefined) event.source = source
    if (headers.length > 0 || status !== null) {
      event.changes = {
        ...(headers.length > 0 && { headers: headers.map(({ name, from, to }) => ({ name, from: shownValue(name, from, mask), to: shownValue(name, to, mask) })) }),
        ...(status !== null && { status })
      }
    }
    return event
  }

  #end (frame: Frame | null): { start: number, duration: number } {
    return { start: frame === null ? 0 : milliseconds(frame.startedAt + frame.duration - this.#startedAt), duration: 0 }
  }
}

function runningAround ({ outer }: Frame): Frame | null {
  let frame = outer
  while (frame?.isOver === true) frame = frame.outer
  return frame
}

interface Filled {
  skipped: Pick<ListenerEvent, 'stage' | 'listener' | 'pass' | 'outcome' | 'reason'>
  /** The event that it comes after. */
  after: Frame | null
}

/** The recorded functions, with the listeners between them that had nothing to do at registration. */
function laidOut (slots: readonly Slot[], frames: readonly Frame[]): Array<Frame | Filled> {
  const entries: Array<Frame | Filled> = []
  let previous: Frame | null = null
  let last: Frame | null = null
  const fill = (from: number, to: number, pass: PassName): void => {
    for (const { stage, listener, reason } of slots.slice(from, to)) {
      if (reason !== null) entries.push({ skipped: { stage, listener, pass, outcome: 'skipped', reason }, after: last })
    }
  }
  const fillStage = ({ what, pass, outcome }: Frame): void => {
    // After a listener that raised or answered in the main pass nothing else was reached.
    if (pass === 'main' && (outcome === 'raised' || outcome === 'answered')) return
    const end = slots.findLastIndex(({ stage }) => stage === what.stage)
    fill(what.index + 1, end + 1, pass)
  }
  const goesOn = (frame: Frame, next: Frame | undefined): boolean =>
    next !== undefined && next.pass === frame.pass && next.what.stage === frame.what.stage && next.what.index > frame.what.index

  frames.forEach((frame, i) => {
    if (frame.what.index === -1) {
      // The rest of the stage comes before the hook, unless more of its listeners follow.
      if (previous !== null && !goesOn(previous, frames.slice(i).find(({ what }) => what.index !== -1))) {
        fillStage(previous)
        previous = null
      }
      entries.push(frame)
      return
    }
    const isNext: boolean = previous !== null && goesOn(previous, frame)
    if (previous !== null && !isNext) fillStage(previous)
    fill(isNext ? (previous as Frame).what.index + 1 : slots.findIndex(({ stage }) => stage === frame.what.stage), frame.what.index, frame.pass)
    entries.push(frame)
    previous = last = frame
  })
  if (previous !== null) fillStage(previous)
  return entries
}

function milliseconds (ms: number): number {
  return Math.max(0, Math.round(ms * 1_000) / 1_000)
}

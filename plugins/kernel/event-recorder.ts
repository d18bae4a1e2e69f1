// The global one is a getter, which each call would ask.
import { performance } from 'node:perf_hooks'
import type { FastifyReply } from 'fastify'
import { EventColumns, type EventSignature } from './event-columns.js'
import { layoutOf } from './event-layout.js'
import type { ListenerEvent, Outcome, PassName } from './events.js'
import { changed, changesBetween, headersOf, noteTouched, type Headers } from './header-changes.js'
import { valueOf, type HeaderTrail } from './header-trail.js'
import type { Slot } from './lifecycle.js'
import type { Change, Changes, HeaderMask, SlotMemory } from './slot-memory.js'

/** A hook of the application that is running. */
export interface HookFrame {
  /** The hook that was running when it began. */
  outer: HookFrame | null
  /** How many events there were then. */
  at: number
  pass: PassName
  memory: SlotMemory
  isLeft: boolean
  startedAt: number
  status: number
  touched: Change[]
}

/** Records what each listener of a request did, in the order in which it happened. */
export class EventRecorder {
  readonly #slots: readonly Slot[]
  readonly #startedAt: number
  readonly #mask: HeaderMask
  readonly #watched: boolean
  /** Who changed headers outside of the listeners; null where nobody is told. */
  readonly trail: HeaderTrail | null
  // One entry for each event, a column for each field: what is kept until the profile is written are numbers, not objects.
  readonly #signatures: EventSignature[] = []
  readonly #starts: number[] = []
  readonly #durations: number[] = []
  readonly #changes: Array<Changes | null> = []
  // Of hooks of the application, by their signatures.
  #memories: Map<EventSignature, SlotMemory> | null = null
  /** All headers as the listener found them, where nobody tells which it is about to change. */
  #headers: Headers | null = null
  #touched: Change[] | null = null
  #status = 200
  // Between `before` and `record` changes are the listener's, otherwise those of the hook that is running.
  #isListening = false
  #hook: HookFrame | null = null

  // Whether Node.js's own response has headers; null where that has to be looked at each time.
  #hasRaw: boolean | null = null

  /** `watched`: who changes a header of the reply calls `touch` ahead of it. */
  constructor (slots: readonly Slot[], startedAt: number, mask: HeaderMask, watched = false, trail: HeaderTrail | null = null) {
    this.#slots = slots
    this.#startedAt = startedAt
    this.#mask = mask
    this.#watched = watched
    this.trail = trail
  }

  /** Whether none of those that are recorded is at work. */
  get isOutside (): boolean {
    return !this.#isListening
  }

  /** How many events were recorded so far. */
  get recorded (): number {
    return this.#signatures.length
  }

  /** Says whether Node.js's own response has headers, by who tells of those that come later: otherwise that is looked at around each listener. */
  tellRaw (has: boolean): void {
    this.#hasRaw = has
  }

  /** Takes note of the response as a listener finds it; says when that was. */
  before (reply: FastifyReply): number {
    this.#headers = this.#watched && !this.#hasRawHeaders(reply) ? null : headersOf(reply)
    this.#touched = null
    this.#status = reply.statusCode
    this.#isListening = true
    return performance.now()
  }

  /** Takes note of a header that is about to be changed. */
  touch (reply: FastifyReply, name: string): void {
    if (!this.#isListening) {
      if (this.#hook !== null) noteTouched(this.#hook.touched, reply, name)
    } else if (this.#headers === null) noteTouched(this.#touched ??= [], reply, name)
  }

  /** Records a listener's outcome, and what it changed since `before`. */
  record (slot: Slot, pass: PassName, outcome: Outcome, startedAt: number, reply: FastifyReply, reason: string | null): void {
    const duration = performance.now() - startedAt
    this.#isListening = false
    const headers = this.#headerChanges(reply)
    const status = reply.statusCode === this.#status ? null : { from: this.#status, to: reply.statusCode }
    this.#insert(this.#signatures.length, slot.memory.signature(pass, outcome, reason), startedAt, duration, headers === null && status === null ? null : { headers, status })
  }

  #insert (at: number, signature: EventSignature, startedAt: number, duration: number, changes: Changes | null): void {
    const start = microseconds(startedAt - this.#startedAt)
    const lasted = microseconds(duration)
    if (at === this.#signatures.length) {
      this.#signatures.push(signature)
      this.#starts.push(start)
      this.#durations.push(lasted)
      this.#changes.push(changes)
      return
    }
    this.#signatures.splice(at, 0, signature)
    this.#starts.splice(at, 0, start)
    this.#durations.splice(at, 0, lasted)
    this.#changes.splice(at, 0, changes)
  }

  /** Lets a listener change headers behind the hooks of the application: that is told with what it did last. */
  amend (index: number, reply: FastifyReply, change: (reply: FastifyReply) => void): void {
    this.before(reply)
    change(reply)
    this.#isListening = false
    const made = this.#headerChanges(reply)
    const at = this.#signatures.findLastIndex((signature) => signature.index === index)
    if (made === null || at === -1) return
    const { headers = null, status = null } = this.#changes[at] ?? {}
    this.#changes[at] = { headers: [...headers ?? [], ...made], status }
  }

  /** Takes note that a hook of the application begins; it is remembered by `memory`. */
  enter (reply: FastifyReply, pass: PassName, memory: SlotMemory): HookFrame {
    this.#hook = { outer: this.#hook, at: this.#signatures.length, pass, memory, isLeft: false, startedAt: performance.now(), status: reply.statusCode, touched: [] }
    return this.#hook
  }

  /** Records what it did, in the place where it began: a hook that answers has the listeners of the response run within it. */
  leave (frame: HookFrame, outcome: Outcome, reply: FastifyReply): void {
    if (this.#hook === frame) this.#hook = frame.outer
    if (frame.isLeft) return
    frame.isLeft = true
    const { at, pass, memory, startedAt, status, touched } = frame
    const headers = touched.length === 0 ? touched : changed(touched, reply)
    const isStatusOwn = reply.statusCode !== status && this.#signatures.length === at
    const signature = memory.signature(pass, outcome, null)
    const changes = headers.length === 0 && !isStatusOwn
      ? null
      : { headers: headers.length === 0 ? null : headers, status: isStatusOwn ? { from: status, to: reply.statusCode } : null }
    this.#insert(at, signature, startedAt, performance.now() - startedAt, changes)
    if (changes !== null) (this.#memories ??= new Map()).set(signature, memory)
  }

  /** Records the hooks that called nobody back, for they have answered, or go on behind the response: to be called when that is over. */
  leaveAll (reply: FastifyReply): void {
    while (this.#hook !== null) this.leave(this.#hook, this.#hook.memory.stage === 'onResponse' ? 'ran' : 'answered', reply)
  }

  /** Whether a pass has come to a slot already. */
  reached ({ index }: Slot, pass: PassName): boolean {
    return this.#signatures.some((signature) => signature.index === index && signature.pass === pass)
  }

  /** What is known so far, masked by what is known of the request, with the listeners that had nothing to do at registration filled in where they stood. */
  events (mask: HeaderMask = this.#mask): ListenerEvent[] {
    return this.columns(mask).list()
  }

  /** The recorded events as columns, masked like `events`. */
  columns (mask: HeaderMask = this.#mask): EventColumns {
    const changes = this.#changes.map((made, i) => made === null
      ? undefined
      // What one request hides is forgotten with it.
      : this.#memoryOf(this.#signatures[i] as EventSignature)?.shown(made, mask, mask === this.#mask))
    return new EventColumns(layoutOf(this.#slots, this.#signatures), [...this.#starts], [...this.#durations], changes)
  }

  #memoryOf (signature: EventSignature): SlotMemory | undefined {
    return signature.index === -1 ? this.#memories?.get(signature) : (this.#slots[signature.index] as Slot).memory
  }

  // What is set on Node.js's own response is hardly ever there.
  #hasRawHeaders ({ raw }: FastifyReply): boolean {
    return this.#hasRaw ?? raw.getHeaderNames().length > 0
  }

  // Most listeners have left the headers alone.
  #headerChanges (reply: FastifyReply): Change[] | null {
    if (this.#headers !== null) return changesBetween(this.#headers, reply.getHeaders() as Headers)
    if (this.#touched === null && !this.#hasRawHeaders(reply)) return null
    const touched = this.#touched === null ? [] : changed(this.#touched, reply)
    if (!this.#hasRawHeaders(reply)) return touched.length === 0 ? null : touched
    const raw = reply.raw.getHeaderNames().map((name) => ({ name, from: undefined, to: valueOf(reply, name) }))
    return [...touched, ...raw.filter(({ name }) => !touched.some((change) => change.name === name))]
  }
}

function microseconds (ms: number): number {
  return Math.max(0, Math.round(ms * 1_000))
}

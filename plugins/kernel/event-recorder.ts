import type { FastifyReply } from 'fastify'
import { EventColumns, type EventSignature } from './event-columns.js'
import type { ListenerEvent, Outcome, PassName } from './events.js'
import { valueOf, type HeaderTrail } from './header-trail.js'
import type { Slot } from './lifecycle.js'
import { isSameValue, type Change, type Changes, type HeaderMask, type HeaderValue } from './slot-memory.js'

type Headers = Partial<Record<string, HeaderValue>>

/** Records what each listener of a request did, in the order in which it happened. */
export class EventRecorder {
  readonly #slots: readonly Slot[]
  readonly #startedAt: number
  readonly #mask: HeaderMask
  readonly #watched: boolean
  /** Who changed headers outside of the listeners; null where nobody is told. */
  readonly trail: HeaderTrail | null
  #inside = false
  // One entry for each event, a column for each field: what is kept until the profile is written are numbers, not objects.
  readonly #signatures: EventSignature[] = []
  readonly #starts: number[] = []
  readonly #durations: number[] = []
  readonly #changes: Array<Changes | null> = []
  /** All headers as the listener found them, where nobody tells which it is about to change. */
  #headers: Headers | null = null
  #touched: Change[] | null = null
  #status = 200

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
    return !this.#inside
  }

  /** How many events were recorded so far. */
  get recorded (): number {
    return this.#signatures.length
  }

  /** Takes note of the response as a listener finds it; says when that was. */
  before (reply: FastifyReply): number {
    this.#inside = true
    this.#headers = this.#watched && !hasRawHeaders(reply) ? null : headersOf(reply)
    this.#touched = null
    this.#status = reply.statusCode
    return performance.now()
  }

  /** Takes note of a header that is about to be changed. */
  touch (reply: FastifyReply, name: string): void {
    if (this.#headers !== null || this.#touched?.some((change) => change.name === name) === true) return
    (this.#touched ??= []).push({ name, from: valueOf(reply, name), to: undefined })
  }

  /** Records a listener's outcome, and what it changed since `before`. */
  record (slot: Slot, pass: PassName, outcome: Outcome, startedAt: number, reply: FastifyReply, reason: string | null): void {
    const duration = performance.now() - startedAt
    this.#inside = false
    const headers = this.#headerChanges(reply)
    const status = reply.statusCode === this.#status ? null : { from: this.#status, to: reply.statusCode }
    this.#signatures.push(slot.memory.signature(pass, outcome, reason))
    this.#starts.push(microseconds(startedAt - this.#startedAt))
    this.#durations.push(microseconds(duration))
    this.#changes.push(headers === null && status === null ? null : { headers, status })
  }

  /** Whether a pass has come to a slot already. */
  reached ({ index }: Slot, pass: PassName): boolean {
    return this.#signatures.some((signature) => signature.index === index && signature.pass === pass)
  }

  /** What is known so far, masked by what is known of the request, with the listeners that had nothing to do at registration filled in where they stood. */
  events (mask: HeaderMask = this.#mask): ListenerEvent[] {
    return this.columns(mask).list()
  }

  /** The same, as it is stored. */
  columns (mask: HeaderMask = this.#mask): EventColumns {
    const columns = new EventColumns()
    let previous: EventSignature | null = null
    let end = 0
    for (let i = 0; i < this.#signatures.length; i++) {
      const signature = this.#signatures[i] as EventSignature
      const [start, duration, changes] = [this.#starts[i] ?? 0, this.#durations[i] ?? 0, this.#changes[i]]
      const sameRun = previous !== null && previous.pass === signature.pass && previous.stage === signature.stage && previous.index < signature.index
      if (previous !== null && !sameRun) this.#fillBehind(columns, previous, end)
      const from = sameRun ? (previous as EventSignature).index + 1 : this.#slots.findIndex(({ stage }) => stage === signature.stage)
      this.#fill(columns, from, signature.index, signature.pass, end)
      columns.add(signature, start, duration, changes == null ? undefined : (this.#slots[signature.index] as Slot).memory.shown(changes, mask))
      columns.places.push(columns.length)
      previous = signature
      end = start + duration
    }
    if (previous !== null) this.#fillBehind(columns, previous, end)
    return columns
  }

  // Most listeners have left the headers alone.
  #headerChanges (reply: FastifyReply): Change[] | null {
    if (this.#headers !== null) return changesBetween(this.#headers, reply.getHeaders() as Headers)
    const touched = this.#touched?.map(({ name, from }) => ({ name, from, to: valueOf(reply, name) })).filter(({ from, to }) => !isSameValue(from, to)) ?? []
    if (!hasRawHeaders(reply)) return touched.length === 0 ? null : touched
    const raw = reply.raw.getHeaderNames().map((name) => ({ name, from: undefined, to: valueOf(reply, name) }))
    return [...touched, ...raw.filter(({ name }) => !touched.some((change) => change.name === name))]
  }

  // Behind a listener that raised or answered in the main pass nothing else was reached.
  #fillBehind (columns: EventColumns, { index, stage, pass, outcome }: EventSignature, at: number): void {
    if (pass === 'main' && (outcome === 'raised' || outcome === 'answered')) return
    let end = index + 1
    while (this.#slots[end]?.stage === stage) end++
    this.#fill(columns, index + 1, end, pass, at)
  }

  #fill (columns: EventColumns, from: number, to: number, pass: PassName, at: number): void {
    for (let i = from; i < to; i++) {
      const { reason, memory } = this.#slots[i] as Slot
      if (reason !== null) columns.add(memory.signature(pass, 'skipped', reason), at, 0, undefined)
    }
  }
}

function headersOf (reply: FastifyReply): Headers {
  const headers = reply.getHeaders() as Headers
  const cookies = headers['set-cookie']
  if (Array.isArray(cookies)) headers['set-cookie'] = [...cookies]
  return headers
}

// What is set on Node.js's own response is seen by nobody, and hardly ever there.
function hasRawHeaders ({ raw }: FastifyReply): boolean {
  return raw.getHeaderNames().length > 0
}

function changesBetween (from: Headers, to: Headers): Change[] | null {
  let changes: Change[] | null = null
  for (const name in to) {
    if (!isSameValue(from[name], to[name])) (changes ??= []).push({ name, from: from[name], to: to[name] })
  }
  for (const name in from) {
    if (to[name] === undefined) (changes ??= []).push({ name, from: from[name], to: undefined })
  }
  return changes
}

function microseconds (ms: number): number {
  return Math.max(0, Math.round(ms * 1_000))
}

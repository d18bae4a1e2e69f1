import type { FastifyReply } from 'fastify'
import type { HeaderChange, ListenerEvent, Outcome, PassName } from './events.js'
import type { Slot } from './lifecycle.js'

type Headers = Partial<Record<string, string | number | string[]>>

interface Change {
  name: string
  from: Headers[string]
  to: Headers[string]
}

interface Entry {
  slot: Slot
  pass: PassName
  outcome: Outcome
  start: number
  duration: number
  reason: string | null
  headers: Change[] | null
  status: { from: number, to: number } | null
}

/** Says what may be shown of a header's value. */
type HeaderMask = (name: string, value: string) => string

/** Records what each listener of a request did, in the order in which it happened. */
export class EventRecorder {
  readonly #slots: readonly Slot[]
  readonly #startedAt: number
  readonly #entries: Entry[] = []
  readonly #mask: HeaderMask
  readonly #watched: boolean
  #headers: Headers | null = null
  #status = 200

  /** `watched`: who changes a header of the reply calls `touch` ahead of it. */
  constructor (slots: readonly Slot[], startedAt: number, mask: HeaderMask, watched = false) {
    this.#slots = slots
    this.#startedAt = startedAt
    this.#mask = mask
    this.#watched = watched
  }

  /** Takes note of the response as a listener finds it; says when that was. */
  before (reply: FastifyReply): number {
    this.#headers = this.#watched && !hasRawHeaders(reply) ? null : headersOf(reply)
    this.#status = reply.statusCode
    return performance.now()
  }

  /** Takes note of the headers that are about to be changed. */
  touch (reply: FastifyReply): void {
    this.#headers ??= headersOf(reply)
  }

  /** Records a listener's outcome, and what it changed since `before`. */
  record (slot: Slot, pass: PassName, outcome: Outcome, startedAt: number, reply: FastifyReply, reason: string | null): void {
    const now = performance.now()
    this.#entries.push({
      slot,
      pass,
      outcome,
      start: startedAt - this.#startedAt,
      duration: now - startedAt,
      reason,
      headers: this.#changes(reply),
      status: reply.statusCode === this.#status ? null : { from: this.#status, to: reply.statusCode }
    })
  }

  /** Whether a pass has come to a slot already. */
  reached (slot: Slot, pass: PassName): boolean {
    return this.#entries.some((entry) => entry.slot === slot && entry.pass === pass)
  }

  /** What is known so far, masked by what is known of the request, with the listeners that had nothing to do at registration filled in where they stood. */
  events (mask: HeaderMask = this.#mask): ListenerEvent[] {
    const events: ListenerEvent[] = []
    let previous: Entry | null = null
    for (const entry of this.#entries) {
      const sameRun = previous !== null && previous.pass === entry.pass &&
        previous.slot.stage === entry.slot.stage && previous.slot.index < entry.slot.index
      if (!sameRun && previous !== null) this.#fillBehind(events, previous)
      const from = sameRun ? (previous as Entry).slot.index + 1 : this.#firstOf(entry.slot)
      this.#fill(events, from, entry.slot.index, entry, previous === null ? 0 : previous.start + previous.duration)
      events.push(toEvent(entry, mask))
      previous = entry
    }
    if (previous !== null) this.#fillBehind(events, previous)
    return events
  }

  // Most listeners have left the headers alone.
  #changes (reply: FastifyReply): Change[] | null {
    if (this.#headers !== null) return changesBetween(this.#headers, reply.getHeaders() as Headers)
    if (!hasRawHeaders(reply)) return null
    const to = reply.getHeaders() as Headers
    const added = new Set(reply.raw.getHeaderNames())
    return changesBetween(Object.fromEntries(Object.entries(to).filter(([name]) => !added.has(name))), to)
  }

  #firstOf (slot: Slot): number {
    return this.#slots.findIndex((other) => other.stage === slot.stage)
  }

  // Behind a listener that raised or answered in the main pass nothing else was reached.
  #fillBehind (events: ListenerEvent[], last: Entry): void {
    if (last.pass === 'main' && (last.outcome === 'raised' || last.outcome === 'answered')) return
    let end = last.slot.index + 1
    while (this.#slots[end]?.stage === last.slot.stage) end++
    this.#fill(events, last.slot.index + 1, end, last, last.start + last.duration)
  }

  #fill (events: ListenerEvent[], from: number, to: number, neighbour: Entry, at: number): void {
    for (let i = from; i < to; i++) {
      const slot = this.#slots[i] as Slot
      if (slot.reason === null) continue
      events.push({ ...base(slot, neighbour.pass, 'skipped', at, 0), reason: slot.reason })
    }
  }
}

// Fastify adds further cookies to the list that is there.
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

function base (slot: Slot, pass: PassName, outcome: Outcome, start: number, duration: number): ListenerEvent {
  return { stage: slot.stage, listener: slot.listener, pass, outcome, start: round(start), duration: round(duration) }
}

function toEvent (entry: Entry, mask: HeaderMask): ListenerEvent {
  const event = base(entry.slot, entry.pass, entry.outcome, entry.start, entry.duration)
  if (entry.reason !== null) event.reason = entry.reason
  if (entry.headers !== null || entry.status !== null) {
    event.changes = {
      ...(entry.headers !== null && { headers: entry.headers.map((change) => shown(change, mask)) }),
      ...(entry.status !== null && { status: entry.status })
    }
  }
  return event
}

function changesBetween (from: Headers, to: Headers): Change[] | null {
  let changes: Change[] | null = null
  for (const name in to) {
    if (!isSame(from[name], to[name])) (changes ??= []).push({ name, from: from[name], to: to[name] })
  }
  for (const name in from) {
    if (to[name] === undefined) (changes ??= []).push({ name, from: from[name], to: undefined })
  }
  return changes
}

function isSame (from: Headers[string], to: Headers[string]): boolean {
  return from === to || (Array.isArray(from) && Array.isArray(to) && from.length === to.length && from.every((one, i) => one === to[i]))
}

function shown ({ name, from, to }: Change, mask: HeaderMask): HeaderChange {
  return { name, from: text(name, from, mask), to: text(name, to, mask) }
}

function text (name: string, value: Headers[string], mask: HeaderMask): string | null {
  if (value === undefined) return null
  return Array.isArray(value) ? value.map((one) => mask(name, one)).join(', ') : mask(name, String(value))
}

function round (ms: number): number {
  return Math.max(0, Math.round(ms * 1000) / 1000)
}

import type { HookStage, ListenerEvent, Outcome, PassName } from './events.js'
import type { Stage } from './stage.js'

/** What is the same of an event whenever its listener does the same again; as long as it is known there is one object for it. */
export interface EventSignature {
  /** The place of the listener in the whole order; -1 for a hook of the application. */
  index: number
  stage: Stage | HookStage
  listener: string
  pass: PassName
  outcome: Outcome
  reason: string | null
  /** Of a hook. */
  plugin?: string
  source?: string
}

/** The events of a request, as columns: most of them differ from request to request in nothing but their times. */
export class EventColumns {
  readonly signatures: EventSignature[]
  /** Microseconds since the request arrived. */
  readonly starts: number[]
  /** Microseconds. */
  readonly durations: number[]
  readonly changes: Array<ListenerEvent['changes']>
  /** For each event that was recorded, and not filled in, how many there are up to it. */
  readonly places: number[] = []

  #length = 0

  /** `room`: for how many at most, so that the columns need not grow; whoever gives one calls `trim` at the end. */
  constructor (room = 0) {
    this.signatures = new Array<EventSignature>(room)
    this.starts = new Array<number>(room)
    this.durations = new Array<number>(room)
    this.changes = new Array<ListenerEvent['changes']>(room)
  }

  get length (): number {
    return this.#length
  }

  add (signature: EventSignature, start: number, duration: number, changes: ListenerEvent['changes']): void {
    const at = this.#length++
    this.signatures[at] = signature
    this.starts[at] = start
    this.durations[at] = duration
    this.changes[at] = changes
  }

  trim (): this {
    for (const column of [this.signatures, this.starts, this.durations, this.changes]) column.length = this.#length
    return this
  }

  /** One event, as everybody else reads it. */
  at (i: number): ListenerEvent {
    const { stage, listener, pass, outcome, reason, plugin, source } = this.signatures[i] as EventSignature
    const event: ListenerEvent = { stage, listener, pass, outcome, start: (this.starts[i] ?? 0) / 1_000, duration: (this.durations[i] ?? 0) / 1_000 }
    const changes = this.changes[i]
    if (reason !== null) event.reason = reason
    if (plugin !== undefined) event.plugin = plugin
    if (source !== undefined) event.source = source
    if (changes !== undefined) event.changes = changes
    return event
  }

  list (): ListenerEvent[] {
    return this.signatures.map((_, i) => this.at(i))
  }

  toJSON (): ListenerEvent[] {
    return this.list()
  }
}

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
  readonly signatures: readonly EventSignature[]
  /** Microseconds since the request arrived. */
  readonly starts: readonly number[]
  /** Microseconds. */
  readonly durations: readonly number[]
  readonly changes: ReadonlyArray<ListenerEvent['changes']>
  /** For each event that was recorded, and not filled in, how many there are up to it. */
  readonly places: readonly number[]

  constructor (
    signatures: readonly EventSignature[] = [], starts: readonly number[] = [], durations: readonly number[] = [], changes: ReadonlyArray<ListenerEvent['changes']> = [],
    places: readonly number[] = []
  ) {
    this.signatures = signatures
    this.starts = starts
    this.durations = durations
    this.changes = changes
    this.places = places
  }

  get length (): number {
    return this.signatures.length
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

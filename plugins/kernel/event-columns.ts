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
  plugin?: string | undefined
  source?: string | undefined
}

/** How recorded events stand in the order, with the listeners filled in that had nothing to do at registration: the same whenever a request walks the same way. */
export interface EventLayout {
  readonly recorded: readonly EventSignature[]
  readonly signatures: readonly EventSignature[]
  /** For each place, which of the recorded stands there; of one that was filled in, `-2 - i` for the one whose end it stands at, -1 for none. */
  readonly sources: readonly number[]
  /** For each that was recorded, how many stand up to it. */
  readonly places: readonly number[]
}

const EMPTY: EventLayout = { recorded: [], signatures: [], sources: [], places: [] }

/** The events of a request, as columns of what was recorded: most of them differ from request to request in nothing but their times. */
export class EventColumns {
  readonly layout: EventLayout
  /** Of those that were recorded, microseconds since the request arrived. */
  readonly starts: readonly number[]
  /** Microseconds. */
  readonly durations: readonly number[]
  readonly changes: ReadonlyArray<ListenerEvent['changes']>

  constructor (layout: EventLayout = EMPTY, starts: readonly number[] = [], durations: readonly number[] = [], changes: ReadonlyArray<ListenerEvent['changes']> = []) {
    this.layout = layout
    this.starts = starts
    this.durations = durations
    this.changes = changes
  }

  get length (): number {
    return this.layout.signatures.length
  }

  /** One event, as everybody else reads it. */
  at (i: number): ListenerEvent {
    const { stage, listener, pass, outcome, reason, plugin, source } = this.layout.signatures[i] as EventSignature
    const event: ListenerEvent = { stage, listener, pass, outcome, ...this.timesOf(i) }
    const changed = this.changes[this.layout.sources[i] ?? -1]
    if (reason !== null) event.reason = reason
    if (plugin !== undefined) event.plugin = plugin
    if (source !== undefined) event.source = source
    if (changed !== undefined) event.changes = changed
    return event
  }

  /** When an event began, in milliseconds since the request arrived, and how long it took. */
  timesOf (i: number): { start: number, duration: number } {
    const from = this.layout.sources[i] ?? -1
    if (from >= 0) return { start: (this.starts[from] ?? 0) / 1_000, duration: (this.durations[from] ?? 0) / 1_000 }
    return { start: from === -1 ? 0 : ((this.starts[-2 - from] ?? 0) + (this.durations[-2 - from] ?? 0)) / 1_000, duration: 0 }
  }

  list (): ListenerEvent[] {
    return this.layout.signatures.map((_, i) => this.at(i))
  }

  toJSON (): ListenerEvent[] {
    return this.list()
  }
}

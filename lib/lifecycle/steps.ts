import type { ListenerEvent, Outcome, PassName } from './events.js'
import type { Slot } from './lifecycle.js'
import type { Stage } from './stage.js'

/** What became of a place of the order in one pass: `pending` is one that comes when the response that is being made is sent. */
export type StepOutcome = Outcome | 'unreached' | 'pending'

/** One of the 42 places of the order in one pass. */
export interface Step {
  stage: Stage
  listener: string
  outcome: StepOutcome
  /** Why there was nothing to do. */
  reason?: string
}

/** The whole order as a request walked it. */
export interface Steps {
  /** All 42, whether they were reached or not. */
  main: Step[]
  /** The handler of the route, between the arguments and the response. */
  handler: 'ran' | 'raised' | 'unreached'
  /** The stages that an error pass has; empty where there was none. */
  error: Step[]
}

// Most failures walk the same way: what is made of their steps can be kept with them.
const known = new WeakMap<readonly Slot[], Way[]>()
const MAX_WAYS = 20

type Place = Pick<ListenerEvent, 'pass' | 'stage' | 'listener' | 'outcome' | 'reason'>

/** What came of which listeners, and the steps that it makes. */
interface Way {
  handler: Steps['handler']
  failed: boolean
  places: Place[]
  steps: Steps
}

/**
 * Lays out what happened along the order, with what was never reached, and, in an error pass, with what is still to come.
 * Those of requests that walked the same way are the same object.
 */
export function stepsOf (slots: readonly Slot[], events: readonly ListenerEvent[], handler: Steps['handler'], failed: boolean): Steps {
  let ways = known.get(slots)
  if (ways === undefined) known.set(slots, ways = [])
  const before = ways.find((way) => way.handler === handler && way.failed === failed && isSameWay(way.places, events))
  if (before !== undefined) return before.steps
  const places = events.map(({ pass, stage, listener, outcome, reason }): Place => ({ pass, stage, listener, outcome, ...(reason !== undefined && { reason }) }))
  const steps = laidOut(slots, events, handler, failed)
  ways.unshift({ handler, failed, places, steps })
  if (ways.length > MAX_WAYS) ways.pop()
  return steps
}

function isSameWay (places: readonly Place[], events: readonly ListenerEvent[]): boolean {
  if (places.length !== events.length) return false
  for (let i = 0; i < places.length; i++) {
    const [a, b] = [places[i] as Place, events[i] as ListenerEvent]
    if (a.outcome !== b.outcome || a.listener !== b.listener || a.stage !== b.stage || a.pass !== b.pass || a.reason !== b.reason) return false
  }
  return true
}

function laidOut (slots: readonly Slot[], events: readonly ListenerEvent[], handler: Steps['handler'], failed: boolean): Steps {
  const known = new Map<string, ListenerEvent>()
  // Of a listener that came twice in one pass, the first time counts: the second one answers an answer.
  for (const event of events.toReversed()) known.set(key(event.pass, event.stage, event.listener), event)
  const steps = (pass: PassName, slots: readonly Slot[], otherwise: StepOutcome): Step[] => slots.map(({ stage, listener }) => {
    const event = known.get(key(pass, stage, listener))
    return { stage, listener, outcome: event?.outcome ?? otherwise, ...(event?.reason !== undefined && { reason: event.reason }) }
  })
  return {
    main: steps('main', slots, 'unreached'),
    handler,
    error: failed ? steps('error', slots.filter(({ stage }) => stage !== 'kernel.request'), 'pending') : []
  }
}

function key (pass: PassName, stage: ListenerEvent['stage'], listener: string): string {
  return `${pass} ${stage} ${listener}`
}

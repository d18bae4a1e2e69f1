import type { ListenerEvent, Outcome, PassName } from './events.js'
import type { Slot, Stage } from './lifecycle.js'

/**
 * What became of a place of the order in one pass: `pending` is one that comes when the response that is being made is
 * sent.
 */
export type StepOutcome = Outcome | 'unreached' | 'pending'

/** One of the 42 places of the order in one pass. */
export interface Step {
  stage: Stage
  listener: string
  outcome: StepOutcome
  /** Why there was nothing to do. */
  reason?: string
}

/** The whole order, with what a request did at each place. */
export interface Steps {
  /** All 42, whether they were reached or not. */
  main: Step[]
  /** The handler of the route, between the arguments and the response. */
  handler: 'ran' | 'raised' | 'unreached'
  /** The stages that an error pass has; empty where there was none. */
  error: Step[]
}

/**
 * Lays out what happened along the order, with what was never reached, and, in an error pass, with what is still to
 * come.
 */
export function stepsOf (
  slots: readonly Slot[], events: readonly ListenerEvent[], handler: Steps['handler'], failed: boolean
): Steps {
  const stepIn = (pass: PassName, otherwise: StepOutcome) => ({ stage, listener }: Slot): Step => {
    // Of a listener that ran twice in one pass the first time counts: the second time was for the response to an
    // answer.
    const event = events.find((one) => one.pass === pass && one.stage === stage && one.listener === listener)
    const { outcome = otherwise, reason } = event ?? {}
    return { stage, listener, outcome, ...(reason !== undefined && { reason }) }
  }
  return {
    main: slots.map(stepIn('main', 'unreached')),
    handler,
    error: failed ? slots.filter(({ stage }) => stage !== 'kernel.request').map(stepIn('error', 'pending')) : []
  }
}

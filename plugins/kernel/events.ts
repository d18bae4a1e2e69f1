import type { Stage } from './stage.js'

export type PassName = 'main' | 'error'
export type Outcome = 'ran' | 'skipped' | 'answered' | 'raised'

/** One header as a listener found it and as it left it; null: not there. */
export interface HeaderChange {
  name: string
  from: string | null
  to: string | null
}

/** What one listener did in one pass. */
export interface ListenerEvent {
  stage: Stage
  listener: string
  pass: PassName
  outcome: Outcome
  /** Milliseconds since the request arrived. */
  start: number
  /** Milliseconds. */
  duration: number
  /** Why there was nothing to do. */
  reason?: string
  changes?: {
    headers?: HeaderChange[]
    status?: { from: number, to: number }
    attributes?: string[]
  }
}

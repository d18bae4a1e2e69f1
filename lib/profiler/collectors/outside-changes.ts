import type { EventRecorder } from '../../lifecycle/event-recorder.js'
import { shownValue } from '../../lifecycle/header-values.js'
import type { Mask } from '../../mask/mask.js'
import { cut } from '../../view/visible.js'

/** A header that was changed by code that is not among the events of the profile. */
export interface ProfiledChange {
  name: string
  /** Null: not there. */
  from: string | null
  to: string | null
  /** How many events of the profile came before it. */
  after: number
  /** `handler`, `route hooks`, `error handler`, `Fastify`, `diagnostic page` or `before Hindsight`. */
  by: string
  /** Where the route was declared, `file:line`. */
  source?: string
}

const MAX_NAME = 200
const MAX_VALUE = 4_096

/** The header changes of a request that none of its events made, as its profile shows them. */
export function outsideChanges (recorder: EventRecorder, mask: Mask): { changes: ProfiledChange[] } {
  const value = (name: string, one: Parameters<typeof shownValue>[1]): string | null => {
    const text = shownValue(name, one, mask.header)
    return text === null ? null : cut(text, MAX_VALUE)
  }
  return {
    changes: recorder.outsideChanges.map(({ name, from, to, by, source, after }) => ({
      name: cut(name, MAX_NAME), from: value(name, from), to: value(name, to), by, ...(source !== undefined && { source }), after
    }))
  }
}

import { shownValue } from '../../lifecycle/header-values.js'
import type { EventRecorder } from '../../lifecycle/event-recorder.js'
import type { Mask } from '../../mask/mask.js'
import { cut } from '../../view/visible.js'

const MAX_NAME = 200
const MAX_VALUE = 4_096

/** Headers as the profile stores them: masked, and long values truncated. */
export function shownHeaders (
  headers: Readonly<Record<string, unknown>>,
  mask: Mask
): Record<string, string | string[]> {
  return mask.headers(Object.fromEntries(Object.entries(headers).map(([name, value]) =>
    [name, Array.isArray(value) ? value.map(truncated) : truncated(value)])))
}

function truncated (value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= MAX_VALUE) return value
  const rest = Buffer.byteLength(value.slice(MAX_VALUE)).toLocaleString('en')
  return `${value.slice(0, MAX_VALUE)}… (${rest} more bytes)`
}

/** A change of a response header by code that has no event in the profile. */
export interface ProfiledChange {
  name: string
  /** Null: not set. */
  from: string | null
  to: string | null
  /** The number of events before it. */
  after: number
  /** `handler`, `route hooks`, `error handler`, `Fastify`, `diagnostic page` or `before Hindsight`. */
  by: string
  /** The place of the route, `file:line`. */
  source?: string
}

/** The header changes of a request that belong to no event. */
export function outsideChanges (recorder: EventRecorder, mask: Mask): { changes: ProfiledChange[] } {
  const shown = (name: string, value: Parameters<typeof shownValue>[1]): string | null => {
    const text = shownValue(name, value, mask.header)
    return text === null ? null : cut(text, MAX_VALUE)
  }
  const changes = recorder.outsideChanges().map(({ name, from, to, by, source, after }) => ({
    name: cut(name, MAX_NAME),
    from: shown(name, from),
    to: shown(name, to),
    by,
    ...(source !== undefined && { source }),
    after
  }))
  return { changes }
}

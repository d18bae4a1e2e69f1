import type { HeaderChange } from '../../lifecycle/events.js'
import { shownValue } from '../../lifecycle/header-values.js'
import type { EventRecorder } from '../../lifecycle/event-recorder.js'
import type { Mask } from '../../mask/mask.js'
import { cut } from '../../view/visible.js'
import type { Profile } from '../../store/profile.js'
import { dataOf, listOf, type Data } from '../data.js'

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
  return typeof value === 'string' ? cut(value, MAX_VALUE) : value
}

/** A change of a response header by code without an event. The collector `headers` stores a list of them. */
export interface ProfiledChange extends HeaderChange {
  /** The number of events before it. */
  after: number
  /** `handler`, `route hooks`, `error handler`, `Fastify`, `diagnostic page` or `before Hindsight`. */
  by: string
  /** The place of the route, `file:line`. */
  source?: string
}

/** The header changes of a request that belong to no event. */
export function unrecordedChanges (recorder: EventRecorder, mask: Mask): { changes: ProfiledChange[] } {
  const shown = (name: string, value: Parameters<typeof shownValue>[1]): string | null => {
    const text = shownValue(name, value, mask.header)
    return text === null ? null : cut(text, MAX_VALUE)
  }
  const changes = recorder.unrecordedChanges().map(({ name, from, to, by, source, after }) => ({
    name: cut(name, MAX_NAME),
    from: shown(name, from),
    to: shown(name, to),
    by,
    ...(source !== undefined && { source }),
    after
  }))
  return { changes }
}

/** One change of a response header. `by` is the listener or hook that made it, or what `ProfiledChange` has. */
export interface HeaderStep extends Pick<ProfiledChange, 'by' | 'source' | 'from' | 'to'> {
  action: 'set' | 'changed' | 'removed'
  /** The number of the event. */
  event?: number
}

/** The changes of each response header in order; the headers are in the order of their first change. */
export function headerHistory (profile: Pick<Profile, 'collectors' | 'events'>): Map<string, HeaderStep[]> {
  const ofEvents = profile.events.flatMap(({ changes, listener, source }, i) =>
    (changes?.headers ?? []).map((change): Data => ({ ...change, by: listener, event: i + 1, source, after: i + 0.5 })))
  const others = listOf(dataOf(profile, 'headers').changes)
  const history = new Map<string, HeaderStep[]>()
  for (const change of [...ofEvents, ...others].sort((a, b) => Number(a.after) - Number(b.after))) {
    const name = String(change.name)
    history.set(name, [...history.get(name) ?? [], stepOf(change)])
  }
  return history
}

function stepOf ({ by, event, source, from, to }: Data): HeaderStep {
  const step = { from: typeof from === 'string' ? from : null, to: typeof to === 'string' ? to : null }
  return {
    action: step.to === null ? 'removed' : step.from === null ? 'set' : 'changed',
    by: String(by),
    ...(typeof event === 'number' && { event }),
    ...(typeof source === 'string' && { source }),
    ...step
  }
}

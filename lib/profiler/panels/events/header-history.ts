import { extname } from 'node:path'
import type { ListenerEvent } from '../../../lifecycle/events.js'
import type { Profile } from '../../profile.js'
import { dataOf, listOf, type Data } from '../panel.js'

/** One change of a header; null: not there. */
export interface HeaderStep {
  /** What changed it: the name of a listener or hook, or words for other code. */
  by: string
  /** The number of the event; absent where the change was made by other code. */
  event?: number
  /** Where, as `file:line`; of a listener its file. */
  source?: string
  from: string | null
  to: string | null
}

/** What a step did to the header. */
export function actionOf ({ from, to }: HeaderStep): 'set' | 'changed' | 'removed' {
  return to === null ? 'removed' : from === null ? 'set' : 'changed'
}

/** The history of all headers as programs read it. */
export function headerReport (profile: Profile): { token: string, headers: Record<string, Array<HeaderStep & { action: string }>> } {
  const headers = Object.fromEntries([...headerHistory(profile)].map(([name, steps]) => [name, steps.map((step) => ({ action: actionOf(step), ...step }))]))
  return { token: profile.token, headers }
}

const CODE: Readonly<Record<string, string>> = {
  handler: 'your handler',
  'handler or route hooks': 'your handler, or a hook of its route',
  'route hooks': 'hooks of the route',
  'error handler': 'the error handler',
  'diagnostic page': 'the diagnostic page',
  'before Hindsight': 'a hook or plugin registered before Hindsight'
}
const EXTENSION = extname(import.meta.url)

/** Which code set, changed and removed each header of the response, in the order in which they were first seen. */
export function headerHistory (profile: Profile): Map<string, HeaderStep[]> {
  const history = new Map<string, HeaderStep[]>()
  const note = (name: string, step: HeaderStep): void => {
    const steps = history.get(name) ?? []
    history.set(name, steps)
    steps.push(step)
  }
  const outside = listOf(dataOf(profile, 'headers').changes)
  const noteOutside = (from: number, to: number): void => {
    for (const change of outside) if (Number(change.after) >= from && Number(change.after) < to) note(String(change.name), outsideStep(change))
  }
  profile.events.forEach((event, i) => {
    noteOutside(i, i + 1)
    for (const { name, from, to } of event.changes?.headers ?? []) note(name, { by: event.listener, event: i + 1, ...placeOf(event), from, to })
  })
  noteOutside(profile.events.length, Infinity)
  return history
}

function placeOf ({ stage, listener, source }: ListenerEvent): { source?: string } {
  if (source !== undefined) return { source }
  return stage.startsWith('kernel.') ? { source: `plugins/${listener}${EXTENSION}` } : {}
}

function outsideStep ({ by, source, from, to }: Data): HeaderStep {
  return {
    by: CODE[String(by)] ?? String(by),
    ...(typeof source === 'string' && { source }),
    from: typeof from === 'string' ? from : null,
    to: typeof to === 'string' ? to : null
  }
}

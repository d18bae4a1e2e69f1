import { extname } from 'node:path'
import type { ListenerEvent } from '../../lifecycle/events.js'
import type { Profile } from '../profile.js'
import { dataOf, listOf, type Data } from './panel.js'

/** One change of a response header; null: the header was not set. */
export interface HeaderStep {
  action: 'set' | 'changed' | 'removed'
  /** The listener or hook, or a description of other code. */
  by: string
  /** The number of the event; absent for code without events. */
  event?: number
  /** `file:line`; for a listener its file. */
  source?: string
  from: string | null
  to: string | null
}

const CODE: Readonly<Record<string, string>> = {
  handler: 'route handler',
  'handler or route hooks': 'route handler or route hook',
  'route hooks': 'route hook',
  'error handler': 'error handler',
  'diagnostic page': 'diagnostic page',
  'before Hindsight': 'a hook or plugin registered before Hindsight'
}
const EXTENSION = extname(import.meta.url)

/** The changes of each response header in order; the headers are in the order of their first change. */
export function headerHistory (profile: Profile): Map<string, HeaderStep[]> {
  const history = new Map<string, HeaderStep[]>()
  const add = (name: unknown, step: Omit<HeaderStep, 'action'>): void => {
    const action = step.to === null ? 'removed' : step.from === null ? 'set' : 'changed'
    history.set(String(name), [...history.get(String(name)) ?? [], { action, ...step }])
  }
  const others = listOf(dataOf(profile, 'headers').changes)
  const addOthers = (from: number, to: number): void => {
    for (const change of others) {
      if (Number(change.after) >= from && Number(change.after) < to) add(change.name, stepOf(change))
    }
  }
  for (const [i, event] of profile.events.entries()) {
    addOthers(i, i + 1)
    for (const { name, from, to } of event.changes?.headers ?? []) {
      add(name, { by: event.listener, event: i + 1, ...sourceOf(event), from, to })
    }
  }
  addOthers(profile.events.length, Infinity)
  return history
}

function sourceOf ({ stage, listener, source }: ListenerEvent): { source?: string } {
  if (source !== undefined) return { source }
  return stage.startsWith('kernel.') ? { source: `plugins/${listener}${EXTENSION}` } : {}
}

function stepOf ({ by, source, from, to }: Data): Omit<HeaderStep, 'action'> {
  return {
    by: CODE[String(by)] ?? String(by),
    ...(typeof source === 'string' && { source }),
    from: typeof from === 'string' ? from : null,
    to: typeof to === 'string' ? to : null
  }
}

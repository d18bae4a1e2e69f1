import type { ListenerEvent } from '../../../kernel/events.js'
import type { Profile } from '../../profile.js'
import { dataOf, isObject } from '../panel.js'

/** One change of a header; null: not there. */
export interface HeaderStep {
  /** Who changed it, in words. */
  by: string
  /** The number of the event; undefined where it was none of the listeners. */
  event?: number
  from: string | null
  to: string | null
}

const OF_THE_SERVER = new Set(['content-length', 'date', 'connection', 'keep-alive', 'transfer-encoding'])
// A long value is kept shorter than the listeners saw it.
const CUT = /… \([\d,.]+ more (?:bytes|characters)\)$/

/** Who set, changed and removed each header of the response, in the order in which they were first seen. */
export function headerHistory (profile: Profile): Map<string, HeaderStep[]> {
  const history = new Map<string, HeaderStep[]>()
  const note = (name: string, step: HeaderStep): void => {
    const steps = history.get(name) ?? []
    // What stands there and was set by none of the listeners was set in between.
    const last = steps.at(-1)?.to ?? null
    if (step.from !== last) steps.push({ by: outsider(profile, step, name), from: last, to: step.from })
    steps.push(step)
    history.set(name, steps)
  }
  profile.events.forEach((event, i) => {
    for (const { name, from, to } of event.changes?.headers ?? []) note(name, { by: event.listener, event: i + 1, from, to })
  })
  const { headers } = dataOf(profile, 'response')
  for (const [name, value] of isObject(headers) ? Object.entries(headers) : []) {
    const to = (Array.isArray(value) ? value : [value]).map(String).join(', ')
    const last = history.get(name)?.at(-1)?.to ?? null
    if (last === to || CUT.test(to)) continue
    history.set(name, [...history.get(name) ?? [], { by: last === null ? outsider(profile, undefined, name) : 'a hook behind the lifecycle', from: last, to }])
  }
  return history
}

function outsider ({ events, collectors }: Profile, step: HeaderStep | undefined, name: string): string {
  if (OF_THE_SERVER.has(name)) return 'Fastify'
  const event: ListenerEvent | undefined = step?.event === undefined ? events.findLast(({ stage }) => stage === 'kernel.response') : events[step.event - 1]
  const handled = isObject(collectors.performance) && typeof collectors.performance.handlerStart === 'number'
  if (event?.stage !== 'kernel.response' && event?.stage !== 'kernel.finish_request') return 'a hook or plugin outside the listeners'
  if (event.pass === 'error') return 'the handler of the error'
  return handled ? 'your handler' : 'a hook or plugin outside the listeners'
}

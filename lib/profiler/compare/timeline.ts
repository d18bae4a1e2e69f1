import type { ListenerEvent } from '../../lifecycle/events.js'
import type { Profile } from '../profile.js'
import { Findings } from './findings.js'
import { listOf, type Compare } from './sections.js'
import { aligned, type Pair } from './text-change.js'

/** Less is the machine's own unrest. */
const LEAST_MS = 1
const LEAST_RATIO = 2

/** What the listeners did, pass by pass; those that had nothing to do in the one profile where they are missing in the other do not count. */
export const events: Compare = (a, b, tokens) => {
  const found = new Findings('events', 'Events', tokens)
  for (const [one, other] of eventPairs(a, b)) {
    const event = one ?? other
    if (event === undefined || ((one === undefined || other === undefined) && event.outcome === 'skipped')) continue
    const isOfBoth = one !== undefined && other !== undefined && one.pass !== other.pass
    found.values(isOfBoth ? `${event.stage} ${event.listener}` : nameOf(event), deedOf(one), deedOf(other))
  }
  return found.section
}

/** Where the time went: what took at least twice as long, and a millisecond more. */
export const durations: Compare = (a, b, tokens) => {
  const found = new Findings('durations', 'Durations', tokens)
  const compare = (what: string, one: unknown, other: unknown): void => {
    if (typeof one !== 'number' || typeof other !== 'number') return
    if (isOther(one, other)) found.differ(what, `${rounded(one)} ms`, `${rounded(other)} ms`)
    else found.alike()
  }
  compare('whole request', a.duration, b.duration)
  const [one, other] = [measured(a), measured(b)]
  for (const [field, what] of [['handler', 'handler'], ['serialization', 'serialization'], ['firstByte', 'until the first byte']] as const) compare(what, one[field], other[field])
  for (const [one, other] of eventPairs(a, b)) {
    if (one !== undefined && other !== undefined) compare(nameOf(one), one.duration, other.duration)
  }
  return found.section
}

function eventPairs (a: Profile, b: Profile): Array<Pair<ListenerEvent>> {
  // A failure is answered in its error pass by the same listeners as a success in its main pass.
  return aligned<ListenerEvent>(listOf(a.events), listOf(b.events), ({ stage, listener }) => `${stage} ${listener}`)
}

function nameOf ({ stage, listener, pass }: ListenerEvent): string {
  return `${stage} ${listener}${pass === 'error' ? ' (error pass)' : ''}`
}

function deedOf (event: ListenerEvent | undefined): string | undefined {
  if (event === undefined) return undefined
  const { outcome, reason, changes } = event
  const headers = listOf(changes?.headers).map(({ name, from, to }) => to === null ? `removed ${name}` : `${from === null ? 'set' : 'changed'} ${name}: ${to}`)
  return [
    reason === undefined ? outcome : `${outcome}: ${reason}`,
    ...changes?.status === undefined ? [] : [`status ${changes.status.from} to ${changes.status.to}`],
    ...headers,
    ...Array.isArray(changes?.attributes) ? [`attributes ${changes.attributes.join(', ')}`] : []
  ].join('; ')
}

function measured ({ collectors }: Profile): Readonly<Record<string, unknown>> {
  const data = collectors.performance
  return typeof data === 'object' && data !== null ? data as Record<string, unknown> : {}
}

function isOther (one: number, other: number): boolean {
  const [least, most] = one < other ? [one, other] : [other, one]
  return most - least >= LEAST_MS && most >= LEAST_RATIO * least
}

function rounded (ms: number): number {
  return Math.round(ms * 100) / 100
}

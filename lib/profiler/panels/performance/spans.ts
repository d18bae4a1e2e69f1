import type { Profile } from '../../profile.js'
import { dataOf, listOf } from '../panel.js'

/** What a bar of the waterfall stands for; the legend names them in this order. */
export const KINDS = {
  request: 'kernel.request',
  controller: 'kernel.controller',
  arguments: 'kernel.controller_arguments',
  handler: 'handler',
  serialization: 'serialisation',
  response: 'kernel.response',
  finish: 'kernel.finish_request',
  hook: 'hook of the application',
  call: 'outgoing HTTP call',
  span: 'OpenTelemetry span'
} as const

/** So much of a span's attributes stands beside its bar; all of them are in its panel. */
const MAX_ATTRIBUTES = 6
const MAX_ATTRIBUTE = 80

export type Kind = keyof typeof KINDS

/** One bar of the waterfall. */
export interface Span {
  kind: Kind
  name: string
  /** Milliseconds since the request arrived. */
  start: number
  /** Milliseconds; null for what had not ended. */
  duration: number | null
  failed: boolean
  /** What there is to say of it. */
  detail: string
  /** Where there is more of it: a panel and a place in it. */
  panel: string
  fragment: string
}

const STAGES = new Map<string, Kind>([
  ['kernel.request', 'request'], ['kernel.controller', 'controller'], ['kernel.controller_arguments', 'arguments'],
  ['kernel.response', 'response'], ['kernel.finish_request', 'finish']
])

/** All that took time, in the order in which it began. */
export function spansOf (profile: Profile): Span[] {
  return [...listeners(profile), ...handlerSpans(profile), ...calls(profile), ...instrumented(profile)]
    .filter(({ start }) => Number.isFinite(start))
    .sort((a, b) => a.start - b.start || Number(b.duration) - Number(a.duration))
}

function listeners ({ events }: Profile): Span[] {
  return events.map((event, i) => ({ event, number: i + 1 })).filter(({ event }) => event.outcome !== 'skipped').map(({ event, number }) => {
    const { stage, listener, pass, outcome, plugin, source, start, duration, changes } = event
    const headers = (changes?.headers ?? []).map(({ name }) => name)
    return {
      kind: STAGES.get(stage) ?? 'hook',
      name: listener,
      start,
      duration,
      failed: outcome === 'raised',
      detail: `${stage}${pass === 'error' ? ', error pass' : ''}: ${outcome}${headers.length === 0 ? '' : `; ${headers.join(', ')}`}${source === undefined ? '' : `; added ${plugin === undefined ? '' : `by ${plugin} `}at ${source}`}`,
      panel: 'events',
      fragment: `event-${number}`
    }
  })
}

/** The handler, and the serialisation of its result. */
export function handlerSpans (profile: Profile): Span[] {
  const { handlerStart, handler, serialization } = dataOf(profile, 'performance')
  if (typeof handlerStart !== 'number' || typeof handler !== 'number') return []
  const span = { failed: false, panel: 'router', fragment: '' }
  const name = profile.route?.name ?? 'unnamed'
  const responses = profile.events.filter(({ stage, outcome, start }) => stage === 'kernel.response' && outcome !== 'skipped' && start >= handlerStart)
  // One that returns its reply has not settled until the response is over: its own work was done when it was sent.
  const busy = Math.min(handler, ...responses.map(({ start }) => start - handlerStart))
  const responded = responses.find(({ start }) => start >= handlerStart + busy)
  return [
    { ...span, kind: 'handler', name: `handler ${name}`, start: handlerStart, duration: busy, detail: `the handler of the route ${name}${busy < handler ? ', until it sent its reply' : ''}` },
    ...(typeof serialization !== 'number' || responded === undefined
      ? []
      : [{ ...span, kind: 'serialization' as const, name: 'serialisation', start: responded.start - serialization, duration: serialization, detail: 'from the result of the handler to the first listener of the response' }])
  ]
}

function instrumented (profile: Profile): Span[] {
  return listOf(dataOf(profile, 'spans').spans).map(({ name, kind, scope, start, duration, error, attributes }, i) => ({
    kind: 'span',
    name: String(name),
    start: Number(start),
    duration: typeof duration === 'number' ? duration : null,
    failed: error !== undefined,
    detail: [`${String(kind)} span${scope === '' || scope === undefined ? '' : ` of ${String(scope)}`}${error === undefined ? '' : `, failed: ${String(error)}`}`, ...attributesOf(attributes)].join('; '),
    panel: 'spans',
    fragment: `span-${i + 1}`
  }))
}

function attributesOf (attributes: unknown): string[] {
  if (typeof attributes !== 'object' || attributes === null) return []
  return Object.entries(attributes).slice(0, MAX_ATTRIBUTES).map(([name, value]) => `${name}: ${String(value)}`.slice(0, MAX_ATTRIBUTE))
}

function calls (profile: Profile): Span[] {
  return listOf(dataOf(profile, 'http-client').calls).map(({ method, url, status, start, duration, error }, i) => ({
    kind: 'call',
    name: `${String(method)} ${String(url)}`,
    start: Number(start),
    duration: typeof duration === 'number' ? duration : null,
    failed: error !== undefined || (typeof status === 'number' && status >= 400),
    detail: error !== undefined ? String(error) : typeof status === 'number' ? `answered with ${status}` : 'not answered yet',
    panel: 'http-client',
    fragment: `call-${i + 1}`
  }))
}

import type { FlattenedException } from '../../errors/exception.js'
import type { ListenerEvent } from '../../lifecycle/events.js'
import type { LogRecord } from '../../logs/log-record.js'
import { milliseconds } from '../pages/components.js'
import { dataOf, isObject, listOf, type Data } from '../panels/panel.js'
import type { Profile } from '../profile.js'
import { align, type Pair } from './diff.js'
import { leavesOf, type SectionBuilder, type Values } from './section-builder.js'

type Compare = (section: SectionBuilder, a: Profile, b: Profile) => void

/** Durations that differ by less are not compared: milliseconds, and the ratio of the longer to the shorter one. */
const MIN_DIFFERENCE = 1
const MIN_RATIO = 2

/** The sections in the order in which they explain a failure. */
export const SECTIONS: ReadonlyArray<readonly [name: string, label: string, compare: Compare]> = [
  ['outcome', 'Status and route', values(outcome)],
  ['exceptions', 'Exceptions', exceptions],
  ['request', 'Request', values(request)],
  ['body', 'Body of the request', body],
  ['session', 'Session', collector('session')],
  ['security', 'Security', collector('security')],
  ['response', 'Response', values(response)],
  // Also of a header whose value is volatile.
  ['headers', 'Header sources', (section, a, b) => {
    section.values(headerSources(a), headerSources(b), () => false)
  }],
  ['logs', 'Logs', logs],
  ['events', 'Events', events],
  ['durations', 'Durations', durations]
]

/** Compares what a function reads from each profile. */
function values (valuesOf: (profile: Profile) => Values): Compare {
  return (section, a, b) => section.values(valuesOf(a), valuesOf(b))
}

/** Compares the data of a collector, field by field. */
export function collector (name: string): Compare {
  return values(({ collectors }) => leavesOf(collectors[name]))
}

function outcome ({ status, route, ip }: Profile): Values {
  return {
    status,
    route: route?.name ?? 'none',
    pattern: route?.pattern,
    handler: route?.handler,
    client: ip,
    ...leavesOf(route?.params, 'parameter')
  }
}

function exceptions (section: SectionBuilder, a: Profile, b: Profile): void {
  const pairs = align(
    objects(a.exceptions), objects(b.exceptions),
    ({ name, message }, side) => section.normalized(`${name}: ${message}`, side),
    (one, other) => one.name === other.name
  )
  for (const [one, other] of pairs) {
    section.value((one ?? other)?.name ?? 'exception', exceptionText(one), exceptionText(other))
  }
}

function exceptionText (exception: FlattenedException | undefined): string | undefined {
  if (exception === undefined) return undefined
  const { name, message, code } = exception
  const frames = objects(exception.frames)
  const frame = frames.find(({ own }) => own) ?? frames[0]
  const place = frame === undefined ? '' : ` at ${frame.function || '(anonymous)'} ${frame.file}:${frame.line}`
  return `${name}: ${message}${code === undefined ? '' : ` (${code})`}${place}`
}

function request (profile: Profile): Values {
  const { httpVersion, headers } = dataOf(profile, 'request')
  const { origin, path, query = {} } = splitUrl(profile.url)
  return {
    method: profile.method,
    origin,
    path,
    'HTTP version': httpVersion,
    ...Object.fromEntries(Object.entries(query).map(([name, value]) => [`query ${name}`, value])),
    ...headerValues(headers)
  }
}

function body (section: SectionBuilder, a: Profile, b: Profile): void {
  const [one, other] = [dataOf(a, 'request'), dataOf(b, 'request')]
  const areParsed = [one.body, other.body].every((body) => typeof body === 'object' && body !== null)
  const valuesOf = ({ body, bodyNote }: Data): Values => ({
    ...areParsed ? leavesOf(body) : { body: body ?? undefined },
    'why there is none': bodyNote
  })
  section.values(valuesOf(one), valuesOf(other))
}

function response (profile: Profile): Values {
  const { headers, size, body } = dataOf(profile, 'response')
  return { ...headerValues(headers), size: size ?? undefined, body }
}

/** Headers by what they are, such as `header accept`. */
export function headerValues (headers: unknown): Values {
  const entries = Object.entries(isObject(headers) ? headers : {})
  return Object.fromEntries(entries.map(([name, value]) => [`header ${name}`, value]))
}

// The changes that listeners made are in the section of the events.
function headerSources (profile: Profile): Values {
  const sources = new Map<string, string>()
  for (const { name, by, source, to } of listOf(dataOf(profile, 'headers').changes)) {
    const step = `${to === null ? 'removed' : 'set'} by ${String(by)}${typeof source === 'string' ? ` ${source}` : ''}`
    const earlier = sources.get(`header ${String(name)}`)
    sources.set(`header ${String(name)}`, earlier === undefined ? step : `${earlier}; ${step}`)
  }
  return Object.fromEntries(sources)
}

function logs (section: SectionBuilder, a: Profile, b: Profile): void {
  const pairs = align(
    linesOf(a), linesOf(b),
    ({ level, channel, message }, side) => `${level} ${channel} ${section.normalized(message, side)}`,
    (one, other) => one.level === other.level && one.channel === other.channel
  )
  for (const [one, other] of pairs) {
    const { level, channel } = one ?? other ?? {}
    section.value(`${level} ${channel}`, one?.message, other?.message)
    if (one === undefined || other === undefined) continue
    const prefix = `context of "${one.message.slice(0, 80)}"`
    const contextOf = ({ context }: LogRecord): Values => leavesOf({ ...context, err: undefined }, prefix)
    section.values(contextOf(one), contextOf(other))
  }
}

// Log lines of the events repeat the section of the events.
function linesOf ({ logs }: Profile): LogRecord[] {
  return objects(logs).filter(({ channel, level }) => channel !== 'event' || (level !== 'debug' && level !== 'trace'))
}

// A listener that has nothing to do in one profile, and is missing in the other, makes no difference.
function events (section: SectionBuilder, a: Profile, b: Profile): void {
  for (const [one, other] of eventPairs(a, b)) {
    const event = one ?? other
    if (event === undefined || ((one === undefined || other === undefined) && event.outcome === 'skipped')) continue
    const name = one !== undefined && other !== undefined && one.pass !== other.pass
      ? `${event.stage} ${event.listener}`
      : eventName(event)
    section.value(name, eventText(one), eventText(other))
  }
}

function durations (section: SectionBuilder, a: Profile, b: Profile): void {
  const compare = (what: string, one: unknown, other: unknown): void => {
    if (typeof one !== 'number' || typeof other !== 'number') return
    const shorter = Math.min(one, other)
    const longer = Math.max(one, other)
    const isClose = longer - shorter < MIN_DIFFERENCE || longer < MIN_RATIO * shorter
    if (isClose) section.section.equal++
    else section.different(what, milliseconds(one), milliseconds(other))
  }
  const [one, other] = [dataOf(a, 'performance'), dataOf(b, 'performance')]
  compare('whole request', a.duration, b.duration)
  compare('handler', one.handler, other.handler)
  compare('until the first byte', one.firstByte, other.firstByte)
  for (const [one, other] of eventPairs(a, b)) {
    if (one !== undefined && other !== undefined) compare(eventName(one), one.duration, other.duration)
  }
}

// The same listeners handle a success in the main pass and a failure in the error pass: the key has no pass.
function eventPairs (a: Profile, b: Profile): Array<Pair<ListenerEvent>> {
  return align(objects(a.events), objects(b.events), ({ stage, listener }) => `${stage} ${listener}`)
}

function eventName ({ stage, listener, pass }: ListenerEvent): string {
  return `${stage} ${listener}${pass === 'error' ? ' (error pass)' : ''}`
}

function eventText (event: ListenerEvent | undefined): string | undefined {
  if (event === undefined) return undefined
  const { outcome, reason, changes } = event
  const headers = objects(changes?.headers).map(({ name, from, to }) =>
    to === null ? `removed ${name}` : `${from === null ? 'set' : 'changed'} ${name}: ${to}`)
  return [
    reason === undefined ? outcome : `${outcome}: ${reason}`,
    ...isObject(changes?.status) ? [`status ${changes.status.from} to ${changes.status.to}`] : [],
    ...headers
  ].join('; ')
}

/** The parts of a URL; a parameter with several values is a list. */
export function splitUrl (url: string): { origin: string | undefined, path: string, query?: object } {
  const [, origin, path = '', search] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)?([^?#]*)(?:\?([^#]*))?/i.exec(url) ?? []
  if (search === undefined) return { origin, path }
  const parameters = new URLSearchParams(search)
  const query = [...new Set(parameters.keys())].map((name) => {
    const values = parameters.getAll(name)
    return [name, values.length === 1 ? String(values[0]) : values] as const
  })
  return { origin, path, query: Object.fromEntries(query) }
}

/** The objects of a list. A store may contain profiles that were imported without a complete check. */
function objects<T> (list: readonly T[] | undefined): T[] {
  return listOf(list) as T[]
}

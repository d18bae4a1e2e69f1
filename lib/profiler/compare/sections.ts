import type { FlattenedException } from '../../errors/exception.js'
import type { ListenerEvent } from '../../lifecycle/events.js'
import type { LogRecord } from '../../logs/log-record.js'
import { dataOf, isObject, listOf } from '../panels/panel.js'
import type { Profile } from '../profile.js'
import { align, type Pair } from './diff.js'
import type { SectionBuilder } from './section-builder.js'

type Compare = (section: SectionBuilder, a: Profile, b: Profile) => void

/** Durations that differ by less are not compared: milliseconds, and the ratio of the longer to the shorter one. */
const MIN_DIFFERENCE = 1
const MIN_RATIO = 2

/** The sections in the order in which they explain a failure. */
export const SECTIONS: ReadonlyArray<readonly [name: string, label: string, compare: Compare]> = [
  ['outcome', 'Status and route', outcome],
  ['exceptions', 'Exceptions', exceptions],
  ['request', 'Request', request],
  ['body', 'Body of the request', body],
  ['session', 'Session', collector('session')],
  ['security', 'Security', collector('security')],
  ['response', 'Response', response],
  ['headers', 'Who set the headers', headerSources],
  ['logs', 'Logs', logs],
  ['events', 'Events', events],
  ['durations', 'Durations', durations]
]

/** Compares the data of a collector, field by field. */
export function collector (name: string): Compare {
  return (section, a, b) => section.fields('', a.collectors[name], b.collectors[name])
}

function outcome (section: SectionBuilder, a: Profile, b: Profile): void {
  section.values('status', a.status, b.status)
  section.values('route', a.route?.name ?? 'none', b.route?.name ?? 'none')
  section.values('pattern', a.route?.pattern, b.route?.pattern)
  section.values('handler', a.route?.handler, b.route?.handler)
  section.values('client', a.ip, b.ip)
  section.fields('parameter', a.route?.params, b.route?.params)
}

function exceptions (section: SectionBuilder, a: Profile, b: Profile): void {
  const pairs = align(
    objects(a.exceptions), objects(b.exceptions),
    ({ name, message }, side) => section.normalized(`${name}: ${message}`, side),
    (one, other) => one.name === other.name
  )
  for (const [one, other] of pairs) {
    section.values((one ?? other)?.name ?? 'exception', exceptionText(one), exceptionText(other))
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

function request (section: SectionBuilder, a: Profile, b: Profile): void {
  const [one, other] = [dataOf(a, 'request'), dataOf(b, 'request')]
  const [urlA, urlB] = [splitUrl(a.url), splitUrl(b.url)]
  section.values('method', a.method, b.method)
  section.values('origin', urlA.origin, urlB.origin)
  section.values('path', urlA.path, urlB.path)
  section.values('HTTP version', one.httpVersion, other.httpVersion)
  section.fields('query', urlA.query, urlB.query)
  section.headers(one.headers, other.headers)
}

function body (section: SectionBuilder, a: Profile, b: Profile): void {
  const [one, other] = [dataOf(a, 'request'), dataOf(b, 'request')]
  if ([one.body, other.body].every((body) => typeof body === 'object' && body !== null)) {
    section.fields('', one.body, other.body)
  } else section.values('body', one.body ?? undefined, other.body ?? undefined)
  section.fields('files', one.files, other.files)
  section.values('why there is none', one.bodyNote, other.bodyNote)
  section.values('bytes left out', one.bodyCut, other.bodyCut)
}

function response (section: SectionBuilder, a: Profile, b: Profile): void {
  const [one, other] = [dataOf(a, 'response'), dataOf(b, 'response')]
  section.headers(one.headers, other.headers)
  section.values('size', one.size ?? undefined, other.size ?? undefined)
  section.values('body', one.body, other.body)
}

// The changes that listeners made are in the section of the events.
function headerSources (section: SectionBuilder, a: Profile, b: Profile): void {
  const [one, other] = [sourcesOf(a), sourcesOf(b)]
  for (const name of new Set([...one.keys(), ...other.keys()])) {
    section.values(`header ${name}`, one.get(name)?.join('; '), other.get(name)?.join('; '))
  }
}

function sourcesOf (profile: Profile): Map<string, string[]> {
  const sources = new Map<string, string[]>()
  for (const { name, by, source, to } of listOf(dataOf(profile, 'headers').changes)) {
    const step = `${to === null ? 'removed' : 'set'} by ${String(by)}${typeof source === 'string' ? ` ${source}` : ''}`
    sources.set(String(name), [...sources.get(String(name)) ?? [], step])
  }
  return sources
}

function logs (section: SectionBuilder, a: Profile, b: Profile): void {
  const pairs = align(
    linesOf(a), linesOf(b),
    ({ level, channel, message }, side) => `${level} ${channel} ${section.normalized(message, side)}`,
    (one, other) => one.level === other.level && one.channel === other.channel
  )
  for (const [one, other] of pairs) {
    const { level, channel } = one ?? other ?? {}
    section.values(`${level} ${channel}`, one?.message, other?.message)
    if (one === undefined || other === undefined) continue
    const prefix = `context of "${one.message.slice(0, 80)}"`
    section.fields(prefix, { ...one.context, err: undefined }, { ...other.context, err: undefined })
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
    section.values(name, eventText(one), eventText(other))
  }
}

function durations (section: SectionBuilder, a: Profile, b: Profile): void {
  const compare = (what: string, one: unknown, other: unknown): void => {
    if (typeof one !== 'number' || typeof other !== 'number') return
    const [shorter, longer] = one < other ? [one, other] : [other, one]
    const isClose = longer - shorter < MIN_DIFFERENCE || longer < MIN_RATIO * shorter
    if (isClose) section.section.equal++
    else section.different(what, `${rounded(one)} ms`, `${rounded(other)} ms`)
  }
  const [one, other] = [dataOf(a, 'performance'), dataOf(b, 'performance')]
  compare('whole request', a.duration, b.duration)
  compare('handler', one.handler, other.handler)
  compare('serialization', one.serialization, other.serialization)
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
    ...headers,
    ...Array.isArray(changes?.attributes) ? [`attributes ${changes.attributes.join(', ')}`] : []
  ].join('; ')
}

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

function rounded (ms: number): number {
  return Math.round(ms * 100) / 100
}

/** The objects of a list. A store may contain profiles that were imported without a complete check. */
function objects<T> (list: readonly T[] | undefined): T[] {
  return listOf(list) as T[]
}

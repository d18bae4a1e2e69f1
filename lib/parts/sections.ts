import { diffArrays } from 'diff'
import type { FlattenedException } from '../errors/exception.js'
import type { ListenerEvent } from '../lifecycle/events.js'
import type { LogRecord } from '../logs/log-record.js'
import { dataOf, listOf } from './part.js'
import type { Profile } from '../profiler/profile.js'
import { flattenPaths, type SectionBuilder, type Values } from './section-builder.js'

// The cost of a diff grows with the number of edits.
const MAX_EDITS = 2_000

type Compare = (section: SectionBuilder, a: Profile, b: Profile) => void

/** The sections in the order in which they explain a failure. */
export const SECTIONS: ReadonlyArray<readonly [name: string, label: string, compare: Compare]> = [
  ['outcome', 'Status and route', values(outcome)],
  ['exceptions', 'Exceptions', values(exceptions)],
  ['request', 'Request', values(request)],
  ['body', 'Body of the request', values(body)],
  ['session', 'Session', collector('session')],
  ['security', 'Security', collector('security')],
  ['response', 'Response', values(response)],
  ['logs', 'Logs', logs],
  ['events', 'Events', events]
]

/** Compares what a function reads from each profile. */
function values (valuesOf: (profile: Profile) => Values): Compare {
  return (section, a, b) => section.values(valuesOf(a), valuesOf(b))
}

/** Compares the data of a collector, field by field. */
export function collector (name: string): Compare {
  return values(({ collectors }) => flattenPaths(collectors[name]))
}

function outcome ({ status, route, ip }: Profile): Values {
  return {
    status,
    route: route?.name ?? 'none',
    pattern: route?.pattern,
    handler: route?.handler,
    client: ip,
    ...flattenPaths(route?.params, 'parameter')
  }
}

function exceptions ({ exceptions }: Profile): Values {
  return Object.fromEntries(objects(exceptions).map((one) => [one.name, exceptionText(one)]))
}

function exceptionText ({ name, message, code, frames: all }: FlattenedException): string {
  const frames = objects(all)
  const frame = frames.find(({ own }) => own) ?? frames[0]
  const place = frame === undefined ? '' : ` at ${frame.function || '(anonymous)'} ${frame.file}:${frame.line}`
  return `${name}: ${message}${code === undefined ? '' : ` (${code})`}${place}`
}

function request (profile: Profile): Values {
  const { httpVersion, headers } = dataOf(profile, 'request')
  const { origin, path, query } = splitUrl(profile.url)
  return {
    method: profile.method,
    origin,
    path,
    'HTTP version': httpVersion,
    ...flattenPaths(query, 'query'),
    ...flattenPaths(headers, 'header')
  }
}

function body (profile: Profile): Values {
  const { body, bodyNote } = dataOf(profile, 'request')
  return { ...flattenPaths(body ?? undefined), note: bodyNote }
}

function response (profile: Profile): Values {
  const { headers, size, body } = dataOf(profile, 'response')
  return { ...flattenPaths(headers, 'header'), size: size ?? undefined, body }
}

function logs (section: SectionBuilder, a: Profile, b: Profile): void {
  const nameOf = ({ level, channel }: LogRecord): string => `${level} ${channel}`
  // Log lines of the events repeat the section of the events.
  const linesOf = ({ logs }: Profile): LogRecord[] => objects(logs).filter(({ channel }) => channel !== 'event')
  const pairs = align(linesOf(a), linesOf(b), (line, side) =>
    `${nameOf(line)} ${section.normalized(String(line.message), side)}`)
  for (const [one, other] of pairs) {
    const { level, channel } = one ?? other ?? {}
    section.value(`${level} ${channel}`, one?.message, other?.message)
    if (one === undefined || other === undefined) continue
    const prefix = `context of "${String(one.message).slice(0, 80)}"`
    const contextOf = ({ context }: LogRecord): Values => flattenPaths({ ...context, err: undefined }, prefix)
    section.values(contextOf(one), contextOf(other))
  }
}

// The same listeners handle a success in the main pass and a failure in the error pass: the name has no pass.
// A listener that has nothing to do in one profile, and is missing in the other, makes no difference.
function events (section: SectionBuilder, a: Profile, b: Profile): void {
  const nameOf = ({ stage, listener }: ListenerEvent): string => `${stage} ${listener}`
  for (const [one, other] of align(objects(a.events), objects(b.events), nameOf)) {
    const event = one ?? other
    const isIdle = event?.outcome === 'skipped' && (one === undefined || other === undefined)
    if (event !== undefined && !isIdle) section.value(nameOf(event), eventText(one), eventText(other))
  }
}

function eventText (event: ListenerEvent | undefined): string | undefined {
  if (event === undefined) return undefined
  const { outcome, reason } = event
  return reason === undefined ? outcome : `${outcome}: ${reason}`
}

/** Pairs the items of two lists that have the same key, in order; the partner of any other item is undefined. */
function align<T> (
  a: readonly T[], b: readonly T[], keyOf: (item: T, side: 'a' | 'b') => string
): Array<readonly [a: T | undefined, b: T | undefined]> {
  const chunks = diffArrays(a.map((item) => keyOf(item, 'a')), b.map((item) => keyOf(item, 'b')), {
    maxEditLength: MAX_EDITS
  })
  if (chunks === undefined) return Array.from({ length: Math.max(a.length, b.length) }, (_, i) => [a[i], b[i]] as const)
  const [restA, restB] = [[...a], [...b]]
  return chunks.flatMap(({ added, removed, count }) => {
    const [ofA, ofB] = [added ? [] : restA.splice(0, count), removed ? [] : restB.splice(0, count)]
    return Array.from({ length: count }, (_, i) => [ofA[i], ofB[i]] as const)
  })
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

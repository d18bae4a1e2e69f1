import { cut } from '../../view/visible.js'
import { dataOf, isFailedCall, isObject, listOf, type Data } from '../panels/panel.js'
import type { Profile } from '../profile.js'
import { align } from './diff.js'
import { leavesOf, SectionBuilder } from './section-builder.js'
import { headerValues, splitUrl } from './sections.js'

/** What a failure has that the last success has not, or the reverse. */
export interface Difference {
  what: string
  before: string
  now: string
}

interface Ranked extends Difference {
  /** The first difference of each group is shown before the second of any. */
  group: string
  /** How well such a difference explains a failure. */
  rank: number
}

/** The ranks of a value that is missing now, of one that was missing, and of another one. */
const RANKS: Readonly<Record<string, readonly [gone: number, added: number, changed: number]>> = {
  body: [90, 75, 60],
  query: [85, 70, 59],
  parameter: [50, 50, 45],
  header: [82, 55, 58],
  session: [80, 54, 56],
  user: [83, 81, 81]
}
/** The rank of a value of another type. */
const OTHER_TYPE = 91
/** Headers that differ with the client and its network. */
const CLIENT_HEADERS = new RegExp('^(?:user-agent|accept|accept-(?:language|encoding)|host|referer|origin|dnt|pragma|' +
  'priority|cache-control|upgrade-insecure-requests|via|forwarded|x-real-ip|(?:sec|x-forwarded)-.*)$')
/** Headers that follow from the body, from an earlier response or from the connection. */
const DERIVED_HEADERS = new Set([
  'content-length', 'connection', 'if-none-match', 'if-modified-since', 'idempotency-key', 'sec-websocket-key'
])
const CLIENT_RANK = 12
/** Added to values that the message of the failure names. */
const NAMED = 50
/** The shortest value that is also found within a word of the message. */
const MIN_PART = 4
const MAX_MESSAGE = 10_000
const MAX_CALLS = 200
const NONE = 'absent'

/** The differences between a success and a later failure of the same route, without volatile ones, ranked. */
export function rankedDifferences (success: Profile, failure: Profile): Ranked[] {
  const found = [callDifferences, valueDifferences, environmentDifferences]
    .flatMap((differencesOf) => differencesOf(success, failure)).sort((a, b) => b.rank - a.rank)
  const groups = new Set<string>()
  const first = found.filter(({ group }) => !groups.has(group) && groups.add(group))
  return [...first, ...found.filter((one) => !first.includes(one))]
}

/** Request, route parameters, session and user, value by value. */
function valueDifferences (success: Profile, failure: Profile): Ranked[] {
  const found: Ranked[] = []
  const isNamed = namedBy(failure)
  const both = (read: (profile: Profile) => unknown): [unknown, unknown] => [read(success), read(failure)]
  const compare = (group: string, prefix: string, [before, now]: [unknown, unknown]): void => {
    const section = new SectionBuilder('', '', [success.token, failure.token])
    if (group === 'header') section.values(headerValues(before), headerValues(now))
    else if (group === 'body' ? isNested(before) && isNested(now) : typeof (now ?? before) !== 'string') {
      section.values(leavesOf(nonEmpty(before), prefix), leavesOf(nonEmpty(now), prefix))
    } else section.value(prefix, before ?? undefined, now ?? undefined)
    for (const { what, kind, a, b } of section.section.differences) {
      const name = what.slice(group === 'header' ? 'header '.length : prefix.length).trim()
      if (group === 'header' && DERIVED_HEADERS.has(name)) continue
      const [gone, added, changed] = RANKS[group] ?? [0, 0, 0]
      const usual = kind === 'only-a' ? gone : kind === 'only-b' ? added : typeof a === typeof b ? changed : OTHER_TYPE
      const rank = group === 'header' && CLIENT_HEADERS.test(name) ? CLIENT_RANK : usual
      const text = group === 'body' ? jsonOf : textOf
      const [before, now] = [kind === 'only-b' ? NONE : text(a), kind === 'only-a' ? NONE : text(b)]
      found.push({ group, what, rank: rank + (isNamed(name, b) ? NAMED : 0), before, now })
    }
  }
  compare('body', 'request body', both((profile) => {
    const { body, bodyNote } = dataOf(profile, 'request')
    return bodyNote ?? body
  }))
  compare('query', 'query parameter', both(({ url }) => splitUrl(url).query))
  compare('parameter', 'route parameter', both(({ route }) => route?.params))
  compare('header', '', both((profile) => dataOf(profile, 'request').headers))
  compare('session', 'session', both((profile) => {
    const { used, cookie, origin, keys } = dataOf(profile, 'session')
    return { used, cookie, origin, ...isObject(keys) && { value: keys } }
  }))
  compare('user', 'user', both(userOf))
  return found
}

/** Returns the function that tests whether the messages of a failure name a field or its value. */
function namedBy ({ exceptions }: Profile): (name: string, value: unknown) => boolean {
  const message = listOf(exceptions).map((one) => String(one.message)).join('\n').slice(0, MAX_MESSAGE).toLowerCase()
  const words = new Set(message.split(/[^\w$-]+/))
  return (name, value) => {
    const text = textOf(value ?? '').toLowerCase()
    const last = name.slice(name.lastIndexOf('.') + 1).replace(/\[\d+\]$/, '').toLowerCase()
    return (last.length > 1 && words.has(last)) || (text.length > 1 && words.has(text)) ||
      (text.length >= MIN_PART && message.includes(text))
  }
}

function isNested (value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/** An empty object has no fields. */
function nonEmpty (value: unknown): unknown {
  return isNested(value) && Object.keys(value as object).length === 0 ? undefined : value ?? undefined
}

function userOf (profile: Profile): unknown {
  const { user, roles } = dataOf(profile, 'security')
  const { identifier, attributes } = isObject(user) ? user : {}
  return user === undefined ? dataOf(profile, 'request').user ?? undefined : { identifier, roles, attributes }
}

/** Calls to other servers with another status or address. */
function callDifferences (success: Profile, failure: Profile): Ranked[] {
  const [calls, newCalls] = [success, failure].map((profile) =>
    listOf(dataOf(profile, 'http-client').calls).slice(0, MAX_CALLS).map(callOf))
  return align(calls ?? [], newCalls ?? [], ({ key }) => key).flatMap(([before, now]) => {
    const hasMoved = before !== undefined && now !== undefined && before.origin !== now.origin
    const [old, result] = [before, now].map((call) =>
      call === undefined ? 'not sent' : hasMoved ? `${call.result} from ${call.origin}` : call.result)
    if (old === undefined || result === undefined || old === result) return []
    const isWorse = now?.failed === true && before?.failed !== true
    const rank = isWorse ? 100 : hasMoved ? 63 : now === undefined ? 20 : 40
    return [{ group: 'calls', rank, what: `outgoing ${(now ?? before)?.name}`, before: old, now: result }]
  })
}

function callOf (call: Data) {
  const { method, url, status, error } = call
  const { origin = '', path } = splitUrl(String(url))
  // The key is the same for calls to the same route of another server.
  const key = `${String(method)} ${path.replace(/\d+|[0-9a-f]{8}-[0-9a-f-]{27}/gi, '0')}`
  const result = error === undefined ? String(status ?? 'pending') : String(error) || 'failed'
  return { key, name: `${String(method)} ${origin}${path}`, origin, result, failed: isFailedCall(call) }
}

/** The names and the ranks of what is around the request. */
const ENVIRONMENT: ReadonlyArray<readonly [field: string, what: string, rank: number]> = [
  ['revision', 'code revision (git)', 76],
  ['mode', 'configuration NODE_ENV', 74],
  ['node', 'Node.js', 72],
  ['lifecycle', 'configuration lifecycle', 71],
  ['fastify', 'Fastify', 69],
  ['hindsight', 'Hindsight', 61]
]

/** Code, configuration and versions. */
function environmentDifferences (success: Profile, failure: Profile): Ranked[] {
  const [before, now] = [dataOf(success, 'config'), dataOf(failure, 'config')]
  const found: Ranked[] = []
  const add = (group: string, what: string, rank: number, a: unknown, b: unknown): void => {
    if (a !== undefined && b !== undefined && a !== b) {
      found.push({ group, what, rank, before: textOf(a) || NONE, now: textOf(b) || NONE })
    }
  }
  for (const [field, what, rank] of ENVIRONMENT) add(field, what, rank, before[field], now[field])
  const [versions, newVersions] = [versionsOf(before), versionsOf(now)]
  // They are recorded in debug mode only.
  const names = versions.size === 0 || newVersions.size === 0 ? [] : [...versions.keys(), ...newVersions.keys()]
  for (const name of new Set(names)) {
    add('dependencies', `dependency ${name}`, 67, versions.get(name) ?? NONE, newVersions.get(name) ?? NONE)
  }
  // The options themselves are not stored.
  if (found.length === 0) add('options', 'configuration (options of Fastify or Hindsight)', 64, before.id, now.id)
  const routes = [success, failure].map(({ route }) => route?.name ?? 'none')
  add('route', 'route', 95, routes[0], routes[1])
  add('handler', 'place of the route', 30, success.route?.handler, failure.route?.handler)
  return found
}

/** Versions by the names of dependencies, from `name@version` texts. */
function versionsOf ({ dependencies }: Data): Map<string, string> {
  const words = typeof dependencies === 'string' ? dependencies.split(' ') : []
  return new Map(words.map((word) => [word.slice(0, word.lastIndexOf('@')), word.slice(word.lastIndexOf('@') + 1)]))
}

function textOf (value: unknown): string {
  return typeof value === 'string' ? value : jsonOf(value)
}

function jsonOf (value: unknown): string {
  return cut(JSON.stringify(value) ?? NONE, 10_000)
}

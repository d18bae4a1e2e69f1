import { cut } from '../../view/visible.js'
import { dataOf, isFailedCall, isObject, listOf } from '../panels/panel.js'
import type { Profile } from '../profile.js'
import { align } from './diff.js'
import { leavesOf, SectionBuilder } from './section-builder.js'
import { splitUrl } from './sections.js'

/** What a failure has that the last success has not, or the reverse. */
export interface Difference {
  what: string
  before: string
  now: string
}

const BODY = 'request body'
/** The values of a request in the order in which they explain a failure. */
const VALUES: ReadonlyArray<readonly [what: string, read: (profile: Profile) => unknown]> = [
  [BODY, bodyOf],
  ['query parameter', ({ url }) => splitUrl(url).query],
  ['route parameter', ({ route }) => route?.params],
  ['header', (profile) => dataOf(profile, 'request').headers],
  ['session', sessionOf],
  ['user', userOf]
]
/** Headers that follow from the body, from an earlier response or from the connection. */
const DERIVED_HEADERS = new Set([
  'content-length', 'connection', 'if-none-match', 'if-modified-since', 'idempotency-key'
])
/** Headers that differ with the client and its network: they are shown last. */
const CLIENT_HEADERS = new RegExp('^header (?:user-agent|accept|accept-(?:language|encoding)|host|referer|origin|' +
  'dnt|pragma|priority|cache-control|upgrade-insecure-requests|via|forwarded|x-real-ip|(?:sec|x-forwarded)-.*)$')
/** The names of what is around the request. */
const ENVIRONMENT = [
  ['revision', 'code revision (git)'], ['mode', 'configuration NODE_ENV'], ['node', 'Node.js'],
  ['lifecycle', 'configuration lifecycle'], ['fastify', 'Fastify'], ['hindsight', 'Hindsight']
] as const
const MAX_MESSAGE = 10_000
const MAX_CALLS = 200
const NONE = 'absent'

/**
 * The differences between a success and a later failure of the same route, without volatile ones: the first of each
 * group before the second of any.
 */
export function orderedDifferences (success: Profile, failure: Profile): Difference[] {
  const values = VALUES.map(([what, read]) => valueDifferences(what, read, success, failure))
  const isOfClient = ({ what }: Difference): boolean => CLIENT_HEADERS.test(what)
  const groups = [
    routeDifference(success, failure),
    callDifferences(success, failure),
    ...values.map((group) => group.filter((one) => !isOfClient(one))),
    environmentDifferences(success, failure)
  ]
  return [
    ...groups.flatMap((group) => group.slice(0, 1)),
    ...groups.flatMap((group) => group.slice(1)),
    ...values.flat().filter(isOfClient)
  ]
}

/** Values that the message of the failure names, then those that are missing, then those of another type. */
function valueDifferences (
  group: string, read: (profile: Profile) => unknown, success: Profile, failure: Profile
): Difference[] {
  const isNamed = namedBy(failure)
  const section = new SectionBuilder('', '', [success.token, failure.token])
  const [one, other] = [read(success) ?? undefined, read(failure) ?? undefined]
  if (group === BODY && !(isNested(one) && isNested(other))) section.value(BODY, one, other)
  else section.values(leavesOf(one, group), leavesOf(other, group))
  const text = group === BODY ? jsonOf : textOf
  return section.section.differences
    .map(({ what, kind, a, b }) => {
      const name = what.slice(group.length).trim()
      const usual = kind === 'only-a' ? 1 : kind === 'changed' && typeof a !== typeof b ? 2 : 3
      const before = kind === 'only-b' ? NONE : text(a)
      const now = kind === 'only-a' ? NONE : text(b)
      return { name, order: isNamed(name, b) ? 0 : usual, difference: { what, before, now } }
    })
    .filter(({ name }) => group !== 'header' || !DERIVED_HEADERS.has(name))
    .sort((a, b) => a.order - b.order)
    .map(({ difference }) => difference)
}

/** Returns the function that tests whether the messages of a failure have a field's name or value as a word. */
function namedBy ({ exceptions }: Profile): (name: string, value: unknown) => boolean {
  const message = listOf(exceptions).map((one) => String(one.message)).join('\n').slice(0, MAX_MESSAGE).toLowerCase()
  const words = new Set(message.split(/[^\w$-]+/).filter((word) => word.length > 1))
  return (name, value) => {
    const last = name.slice(name.lastIndexOf('.') + 1).replace(/\[\d+\]$/, '')
    return words.has(last.toLowerCase()) || words.has(textOf(value ?? '').toLowerCase())
  }
}

function bodyOf (profile: Profile): unknown {
  const { body, bodyNote } = dataOf(profile, 'request')
  return bodyNote ?? body
}

function sessionOf (profile: Profile): unknown {
  const { used, cookie, keys } = dataOf(profile, 'session')
  return { used, cookie, ...isObject(keys) && { value: keys } }
}

function userOf (profile: Profile): unknown {
  const { user, roles } = dataOf(profile, 'security')
  const { identifier, attributes } = isObject(user) ? user : {}
  return user === undefined ? dataOf(profile, 'request').user : { identifier, roles, attributes }
}

function routeDifference (success: Profile, failure: Profile): Difference[] {
  const [before, now] = [success.route?.name ?? 'none', failure.route?.name ?? 'none']
  return before === now ? [] : [{ what: 'route', before, now }]
}

/** Calls to other servers with another result, those that fail now first. */
function callDifferences (success: Profile, failure: Profile): Difference[] {
  const callsOf = (profile: Profile) => listOf(dataOf(profile, 'http-client').calls).slice(0, MAX_CALLS).map((call) => {
    const { method, url, status, error } = call
    const { origin = '', path } = splitUrl(String(url))
    const name = `${String(method)} ${origin}${path}`
    const result = error === undefined ? String(status ?? 'pending') : String(error) || 'failed'
    // The key is the same for calls to the same route.
    return { key: name.replace(/\d+|[0-9a-f]{8}-[0-9a-f-]{27}/gi, '0'), name, result, failed: isFailedCall(call) }
  })
  return align(callsOf(success), callsOf(failure), ({ key }) => key)
    .filter(([before, now]) => before?.result !== now?.result)
    .sort(([, one], [, other]) => Number(other?.failed ?? false) - Number(one?.failed ?? false))
    .map(([before, now]) => ({
      what: `outgoing ${(now ?? before)?.name}`,
      before: before?.result ?? 'not sent',
      now: now?.result ?? 'not sent'
    }))
}

/** Code, configuration and versions. */
function environmentDifferences (success: Profile, failure: Profile): Difference[] {
  const [before, now] = [dataOf(success, 'config'), dataOf(failure, 'config')]
  const versions = leavesOf(versionsOf(before.dependencies), 'dependency')
  const newVersions = leavesOf(versionsOf(now.dependencies), 'dependency')
  // They are recorded in debug mode only.
  const hasVersions = Object.keys(versions).length > 0 && Object.keys(newVersions).length > 0
  const names = hasVersions ? Object.keys({ ...versions, ...newVersions }) : []
  const compared: ReadonlyArray<readonly [what: string, before: unknown, now: unknown]> = [
    ...ENVIRONMENT.map(([field, what]) => [what, before[field], now[field]] as const),
    ...names.map((name) => [name, versions[name] ?? NONE, newVersions[name] ?? NONE] as const)
  ]
  const found = compared.filter(([, one, other]) => one !== undefined && other !== undefined && one !== other)
  // The options themselves are not stored.
  const hasOtherOptions = before.id !== undefined && now.id !== undefined && before.id !== now.id
  if (found.length === 0 && hasOtherOptions) {
    found.push(['configuration (options of Fastify or Hindsight)', before.id, now.id])
  }
  return found.map(([what, one, other]) => ({ what, before: textOf(one), now: textOf(other) }))
}

/** Versions by the names of dependencies, from `name@version` texts. */
function versionsOf (dependencies: unknown): Record<string, string> {
  const words = typeof dependencies === 'string' ? dependencies.split(' ') : []
  return Object.fromEntries(words.map((word) => word.split(/@(?=[^@]*$)/)))
}

function isNested (value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function textOf (value: unknown): string {
  return typeof value === 'string' ? value : jsonOf(value)
}

function jsonOf (value: unknown): string {
  return cut(JSON.stringify(value) ?? NONE, 10_000)
}

import { shortFile } from '../../errors/stack-frame.js'
import { MASKED } from '../../mask/mask.js'
import type { Profile } from '../../store/profile.js'
import { formatTime } from '../../view/components.js'
import { presentItems } from '../../view/text.js'
import { dataOf, groupedBy, lineOf, listOf, splitUrl, type Data } from '../read.js'

/** Calls one after another, from which they count as too many. */
const MIN_SERIAL = 5

type CallGroup = ReturnType<typeof groupOf>

/** The calls of one shape that one line of the application sent; those that took longest are first. */
export function callGroups (calls: readonly Data[], route: Profile['route']): CallGroup[] {
  const groups = groupedBy(calls, (call) => `${callShape(call, route)} ${String(call.source)}`)
  return [...groups.values()].map((group) => groupOf(group, route)).sort((a, b) => b.duration - a.duration)
}

/** Times are milliseconds. `source`: `file:line:column`; null: unknown. `open`: calls that had not ended. */
function groupOf (calls: readonly Data[], route: Profile['route']) {
  const [first] = calls as [Data]
  const times = calls.map(({ duration }) => Number(duration))
  // From the end of each call to the start of the next one.
  const pauses = calls.slice(1).map(({ start }, i) => Number(start) - endOf(calls[i] as Data))
  // Masked parts, and headers, may differ.
  const requests = new Set(calls.map((call) => JSON.stringify([call.method, call.url, call.requestHeaders])))
  const { origin = '', path } = splitUrl(String(first.url))
  const isOnePath = calls.every(({ url }) => splitUrl(String(url)).path === path)
  return {
    // Identifiers are left out only where they differ.
    shape: isOnePath ? `${String(first.method)} ${origin}${path}` : callShape(first, route),
    source: typeof first.source === 'string' ? first.source : null,
    count: calls.length,
    open: calls.filter(({ duration }) => duration === null).length,
    duration: times.reduce((sum, time) => sum + time, 0),
    longest: Math.max(...times),
    isSerial: pauses.every((pause) => pause >= 0),
    // Then the next one may be another try.
    hasFailed: calls.some(isFailed),
    isSame: requests.size === 1 && first.method === 'GET' && ![...requests].join().includes(MASKED)
  }
}

function endOf ({ start, duration }: Data): number {
  if (duration === null) return Infinity
  return Number(start) + Number(duration)
}

/** Whether a call had an error, or a response with an error status. */
export function isFailed ({ status, error }: Data): boolean {
  return error !== undefined || Number(status) >= 400
}

/** What many calls of one line have cost; null where there are few. */
export function problemOf (group: CallGroup): string | null {
  const { isSerial, hasFailed, isSame, count } = group
  if (!isSerial || hasFailed || count < MIN_SERIAL) return null
  if (isSame) return `The same call several times: ${sentenceOf(group)}`
  return sentenceOf(group)
}

export function sentenceOf (group: CallGroup): string {
  const { shape, source, count, open, duration, longest, isSerial, isSame, hasFailed } = group
  const from = source === null ? '' : ` from ${shortFile(lineOf(source))}`
  if (count === 1) return `${shape}${from}, ${open === 1 ? 'which had not ended' : formatTime(duration)}`
  const facts = presentItems([
    isSerial && `one after another, ${formatTime(duration)}`,
    isSerial && !isSame && !hasFailed && `at the same time about ${formatTime(longest)}`,
    !isSerial && `at the same time, ${formatTime(longest)} the longest`,
    open > 0 && `${open} had not ended`
  ])
  return `${count} × ${shape}${from}, ${facts.join('; ')}`
}

/** Calls that were sent while a transaction of the request was open: it has locks that long. */
export function callsInTransactions (
  calls: readonly Data[], { collectors, route, duration }: Pick<Profile, 'collectors' | 'route' | 'duration'>
): string[] {
  const transactions = listOf(dataOf({ collectors }, 'queries').transactions)
  const sentences = calls.flatMap((call) => {
    const at = Number(call.start)
    const open = transactions.find(({ start, end }) => Number(start) <= at && at < Number(end ?? duration))
    if (open === undefined) return []
    const [from, began] = [call.source, open.source].map((source) =>
      typeof source === 'string' ? shortFile(lineOf(source)) : 'an unknown line')
    return [`${callShape(call, route)} from ${from} was sent while the transaction that began at ${began} was open`]
  })
  return [...groupedBy(sentences, (sentence) => sentence)]
    .map(([sentence, { length }]) => length === 1 ? sentence : `${length} × ${sentence}`)
}

/** Different paths of one place from which a segment in which they differ is an identifier. */
const MIN_DIFFERENT = 3

/**
 * The position of the identifier in the path of each call, where it has no digits: the calls of one place, such as a
 * loop, differ in this segment only. `places`: the stacks that have sent the calls; empty where unknown.
 */
export function identifierPositions (calls: readonly Data[], places: readonly string[]): Array<number | undefined> {
  const segments = calls.map(({ url }) => splitUrl(String(url)).path.split('/'))
  const keys = calls.map(({ method, url }, i) =>
    JSON.stringify([method, splitUrl(String(url)).origin, places[i], segments[i]?.length]))
  const positions = new Map([...groupedBy([...calls.keys()], (i) => keys[i])].map(([key, group]) => {
    const paths = group.map((i) => segments[i] as string[])
    const values = (paths[0] ?? []).map((_, at) => new Set(paths.map((path) => path[at])).size)
    const different = values.flatMap((count, at) => count > 1 ? [at] : [])
    return [key, different.length === 1 && Math.max(...values) >= MIN_DIFFERENT ? different[0] : undefined]
  }))
  return keys.map((key, i) => places[i] === '' ? undefined : positions.get(key))
}

/**
 * The method and address of a call without its identifiers: segments of the path with digits, other than a version,
 * those that are a path parameter of the request, and the one in which the calls of its place differ.
 */
export function callShape ({ method, url, identifier }: Data, route: Profile['route']): string {
  const { origin = '', path } = splitUrl(String(url))
  const parameters = Object.values(route?.params ?? {})
  const isIdentifier = (segment: string, i: number): boolean => i === identifier ||
    (/\d/.test(segment) && !/^v\d+$/i.test(segment)) || (segment !== '' && parameters.includes(segment))
  return `${String(method)} ${origin}${path.split('/').map((one, i) => isIdentifier(one, i) ? ':id' : one).join('/')}`
}

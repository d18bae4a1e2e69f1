import { shortFile } from '../../errors/stack-frame.js'
import { MASKED } from '../../mask/mask.js'
import type { Profile } from '../../store/profile.js'
import { milliseconds } from '../../view/components.js'
import { lineOf, splitUrl, type Data } from '../read.js'

/** The calls of one shape that one line of the application sent. */
interface CallGroup {
  /** See `callShape`. */
  shape: string
  /** `file:line:column`; null: unknown. */
  source: string | null
  count: number
  /** The sum, and that of the longest call, in milliseconds. */
  duration: number
  longest: number
  /** Whether each began when the one before had ended. */
  isSerial: boolean
  /** Whether one of them failed, or was sent after a pause: then it is not certain that they are too many. */
  isUnclear: boolean
  /** How many of them are the same `GET` request. */
  same: number
}

/** Calls one after another, from which they count as too many. */
const MIN_SERIAL = 5
/** Milliseconds between two calls: a longer pause is that of code that waits, such as for a job. */
const MAX_PAUSE = 20

export function callGroups (calls: readonly Data[], route: Profile['route']): CallGroup[] {
  const groups = new Map<string, { group: CallGroup, end: number, urls: Map<string, number> }>()
  for (const call of calls) {
    const { source, start, duration, method, url } = call
    const shape = callShape(call, route)
    const key = `${shape} ${String(source)}`
    const time = Number(duration)
    const known = groups.get(key) ?? {
      group: {
        shape,
        source: typeof source === 'string' ? source : null,
        count: 0,
        duration: 0,
        longest: 0,
        isSerial: true,
        isUnclear: false,
        same: 0
      },
      end: -Infinity,
      urls: new Map<string, number>()
    }
    groups.set(key, known)
    const { group, urls } = known
    const pause = Number(start) - known.end
    const isFailed = call.error !== undefined || Number(call.status) >= 400
    if (pause < 0) group.isSerial = false
    if (isFailed || (group.count > 0 && pause > MAX_PAUSE)) group.isUnclear = true
    known.end = duration === null ? Infinity : Number(start) + time
    group.count++
    group.duration += time
    group.longest = Math.max(group.longest, time)
    // Masked parts, and headers, may differ.
    const request = JSON.stringify([url, call.requestHeaders])
    const same = method === 'GET' && !request.includes(MASKED) ? (urls.get(request) ?? 0) + 1 : 0
    urls.set(request, same)
    group.same = Math.max(group.same, same)
  }
  return [...groups.values()].map(({ group }) => group).sort((a, b) => b.duration - a.duration)
}

/** What many calls of one line have cost; null where there are few. */
export function problemOf (group: CallGroup): string | null {
  const { isSerial, isUnclear, same, count } = group
  if (!isSerial || isUnclear || count < MIN_SERIAL) return null
  return same === count ? `The same call several times: ${sentenceOf(group)}` : sentenceOf(group)
}

/** A group in one sentence. */
export function sentenceOf ({ shape, source, count, duration, longest, isSerial }: CallGroup): string {
  const from = source === null ? '' : ` from ${shortFile(lineOf(source))}`
  if (count === 1) return `${shape}${from}, ${milliseconds(duration)}`
  const how = isSerial
    ? `one after another, ${milliseconds(duration)}; at the same time about ${milliseconds(longest)}`
    : `at the same time, ${milliseconds(longest)} the longest`
  return `${count} × ${shape}${from}, ${how}`
}

/**
 * The method and address of a call without its identifiers: segments of the path with digits, other than a version, and
 * those that are a path parameter of the request.
 */
export function callShape ({ method, url }: Data, route: Profile['route']): string {
  const { origin = '', path } = splitUrl(String(url))
  const parameters = Object.values(route?.params ?? {})
  const isIdentifier = (segment: string): boolean =>
    (/\d/.test(segment) && !/^v\d+$/i.test(segment)) || (segment !== '' && parameters.includes(segment))
  return `${String(method)} ${origin}${path.split('/').map((one) => isIdentifier(one) ? ':id' : one).join('/')}`
}

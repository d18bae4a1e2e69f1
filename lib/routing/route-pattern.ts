import FindMyWay, { type HTTPMethod } from 'find-my-way'
import { attempt } from '../attempt.js'
import { editDistance } from '../similar-name.js'

/** The cost of a route that is not similar to a path. */
const FAR = 1_000

/** The routes that are similar to a path of these segments, nearest first; at most `limit`. */
export function similarTo<T extends { segments: readonly string[] }> (
  routes: readonly T[], sent: readonly string[], limit: number
): T[] {
  const byCost: T[][] = []
  // Many routes have the same segments. For an expression a router is made.
  const found = sent.map(() => new Map<string, number>())
  const differenceAt = (i: number, segment: string): number => {
    const known = found[i] as Map<string, number>
    const difference = known.get(segment) ?? differenceOf(segment, sent[i] as string)
    known.set(segment, difference)
    return difference
  }
  for (const route of routes) {
    const cost = costOf(route.segments, sent, differenceAt)
    if (cost >= FAR) continue
    const equal = (byCost[cost] ??= [])
    if (equal.length < limit) equal.push(route)
  }
  return byCost.flat().slice(0, limit)
}

/**
 * The cost of the differences between a pattern and a path. A parameter matches any text: without a static segment
 * there is nothing to compare.
 */
function costOf (
  declared: readonly string[], sent: readonly string[], differenceAt: (i: number, segment: string) => number
): number {
  const missing = declared.length - sent.length
  if (missing > 1) return FAR
  let sum = 0
  let hasStatic = false
  for (let i = 0; i < declared.length && i < sent.length; i++) {
    const segment = declared[i] as string
    sum += differenceAt(i, segment)
    if (sum >= FAR) return FAR
    hasStatic ||= segment !== '' && !isParameter(segment)
  }
  const last = declared.at(-1) as string
  const isOpen = last.endsWith('*')
  const hasSlash = sent.at(-1) === ''
  if (sum === 0) {
    if (missing === 0 || (missing === 1 && last.endsWith('?')) || (missing < 0 && isOpen)) return 1
    // The other form of the path: with a trailing slash instead of without one, or the reverse.
    const isOther = missing === 1 ? !hasSlash && (last === '' || last === '*') : missing === -1 && hasSlash
    if (isOther) return 2
  }
  const more = isOpen ? Math.max(0, missing) : Math.abs(missing)
  return more > 1 || !hasStatic ? FAR : 3 + sum + 4 * more
}

/** Twice the differing characters of a static segment, 1 where only the case differs; `FAR` where it is not similar. */
function differenceOf (segment: string, value: string): number {
  if (segment === value) return 0
  const isPlain = !segment.includes(':') && !segment.includes('*')
  if (!isPlain && segmentMatches(segment, value)) return 0
  const most = Math.max(1, Math.floor(segment.length / 3))
  if (Math.abs(segment.length - value.length) > most || (!isPlain && isParameter(segment))) return FAR
  const characters = editDistance(segment.toLowerCase(), value.toLowerCase(), most)
  return characters <= most ? Math.max(1, 2 * characters) : FAR
}

/** The segments of a pattern of find-my-way. A slash in an expression does not separate segments. */
export function patternSegments (pattern: string): string[] {
  const path = pattern.replace(/^\//, '')
  return path.includes('(') ? path.split(/\/(?![^(]*\))/) : path.split('/')
}

// In a pattern, `::` is a colon, and not a parameter.
export function isParameter (segment: string): boolean {
  return segment.includes('*') || (segment.includes(':') && /(?<!:):(?!:)/.test(segment))
}

/** Whether a segment of a pattern matches one of a path. */
export function segmentMatches (segment: string, value: string): boolean {
  if (!isParameter(segment)) return segment.replaceAll('::', ':') === value
  if (value === '') return segment === '*' || segment.endsWith('?')
  // Any text matches a parameter alone: no router is made for it.
  if (segment === '*' || /^:\w+\??$/.test(segment)) return true
  return patternMatches(`/${segment}`, 'GET', `/${encodeURIComponent(value)}`)
}

/** Whether a router would match a path to a route of this pattern. */
export function patternMatches (pattern: string, method: string, path: string): boolean {
  return attempt(() => {
    const router = FindMyWay({ maxParamLength: 16_384 })
    router.on(method as HTTPMethod, pattern, () => {})
    return router.find(method as HTTPMethod, path) !== null
  }, () => false)
}

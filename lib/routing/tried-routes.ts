import { distance } from 'fastest-levenshtein'
import FindMyWay, { type HTTPMethod } from 'find-my-way'
import type { DeclaredRoute } from './route-table.js'

const MAX_TRIED = 50
const MAX_PATH = 300
const MAX_NEAR = 5

/** Costs from here on are those of routes that are not similar to the request. */
const FAR = 1_000

/** The request, as far as routing depends on it. */
interface Wanted {
  method: string
  path: string
}

interface Segment {
  /** As it is declared. */
  text: string
  isStatic: boolean
  matches: (segment: string) => boolean
}

interface RoutePattern {
  segments: Segment[]
  /** Whether the last segment matches any number of segments. */
  isOpen: boolean
  /** Whether the last segment may be absent. */
  isOptional: boolean
}

/** The result for one route; the lower the cost, the nearer the route. */
interface Comparison {
  route: DeclaredRoute
  why: string
  cost: number
}

/**
 * Why each route did not match a request that matched none: fifty of them, the nearest first, and how many more there
 * are. `isNear`: only the method, a constraint or some characters differ.
 */
export function triedRoutes (routes: readonly DeclaredRoute[], wanted: Wanted) {
  const compared = nearestFirst(routes, wanted)
  return {
    tried: compared.slice(0, MAX_TRIED).map(({ route: { name, methods, pattern }, why, cost }) =>
      ({ name, methods, pattern, why, isNear: cost < FAR })),
    more: Math.max(0, compared.length - MAX_TRIED)
  }
}

/**
 * The routes that nearly matched a request, the nearest first. `path` would match, with the parameters of the request;
 * null where the request lacks a parameter.
 */
export function nearMisses (routes: readonly DeclaredRoute[], wanted: Wanted) {
  const sent = segmentsOf(wanted.path)
  return nearestFirst(routes, wanted).filter(({ cost }) => cost < FAR).slice(0, MAX_NEAR)
    .map(({ route, why }) => ({ route, why, path: pathFor(route, sent) }))
}

function nearestFirst (routes: readonly DeclaredRoute[], wanted: Wanted): Comparison[] {
  const sent = segmentsOf(wanted.path)
  return routes.map((route) => compare(route, wanted, sent)).sort((a, b) => a.cost - b.cost)
}

function compare (route: DeclaredRoute, wanted: Wanted, sent: readonly string[]): Comparison {
  const pattern = patternOf(route.pattern)
  const result = (cost: number, why: string): Comparison => ({ route, why, cost })
  const differing = firstDifference(pattern, sent)
  if (differing === null) {
    const { methods } = route
    const isMethod = methods.includes(wanted.method) || (wanted.method === 'HEAD' && methods.includes('GET'))
    if (!isMethod) return result(1, `the method is ${methods.join(' or ')}, not ${wanted.method}`)
    const constraints = Object.entries(route.constraints).map(([name, value]) => `${name} ${String(value)}`)
    return constraints.length === 0 ? result(0, 'it matches') : result(1, `it is only for ${constraints.join(', ')}`)
  }
  const otherForm = sent.at(-1) === '' ? sent.slice(0, -1) : [...sent, '']
  if (firstDifference(pattern, otherForm) === null) {
    return result(2, `the trailing slash: it is declared ${route.pattern.endsWith('/') ? 'with' : 'without'} one`)
  }
  const [declared, value] = [pattern.segments[differing], sent[differing]]
  if (declared?.isStatic === true && declared.text.toLowerCase() === value?.toLowerCase()) {
    return result(3, `upper and lower case: segment ${differing + 1} is "${declared.text}", not "${value}"`)
  }
  const why = declared === undefined
    ? `the path continues after segment ${differing}: "${value}"`
    : value === undefined
      ? `the path ends before segment ${differing + 1}: "${declared.text}"`
      : `segment ${differing + 1} is "${declared.text}", not "${value}"`
  return result(3 + differenceOf(pattern, sent), why)
}

/** The differing characters of all static segments, and 2 for a segment more or less; `FAR` where the paths differ. */
function differenceOf ({ segments, isOpen }: RoutePattern, sent: readonly string[]): number {
  const more = isOpen ? Math.max(0, segments.length - sent.length) : Math.abs(segments.length - sent.length)
  const common = segments.slice(0, sent.length)
  // Parameters are like any text: one word must be alike.
  if (more > 1 || !common.some(({ isStatic, text }) => isStatic && text !== '')) return FAR
  return common.reduce((sum, segment, i) => {
    const value = sent[i] as string
    if (sum >= FAR || segment.matches(value)) return sum
    const characters = distance(segment.text.toLowerCase(), value.toLowerCase())
    const isNear = segment.isStatic && characters <= Math.max(1, Math.floor(segment.text.length / 3))
    return isNear ? sum + characters : FAR
  }, more * 2)
}

/** The index of the first segment that does not match; null where all do. */
function firstDifference ({ segments, isOpen, isOptional }: RoutePattern, sent: readonly string[]): number | null {
  for (const [i, segment] of segments.entries()) {
    const isLast = i === segments.length - 1
    if (isLast && isOpen) return sent.length > i && segment.matches(sent.slice(i).join('/')) ? null : i
    const value = sent[i]
    if (isLast && isOptional && (value ?? '') === '') return null
    if (value === undefined || !segment.matches(value)) return i
  }
  return sent.length > segments.length ? segments.length : null
}

/** The segments of a path, of at most 300 characters, percent-decoded where that is possible. */
function segmentsOf (path: string): string[] {
  return path.slice(1, MAX_PATH).split('/').map((segment) => {
    try {
      return decodeURIComponent(segment)
    } catch {
      return segment
    }
  })
}

/**
 * The segments of a pattern of find-my-way: parameters, several in a segment, expressions, wildcards, `::` for a colon.
 */
function patternOf (pattern: string): RoutePattern {
  // A slash in an expression does not separate segments.
  const texts = pattern.replace(/^\//, '').split(/\/(?![^(]*\))/)
  const last = texts.at(-1) as string
  const isOptional = /^:.*\?$/.test(last)
  if (isOptional) texts[texts.length - 1] = last.slice(0, -1)
  return { segments: texts.map(segment), isOpen: last.endsWith('*'), isOptional }
}

function segment (text: string): Segment {
  const plain = text.replaceAll('::', ':')
  if (!/(?<!:):(?!:)|\*/.test(text)) return { text: plain, isStatic: true, matches: (value) => value === plain }
  const matches = (value: string): boolean =>
    text === '*' || (value !== '' && takes(`/${text}`, 'GET', `/${encodeURIComponent(value)}`))
  return { text, isStatic: false, matches }
}

function pathFor ({ pattern }: DeclaredRoute, sent: readonly string[]): string | null {
  const { segments } = patternOf(pattern)
  const filled = segments.map(({ isStatic, text, matches }, i) =>
    isStatic ? text : matches(sent[i] ?? '') ? sent[i] as string : null)
  return filled.includes(null) ? null : `/${filled.map((segment) => encodeURIComponent(segment as string)).join('/')}`
}

/** Whether a router would match a path to a route of this pattern. */
export function takes (pattern: string, method: string, path: string): boolean {
  try {
    const router = FindMyWay({ maxParamLength: 16_384 })
    router.on(method as HTTPMethod, pattern, () => {})
    return router.find(method as HTTPMethod, path) !== null
  } catch {
    return false
  }
}

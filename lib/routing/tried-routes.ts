import { distance } from 'fastest-levenshtein'
import FindMyWay, { type HTTPMethod } from 'find-my-way'
import type { FastifyRequest } from 'fastify'
import { percentDecoded } from '../http/header-text.js'
import { pathnameOf } from '../http/request-target.js'
import { recordingOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import type { DeclaredRoute } from './route-table.js'

const MAX_TRIED = 50
const MAX_PATH = 300
const MAX_NEAR = 5

/** The cost of a route that is not similar to the request. */
const FAR = 1_000

declare module '../recording/recording.js' {
  interface Recording {
    /** The routes that nearly matched the request: all routes are compared once. */
    triedRoutes?: ReturnType<typeof compareRoutes>
  }
}

/** Why each route did not match a request: the fifty nearest, nearest first, and how many more there are. */
export function triedRoutes (request: FastifyRequest) {
  return (recordingOf(request).triedRoutes ??=
    compareRoutes(servicesOf(request).routeTable.own(), { method: request.method, path: pathnameOf(request) }))
}

/** The routes that nearly matched; `path` has the request's parameters, null if one is missing. */
export function nearestRoutes (request: FastifyRequest) {
  const sent = segmentsOf(pathnameOf(request))
  return triedRoutes(request).tried.filter(({ isNear }) => isNear).slice(0, MAX_NEAR)
    .map(({ route, why }) => ({ route, why, path: pathFor(route, sent) }))
}

/** Compares a request with each of some routes. */
export function compareRoutes (routes: readonly DeclaredRoute[], { method, path }: { method: string, path: string }) {
  const sent = segmentsOf(path)
  const compared = routes.map((route) => ({ route, ...compare(route, method, sent) })).sort((a, b) => a.cost - b.cost)
  return {
    // An application may have thousands: only those that are shown have a sentence.
    tried: compared.slice(0, MAX_TRIED).map(({ route, why, cost }) => ({ route, why: why(), isNear: cost < FAR })),
    more: Math.max(0, compared.length - MAX_TRIED)
  }
}

/** Why a route did not match, and the cost of the difference: the lower, the nearer is the route. */
function compare (
  { methods, pattern, constraints }: DeclaredRoute, method: string, sent: readonly string[]
): { cost: number, why: () => string } {
  const declared = patternSegments(pattern)
  const differing = firstDifference(declared, sent)
  if (differing === null) {
    const isMethod = methods.includes(method) || (method === 'HEAD' && methods.includes('GET'))
    if (!isMethod) return { cost: 1, why: () => `the method is ${methods.join(' or ')}, not ${method}` }
    const needed = Object.entries(constraints).map(([name, value]) => `${name} ${String(value)}`)
    return { cost: 1, why: () => needed.length === 0 ? 'it matches' : `it is only for ${needed.join(', ')}` }
  }
  const otherForm = sent.at(-1) === '' ? sent.slice(0, -1) : [...sent, '']
  if (firstDifference(declared, otherForm) === null) {
    const form = pattern.endsWith('/') ? 'with' : 'without'
    return { cost: 2, why: () => `the trailing slash: it is declared ${form} one` }
  }
  const [own, value] = [declared[differing], sent[differing]]
  const why = (): string => {
    if (own === undefined) return `the path continues after segment ${differing}: "${value}"`
    if (value === undefined) return `the path ends before segment ${differing + 1}: "${own}"`
    return `segment ${differing + 1} is "${own}", not "${value}"`
  }
  return { cost: 3 + differenceOf(declared, sent), why }
}

/** The differing characters of all static segments, and 2 for a segment more or less; `FAR` where the paths differ. */
function differenceOf (declared: readonly string[], sent: readonly string[]): number {
  const missing = declared.length - sent.length
  const more = hasWildcard(declared) ? Math.max(0, missing) : Math.abs(missing)
  const common = declared.slice(0, sent.length)
  // A parameter matches any text: without a static segment there is nothing to compare.
  if (more > 1 || common.every((segment) => segment === '' || isParameter(segment))) return FAR
  return common.reduce((sum, segment, i) => {
    const value = sent[i] as string
    if (sum >= FAR || matches(segment, value)) return sum
    const characters = distance(segment.toLowerCase(), value.toLowerCase())
    const isNear = !isParameter(segment) && characters <= Math.max(1, Math.floor(segment.length / 3))
    return isNear ? sum + characters : FAR
  }, more * 2)
}

/** The index of the first segment that does not match; null where all do. */
function firstDifference (declared: readonly string[], sent: readonly string[]): number | null {
  for (const [i, segment] of declared.entries()) {
    const isRest = i === declared.length - 1 && hasWildcard(declared)
    const value = isRest && sent.length > i ? sent.slice(i).join('/') : sent[i]
    if (value === undefined && segment.endsWith('?')) return null
    if (value === undefined || !matches(segment, value)) return i
    if (isRest) return null
  }
  return sent.length > declared.length ? declared.length : null
}

/** The segments of a path, of at most 300 characters, percent-decoded where that is possible. */
function segmentsOf (path: string): string[] {
  return path.slice(1, MAX_PATH).split('/').map((segment) => percentDecoded(segment) ?? segment)
}

/** The segments of a pattern of find-my-way. A slash in an expression does not separate segments. */
function patternSegments (pattern: string): string[] {
  return pattern.replace(/^\//, '').split(/\/(?![^(]*\))/)
}

/** Whether the last segment matches any number of segments. */
function hasWildcard (declared: readonly string[]): boolean {
  return declared.at(-1)?.endsWith('*') === true
}

// In a pattern, `::` is a colon, and not a parameter.
function isParameter (segment: string): boolean {
  return /(?<!:):(?!:)|\*/.test(segment)
}

function matches (segment: string, value: string): boolean {
  if (!isParameter(segment)) return segment.replaceAll('::', ':') === value
  if (value === '') return segment === '*' || segment.endsWith('?')
  // Any text matches a parameter alone: no router is made for it.
  if (segment === '*' || /^:\w+\??$/.test(segment)) return true
  return patternMatches(`/${segment}`, 'GET', `/${encodeURIComponent(value)}`)
}

function pathFor ({ pattern }: DeclaredRoute, sent: readonly string[]): string | null {
  const filled = patternSegments(pattern).map((segment, i) =>
    isParameter(segment) ? sent[i] || undefined : segment.replaceAll('::', ':'))
  if (filled.includes(undefined)) return null
  return `/${filled.map((segment) => encodeURIComponent(segment as string)).join('/')}`
}

/** Whether a router would match a path to a route of this pattern. */
export function patternMatches (pattern: string, method: string, path: string): boolean {
  try {
    const router = FindMyWay({ maxParamLength: 16_384 })
    router.on(method as HTTPMethod, pattern, () => {})
    return router.find(method as HTTPMethod, path) !== null
  } catch {
    return false
  }
}

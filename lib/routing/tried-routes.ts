import FindMyWay, { type HTTPMethod } from 'find-my-way'
import type { FastifyRequest } from 'fastify'
import { percentDecoded } from '../http/header-text.js'
import { pathnameOf } from '../http/request-target.js'
import { recordingOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import { editDistance } from '../similar-name.js'
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

/** Compares a request with each of some routes. An application may have thousands: only those shown have a sentence. */
export function compareRoutes (routes: readonly DeclaredRoute[], { method, path }: { method: string, path: string }) {
  const sent = segmentsOf(path)
  const other = otherForm(sent)
  const near: Array<{ route: DeclaredRoute, cost: number }> = []
  const far: typeof near = []
  for (const route of routes) {
    const cost = costOf(route, sent, other)
    if (cost < FAR) near.push({ route, cost })
    else if (far.length < MAX_TRIED) far.push({ route, cost })
  }
  const nearest = [...near.sort((a, b) => a.cost - b.cost), ...far].slice(0, MAX_TRIED)
  return {
    tried: nearest.map(({ route, cost }) => ({ route, why: reasonFor(route, method, sent), isNear: cost < FAR })),
    more: routes.length - nearest.length
  }
}

/** The cost of the difference between a route and a request: the lower, the nearer is the route. */
function costOf ({ pattern }: DeclaredRoute, sent: readonly string[], other: readonly string[]): number {
  const declared = patternSegments(pattern)
  const differing = firstDifference(declared, sent)
  if (differing === null) return 1
  // The forms differ at the end.
  const isAtEnd = differing >= sent.length - 1
  return isAtEnd && firstDifference(declared, other) === null ? 2 : 3 + differenceOf(declared, sent)
}

/** The path with a trailing slash instead of without one, or the reverse. */
function otherForm (sent: readonly string[]): string[] {
  return sent.at(-1) === '' ? sent.slice(0, -1) : [...sent, '']
}

/** Why a route did not match. */
function reasonFor ({ methods, pattern, constraints }: DeclaredRoute, method: string, sent: readonly string[]): string {
  const declared = patternSegments(pattern)
  const differing = firstDifference(declared, sent)
  if (differing === null) {
    const isMethod = methods.includes(method) || (method === 'HEAD' && methods.includes('GET'))
    if (!isMethod) return `the method is ${methods.join(' or ')}, not ${method}`
    const needed = Object.entries(constraints).map(([name, value]) => `${name} ${String(value)}`)
    return needed.length === 0 ? 'it matches' : `it is only for ${needed.join(', ')}`
  }
  if (firstDifference(declared, otherForm(sent)) === null) {
    return `the trailing slash: it is declared ${pattern.endsWith('/') ? 'with' : 'without'} one`
  }
  const [own, value] = [declared[differing], sent[differing]]
  if (own === undefined) return `the path continues after segment ${differing}: "${value}"`
  if (value === undefined) return `the path ends before segment ${differing + 1}: "${own}"`
  return `segment ${differing + 1} is "${own}", not "${value}"`
}

/** The changes of all static segments, and 2 for a segment more or less; `FAR` where the paths differ. */
function differenceOf (declared: readonly string[], sent: readonly string[]): number {
  const missing = declared.length - sent.length
  const more = hasWildcard(declared) ? Math.max(0, missing) : Math.abs(missing)
  const common = declared.slice(0, sent.length)
  // A parameter matches any text: without a static segment there is nothing to compare.
  if (more > 1 || common.every((segment) => segment === '' || isParameter(segment))) return FAR
  return common.reduce((sum, segment, i) => {
    const value = sent[i] as string
    if (sum >= FAR || matches(segment, value)) return sum
    const most = Math.max(1, Math.floor(segment.length / 3))
    if (isParameter(segment) || Math.abs(segment.length - value.length) > most) return FAR
    const changes = editDistance(segment.toLowerCase(), value.toLowerCase())
    return changes <= most ? sum + changes : FAR
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
  const path = pattern.replace(/^\//, '')
  return path.includes('(') ? path.split(/\/(?![^(]*\))/) : path.split('/')
}

/** Whether the last segment matches any number of segments. */
function hasWildcard (declared: readonly string[]): boolean {
  return declared.at(-1)?.endsWith('*') === true
}

// In a pattern, `::` is a colon, and not a parameter.
function isParameter (segment: string): boolean {
  return segment.includes('*') || (segment.includes(':') && /(?<!:):(?!:)/.test(segment))
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

import { distance } from 'fastest-levenshtein'
import { pathSteps, routePattern, type RoutePattern } from './route-pattern.js'
import type { DeclaredRoute } from './route-table.js'

const MAX_TRIED = 50
const MAX_BESIDE = 20
/** So many routes are looked at beside one that matched. */
const MAX_LOOKED_AT = 300
const MAX_PATH = 300

/** A route that did not take a request, and why. */
export interface TriedRoute {
  name: string
  methods: string[]
  pattern: string
  why: string
  /** How many characters of the path would have to be others; 0 where the path fits. */
  distance: number
}

/** The routes that did not take a request, the nearest first. */
export interface TriedRoutes {
  tried: TriedRoute[]
  /** How many more there are. */
  more: number
}

/** What is asked for. */
export interface Wanted {
  method: string
  path: string
  host: string
  version: string
}

interface Judged {
  route: DeclaredRoute
  why: string
  /** The fewer the nearer: what kind of difference it is, and how far behind it comes. */
  rank: number
}

const patterns = new WeakMap<DeclaredRoute, RoutePattern>()

/** Tells of every route why it did not take a request that none has taken: the nearest fifty. */
export function triedRoutes (routes: readonly DeclaredRoute[], wanted: Wanted): TriedRoutes {
  const path = { ...wanted, path: wanted.path.slice(0, MAX_PATH) }
  const steps = pathSteps(path.path)
  const judged = routes.map((route) => judge(route, path, steps)).sort((a, b) => a.rank - b.rank)
  const tried = judged.slice(0, MAX_TRIED).map(({ route, why, rank }) => shown(route, why, rank <= 1 ? 0 : distanceTo(route, path.path, steps)))
  return { tried: tried.sort((a, b) => a.distance - b.distance), more: Math.max(0, judged.length - MAX_TRIED) }
}

/** The routes that would fit a path as well as the one that took it, were it not for their method, a constraint or a parameter. */
export function routesBeside (routes: readonly DeclaredRoute[], matched: DeclaredRoute | null, wanted: Wanted): TriedRoutes {
  const steps = pathSteps(wanted.path.slice(0, MAX_PATH))
  const tried: TriedRoute[] = []
  for (const route of routes.slice(0, MAX_LOOKED_AT)) {
    if (route === matched) continue
    const { why, rank } = judge(route, wanted, steps)
    if (rank <= 1) tried.push(shown(route, rank === 0 ? 'the route that matched is more specific, or was declared first' : why, 0))
    if (tried.length >= MAX_BESIDE) break
  }
  return { tried, more: 0 }
}

function judge (route: DeclaredRoute, wanted: Wanted, steps: readonly string[]): Judged {
  let pattern = patterns.get(route)
  if (pattern === undefined) patterns.set(route, pattern = routePattern(route.pattern))
  const differing = firstDifference(pattern, steps)
  if (differing === null) {
    const constraint = failedConstraint(route, wanted)
    if (!fitsMethod(route, wanted.method)) return { route, why: `the method is ${route.methods.join(' or ')}, not ${wanted.method}`, rank: 1 }
    return constraint === null ? { route, why: 'it fits', rank: 0 } : { route, why: constraint, rank: 1 }
  }
  if (onlySlashDiffers(pattern, steps)) return { route, why: `the trailing slash: it is declared ${route.pattern.endsWith('/') ? 'with' : 'without'} one`, rank: 2 }
  const lower = steps.map((step) => step.toLowerCase())
  const other = pattern.steps[differing]
  if (other?.isStatic === true && other.text !== steps[differing] && other.text.toLowerCase() === lower[differing]) {
    return { route, why: `upper and lower case: segment ${differing + 1} is "${other.text}", not "${steps[differing]}"`, rank: 3 }
  }
  const behind = pattern.steps.length - differing + Math.abs(pattern.steps.length - steps.length)
  return { route, why: differs(pattern, steps, differing), rank: 10 + behind * 10 - differing }
}

function differs ({ steps: declared }: RoutePattern, steps: readonly string[], at: number): string {
  const [wanted, sent] = [declared[at], steps[at]]
  if (wanted === undefined) return `the path goes on behind segment ${at}: "${sent}"`
  if (sent === undefined) return `the path ends ahead of segment ${at + 1}: "${wanted.text}"`
  return `segment ${at + 1} is "${wanted.text}", not "${sent}"`
}

function firstDifference ({ steps, isOpen, isOptional }: RoutePattern, sent: readonly string[]): number | null {
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i]
    const isLast = i === steps.length - 1
    if (isLast && isOpen) return sent.length > i && step?.fits(sent.slice(i).join('/')) === true ? null : i
    if (isLast && isOptional && (sent[i] ?? '') === '') return null
    if (sent[i] === undefined) return i
    if (step?.fits(sent[i] as string) !== true) return i
  }
  return sent.length > steps.length ? steps.length : null
}

function onlySlashDiffers (pattern: RoutePattern, sent: readonly string[]): boolean {
  return firstDifference(pattern, sent.at(-1) === '' ? sent.slice(0, -1) : [...sent, '']) === null
}

function fitsMethod ({ methods }: DeclaredRoute, method: string): boolean {
  return methods.includes(method) || (method === 'HEAD' && methods.includes('GET'))
}

function failedConstraint ({ constraints }: DeclaredRoute, { host, version }: Wanted): string | null {
  for (const [name, needed] of Object.entries(constraints)) {
    if (name === 'host') {
      if (needed instanceof RegExp ? !needed.test(host) : String(needed) !== host) return `constraint host: it is for ${String(needed)}, not for "${host}"`
    } else if (name === 'version') {
      if (!String(needed).startsWith(version.replace(/(?:\.x)+$/, '')) || version === '') return `constraint version: it is ${String(needed)}, ${version === '' ? 'and none was asked for' : `not ${version}`}`
    } else return `constraint ${name}: it is for ${String(needed)}`
  }
  return null
}

// Parameters are taken as they were sent, so that only what is declared counts.
function distanceTo (route: DeclaredRoute, path: string, sent: readonly string[]): number {
  const { steps } = patterns.get(route) as RoutePattern
  const filled = steps.map((step, i) => step.isStatic ? step.text : sent[i] ?? step.text)
  return distance(path, `/${filled.join('/')}`.slice(0, MAX_PATH))
}

function shown ({ name, methods, pattern }: DeclaredRoute, why: string, distance: number): TriedRoute {
  return { name, methods, pattern, why, distance }
}

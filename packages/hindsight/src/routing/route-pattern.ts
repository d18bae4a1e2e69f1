import FindMyWay, { type HTTPMethod } from 'find-my-way'
import { attemptCall, cachedFunction } from '../call.js'
import { editDistance } from '../similar-name.js'

/** The cost of a route that is not similar to a path. */
const FAR = 1_000
/** That of a parameter whose expression does not match: all other segments have to. */
const MISMATCH = FAR / 2

/** A segment of patterns, the segments after it, and the routes that end at it. */
interface Node<T> {
  segments: Map<string, Node<T>>
  routes: T[]
}

/** Routes by their segments: of thousands, a search reads those that may be similar to a path. */
export class RouteTree<T extends { segments: readonly string[] }> {
  readonly #root: Node<T> = { segments: new Map(), routes: [] }
  /** By the last static segment, and its place from the end. */
  readonly #byEnd = new Map<string, T[]>()

  constructor (routes: readonly T[]) {
    for (const route of routes) {
      const { segments } = route
      let node = this.#root
      for (const segment of segments) {
        let next = node.segments.get(segment)
        if (next === undefined) node.segments.set(segment, next = { segments: new Map(), routes: [] })
        node = next
      }
      node.routes.push(route)
      const last = segments.findLastIndex((segment) => segment !== '' && !isParameter(segment))
      const key = `${segments.length - last} ${segments[last]}`
      const others = this.#byEnd.get(key)
      if (others === undefined) this.#byEnd.set(key, [route])
      else others.push(route)
    }
  }

  /** The routes whose last static segment is in a path at the same distance from the end. */
  endingLike (sent: readonly string[]): T[] {
    return sent.flatMap((segment, i) => this.#byEnd.get(`${sent.length - i} ${segment.replaceAll(':', '::')}`) ?? [])
  }

  /** The routes that are similar to a path of these segments, nearest first; at most `limit`. */
  similarTo (sent: readonly string[], limit: number): T[] {
    const byCost: T[][] = []
    // Many routes have the same expression, for which a router is made.
    const differences = sent.map((value) => {
      const ofExpression = cachedFunction((segment: string) => differenceOf(segment, value))
      return (segment: string): number => segment.includes(':') ? ofExpression(segment) : differenceOf(segment, value)
    })
    const search = ({ segments }: Node<T>, index: number, before: number, hadStatic: boolean): void => {
      for (const [segment, node] of segments) {
        const sum = before + (differences[index]?.(segment) ?? 0)
        if (sum >= FAR) continue
        const hasStatic = hadStatic || (index < sent.length && segment !== '' && !isParameter(segment))
        const cost = node.routes.length === 0 ? FAR : costOf(segment, index + 1 - sent.length, sum, hasStatic, sent)
        if (cost < FAR) {
          const routes = (byCost[cost] ??= [])
          if (routes.length < limit) routes.push(...node.routes)
        }
        if (index < sent.length) search(node, index + 1, sum, hasStatic)
      }
    }
    search(this.#root, 0, 0, false)
    return byCost.flat().slice(0, limit)
  }
}

/**
 * The cost of the differences between a path and a pattern that has `missing` segments more; `sum` is that of the
 * segments that both have, and `last` the last one of the pattern. A parameter matches any text: without a static
 * segment there is nothing to compare.
 */
function costOf (last: string, missing: number, sum: number, hasStatic: boolean, sent: readonly string[]): number {
  const isOpen = last.endsWith('*')
  const hasSlash = sent.at(-1) === ''
  if (sum === 0) {
    if (missing === 0 || (missing === 1 && last.endsWith('?')) || (missing < 0 && isOpen)) return 1
    // The other form of the path: with a trailing slash instead of without one, or the reverse.
    if (missing === 1 && !hasSlash && (last === '' || last === '*')) return 2
    if (missing === -1 && hasSlash) return 2
  }
  const more = isOpen ? Math.max(0, missing) : Math.abs(missing)
  if (more > 1 || !hasStatic || sum > MISMATCH) return FAR
  return 3 + sum + 4 * more
}

/** Twice the differing characters of a static segment, 1 where only the case differs; `FAR` where it is not similar. */
function differenceOf (segment: string, value: string): number {
  if (segment === value) return 0
  const isPlain = !segment.includes(':') && !segment.includes('*')
  if (!isPlain && segmentMatches(segment, value)) return 0
  // An expression of a parameter refuses the value.
  if (segment.includes('(') && value !== '') return MISMATCH
  const most = Math.max(1, Math.floor(segment.length / 3))
  if (Math.abs(segment.length - value.length) > most || (!isPlain && isParameter(segment))) return FAR
  const characters = editDistance(segment.toLowerCase(), value.toLowerCase(), most)
  if (characters > most) return FAR
  return Math.max(1, 2 * characters)
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
  return attemptCall(() => {
    const router = FindMyWay({ maxParamLength: 16_384 })
    router.on(method as HTTPMethod, pattern, () => {})
    return router.find(method as HTTPMethod, path) !== null
  }, () => false)
}

import FindMyWay, { type HTTPMethod } from 'find-my-way'
import { attempt } from '../attempt.js'
import { editDistance } from '../similar-name.js'

/** A segment of patterns, with the routes that end at it. */
interface Node<T> {
  segments: Map<string, Node<T>>
  routes: T[]
}

/** The cost of a route that is not similar to a path. */
const FAR = 1_000

/** Routes by the segments of their patterns: of thousands, a search compares those that may be similar to a path. */
export class RouteTree<T extends { pattern: string }> {
  readonly #root: Node<T> = { segments: new Map(), routes: [] }
  /** By their static segments, and the distances of these from the end. */
  readonly #byEnd = new Map<string, T[]>()
  /** The routes that are in neither yet: most processes never search them. */
  readonly #added: T[] = []

  add (route: T): void {
    this.#added.push(route)
  }

  #insertAdded (): void {
    for (const route of this.#added.splice(0)) {
      let node = this.#root
      const segments = patternSegments(route.pattern)
      for (const [i, segment] of segments.entries()) {
        const next = node.segments.get(segment) ?? { segments: new Map(), routes: [] }
        node.segments.set(segment, next)
        node = next
        if (segment === '' || isParameter(segment)) continue
        const key = `${segments.length - i} ${segment.replaceAll('::', ':')}`
        const routes = this.#byEnd.get(key) ?? []
        routes.push(route)
        this.#byEnd.set(key, routes)
      }
      node.routes.push(route)
    }
  }

  /** The routes that have at least one static segment of a path at the same distance from the end. */
  endingLike (sent: readonly string[]): T[] {
    this.#insertAdded()
    return sent.flatMap((segment, i) => this.#byEnd.get(`${sent.length - i} ${segment}`) ?? [])
  }

  /** The routes that are similar to a path of these segments, nearest first; at most `limit`. */
  similar (sent: readonly string[], limit: number): T[] {
    this.#insertAdded()
    const byCost: T[][] = []
    // Many routes may have the same expression, for which a router is made.
    const found = new Map<string, number>()
    const differenceIn = (segment: string, value: string): number => {
      if (!segment.includes('(')) return differenceOf(segment, value)
      const difference = found.get(segment + value) ?? differenceOf(segment, value)
      found.set(segment + value, difference)
      return difference
    }
    const search = ({ segments }: Node<T>, index: number, sum: number, hasStatic: boolean): void => {
      const value = sent[index]
      for (const [segment, node] of segments) {
        const difference = value === undefined ? 0 : differenceIn(segment, value)
        if (difference === FAR) continue
        const isStatic = hasStatic || (value !== undefined && segment !== '' && !isParameter(segment))
        const cost = node.routes.length === 0 ? FAR : costOf(segment, sent, index, sum + difference, isStatic)
        if (cost < FAR) {
          const routes = (byCost[cost] ??= [])
          if (routes.length < limit) routes.push(...node.routes)
        }
        if (value !== undefined) search(node, index + 1, sum + difference, isStatic)
      }
    }
    search(this.#root, 0, 0, false)
    return byCost.flat().slice(0, limit)
  }
}

/**
 * The cost of the difference between a path and a pattern that ends with a segment of this index; `sum` is that of the
 * segments that both have. A parameter matches any text: without a static segment there is nothing to compare.
 */
function costOf (segment: string, sent: readonly string[], index: number, sum: number, hasStatic: boolean): number {
  const missing = index + 1 - sent.length
  const isOpen = segment.endsWith('*')
  const hasSlash = sent.at(-1) === ''
  if (sum === 0) {
    if (missing === 0 || (missing === 1 && segment.endsWith('?')) || (missing < 0 && isOpen)) return 1
    // The other form of the path: with a trailing slash instead of without one, or the reverse.
    const isOther = missing === 1 ? !hasSlash && (segment === '' || segment === '*') : missing === -1 && hasSlash
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

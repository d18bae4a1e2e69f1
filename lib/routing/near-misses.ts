import FindMyWay, { type HTTPMethod } from 'find-my-way'
import type { DeclaredRoute } from './route-table.js'
import { triedRoutes, type Wanted } from './tried-routes.js'

const MAX_SHOWN = 5
const OPTIONS: ReadonlyArray<Readonly<Record<string, boolean>>> = [
  { caseSensitive: false }, { ignoreTrailingSlash: true }, { ignoreDuplicateSlashes: true }
]

/** A route that nearly matched a request. */
export interface NearMiss {
  methods: string[]
  pattern: string
  why: string
  /** The router option with which the route would match, and its other value; null where there is none. */
  option: string | null
}

/** The routes that nearly matched a request, the nearest first: a few characters away, or one option. */
export function nearMisses (routes: readonly DeclaredRoute[], wanted: Wanted): NearMiss[] {
  const maxDistance = Math.max(2, Math.floor(wanted.path.length / 5))
  return triedRoutes(routes, wanted).tried
    .map((route) => ({ ...route, option: optionFor(route.pattern, route.methods, wanted, route.why) }))
    .filter(({ option, distance }) => option !== null || distance <= maxDistance)
    .slice(0, MAX_SHOWN)
    .map(({ methods, pattern, why, option }) => ({ methods, pattern, why, option }))
}

function optionFor (pattern: string, methods: readonly string[], { method, path }: Wanted, why: string): string | null {
  const needed = method === 'HEAD' && !methods.includes('HEAD') ? 'GET' : method
  const mayMatch = /^(?:upper and lower case|the trailing slash)/.test(why) || path.includes('//')
  if (!mayMatch || !methods.includes(needed)) return null
  const found = OPTIONS.find((options) => takes(pattern, needed, path, options))
  return found === undefined ? null : Object.entries(found).map(([name, value]) => `${name}: ${value}`).join()
}

/** Whether a router with these options would match a path to a route of this pattern. */
export function takes (pattern: string, method: string, path: string, options: object = {}): boolean {
  try {
    const router = FindMyWay({ maxParamLength: 16_384, ...options })
    router.on(method as HTTPMethod, pattern, () => {})
    return router.find(method as HTTPMethod, path) !== null
  } catch {
    return false
  }
}

import FindMyWay, { type HTTPMethod } from 'find-my-way'
import type { DeclaredRoute } from './route-table.js'
import { triedRoutes, type Wanted } from './tried-routes.js'

const MAX_SHOWN = 5
const OPTIONS = [
  ['caseSensitive', { caseSensitive: false }],
  ['ignoreTrailingSlash', { ignoreTrailingSlash: true }],
  ['ignoreDuplicateSlashes', { ignoreDuplicateSlashes: true }]
] as const

/** A route that nearly took a request. */
export interface NearMiss {
  methods: string[]
  pattern: string
  why: string
  /** The router option that alone would let it take the request, set to the other value; null where none would. */
  option: string | null
}

/** The routes that nearly took a request that none has taken, the nearest first: a few characters away, or one option. */
export function nearMisses (routes: readonly DeclaredRoute[], wanted: Wanted): NearMiss[] {
  const near = Math.max(2, Math.floor(wanted.path.length / 5))
  const found: NearMiss[] = []
  for (const { methods, pattern, why, distance } of triedRoutes(routes, wanted).tried) {
    const option = optionFor(pattern, methods, wanted, why)
    if (option !== null || distance <= near) found.push({ methods, pattern, why, option })
    if (found.length === MAX_SHOWN) break
  }
  return found
}

// The router itself is asked: it decides by its own rules, and is right about them.
function optionFor (pattern: string, methods: readonly string[], { method, path }: Wanted, why: string): string | null {
  const asked = method === 'HEAD' && !methods.includes('HEAD') ? 'GET' : method
  if (!methods.includes(asked) || !(/^(?:upper and lower case|the trailing slash)/.test(why) || path.includes('//'))) return null
  const found = OPTIONS.find(([, options]) => takes(pattern, asked, path, options))
  return found === undefined ? null : Object.entries(found[1]).map(([name, value]) => `${name}: ${value}`).join()
}

/** Whether a router with these options would give a path to a route of this pattern. */
export function takes (pattern: string, method: string, path: string, options: object = {}): boolean {
  try {
    const router = FindMyWay({ maxParamLength: 16_384, ...options })
    router.on(method as HTTPMethod, pattern, () => {})
    return router.find(method as HTTPMethod, path) !== null
  } catch {
    return false
  }
}

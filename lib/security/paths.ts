import type { FastifyInstance, FastifyRequest } from 'fastify'
import { percentDecoded, routerOptionsOf } from 'fastify-hindsight/recorder'

/** A path and all below it (`/admin` is not `/administration`), or an expression that the path must match. */
type PathPattern = string | RegExp

/** The path of a request, and the comparison of patterns with it. */
export type Paths = ReturnType<typeof routerPaths>

/**
 * Rules apply to the path that the router matched, not to the one that the client wrote: `/%61dmin` is `/admin`. So the
 * path is that of the route if it has no parameters, and decoded segment by segment otherwise.
 */
export function routerPaths (app: FastifyInstance) {
  const options = routerOptionsOf(app)
  const anyCase = options.caseSensitive === false
  const delimiter = options.useSemicolonDelimiter === true ? /[?#;]/ : /[?#]/

  function ofUrl (url: string): string {
    const [path = '/'] = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').split(delimiter, 1)
    // An encoded slash is not a separator.
    const segments = path.split('/').map((segment) => (percentDecoded(segment) ?? segment).replaceAll('/', '%2F'))
    const decoded = segments.join('/')
    return options.ignoreDuplicateSlashes === true ? decoded.replace(/\/{2,}/g, '/') : decoded
  }

  return {
    of (request: FastifyRequest): string {
      const { url: pattern } = request.routeOptions
      const path = pattern !== undefined && !/[:*]/.test(pattern) ? pattern : ofUrl(request.raw.url ?? '/')
      return anyCase ? path.toLowerCase() : path
    },
    matcher (pattern: PathPattern | undefined): (path: string) => boolean {
      if (pattern === undefined) return () => true
      if (pattern instanceof RegExp) {
        // A global expression would start where it stopped before.
        const flags = pattern.flags.replace(/[giy]/g, '')
        const expression = new RegExp(pattern.source, anyCase || pattern.ignoreCase ? `${flags}i` : flags)
        return (path) => expression.test(path)
      }
      const prefix = (anyCase ? pattern.toLowerCase() : pattern).replace(/\/+$/, '')
      return (path) => path === prefix || path.startsWith(`${prefix}/`)
    }
  }
}

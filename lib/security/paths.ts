import type { FastifyInstance, FastifyRequest } from 'fastify'

/** A path and all below it (`/admin` is not `/administration`), or an expression that the path must match. */
export type PathPattern = string | RegExp

/** Reads the path of a request and compares patterns with it, both in the way of the application's router. */
export interface Paths {
  of (request: FastifyRequest): string
  matcher (pattern: PathPattern | undefined): (path: string) => boolean
}

/**
 * Rules about paths hold for what the router made of a request, not for what the client wrote: `/%61dmin` is `/admin`.
 * So the path is that of the route where it has no parameters, and decoded segment by segment where it has.
 */
export function routerPaths (app: FastifyInstance): Paths {
  const config = app.initialConfig as unknown as Record<string, unknown>
  const options = { ...config, ...config.routerOptions as object } as Record<string, unknown>
  const anyCase = options.caseSensitive === false
  const anySlashes = options.ignoreDuplicateSlashes === true
  const delimiter = options.useSemicolonDelimiter === true ? /[?#;]/ : /[?#]/

  function ofUrl (url: string): string {
    const [path = '/'] = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').split(delimiter, 1)
    const decoded = path.split('/').map(decodedSegment).join('/')
    return anySlashes ? decoded.replace(/\/{2,}/g, '/') : decoded
  }

  return {
    of (request) {
      const { url: pattern } = request.routeOptions
      const path = pattern !== undefined && !/[:*]/.test(pattern) ? pattern : ofUrl(request.raw.url ?? '/')
      return anyCase ? path.toLowerCase() : path
    },
    matcher (pattern) {
      if (pattern === undefined) return () => true
      if (pattern instanceof RegExp) {
        // A global expression would remember where it stopped.
        const flags = pattern.flags.replace(/[gy]/g, '')
        const expression = new RegExp(pattern.source, anyCase && !flags.includes('i') ? `${flags}i` : flags)
        return (path) => expression.test(path)
      }
      const prefix = (anyCase ? pattern.toLowerCase() : pattern).replace(/\/+$/, '')
      return (path) => path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === '/')
    }
  }
}

// An encoded slash separates nothing.
function decodedSegment (segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment).replaceAll('/', '%2F')
  } catch {
    return segment
  }
}

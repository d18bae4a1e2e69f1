import type { FastifyRequest } from 'fastify'
import { pathnameOf } from './request-target.js'
import { routeConfigOf } from '../lifecycle/request-state.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True: pages of other origins are nothing to the route, whatever the CORS rules say. */
    ownOriginOnly?: boolean
  }
}

const PATHS = /^\/_(?:profiler|wdt)(?:\/|$)/i

/**
 * Whether a request is about the profiler's own pages and not about the application: by its route, and where none took it
 * (a preflight, a token too many) by its path.
 */
export function isDebugSurface (request: FastifyRequest, served: boolean): boolean {
  if (routeConfigOf(request)?.ownOriginOnly === true) return true
  return served && request.is404 && PATHS.test(decoded(pathnameOf(request)))
}

function decoded (path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

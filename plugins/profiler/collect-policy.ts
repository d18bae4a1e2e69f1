import type { FastifyRequest } from 'fastify'
import { pathMatches } from '../kernel/path-rules.js'
import { pathnameOf } from '../kernel/origin.js'
import { stateOf } from '../kernel/request-state.js'

/** Which requests leave a profile. */
export interface CollectOptions {
  /** Whether requests are profiled unless `collectParameter` says otherwise; true by default. */
  collect?: boolean
  /** A query parameter that decides for its own request: `1` or `true` profiles it, `0` or `false` does not. */
  collectParameter?: string
  /** Only requests that failed. */
  onlyExceptions?: boolean
  /** Only requests of a path (a prefix or an expression), or those that a function picks. */
  matcher?: string | RegExp | ((request: FastifyRequest) => boolean)
  /** The share of requests, from 0 to 1, drawn by chance; failures are always kept. 1 by default. */
  sampling?: number
}

/** Makes the function that decides whether a request is profiled; throws at options that mean nothing. */
export function collectPolicy (options: CollectOptions): (request: FastifyRequest) => boolean {
  const { collect = true, collectParameter, onlyExceptions = false, matcher, sampling = 1 } = options
  if (!(sampling >= 0 && sampling <= 1)) throw new Error(`profiler.sampling: ${String(sampling)} is not a share from 0 to 1`)
  if (collectParameter !== undefined && !/^[\w.-]+$/.test(collectParameter)) throw new Error(`profiler.collectParameter: "${collectParameter}" is not the name of a query parameter`)
  const matches = typeof matcher === 'function' ? guarded(matcher) : byPath(matcher)

  return function isCollected (request) {
    const state = stateOf(request)
    const failed = state.failed || state.others.length > 0 || state.clientGone
    if (onlyExceptions && !failed) return false
    if (!(asked(request) ?? collect) || !matches(request)) return false
    if (failed || sampling === 1) return true
    return (state.sample ??= Math.random()) < sampling
  }

  function asked (request: FastifyRequest): boolean | undefined {
    if (collectParameter === undefined) return undefined
    const value = (request.query as Record<string, unknown> | undefined)?.[collectParameter]
    if (value === '1' || value === 'true' || value === '') return true
    return value === '0' || value === 'false' ? false : undefined
  }
}

function byPath (path: string | RegExp | undefined): (request: FastifyRequest) => boolean {
  return path === undefined ? () => true : (request) => pathMatches(path, pathnameOf(request))
}

// A matcher that throws says nothing; what went wrong is better seen than missed.
function guarded (matcher: (request: FastifyRequest) => boolean): (request: FastifyRequest) => boolean {
  return (request) => {
    try {
      return matcher(request)
    } catch (error) {
      request.log.warn({ err: error, channel: 'profiler' }, 'profiler.matcher threw; the request is profiled')
      return true
    }
  }
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import { pathMatches } from '../http/path-rules.js'
import { pathnameOf } from '../http/request-target.js'
import { stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import { demandPolicy, type OnDemandOptions } from './on-demand.js'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** A random number from 0 to 1, for sampling. */
    sample?: number
  }
}

/** Which requests leave a profile. */
export interface CollectOptions {
  /** Whether requests are profiled unless something else says so; true by default. */
  collect?: boolean
  /** Failures always, whatever `collect`, `matcher` and `sampling` say; false by default. */
  errors?: boolean
  /** A query parameter that decides for its own request: `1` or `true` profiles it, `0` or `false` does not. */
  collectParameter?: string
  /** Only requests that failed. */
  onlyExceptions?: boolean
  /** A failure counts only if its answer has this status or a higher one; 0 by default. */
  minStatus?: number
  /** Only requests of a path (a prefix or an expression), or those that a function picks. */
  matcher?: string | RegExp | ((request: FastifyRequest) => boolean)
  /** The share of requests, from 0 to 1, drawn by chance; failures are always kept. 1 by default. */
  sampling?: number
  /** Requests that ask for it with a signature, whatever the others say. */
  onDemand?: OnDemandOptions
}

/** What decides about requests, as a whole and at once. */
export interface CollectPolicy {
  /** Whether a request that has come this far leaves a profile. */
  isCollected: (request: FastifyRequest, reply?: FastifyReply | null) => boolean
  /** Whether a request will leave a profile even if it does not fail, as far as its beginning tells. */
  isWanted: (request: FastifyRequest) => boolean
}

/** Makes the functions that decide whether a request is profiled; throws at options that mean nothing. */
export function collectPolicy (options: CollectOptions): CollectPolicy {
  const { collect = true, errors = false, collectParameter, onlyExceptions = false, minStatus = 0, matcher, sampling = 1, onDemand } = options
  if (!(sampling >= 0 && sampling <= 1)) throw new Error(`profiler.sampling: ${String(sampling)} is not a share from 0 to 1`)
  if (collectParameter !== undefined && !/^[\w.-]+$/.test(collectParameter)) throw new Error(`profiler.collectParameter: "${collectParameter}" is not the name of a query parameter`)
  const matches = typeof matcher === 'function' ? guarded(matcher) : byPath(matcher)
  const verify = onDemand === undefined ? null : demandPolicy(onDemand)

  function isDemanded (request: FastifyRequest): boolean {
    const state = stateOf(request)
    // Who asks for a CPU profile, or sends a request again, has demanded it too.
    return state.demanded ?? (verify !== null && (state.demanded = verify(request)))
  }

  function isCollected (request: FastifyRequest, reply: FastifyReply | null = null): boolean {
    if (isDemanded(request)) return true
    const state = stateOf(request)
    const answer = reply ?? state.reply
    const failed = hasFailed(request, answer) && (answer === null || state.others.length > 0 || answer.statusCode >= minStatus)
    if (failed && errors) return true
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

  function isWanted (request: FastifyRequest): boolean {
    if (isDemanded(request)) return true
    if (onlyExceptions || !(asked(request) ?? collect) || !matches(request)) return false
    return sampling === 1 || (stateOf(request).sample ??= Math.random()) < sampling
  }

  return { isCollected, isWanted }
}

/** Whether a request is one that people will come back for: something was raised, or its answer is a server error. */
export function hasFailed (request: FastifyRequest, reply: FastifyReply | null): boolean {
  const state = stateOf(request)
  return state.failed || state.missed !== null || state.clientGone === true || state.others.length > 0 || (reply !== null && reply.statusCode >= 500)
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
      servicesOf(request).warn('profiler.matcher threw; the request is profiled', error)
      return true
    }
  }
}

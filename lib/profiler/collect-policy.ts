import type { FastifyReply, FastifyRequest } from 'fastify'
import { pathMatches, pathnameOf } from '../http/request-target.js'
import { stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import type { ProfilerSettings } from '../options.js'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** The random value in 0..1 that decides whether a sampled request is profiled. */
    sample?: number
  }
}

/** Decides which requests leave a profile. */
interface CollectPolicy {
  /** Whether the request leaves a profile, as far as its outcome is known. */
  isCollected: (request: FastifyRequest, reply?: FastifyReply | null) => boolean
  /** Whether the request leaves a profile even if it succeeds, as far as is known at its beginning. */
  isWanted: (request: FastifyRequest) => boolean
}

/** Makes the functions that decide whether a request is profiled; throws at invalid options. */
export function collectPolicy (options: ProfilerSettings): CollectPolicy {
  const { collect = true, errors = false, collectParameter, onlyExceptions = false, minStatus = 0 } = options
  const { matcher, sampling = 1 } = options
  if (collectParameter !== undefined && !/^[\w.-]+$/.test(collectParameter)) {
    throw new Error(`profiler.collectParameter: "${collectParameter}" is not the name of a query parameter`)
  }

  function isSelected (request: FastifyRequest): boolean {
    return (choiceOf(request) ?? collect) && matches(request)
  }

  function choiceOf (request: FastifyRequest): boolean | undefined {
    if (collectParameter === undefined) return undefined
    const value = (request.query as Record<string, unknown> | undefined)?.[collectParameter]
    if (value === '1' || value === 'true' || value === '') return true
    return value === '0' || value === 'false' ? false : undefined
  }

  function matches (request: FastifyRequest): boolean {
    if (typeof matcher !== 'function') return matcher === undefined || pathMatches(matcher, pathnameOf(request))
    try {
      return matcher(request)
    } catch (error) {
      servicesOf(request).warn('profiler.matcher threw; the request is profiled', error)
      return true
    }
  }

  function isSampled (request: FastifyRequest): boolean {
    return sampling === 1 || (stateOf(request).sample ??= Math.random()) < sampling
  }

  return {
    isCollected (request, given = null) {
      const state = stateOf(request)
      if (state.demanded === true) return true
      const reply = given ?? state.reply
      const isCounted = reply === null || state.others.length > 0 || reply.statusCode >= minStatus
      if (!hasFailed(request, reply) || !isCounted) return !onlyExceptions && isSelected(request) && isSampled(request)
      return errors || isSelected(request)
    },
    isWanted (request) {
      return stateOf(request).demanded === true || (!onlyExceptions && isSelected(request) && isSampled(request))
    }
  }
}

/** Whether something was raised, the client closed the connection, or the response is a server error. */
function hasFailed (request: FastifyRequest, reply: FastifyReply | null): boolean {
  const { failed, missed, clientGone, others } = stateOf(request)
  if (failed || missed !== null || clientGone === true || others.length > 0) return true
  return reply !== null && reply.statusCode >= 500
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import { pathMatches, pathnameOf } from '../http/request-target.js'
import { recordingOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import type { ProfilerSettings } from '../options.js'

/**
 * Makes the functions that decide, by the options of the profiler, whether the profile of a request is kept. Its path
 * and its route may exclude it, too: see `hasProfile` in `profiles.ts`.
 */
export function collectPolicy (options: ProfilerSettings) {
  const { collect = true, errors = false, collectParameter, onlyExceptions = false, minStatus = 0 } = options
  const { matcher, sampling = 1 } = options

  /** Whether `collectParameter`, or else `collect`, and `matcher` select the request. Its outcome is not considered. */
  function isSelected (request: FastifyRequest): boolean {
    return (choiceOf(request) ?? collect) && matches(request)
  }

  function choiceOf (request: FastifyRequest): boolean | undefined {
    if (collectParameter === undefined) return undefined
    const value = (request.query as Record<string, unknown> | undefined)?.[collectParameter]
    return value === '1' || value === '0' ? value === '1' : undefined
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
    return sampling === 1 || (recordingOf(request).sample ??= Math.random()) < sampling
  }

  /** Whether the profile is kept even if the request succeeds, which is known at its beginning. */
  function isKeptOnSuccess (request: FastifyRequest): boolean {
    return recordingOf(request).forceProfile === true || (!onlyExceptions && isSelected(request) && isSampled(request))
  }

  /** Whether the profile is kept, by the outcome until now: that of a failure may be where that of a success is not. */
  function isKeptByOutcome (request: FastifyRequest, given: FastifyReply | null = null): boolean {
    const { reply: known, otherErrors, ending } = recordingOf(request)
    const reply = given ?? known
    const hasError = otherErrors.length > 0 || ending?.kind === 'failed'
    const isCounted = reply === null || hasError || reply.statusCode >= minStatus
    return isKeptOnSuccess(request) || (hasFailed(request, reply) && isCounted && (errors || isSelected(request)))
  }

  return { isKeptOnSuccess, isKeptByOutcome }
}

/** Whether something was raised, the response was not sent completely, or it is a server error. */
function hasFailed (request: FastifyRequest, reply: FastifyReply | null): boolean {
  const { failure, routeError, ending, otherErrors } = recordingOf(request)
  if (failure !== null || routeError !== null || otherErrors.length > 0) return true
  if (ending?.kind === 'gone' || ending?.kind === 'failed') return true
  return reply !== null && reply.statusCode >= 500
}

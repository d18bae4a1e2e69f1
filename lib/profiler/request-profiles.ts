import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { flattenError } from '../errors/flatten-error.js'
import { maskExceptions, maskOf } from '../errors/masked-exceptions.js'
import { ClientGoneError, NoResponseError, ProcessExitError } from '../http/http-errors.js'
import { absoluteUrl } from '../http/origin.js'
import { pathnameOf } from '../http/request-target.js'
import { isRedirect } from '../http/responses.js'
import { sentHeadersOf, type Headers } from '../lifecycle/header-values.js'
import { contextOf, requestContext, routeConfigOf, stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import type { Mask } from '../mask/mask.js'
import { watchEnding, type Ending } from '../recording/ending.js'
import { buildProfile, withError } from './build-profile.js'
import { collectData } from '../parts/collect.js'
import { collectPolicy } from './collect-policy.js'
import { openConfiguration } from '../parts/config/configuration.js'
import { observe, release } from './observation.js'
import { responseCollector } from '../parts/request/collector.js'
import { Redirects } from './redirects.js'
import { newToken } from './token.js'
import type { ProfilerSettings } from '../options.js'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** The data of the application's collectors: they run once, however often the profile is written. */
    applicationData?: Record<string, unknown>
    /** Whether a profile was queued, and whether spans were created from it. */
    isQueued?: boolean
    isTraced?: boolean
    token?: string
    /** Watches a body that is about to be sent; absent until the response is watched. */
    watchBody?: (payload: unknown) => void
    /** How the response ended; absent before. */
    ending?: Ending
    /** The headers of the response as they were sent. */
    sentHeaders?: Headers
  }
}

declare module '../lifecycle/services.js' {
  interface Services {
    /** The profiles of requests, from the token to the queue. */
    profiles?: ReturnType<typeof openRequestProfiles>
  }
}

/** Queues the profile of a request. */
type QueueProfile = (request: FastifyRequest, reply: FastifyReply) => void

/** Of a request that is over. */
const MAX_LATE_ERRORS = 25
const OWN_PATHS = /^\/_(?:profiler|wdt)(?:\/|$)/

/** One listener for all applications: Node.js warns of more than ten. */
const onExit = new Set<(code: number) => void>()
// Before the exit listener of `storage/sqlite.ts`, which stops the thread of the database.
process.prependListener('exit', (code) => { for (const callback of onExit) callback(code) })

/**
 * Returns the functions that profile requests. `collectRequest` records a request whose handler was not reached; or,
 * with `isLate`, one that was not observed until its end.
 */
export function openRequestProfiles (
  app: FastifyInstance,
  settings: ProfilerSettings,
  options: object,
  collectRequest: (request: FastifyRequest, isLate: boolean) => void = () => {}
) {
  const { base, mode, originOf, profiler } = app.hindsight
  const { collectors = [] } = settings
  const { isCollected, isProfiledOnSuccess } = collectPolicy(settings)
  const configuration = openConfiguration(app, options)
  const redirects = new Redirects()
  const collectResponse = responseCollector()

  function newTokenOf (request: FastifyRequest): string {
    return (stateOf(request).token ??= newToken())
  }

  function mayBeProfiled (request: FastifyRequest): boolean {
    const path = pathnameOf(request)
    const isOwn = path.startsWith(base) && OWN_PATHS.test(path.slice(base.length))
    return !isOwn && routeConfigOf(request)?.profile !== false
  }

  /** Whether the request is profiled, by its outcome until now. */
  function isProfiled (request: FastifyRequest, reply?: FastifyReply): boolean {
    return isCollected(request, reply) && mayBeProfiled(request)
  }

  function queueProfile (request: FastifyRequest, reply: FastifyReply): void {
    if (!isProfiled(request, reply)) return release(request)
    const state = stateOf(request)
    const isLate = !state.observed
    observe(request, reply)
    state.isQueued = true
    const token = newTokenOf(request)
    // Not recorded yet where the reply was sent or hijacked before the handler.
    collectRequest(request, isLate)
    const endedAt = state.endedAt || performance.now()
    if (!state.parent) state.parent = redirects.take(request)
    // Headers that are set later are not sent.
    state.sentHeaders ??= sentHeadersOf(reply)
    // No hook has seen the response of a hijacked reply.
    if (state.collected?.response === undefined) collectResponse(request, reply, undefined)
    const collected = (state.applicationData ??= collectData(collectors, request, reply))
    const isDeferred = profiler.defer(token, () => {
      const { maxProfileBytes: maxBytes } = profiler
      try {
        const profile = buildProfile(request, reply, { endedAt, maxBytes, collected, config: configuration() })
        if (state.isTraced !== true) profiler.trace?.(profile)
        state.isTraced = true
        contextOf(request).addError ??= errorAdder(token, maskOf(request))
        return profile
      } finally {
        // It is made before the end of the response, too, where an error was raised after its beginning.
        if (state.ending !== undefined) release(request)
      }
    })
    if (!isDeferred) release(request)
  }

  /** Makes the function that adds errors to the profile of a request that is no longer in memory. */
  function errorAdder (token: string, mask: Mask): (error: unknown) => void {
    let left = MAX_LATE_ERRORS
    return (error) => {
      if (left-- < 1) return
      const chain = maskExceptions(flattenError(error), mask)
      profiler.amend(token, (profile) => withError(profile, chain)).catch((reason: unknown) => {
        app.hindsight.warn('An error was not added to its profile', reason)
      })
    }
  }

  // A request that ends the process is profiled, too.
  const queueExiting = (code: number): QueueProfile => (request, reply) => {
    const state = stateOf(request)
    if (state.isQueued === true || servicesOf(request) !== app.hindsight) return
    if (mode === 'full' && !reply.sent) reply.code(500)
    if (!reply.raw.writableEnded && !state.failed && state.otherErrors.length === 0) {
      state.otherErrors.push(new ProcessExitError(`The process exited with code ${code} before the response was sent`))
    }
    queueProfile(request, reply)
  }

  function exit (code: number): void {
    const request = requestContext.getStore()?.request
    const reply = request === undefined ? null : stateOf(request).reply
    if (request !== undefined && reply !== null) safely(queueExiting(code))(request, reply)
    profiler.exit()
  }

  function end (request: FastifyRequest, reply: FastifyReply, ending: Ending): void {
    const state = stateOf(request)
    state.ending = ending
    state.endedAt = performance.now()
    const error = 'error' in ending ? ending.error : undefined
    if (mode === 'full' && state.observed && (error instanceof ClientGoneError || error instanceof NoResponseError)) {
      request.log.info({ channel: 'request' }, error.message)
    }
    queueSafely(request, reply)
  }

  // An exception in a listener of the response or of the process would end the process.
  const safely = (work: QueueProfile): QueueProfile => (request, reply) => {
    try {
      work(request, reply)
    } catch (error) {
      app.hindsight.warn('A profile was not queued', error)
    }
  }

  const queueSafely = safely(queueProfile)
  onExit.add(exit)
  // Last, after the store is closed: a process that exits earlier writes the queued profiles.
  app.hindsight.closing.unshift(() => { onExit.delete(exit) })
  const profiles = {
    isProfiled,
    isProfiledOnSuccess,
    /** The token and the address of the request's profile; null: it is not profiled. */
    profileOf (request: FastifyRequest): { token: string, url: string } | null {
      if (!isProfiled(request)) return null
      const token = newTokenOf(request)
      return { token, url: absoluteUrl(originOf(request), `${base}/_profiler/${token}`) }
    },
    tokenOf: (request: FastifyRequest): string | null => mayBeProfiled(request) ? newTokenOf(request) : null,
    /** Queues the profile again, after an error that was raised after the response. */
    queueAgain: queueSafely,
    /** Queues the profile at the end of the response. */
    queueAtEnd (request: FastifyRequest, reply: FastifyReply): void {
      // Also of a reply that Fastify does not send: a hijacked one, an upgrade.
      stateOf(request).watchBody ??= watchEnding(request, reply, (ending) => end(request, reply, ending))
    },
    /** To be called when a response begins; returns the token of the request's profile. */
    begin (request: FastifyRequest, reply: FastifyReply): string {
      const token = newTokenOf(request)
      const location = reply.getHeader('location')
      if (isRedirect(reply) && typeof location === 'string') redirects.remember(request, location, token)
      return token
    }
  }
  app.hindsight.profiles = profiles
  return profiles
}

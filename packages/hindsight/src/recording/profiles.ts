import { setImmediate } from 'node:timers'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LruMap } from 'toad-cache'
import { attemptCall } from '../call.js'
import { performance } from '../clock.js'
import { maskOf } from '../errors/masked-exceptions.js'
import { ProcessExitError } from '../http/http-errors.js'
import { absoluteUrl } from '../http/origin.js'
import { isProfilePath, pathMatches, pathnameOf, targetOf } from '../http/requests.js'
import { isRedirect } from '../http/responses.js'
import { contextOf, recordingOf, requestContext, routeConfigOf, servicesOf } from '../lifecycle/state.js'
import type { ProfilerSettings } from '../options.js'
import { collectData } from '../parts/collect.js'
import { dataOf } from '../parts/read.js'
import { doOwnWork } from '../lifecycle/event-loop.js'
import { newToken, type Profile } from '../store/profile.js'
import type { Profiler } from '../store/profiler.js'
import { buildProfile } from './build-profile.js'
import { flushLate, LateRecording } from './late.js'

/** Milliseconds that an exiting process waits for its last profiles, of all its applications together. */
const EXIT_TIMEOUT = 500
/** Milliseconds for which a redirect is kept, and how many are kept. */
const REDIRECT_LIFETIME = 30_000
const MAX_REDIRECTS = 1_000
/** Characters. */
const MAX_URL = 2_000
const MAX_AGENT = 300

/** One listener for all applications: Node.js warns of more than ten. */
const onExit = new Map<Profiler, (code: number) => void>()
// Before the exit listener of `store/sqlite.ts`, which stops the thread of the database.
process.prependListener('exit', (code) => {
  for (const passProfiles of onExit.values()) passProfiles(code)
  // To build the profiles may have taken as long.
  const deadline = performance.now() + EXIT_TIMEOUT
  for (const profiler of onExit.keys()) profiler.settle(deadline)
})

/** The profile of a request: its token, and the absolute URL of its page. */
export interface ProfileAddress { token: string, url: string }

/**
 * Returns the functions that decide whether a request has a profile, and queue it. `complete` records what no hook has
 * recorded until the end of a response, and `open` has the requests that have not ended.
 */
export function openProfiles (
  app: FastifyInstance, settings: ProfilerSettings, options: object,
  complete: (request: FastifyRequest, reply: FastifyReply) => void, open: ReadonlySet<FastifyRequest>
) {
  const { base, closing, lifecycle, parts, originOf, profiler, warn } = app.hindsight
  const { collectors = [] } = settings
  const { isKeptOnSuccess, isKeptByOutcome } = collectPolicy(settings)
  const makers = parts.flatMap(({ name, ofApplication }) =>
    ofApplication === undefined ? [] : [[name, ofApplication(app, options)] as const])
  let ofApplication: Record<string, unknown> | undefined
  /** The tokens of the latest redirects by client and target: the requests that follow are their children. */
  const redirects = new LruMap<string>(MAX_REDIRECTS, REDIRECT_LIFETIME)

  /** Whether neither the path nor the route excludes the request, which is known at its beginning. */
  function mayHaveProfile (request: FastifyRequest): boolean {
    // With a lifecycle the routes of the profiler say so themselves, and other paths are not found like any.
    if (lifecycle === null && isProfilePath(pathnameOf(request), base)) return false
    return routeConfigOf(request)?.profile !== false
  }

  /** Whether the request has a profile, by its outcome until now: the options keep it, and nothing excludes it. */
  function hasProfile (request: FastifyRequest, reply?: FastifyReply): boolean {
    if (!isKeptByOutcome(request, reply) || !mayHaveProfile(request)) return false
    const onlyFailures = routeConfigOf(request)?.profile === 'failures' || isProfilePath(pathnameOf(request), base)
    if (!onlyFailures) return true
    const { failure, reply: current } = recordingOf(request)
    return failure !== null || ((reply ?? current)?.statusCode ?? 0) >= 400
  }

  function build (request: FastifyRequest, reply: FastifyReply, collected: Record<string, unknown>): Profile {
    ofApplication ??= Object.fromEntries(makers.map(([name, make]) => [name, make() as unknown]))
    return buildProfile(request, reply, { maxBytes: profiler.maxProfileBytes, collected, ofApplication })
  }

  /** Queues the profile of a request, or again after a late error. */
  function queueProfile (request: FastifyRequest, reply: FastifyReply): void {
    if (!hasProfile(request, reply)) return releaseRequest(request)
    const recording = recordingOf(request)
    // Where the process exits before a response has begun, the profile has none.
    const hasResponse = recording.sending.isOver || reply.raw.headersSent
    if (hasResponse) recording.timing.endedAt ||= performance.now()
    findRedirect(request)
    // Headers and a status that are set later are not sent.
    recording.sending.settle()
    complete(request, reply)
    const collected = (recording.applicationData ??= collectData(collectors, request, reply))
    const token = tokenOf(request)
    // What comes later is added to the profile, which may not be made yet.
    const finish = (): LateRecording => {
      recording.until = Math.min(recording.until, performance.now())
      recording.events?.leaveAll(reply)
      const late = (recording.late ??= new LateRecording(token, recording, app.hindsight))
      contextOf(request).late = late
      return late
    }
    const isDeferred = profiler.defer(token, () => {
      try {
        const late = finish()
        const profile = doOwnWork(() => build(request, reply, collected))
        if (!late.begin(maskOf(request))) return profile
        for (const { made, name } of parts) attemptCall(() => made?.(dataOf(profile, name), profile, app.hindsight))
        return profile
      } finally {
        releaseRequest(request)
      }
    }, recording.failure !== null || recording.otherErrors.length > 0)
    if (!isDeferred) releaseRequest(request)
    // Fastify logs the end of a response in this turn of the event loop.
    else setImmediate(finish)
  }

  /** The address of the request's profile; null: it is not profiled, or the store loses profiles. */
  function profileOf (request: FastifyRequest): ProfileAddress | null {
    if (profiler.queue.failingSince !== null || !hasProfile(request)) return null
    const token = tokenOf(request)
    return { token, url: absoluteUrl(originOf(request), `${base}/_profiler/${token}`) }
  }

  /** Removes the redirect that led to this request; once, as the request may redirect to itself. */
  function findRedirect (request: FastifyRequest): void {
    const recording = recordingOf(request)
    if (recording.parent !== undefined || recording.followOf !== undefined) return
    const key = redirects.size === 0 ? '' : keyOf(request)
    recording.followOf = redirects.get(key) ?? null
    redirects.delete(key)
  }

  // An exception in a listener of the response or of the process would end the process.
  function queue (request: FastifyRequest, reply: FastifyReply): void {
    attemptCall(() => queueProfile(request, reply), (error) => warn('A profile was not queued', error))
  }

  // A request that ends the process is profiled, too, and those that are under way.
  function exit (code: number): void {
    const pending = new Set(open)
    const current = requestContext.getStore()?.request
    if (current !== undefined && servicesOf(current) === app.hindsight) pending.add(current)
    for (const request of pending) queueExiting(request, code)
    profiler.exit()
  }

  function queueExiting (request: FastifyRequest, code: number): void {
    const recording = recordingOf(request)
    const { failure, otherErrors, reply, sending } = recording
    if (sending.isOver || reply === null) return
    if (!reply.raw.writableEnded && failure === null && otherErrors.length === 0) {
      recording.addError(new ProcessExitError(`The process exited with code ${code} before the response was sent`))
    }
    queue(request, reply)
  }

  onExit.set(profiler, exit)
  // Last, after the store is closed: a process that exits earlier writes the queued profiles.
  closing.unshift(() => { onExit.delete(profiler) })
  closing.push(() => flushLate(app.hindsight))
  return {
    hasProfile,
    isKeptOnSuccess,
    queue,
    profileOf,
    /**
     * Sets `X-Debug-Token-Link`, the URL of the request's profile, and returns it; null: the request has no profile, or
     * its client may not see the debug surface.
     */
    link (request: FastifyRequest, reply: FastifyReply): string | null {
      const profile = profileOf(request)
      if (profile === null || !app.hindsight.isDebugClient(request)) return null
      reply.header('x-debug-token-link', profile.url)
      return profile.url
    },
    /** The token that the profile of the request will have; null where its path or its route excludes it. */
    tokenOf: (request: FastifyRequest): string | null => mayHaveProfile(request) ? tokenOf(request) : null,
    /** The profile until now of a request that has not ended. Collectors of the application have not run. */
    unfinished: build,
    /** To be called when a response begins: the request that follows a redirect is its child. */
    rememberRedirect (request: FastifyRequest, reply: FastifyReply): void {
      const location = reply.getHeader('location')
      // The clients of a Unix socket cannot be distinguished.
      if (!isRedirect(reply) || typeof location !== 'string' || originOf(request).ip === '') return
      findRedirect(request)
      redirects.set(keyOf(request, location), tokenOf(request))
    }
  }
}

function tokenOf (request: FastifyRequest): string {
  return (recordingOf(request).token ??= newToken())
}

/** Ends the log of a request that is over, and releases the memory of the request. */
export function releaseRequest (request: FastifyRequest): void {
  const { log, sending } = recordingOf(request)
  // A profile may be made before, where the process exits.
  if (!sending.isOver) return
  log?.finish()
  const context = contextOf(request)
  context.wasDebugClient = servicesOf(request).mayReceiveDetails(request)
  context.release()
}

/** The client of a request, and the URL that it requests or, with a `location`, is redirected to. */
function keyOf (request: FastifyRequest, location = ''): string {
  const origin = servicesOf(request).originOf(request)
  const url = absoluteUrl(origin, targetOf(request))
  const target = location.length <= MAX_URL && URL.canParse(location, url) ? new URL(location, url).href : ''
  return [origin.ip, request.headers['user-agent']?.slice(0, MAX_AGENT), target.split('#', 1)].join('\n')
}

/** Makes the functions that decide, by the options of the profiler, whether the profile of a request is kept. */
function collectPolicy (options: ProfilerSettings) {
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
    const { reply: known, otherErrors, sending } = recordingOf(request)
    const reply = given ?? known
    const hasError = otherErrors.length > 0 || sending.state.kind === 'failed'
    const isCounted = reply === null || hasError || reply.statusCode >= minStatus
    return isKeptOnSuccess(request) || (hasFailed(request, reply) && isCounted && (errors || isSelected(request)))
  }

  return { isKeptOnSuccess, isKeptByOutcome }
}

/** Whether something was raised, the response was not sent completely, or it is a server error. */
function hasFailed (request: FastifyRequest, reply: FastifyReply | null): boolean {
  const { failure, routeError, otherErrors, sending: { state } } = recordingOf(request)
  if (failure !== null || routeError !== null || otherErrors.length > 0) return true
  if (state.kind === 'gone' || state.kind === 'failed') return true
  return reply !== null && reply.statusCode >= 500
}

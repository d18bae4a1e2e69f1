import { setImmediate } from 'node:timers'
import type { FastifyRequest } from 'fastify'
import { LruMap } from 'toad-cache'
import { attemptCall } from '../call.js'
import { performance } from '../clock.js'
import { absoluteUrl } from '../http/origin.js'
import { isProfilePath, pathMatches, pathnameOf, targetOf } from '../http/requests.js'
import { isRedirect } from '../http/responses.js'
import { requestContext, type LateRecorder, type RequestTrace } from './trace.js'
import { routeConfigOf, type DeclaredRoute } from '../routing/route-table.js'
import type { ProfilerSettings } from '../options.js'
import { collectData } from '../parts/collect.js'
import type { PublishedServices, StoringServices } from '../parts/part.js'
import { doInternalWork } from './event-loop.js'
import { isSuccess, newToken, type Profile } from '../store/profile.js'
import type { Profiler } from '../store/profiler.js'
import { buildProfile } from './build-profile.js'
import { exitError, type JobRecorder } from './jobs.js'
import { flushLate, LateRecording, notifyParts } from './late.js'

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

/** Calls `pass` when the process exits, which queues the last profiles. Returns the function that ends it. */
export function watchExit (profiler: Profiler, pass: (code: number) => void): () => void {
  onExit.set(profiler, (code) => {
    pass(code)
    profiler.exit()
  })
  return () => { onExit.delete(profiler) }
}

// Before the exit listener of `store/sqlite.ts`, which stops the thread of the database.
process.prependListener('exit', (code) => {
  for (const passProfiles of onExit.values()) passProfiles(code)
  // To build the profiles may have taken as long.
  const deadline = performance.now() + EXIT_TIMEOUT
  for (const profiler of onExit.keys()) profiler.settle(deadline)
})

/** Routes of which this process has stored a success. */
const succeeded = new WeakSet<DeclaredRoute>()

export function hasSuccessOf (route: DeclaredRoute | null): boolean {
  return route !== null && succeeded.has(route)
}

/** Makes the function that makes the data of parts that all profiles of an application have. */
export function applicationData (services: StoringServices, options: object): () => Record<string, unknown> {
  const makers = services.parts.flatMap(({ name, ofApplication }) =>
    ofApplication === undefined ? [] : [[name, ofApplication(services, options)] as const])
  let data: Record<string, unknown> | undefined
  return () => (data ??= Object.fromEntries(makers.map(([name, make]) => [name, make()])))
}

/** The profile of a request: its token, and the absolute URL of its page. */
export interface ProfileAddress { token: string, url: string }

interface ProfilesOptions {
  services: PublishedServices
  profiler: Profiler
  settings: ProfilerSettings
  /** Makes the data of parts that all profiles of the application have. */
  ofApplication: () => Record<string, unknown>
  jobs: Pick<JobRecorder, 'exit'>
  /** The requests that have not ended. */
  open: ReadonlySet<RequestTrace>
  /** Records what no hook has recorded until the end of a response. */
  complete: (trace: RequestTrace) => void
}

/** Decides whether a request has a profile, and queues it. */
export class Profiles {
  readonly #services: PublishedServices
  readonly #profiler: Profiler
  readonly #collectors: NonNullable<ProfilerSettings['collectors']>
  readonly #policy: ReturnType<typeof collectPolicy>
  readonly #open: ReadonlySet<RequestTrace>
  readonly #complete: ProfilesOptions['complete']
  readonly #jobs: Pick<JobRecorder, 'exit'>
  readonly #ofApplication: () => Record<string, unknown>
  /** The tokens of the latest redirects by client and target: the requests that follow are their children. */
  readonly #redirects = new LruMap<string>(MAX_REDIRECTS, REDIRECT_LIFETIME)

  constructor ({ services, profiler, settings, ofApplication, jobs, open, complete }: ProfilesOptions) {
    const { closing } = services
    this.#services = services
    this.#profiler = profiler
    this.#collectors = settings.collectors ?? []
    this.#policy = collectPolicy(settings)
    this.#ofApplication = ofApplication
    this.#jobs = jobs
    this.#open = open
    this.#complete = complete
    // Last, after the store is closed: a process that exits earlier writes the queued profiles.
    closing.unshift(watchExit(profiler, (code) => this.#exit(code)))
    closing.push(() => flushLate(services))
  }

  /** Whether the profile is kept even if the request succeeds, which is known at its beginning. */
  isKeptOnSuccess (trace: RequestTrace): boolean {
    return this.#policy.isKeptOnSuccess(trace)
  }

  /** Whether neither the path nor the route excludes the request, which is known at its beginning. */
  #mayHaveProfile ({ request }: RequestTrace): boolean {
    const { base, lifecycle } = this.#services
    // With a lifecycle the routes of the profiler say so themselves, and other paths are not found like any.
    if (lifecycle === null && isProfilePath(pathnameOf(request), base)) return false
    return routeConfigOf(request)?.profile !== false
  }

  /** Whether the request has a profile, by its outcome until now: the options keep it, and nothing excludes it. */
  hasProfile (trace: RequestTrace): boolean {
    if (!this.#policy.isKeptByOutcome(trace) || !this.#mayHaveProfile(trace)) return false
    const { request } = trace
    const isOfProfiler = isProfilePath(pathnameOf(request), this.#services.base)
    if (routeConfigOf(request)?.profile !== 'failures' && !isOfProfiler) return true
    return trace.failed || trace.reply.statusCode >= 400
  }

  /** The token that the profile of the request will have; null where its path or its route excludes it. */
  tokenOf (trace: RequestTrace): string | null {
    return this.#mayHaveProfile(trace) ? tokenOf(trace) : null
  }

  /** The address of the request's profile; null: it is not profiled, or the store loses profiles. */
  profileOf (trace: RequestTrace): ProfileAddress | null {
    if (this.#profiler.queue.failingSince !== null || !this.hasProfile(trace)) return null
    const { base, originOf } = this.#services
    const token = tokenOf(trace)
    return { token, url: absoluteUrl(originOf(trace.request), `${base}/_profiler/${token}`) }
  }

  /**
   * Sets `X-Debug-Token-Link`, the URL of the request's profile, and returns it; null: the request has no profile, or
   * its client may not see the debug surface.
   */
  link (trace: RequestTrace): string | null {
    const profile = this.profileOf(trace)
    if (profile === null || !this.#services.isDebugClient(trace.request)) return null
    trace.reply.header('x-debug-token-link', profile.url)
    return profile.url
  }

  /** To be called when a response begins: the request that follows a redirect is its child. */
  rememberRedirect (trace: RequestTrace): void {
    const { request, reply } = trace
    const location = reply.getHeader('location')
    // The clients of a Unix socket cannot be distinguished.
    if (!isRedirect(reply) || typeof location !== 'string' || this.#services.originOf(request).ip === '') return
    this.#findRedirect(trace)
    this.#redirects.set(this.#keyOf(request, location), tokenOf(trace))
  }

  /** Removes the redirect that led to this request; once, as the request may redirect to itself. */
  #findRedirect ({ request, recording }: RequestTrace): void {
    if (recording.parent !== undefined || recording.followOf !== undefined) return
    const key = this.#redirects.size === 0 ? '' : this.#keyOf(request)
    recording.followOf = this.#redirects.get(key) ?? null
    this.#redirects.delete(key)
  }

  /** The client of a request, and the URL that it requests or, with a `location`, is redirected to. */
  #keyOf (request: FastifyRequest, location = ''): string {
    const origin = this.#services.originOf(request)
    const url = absoluteUrl(origin, targetOf(request))
    const target = location.length <= MAX_URL && URL.canParse(location, url) ? new URL(location, url).href : ''
    return [origin.ip, request.headers['user-agent']?.slice(0, MAX_AGENT), target.split('#', 1)].join('\n')
  }

  /** The profile until now of a request that has not ended. Collectors of the application have not run. */
  unfinished (trace: RequestTrace, collected: Record<string, unknown>): Profile {
    return this.#build(trace, collected)
  }

  #build (trace: RequestTrace, collected: Record<string, unknown>): Profile {
    const ofApplication = this.#ofApplication()
    return buildProfile(trace, { maxBytes: this.#profiler.maxProfileBytes, collected, ofApplication })
  }

  /** Queues the profile of a request, or again after a late error. */
  queue (trace: RequestTrace): void {
    // An exception in a listener of the response or of the process would end the process.
    attemptCall(() => this.#queueProfile(trace), (error) => this.#services.warn('A profile was not queued', error))
  }

  #queueProfile (trace: RequestTrace): void {
    if (!this.hasProfile(trace)) return releaseRequest(trace)
    const { request, reply, recording } = trace
    const { app } = this.#services
    // Where the process exits before a response has begun, the profile has none.
    const hasResponse = recording.sending.isOver || reply.raw.headersSent
    if (hasResponse) recording.timing.endedAt ||= performance.now()
    this.#findRedirect(trace)
    recording.sending.settle()
    this.#complete(trace)
    const collected = (recording.applicationData ??= collectData(this.#collectors, request, reply))
    const token = tokenOf(trace)
    // What comes later is added to the profile, which may not be made yet.
    const finish = (): LateRecorder => {
      recording.until = Math.min(recording.until, performance.now())
      recording.events?.leaveAll(reply)
      return (trace.context.late ??= new LateRecording(token, recording, app.hindsight))
    }
    const isDeferred = this.#profiler.defer(token, () => {
      try {
        const late = finish()
        const profile = doInternalWork(() => this.#build(trace, collected))
        if (trace.declaredRoute !== null && isSuccess(profile)) succeeded.add(trace.declaredRoute)
        if (!late.begin(trace.mask)) return profile
        notifyParts(profile, app.hindsight)
        return profile
      } finally {
        releaseRequest(trace)
      }
    }, recording.failure !== null || recording.otherErrors.length > 0)
    if (!isDeferred) releaseRequest(trace)
    // Fastify logs the end of a response in this turn of the event loop.
    else setImmediate(finish)
  }

  // A request that ends the process is profiled, too, and those that are under way.
  #exit (code: number): void {
    const pending = new Set(this.#open)
    const current = requestContext.getStore()?.request
    if (current?.services.app === this.#services.app) pending.add(current)
    for (const trace of pending) this.#queueExiting(trace, code)
    this.#jobs.exit(code)
  }

  #queueExiting (trace: RequestTrace, code: number): void {
    const { sending } = trace.recording
    if (sending.isOver || !trace.hasBegun) return
    if (trace.reply.raw.writableEnded) this.queue(trace)
    else sending.exit((when) => exitError(`The process exited with code ${code} ${when}`))
  }
}

function tokenOf ({ recording }: RequestTrace): string {
  return (recording.token ??= newToken())
}

/** Ends the log of a request that is over, and releases the memory of the request. */
export function releaseRequest ({ request, recording, services, context }: RequestTrace): void {
  // A profile may be made before, where the process exits.
  if (!recording.sending.isOver) return
  recording.log?.finish()
  context.wasDebugClient = services.mayReceiveDetails(request)
  context.release()
}

/** Makes the functions that decide, by the options of the profiler, whether the profile of a request is kept. */
function collectPolicy (options: ProfilerSettings) {
  const { collect = true, errors = false, collectParameter, onlyExceptions = false, minStatus = 0 } = options
  const { matcher, sampling = 1 } = options

  /** Whether `collectParameter`, or else `collect`, and `matcher` select the request. Its outcome is not considered. */
  function isSelected ({ request, services }: RequestTrace): boolean {
    return (choiceOf(request) ?? collect) && matches(request, services.warn)
  }

  function choiceOf (request: FastifyRequest): boolean | undefined {
    if (collectParameter === undefined) return undefined
    const value = (request.query as Record<string, unknown> | undefined)?.[collectParameter]
    return value === '1' || value === '0' ? value === '1' : undefined
  }

  function matches (request: FastifyRequest, warn: PublishedServices['warn']): boolean {
    if (typeof matcher !== 'function') return matcher === undefined || pathMatches(matcher, pathnameOf(request))
    try {
      return matcher(request)
    } catch (error) {
      warn('profiler.matcher threw; the request is profiled', error)
      return true
    }
  }

  function isSampled ({ recording }: RequestTrace): boolean {
    return sampling === 1 || (recording.sample ??= Math.random()) < sampling
  }

  /** Whether the profile is kept even if the request succeeds, which is known at its beginning. */
  function isKeptOnSuccess (trace: RequestTrace): boolean {
    return trace.recording.forceProfile === true || (!onlyExceptions && isSelected(trace) && isSampled(trace))
  }

  /** Whether the profile is kept, by the outcome until now: that of a failure may be where that of a success is not. */
  function isKeptByOutcome (trace: RequestTrace): boolean {
    const { otherErrors, sending } = trace.recording
    const hasError = otherErrors.length > 0 || /^(?:failed|replaced)$/.test(sending.state.kind)
    const isCounted = hasError || trace.reply.statusCode >= minStatus
    return isKeptOnSuccess(trace) || (hasFailed(trace) && isCounted && (errors || isSelected(trace)))
  }

  return { isKeptOnSuccess, isKeptByOutcome }
}

/** Whether something was raised, the response was not sent completely, or it is a server error. */
function hasFailed ({ recording, reply }: RequestTrace): boolean {
  const { failure, routeError, otherErrors, sending: { state } } = recording
  if (failure !== null || routeError !== null || otherErrors.length > 0) return true
  return /^(?:gone|failed|replaced)$/.test(state.kind) || reply.statusCode >= 500
}

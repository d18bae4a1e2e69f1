import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { headersOf } from '../http/header-values.js'
import { ProcessExitError } from '../http/http-errors.js'
import { absoluteUrl } from '../http/origin.js'
import { pathnameOf, targetOf } from '../http/request-target.js'
import { observe } from '../lifecycle/pass.js'
import { requestContext } from '../lifecycle/request-context.js'
import { stateOf } from '../lifecycle/request-state.js'
import { followToEnd } from '../lifecycle/response-end.js'
import { isRedirect } from '../lifecycle/responses.js'
import { routeConfigOf } from '../lifecycle/route-config.js'
import { servicesOf } from '../lifecycle/services-of.js'
import { buildProfile } from './build-profile.js'
import { Collection } from './collector.js'
import { collectPolicy } from './collect-policy.js'
import { openConfiguration } from './configuration.js'
import { Redirects } from './redirects.js'
import type { ProfilerSettings } from './settings.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** False: requests of this route leave no profile. */
    profile?: boolean
  }
}

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** The data of the application's collectors: they run once, however often the profile is written. */
    collection?: Collection
    /** Whether a profile was queued, and whether it became spans. */
    isKept?: boolean
    isTraced?: boolean
  }
}

/** The profiles of an application's requests, from the token to the queue. */
export interface RequestProfiles {
  /** Whether the request leaves a profile, as far as its outcome is known. */
  isProfiled: (request: FastifyRequest, reply: FastifyReply) => boolean
  /** To be called when a response begins; returns the token of the request's profile. */
  begin: (request: FastifyRequest, reply: FastifyReply, payload: unknown) => string
}

const OWN_PATHS = /^\/_(?:profiler|wdt)(?:\/|$)/

/** One listener for all applications: Node.js warns of more than ten. */
const onExit = new Set<(code: number) => void>()
// Before the listener of the database's thread, which ends it.
process.prependListener('exit', (code) => {
  for (const callback of onExit) callback(code)
})

/**
 * Queues a profile of each request that the options select, after its response. `options` are all options of the
 * application, which profiles summarize.
 */
export function openRequestProfiles (
  app: FastifyInstance, settings: ProfilerSettings, options: object
): RequestProfiles {
  const { base, debug, mode, originOf, profiler } = app.hindsight
  const { collectors = [] } = settings
  const { isCollected, isWanted } = collectPolicy(settings)
  // In debug mode the page of any failure shows its events.
  if (!debug) app.hindsight.isObserved = isWanted
  const configuration = openConfiguration(app, options, collectors)
  const redirects = new Redirects()
  // Profiles that wait for asynchronous collectors.
  const pending = new Map<() => void, Promise<unknown>>()

  function tokenOf (request: FastifyRequest): string {
    const state = stateOf(request)
    if (state.token === '') state.token = profiler.newToken()
    return state.token
  }

  function mayBeProfiled (request: FastifyRequest): boolean {
    const path = pathnameOf(request)
    const isOwn = path.startsWith(base) && OWN_PATHS.test(path.slice(base.length))
    return !isOwn && routeConfigOf(request)?.profile !== false
  }

  function isProfiled (request: FastifyRequest, reply?: FastifyReply): boolean {
    return isCollected(request, reply) && mayBeProfiled(request)
  }

  function urlOf (request: FastifyRequest): string {
    return absoluteUrl(originOf(request), targetOf(request))
  }

  function clientOf (request: FastifyRequest): { ip: string, userAgent: string } {
    return { ip: originOf(request).ip, userAgent: request.headers['user-agent'] ?? '' }
  }

  function keep (request: FastifyRequest, reply: FastifyReply): void {
    if (!isProfiled(request, reply)) return
    observe(request, reply)
    const state = stateOf(request)
    state.isKept = true
    const token = tokenOf(request)
    // Not recorded yet where the reply was sent or hijacked before the handler.
    app.hindsight.collectRequest?.(request)
    const endedAt = state.endedAt || performance.now()
    if (state.parent === '') state.parent = redirects.take({ ...clientOf(request), url: urlOf(request) }) ?? ''
    state.usage?.stop(endedAt)
    // Headers that are set later are not sent.
    state.sentHeaders ??= headersOf(reply)
    if (state.sentStatus === 0) state.sentStatus = reply.raw.headersSent ? reply.raw.statusCode : reply.statusCode
    const { data, settled } = (state.collection ??= new Collection(collectors, request, reply))
    const write = (): void => {
      pending.delete(write)
      profiler.defer(token, () => {
        const { maxProfileBytes: maxBytes } = profiler
        const profile = buildProfile(request, reply, { endedAt, maxBytes, collected: data, config: configuration() })
        if (state.isTraced !== true) profiler.trace?.(profile)
        state.isTraced = true
        return profile
      })
    }
    if (settled === null) write()
    else pending.set(write, settled.then(write))
  }

  // The request that ends the process leaves its profile, too.
  function keepExiting (code: number): void {
    const { request, reply } = requestContext.getStore() ?? {}
    if (request === undefined || reply === undefined || servicesOf(request) !== app.hindsight) return
    const state = stateOf(request)
    if (state.isKept === true) return
    if (mode === 'full' && !reply.sent) reply.code(500)
    if (!reply.raw.writableEnded && !state.failed && state.others.length === 0) {
      state.others.push(new ProcessExitError(`The process exited with code ${code} before the response was sent`))
    }
    keep(request, reply)
  }

  function exit (code: number): void {
    try {
      keepExiting(code)
      for (const write of pending.keys()) write()
    } finally {
      profiler.exit()
    }
  }

  function keepClosed (request: FastifyRequest, reply: FastifyReply): void {
    const state = stateOf(request)
    if (!state.observed) return
    if (request.raw.headers.upgrade !== undefined && reply.sent && !reply.raw.headersSent) {
      state.upgraded = true
    } else if (!state.streamFailed) {
      state.clientGone = true
      if (mode === 'full') {
        request.log.info({ channel: 'request' }, 'The client closed the connection before the response was sent')
      }
    }
    keep(request, reply)
  }

  onExit.add(exit)
  app.hindsight.closing.push(async () => {
    await Promise.all(pending.values())
    onExit.delete(exit)
  })
  Object.assign(app.hindsight, {
    profileOf (request: FastifyRequest) {
      if (!isProfiled(request)) return null
      const token = tokenOf(request)
      return { token, url: absoluteUrl(originOf(request), `${base}/_profiler/${token}`) }
    },
    tokenOf: (request: FastifyRequest) => mayBeProfiled(request) ? tokenOf(request) : null,
    keepLate (request: FastifyRequest, reply: FastifyReply) {
      try {
        keep(request, reply)
      } catch (error) {
        app.hindsight.warn('A profile was not kept', error)
      }
    },
    follow (request: FastifyRequest, reply: FastifyReply) {
      const state = stateOf(request)
      const ended = (keepEnded: typeof keepClosed): typeof keepClosed => (request, reply) => {
        state.endedAt = performance.now()
        keepEnded(request, reply)
      }
      if (!state.followed) followToEnd(request, reply, { sent: ended(keep), gone: ended(keepClosed) })
      state.followed = true
    }
  })

  return {
    isProfiled,
    begin (request, reply, payload) {
      const token = tokenOf(request)
      const location = reply.getHeader('location')
      if (isRedirect(reply) && typeof location === 'string') {
        redirects.remember(clientOf(request), location, urlOf(request), token)
      }
      if (payload instanceof Readable) payload.once('error', (error) => noteFailedStream(request, reply, error))
      return token
    }
  }
}

// Once a part of the body was sent there can be no other response: Fastify closes the connection, not the client.
function noteFailedStream (request: FastifyRequest, reply: FastifyReply, error: unknown): void {
  if (!reply.raw.headersSent) return
  const state = stateOf(request)
  state.streamFailed = true
  state.others.push(error)
}

import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { headersOf, type Headers } from '../lifecycle/header-values.js'
import { ProcessExitError } from '../http/http-errors.js'
import { absoluteUrl } from '../http/origin.js'
import { pathnameOf, targetOf } from '../http/request-target.js'
import { observe } from './observation.js'
import { requestContext } from '../lifecycle/request-state.js'
import { stateOf } from '../lifecycle/request-state.js'
import { followToEnd } from './observation.js'
import { isRedirect } from '../http/responses.js'
import { routeConfigOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import type {} from '../logs/request-log.js'
import { atExit } from './at-exit.js'
import { buildProfile } from './build-profile.js'
import { Collection } from './collector.js'
import { collectPolicy } from './collect-policy.js'
import { openConfiguration } from './configuration/configuration.js'
import { Redirects } from './related/redirects.js'
import type { ProfilerSettings } from './settings.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** False: requests of this route leave no profile. */
    profile?: boolean
  }
}

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    token?: string
    /** Whether the path and the route of the request allow a profile. */
    mayBeProfiled?: boolean
    /** Whether the end of its response is awaited. */
    followed?: boolean
    /** The status that was sent. */
    sentStatus?: number
    /** The headers of the response as they were sent. */
    sentHeaders?: Headers
    /** Whether the client closed the connection before the response was sent. */
    clientGone?: boolean
    /** Whether the connection was upgraded (RFC 9110, section 7.8): there was no response of Fastify's. */
    upgraded?: boolean
    /** Whether the body failed when its beginning had been sent. */
    streamFailed?: boolean
  }
}

declare module '../lifecycle/services.js' {
  interface Services {
    profiles?: RequestProfiles
  }
}

/** The profiles of an application's requests, from the token to the store. */
export interface RequestProfiles {
  /** Whether a request that has come this far leaves a profile. */
  isProfiled: (request: FastifyRequest, reply: FastifyReply) => boolean
  /** The token of a request's profile; notes what its response means for those that follow. */
  begin: (request: FastifyRequest, reply: FastifyReply, payload: unknown) => string
  /** Whether a request will leave a profile even if it does not fail, as far as its beginning shows. */
  isWanted: (request: FastifyRequest) => boolean
  /** Where the profile of a request will be found, or null where none is kept. */
  profileOf: (request: FastifyRequest) => { token: string, url: string } | null
  /** The token of a request's profile; null where it will leave none. */
  tokenOf: (request: FastifyRequest) => string | null
  /** Keeps the profile of a request again, after an error that came after its response. */
  keepLate: (request: FastifyRequest, reply: FastifyReply) => void
  /** Keeps the profile of a request at the end of its response. */
  follow: (request: FastifyRequest, reply: FastifyReply) => void
}

const OWN_PATHS = /^\/_(?:profiler|wdt)(?:\/|$)/

/**
 * Keeps a profile of each request that the options want, after its response. `options`: all of the application's, which profiles summarize.
 * `collectRequest` records what came in with a request, where no listener has done it.
 */
export function openRequestProfiles (
  app: FastifyInstance, settings: ProfilerSettings, options: object, collectRequest: (request: FastifyRequest) => void = () => {}
): RequestProfiles {
  const { base, mode, originOf, profiler } = app.hindsight
  const { isCollected, isWanted } = collectPolicy(settings)
  const { collectors = [] } = settings
  const configuration = openConfiguration(app, options, collectors)
  const collections = new WeakMap<FastifyRequest, Collection>()
  const kept = new WeakSet<FastifyRequest>()
  const redirects = new Redirects()
  // Awaited when the application is closed, so that no profile is lost.
  const pending = new Map<Promise<unknown>, () => void>()

  function newTokenOf (request: FastifyRequest): string {
    return (stateOf(request).token ??= profiler.newToken())
  }

  function isOwnPath (path: string): boolean {
    return path.startsWith(base) && OWN_PATHS.test(path.slice(base.length))
  }

  function mayBeProfiled (request: FastifyRequest): boolean {
    const state = stateOf(request)
    return (state.mayBeProfiled ??= routeConfigOf(request)?.profile !== false && !isOwnPath(pathnameOf(request)))
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

  function keep (request: FastifyRequest, reply: FastifyReply, isExiting = false): void {
    if (!isProfiled(request, reply)) return
    observe(request, reply)
    kept.add(request)
    const token = newTokenOf(request)
    // A request that was answered before its handler, or taken over by it, has not been recorded yet.
    collectRequest(request)
    const state = stateOf(request)
    const endedAt = state.endedAt || performance.now()
    if ((state.parent ?? '') === '' && redirects.size > 0) state.parent = redirects.take({ ...clientOf(request), url: urlOf(request) }) ?? ''
    state.usage?.stop()
    // Headers that are set from here on are not sent.
    state.sentHeaders ??= headersOf(reply)
    state.sentStatus ??= reply.raw.headersSent ? reply.raw.statusCode : reply.statusCode
    const collection = collectionOf(request, reply)
    if (collection === null || collection.settled === null || isExiting) return write(request, reply, token, endedAt, collection)
    const writeNow = (): void => write(request, reply, token, endedAt, collection)
    const writing = collection.settled.then(writeNow).finally(() => pending.delete(writing))
    pending.set(writing, writeNow)
  }

  function write (request: FastifyRequest, reply: FastifyReply, token: string, endedAt: number, collection: Collection | null): void {
    const state = stateOf(request)
    profiler.defer(token, () => buildProfile(request, reply, endedAt, profiler.maxProfileBytes, {
      config: configuration(), ...(collection !== null && app.hindsight.mask.hiding(state.sentParams ?? request.params).value(collection.data) as object)
    }), bytesHeld(request))
  }

  // Once for each request, however often its profile is written again.
  function collectionOf (request: FastifyRequest, reply: FastifyReply): Collection | null {
    if (collectors.length === 0) return null
    const known = collections.get(request) ?? new Collection(collectors, request, reply)
    collections.set(request, known)
    return known
  }

  // The request that ends the process leaves its profile, too.
  function keepExiting (code: number): void {
    const { request, reply } = requestContext.getStore() ?? {}
    if (request === undefined || reply === undefined || servicesOf(request) !== app.hindsight || kept.has(request)) return
    const state = stateOf(request)
    if (mode === 'full' && !reply.sent) reply.code(500)
    if (!reply.raw.writableEnded && !state.failed && state.others.length === 0) {
      state.others.push(new ProcessExitError(`The process exited with code ${code} before the response was sent`))
    }
    keep(request, reply, true)
  }

  // Before the profiler hands what is queued to its store.
  const releaseExit = atExit((code) => {
    for (const writeNow of pending.values()) writeNow()
    keepExiting(code)
  })
  app.hindsight.closing.push(async () => {
    await Promise.all(pending.keys())
    releaseExit()
  })

  function keepClosed (request: FastifyRequest, reply: FastifyReply): void {
    const state = stateOf(request)
    if (!state.observed) return
    if (request.raw.headers.upgrade !== undefined && reply.sent && !reply.raw.headersSent) {
      state.upgraded = true
    } else if (state.streamFailed !== true) {
      state.clientGone = true
      if (mode === 'full') request.log.info({ channel: 'request' }, 'The client closed the connection before the response was sent')
    }
    keep(request, reply)
  }

  const profiles: RequestProfiles = {
    isProfiled,
    isWanted,
    profileOf (request) {
      if (!isProfiled(request)) return null
      const token = newTokenOf(request)
      return { token, url: absoluteUrl(originOf(request), `${base}/_profiler/${token}`) }
    },
    tokenOf: (request) => mayBeProfiled(request) ? newTokenOf(request) : null,
    keepLate (request, reply) {
      try {
        keep(request, reply)
      } catch (error) {
        app.hindsight.warn('A profile was not kept', error)
      }
    },
    follow (request, reply) {
      const state = stateOf(request)
      const ended = (keepEnded: typeof keepClosed): typeof keepClosed => (request, reply) => {
        state.endedAt = performance.now()
        keepEnded(request, reply)
      }
      if (state.followed !== true) followToEnd(request, reply, { sent: ended(keep), gone: ended(keepClosed) })
      state.followed = true
    },
    begin (request, reply, payload) {
      const token = newTokenOf(request)
      const location = reply.getHeader('location')
      if (isRedirect(reply) && typeof location === 'string') redirects.remember(clientOf(request), location, urlOf(request), token)
      if (payload instanceof Readable) payload.once('error', (error) => noteFailedStream(request, reply, error))
      return token
    }
  }
  app.hindsight.profiles = profiles
  return profiles
}

// What a profile that is not built yet keeps in memory: the body above all, and the log.
function bytesHeld (request: FastifyRequest): number {
  const { log } = stateOf(request)
  const body = request.body === undefined || request.body === null ? 0 : Number(request.headers['content-length']) || 0
  return body + (log?.bytes ?? 0)
}

// When the beginning of the body has been sent there can be no other answer: Fastify closes the connection, not the client.
function noteFailedStream (request: FastifyRequest, reply: FastifyReply, error: unknown): void {
  if (!reply.raw.headersSent) return
  const state = stateOf(request)
  state.streamFailed = true
  state.others.push(error)
}

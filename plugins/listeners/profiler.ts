import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { listener, Skip } from '../kernel/listener.js'
import { absoluteUrl, pathnameOf, targetOf } from '../kernel/origin.js'
import { isRedirect } from '../kernel/responses.js'
import { stateOf } from '../kernel/request-state.js'
import { buildProfile } from '../profiler/build-profile.js'
import { checkCollectors, Collection, type Collector } from '../profiler/collector.js'
import { openConfiguration } from '../profiler/configuration/configuration.js'
import { Redirects } from '../profiler/related/redirects.js'
import { collectPolicy, type CollectOptions } from '../profiler/collect-policy.js'

export interface ProfilerSettings extends CollectOptions {
  /** Collectors of the application, each with a panel of its own: see `docs/collectors.md`. */
  collectors?: Collector[]
}

export interface ProfilerListenerOptions {
  /** Which requests are profiled, in debug mode; all by default, false for none. */
  profiler?: false | ProfilerSettings
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** False: requests of this route leave no profile. */
    profile?: boolean
  }
}

const notProfiled = new Skip('requests of the profiler itself, of routes with `profile: false` and those that the options leave out are not profiled')
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/
const OWN_PATHS = /^\/_(?:profiler|wdt)(?:\/|$)/

/** Assigns the request's token, tells it, and keeps the profile once the response is over. */
export const profiler = listener('kernel.response', 'profiler', (app, given: ProfilerListenerOptions) => {
  const { profiler: options = {} } = given
  const { debug, maySeeDebug, originOf } = app.hindsight
  if (!debug) return 'not in debug mode'
  if (options === false) return 'not configured'
  const isCollected = collectPolicy(options)
  const { profiler } = app
  const { collectors = [] } = options
  checkCollectors(collectors)
  const configuration = openConfiguration(app, given, collectors)
  const collections = new WeakMap<FastifyRequest, Collection>()
  // Waited for when the application is closed, so that no profile is lost.
  const pending = new Set<Promise<unknown>>()
  app.addHook('onClose', async function awaitCollectors () {
    await Promise.all(pending)
  })

  function tokenOf (request: FastifyRequest): string {
    const state = stateOf(request)
    if (state.token === '') state.token = profiler.newToken() as string
    return state.token
  }

  function mayBeProfiled (request: FastifyRequest): boolean {
    return request.routeOptions.config?.profile !== false && !OWN_PATHS.test(pathnameOf(request))
  }

  function isProfiled (request: FastifyRequest): boolean {
    return mayBeProfiled(request) && isCollected(request)
  }

  app.hindsight.profileOf = (request) => {
    if (!isProfiled(request)) return null
    const token = tokenOf(request)
    return { token, url: absoluteUrl(originOf(request), `/_profiler/${token}`) }
  }

  app.hindsight.tokenOf = (request) => mayBeProfiled(request) ? tokenOf(request) : null

  const redirects = new Redirects()
  function urlOf (request: FastifyRequest): string {
    return absoluteUrl(originOf(request), targetOf(request))
  }

  function rememberRedirect (request: FastifyRequest, reply: FastifyReply, token: string): void {
    const location = reply.getHeader('location')
    if (typeof location === 'string') redirects.remember(followerOf(request), location, urlOf(request), token)
  }

  function followerOf (request: FastifyRequest): { ip: string, userAgent: string } {
    return { ip: originOf(request).ip, userAgent: request.headers['user-agent'] ?? '' }
  }

  function keep (request: FastifyRequest, reply: FastifyReply): void {
    if (!isProfiled(request)) return
    const token = tokenOf(request)
    const endedAt = performance.now()
    const state = stateOf(request)
    if (state.parent === '' && redirects.size > 0) state.parent = redirects.take({ ...followerOf(request), url: urlOf(request) }) ?? ''
    state.usage?.stop(endedAt)
    // What is said to the reply from here on is not heard.
    state.sentHeaders ??= reply.getHeaders()
    const collection = collectedOf(request, reply)
    const write = (): void => {
      profiler.defer(token, () => buildProfile(request, reply, endedAt, {
        config: configuration(), ...(collection !== null && app.hindsight.mask.hiding(state.sentParams ?? request.params).value(collection.data) as object)
      }))
    }
    if (collection === null || collection.settled === null) return write()
    const writing = collection.settled.then(write).finally(() => pending.delete(writing))
    pending.add(writing)
  }

  // Once for a request, however often it comes to light that there is more to be told of it.
  function collectedOf (request: FastifyRequest, reply: FastifyReply): Collection | null {
    if (collectors.length === 0) return null
    const known = collections.get(request) ?? new Collection(collectors, request, reply)
    collections.set(request, known)
    return known
  }

  app.hindsight.keepLate = keep
  app.addHook('onResponse', function keepProfile (request, reply, done) {
    keep(request, reply)
    done()
  })
  app.addHook('onRequestAbort', function keepAborted (request, done) {
    const state = stateOf(request)
    if (state.streamFailed) {
      if (state.reply !== null) keep(request, state.reply)
      return done()
    }
    state.clientGone = true
    request.log.info({ channel: 'request' }, 'The client closed the connection before the response was sent')
    if (state.reply !== null) keep(request, state.reply)
    done()
  })

  return (request, reply, payload) => {
    echoRequestId(request, reply)
    if (!isProfiled(request)) return notProfiled
    const token = tokenOf(request)
    if (isRedirect(reply)) rememberRedirect(request, reply, token)
    if (payload instanceof Readable) payload.once('error', (error) => noteFailedStream(request, reply, error))
    if (maySeeDebug(request)) reply.header('x-debug-token', token)
  }
})

// What a client calls its request is told back as it came, unless the route says otherwise.
function echoRequestId ({ headers: { 'x-request-id': id } }: FastifyRequest, reply: FastifyReply): void {
  if (typeof id === 'string' && REQUEST_ID.test(id) && !reply.hasHeader('x-request-id')) reply.header('x-request-id', id)
}

// When its beginning has been sent there is no other answer any more: the connection is cut, by us and not by the client.
function noteFailedStream (request: FastifyRequest, reply: FastifyReply, error: unknown): void {
  if (!reply.raw.headersSent) return
  const state = stateOf(request)
  state.streamFailed = true
  state.others.push(error)
}

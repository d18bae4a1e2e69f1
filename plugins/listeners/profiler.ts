import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isInjection } from 'light-my-request'
import { ProcessExitError } from '../kernel/http-errors.js'
import { listener, Skip } from '../kernel/listener.js'
import { absoluteUrl, pathnameOf, targetOf } from '../kernel/origin.js'
import { observe } from '../kernel/pass.js'
import { requestContext } from '../kernel/request-context.js'
import { followToEnd, onHijack } from '../kernel/response-end.js'
import { isRedirect } from '../kernel/responses.js'
import { ownHook } from '../kernel/own-hooks.js'
import { stateOf } from '../kernel/request-state.js'
import { routeConfigOf } from '../kernel/route-config.js'
import { RequestLog } from '../logs/request-log.js'
import { atExit } from '../profiler/at-exit.js'
import type { Collection as Collected } from '../profiler/collector.js'
import { collectPolicy } from '../profiler/collect-policy.js'
import { profilerSettings, type ProfilerOption } from '../profiler/settings.js'

export interface ProfilerListenerOptions {
  /** Which requests are profiled, and where their profiles are kept; all of them in debug mode by default. */
  profiler?: ProfilerOption
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** False: requests of this route leave no profile. */
    profile?: boolean
  }
}

const notProfiled = new Skip('requests of the profiler itself, of routes with `profile: false` and those that the options leave out are not profiled')
const OWN_PATHS = /^\/_(?:profiler|wdt)(?:\/|$)/

/** Assigns the request's token, tells it, and keeps the profile once the response is over. */
export const profiler = listener('kernel.response', 'profiler', async (app, given: ProfilerListenerOptions) => {
  const { attached, base, debug, observed, fromBeginning, maySeeDebug, originOf } = app.hindsight
  if (!observed) return 'not in debug mode'
  const settings = profilerSettings(given.profiler)
  if (settings === null) return 'not configured'
  const { buildProfile } = await import('../profiler/build-profile.js')
  const { checkCollectors, Collection } = await import('../profiler/collector.js')
  const { openConfiguration } = await import('../profiler/configuration/configuration.js')
  const { Redirects } = await import('../profiler/related/redirects.js')
  const { isCollected, isWanted } = collectPolicy(settings)
  // In debug mode the page of a failure tells of all that happened, whoever has a profile.
  if (!debug) app.hindsight.isObserved = isWanted
  const { profiler } = app
  const { collectors = [] } = settings
  checkCollectors(collectors)
  const configuration = openConfiguration(app, given, collectors)
  const collections = new WeakMap<FastifyRequest, Collected>()
  // Waited for when the application is closed, so that no profile is lost.
  const pending = new Map<Promise<unknown>, () => void>()
  app.addHook('onClose', async function awaitCollectors () {
    await Promise.all(pending.keys())
    releaseExit()
  })

  function tokenOf (request: FastifyRequest): string {
    const state = stateOf(request)
    if (state.token === '') state.token = profiler.newToken()
    return state.token
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

  app.hindsight.profileOf = (request) => {
    if (!isProfiled(request)) return null
    const token = tokenOf(request)
    return { token, url: absoluteUrl(originOf(request), `${base}/_profiler/${token}`) }
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

  const kept = new WeakSet<FastifyRequest>()
  function keep (request: FastifyRequest, reply: FastifyReply, isExiting = false): void {
    if (!isProfiled(request, reply)) return
    kept.add(request)
    tokenOf(request)
    const endedAt = performance.now()
    const state = stateOf(request)
    if (state.parent === '' && redirects.size > 0) state.parent = redirects.take({ ...followerOf(request), url: urlOf(request) }) ?? ''
    state.usage?.stop(endedAt)
    // What is said to the reply from here on is not heard.
    state.sentHeaders ??= reply.getHeaders()
    const collection = collectedOf(request, reply)
    if (collection === null || collection.settled === null || isExiting) return write(request, reply, endedAt, collection)
    const writeNow = (): void => write(request, reply, endedAt, collection)
    const writing = collection.settled.then(writeNow).finally(() => pending.delete(writing))
    pending.set(writing, writeNow)
  }

  function write (request: FastifyRequest, reply: FastifyReply, endedAt: number, collection: Collected | null): void {
    const state = stateOf(request)
    profiler.defer(state.token, () => buildProfile(request, reply, endedAt, profiler.maxProfileBytes, {
      config: configuration(), ...(collection !== null && app.hindsight.mask.hiding(state.sentParams ?? request.params).value(collection.data) as object)
    }), bytesHeld(request))
  }

  // Once for a request, however often it comes to light that there is more to be told of it.
  function collectedOf (request: FastifyRequest, reply: FastifyReply): Collected | null {
    if (collectors.length === 0) return null
    const known = collections.get(request) ?? new Collection(collectors, request, reply)
    collections.set(request, known)
    return known
  }

  // The request that ends the process leaves its profile, too.
  function keepExiting (code: number): void {
    const { request, reply } = requestContext.getStore() ?? {}
    if (request === undefined || reply === undefined || request.server.hindsight !== app.hindsight || kept.has(request)) return
    const state = stateOf(request)
    if (!reply.sent) reply.code(500)
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

  app.hindsight.keepLate = keep
  // The request of another plugin may be none that can be listened to.
  if (fromBeginning && !attached) {
    app.addHook('onResponse', ownHook(function keepProfile (request, reply, done) {
      keep(request, reply)
      done()
    }))
    app.addHook('onRequestAbort', ownHook(function keepAborted (request: FastifyRequest, done: () => void) {
      keepGone(request)
      done()
    }))
  } else {
    const toEnd = (request: FastifyRequest, reply: FastifyReply): void => followToEnd(request, reply, { sent: keep, gone: keepGone })
    app.hindsight.follow = toEnd
    onHijack(app, toEnd)
  }

  function keepGone (request: FastifyRequest): void {
    const state = stateOf(request)
    if (!state.observed) return
    if (!state.streamFailed) {
      state.clientGone = true
      if (!attached) request.log.info({ channel: 'request' }, 'The client closed the connection before the response was sent')
    }
    if (state.reply !== null) keep(request, state.reply)
  }

  return (request, reply, payload) => {
    if (!isProfiled(request, reply)) return notProfiled
    if (!stateOf(request).observed) observeLate(app, request, reply, payload)
    const token = tokenOf(request)
    if (isRedirect(reply)) rememberRedirect(request, reply, token)
    if (payload instanceof Readable) payload.once('error', (error) => noteFailedStream(request, reply, error))
    // Who injects requests compares what is answered with what was.
    if (maySeeDebug(request) && !(attached && isInjection(request.raw))) reply.header('x-debug-token', token)
  }
})

// An answer that is a server error, though nothing was raised: what the collectors have passed by is collected now.
function observeLate ({ lifecycle }: FastifyInstance, request: FastifyRequest, reply: FastifyReply, payload: unknown): void {
  observe(request, reply)
  for (const { listener, run } of lifecycle.slots) {
    if (listener.endsWith('-data-collector')) run?.(request, reply, payload)
  }
}

// What a profile that waits keeps in memory: the body above all, and the log.
function bytesHeld (request: FastifyRequest): number {
  const { log } = stateOf(request)
  const body = request.body === undefined || request.body === null ? 0 : Number(request.headers['content-length']) || 0
  return body + (log instanceof RequestLog ? log.bytes : 0)
}

// When its beginning has been sent there is no other answer any more: the connection is cut, by us and not by the client.
function noteFailedStream (request: FastifyRequest, reply: FastifyReply, error: unknown): void {
  if (!reply.raw.headersSent) return
  const state = stateOf(request)
  state.streamFailed = true
  state.others.push(error)
}

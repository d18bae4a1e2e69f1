import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { pageServer } from './page-server.js'
import { openProfiler, type ResolvedOptions } from './prepare.js'
import { diagnosticAnswer, routeErrorOf } from '../lib/error-page/observed-answer.js'
import { pageTurn } from '../lib/error-page/page-turn.js'
import { prefersHtml } from '../lib/errors/negotiate.js'
import { isStream } from '../lib/http/responses.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { requestCollector, responseCollector } from '../lib/parts/request/collector.js'
import { routeCollector } from '../lib/parts/router/collector.js'
import { recordCpuProfiles } from '../lib/parts/cpu/recorder.js'
import { endHandler, setCurrentCode } from '../lib/profiler/handler-time.js'
import { beginRequest, recordFailure, observe } from '../lib/profiler/observation.js'
import { insertToolbar, setProfileLink } from '../lib/reading/pages/toolbar/insert.js'
import { openDiagnostics } from '../lib/profiler/request-diagnostics.js'
import { openRequestProfiles } from '../lib/profiler/request-profiles.js'
import { addServerTiming } from '../lib/profiler/server-timing.js'
import { routeMatchOf } from '../lib/routing/route-table.js'

declare module '../lib/lifecycle/request-state.js' {
  interface RequestState {
    /** Whether the body of the last response was a stream. */
    streamed?: boolean
  }
}

export type Observer = Awaited<ReturnType<typeof openObserver>>

/** Opens the store of profiles, and returns the functions that the hooks of `observe` mode call. */
export async function openObserver (app: FastifyInstance, resolved: ResolvedOptions) {
  const { options, settings } = resolved
  const { debug, fromBeginning, isDebugClient, mayReceiveDetails } = app.hindsight
  const { toolbar = true, serverTiming = false } = options
  const diagnostics = openDiagnostics(app)
  if (settings !== null) await openProfiler(app, resolved)
  const profiles = settings === null ? null : openRequestProfiles(app, settings, options, collectRequest)
  const collectRoute = routeCollector(app)
  const collectIncoming = requestCollector(app)
  const collectResponse = responseCollector()
  const insert = toolbar && debug ? insertToolbar(app) : null
  const recordCpu = fromBeginning && debug ? recordCpuProfiles(app) : null

  /** Records the incoming request, once. */
  function collectRequest (request: FastifyRequest): void {
    const state = stateOf(request)
    if (!state.observed || state.collected?.request !== undefined) return
    // Getters of the application may throw.
    try {
      collectRoute(request)
      collectIncoming(request)
    } catch (error) {
      app.hindsight.warn('A request was not recorded', error)
    }
  }

  /** Records a response; returns its payload, which may be changed, or a promise of it that does not reject. */
  function respond (request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
    const state = stateOf(request)
    state.responses++
    endHandler(request)
    state.routeError ??= routeErrorOf(request, reply)
    state.watchBody?.(payload)
    const isProfiled = profiles?.isProfiled(request, reply) === true
    if (!isProfiled && !state.observed) return payload
    observe(request, reply)
    collectRequest(request)
    const profile = profiles?.profileOf(request) ?? null
    if (profile !== null) state.profile = profile
    // The page replaces the first response, or the error that Fastify sends when the stream of the first one fails.
    // Where an `onSend` hook of the application has failed, Fastify's response about it is kept.
    const mayBeReplaced = state.sendFailed !== true && (state.responses === 1 || state.streamed === true)
    state.streamed = isStream(payload)
    const page = debug && mayBeReplaced ? diagnosticAnswer(request, reply, payload) : null
    if (page === null) state.recorder?.setCurrentCode(reply, 'Hindsight')
    let inserted: string | Promise<unknown> | undefined
    if (isProfiled) {
      const token = profiles.begin(request, reply)
      if (isDebugClient(request)) reply.header('x-debug-token', token)
      const hasLink = setProfileLink(app, request, reply)
      if (hasLink && page === null && request.method !== 'HEAD') inserted = insert?.(request, reply, payload)
    }
    const finishResponse = (sent: unknown): unknown => {
      if (serverTiming && mayReceiveDetails(request)) addServerTiming(request, reply)
      collectResponse(request, reply, sent, payload)
      state.responseReadyAt = performance.now()
      // Only hooks of the route come after this.
      setCurrentCode(request, reply, 'route')
      return sent
    }
    if (!(inserted instanceof Promise)) return finishResponse(inserted ?? page ?? payload)
    return inserted.then((sent) => {
      try {
        return finishResponse(sent)
      } catch (error) {
        app.hindsight.warn('A response was not observed', error)
        return sent
      }
    })
  }

  return {
    pages: settings !== null && debug ? pageServer(app) : null,
    /** Begins a request; false where it is not observed. */
    begin (request: FastifyRequest, reply: FastifyReply): boolean {
      beginRequest(request, reply)
      stateOf(request).route = routeMatchOf(request)
      return diagnostics.open(request, reply)
    },
    /** Begins a CPU profile, where the request has a parameter or header for one. */
    recordCpu,
    collectRequest,
    /** A promise where a diagnostic page may follow, and there is no time for it in this turn of the event loop. */
    waitForTurn: (request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined =>
      debug && reply.statusCode >= 400 && prefersHtml(request.headers.accept) ? pageTurn() : undefined,
    fail (request: FastifyRequest, reply: FastifyReply, error: unknown): void {
      collectRequest(request)
      recordFailure(request, reply, error)
    },
    respond
  }
}

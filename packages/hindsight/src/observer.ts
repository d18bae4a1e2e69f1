import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { pageServer } from './page-server.js'
import { openRecorder, type ResolvedOptions } from './prepare.js'
import { recordingOf, stateOf } from './lifecycle/state.js'
import { insertToolbar } from './reading/pages/toolbar/insert.js'
import { diagnosticAnswer } from './recording/diagnostic-page.js'
import { addServerTiming, endHandler, watchErrorHandlers } from './recording/handler-time.js'
import { routeMatchOf } from './routing/route-table.js'

export type Observer = Awaited<ReturnType<typeof openObserver>>

/** Opens the store of profiles, and returns the functions that the hooks of an observed application call. */
export async function openObserver (app: FastifyInstance, resolved: ResolvedOptions) {
  const { options, settings } = resolved
  const { debug, mayReceiveDetails, recording: setting } = app.hindsight
  const { toolbar = true, serverTiming = false } = options
  const recorder = await openRecorder(app, resolved)
  const insert = toolbar && debug ? insertToolbar(app) : null

  /** Records a response; returns its payload, which may be changed, or a promise of it that does not reject. */
  function respond (request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
    const recording = recordingOf(request)
    endHandler(request)
    const profile = recorder.respond(request, reply, payload)
    if (profile === null && !recording.isRecording) return payload
    recorder.collectRequest(request)
    if (profile !== null) recording.profile = profile
    const page = debug && recording.sending.isReplaceable
      ? recording.measureOwn(() => diagnosticAnswer(request, reply, payload))
      : null
    if (page === null) recording.events?.setCurrentCode(reply, 'Hindsight')
    const url = profile === null ? null : recorder.link(request, reply)
    const inserted = url !== null && page === null && request.method !== 'HEAD'
      ? recording.measureOwn(() => insert?.(request, reply, payload, url))
      : undefined
    const finishResponse = (sent: unknown): unknown => {
      if (serverTiming && mayReceiveDetails(request)) addServerTiming(request, reply)
      recorder.collectResponse(request, reply, sent, payload)
      recorder.ready(request, reply)
      return sent
    }
    if (!(inserted instanceof Promise)) return finishResponse(inserted ?? page ?? payload)
    return inserted.then((sent) => {
      try {
        return finishResponse(sent)
      } catch (error) {
        app.hindsight.warn('A response was not recorded', error)
        return sent
      }
    })
  }

  return {
    pages: settings !== null && debug ? pageServer(app) : null,
    /** Begins a request; false where it is recorded only if it fails. */
    begin (request: FastifyRequest, reply: FastifyReply): boolean {
      const state = stateOf(request)
      state.scope = request.server
      state.route = routeMatchOf(request)
      recorder.begin(request, reply)
      return recorder.openLog(request, reply)
    },
    /** Begins what delays the first hook of a request, such as the start of its CPU profile. */
    arrive: setting === 'always' && debug ? recorder.arrive : null,
    collectRequest: recorder.collectRequest,
    fail (request: FastifyRequest, reply: FastifyReply, error: unknown): void {
      recorder.fail(request, reply, error)
      watchErrorHandlers(request, reply)
    },
    respond
  }
}

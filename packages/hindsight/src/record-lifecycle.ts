import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Opening } from './begin.js'
import { addStartMessage } from './observe.js'
import { addRequestHooks, addRouteHooks } from './parts/hooks.js'
import type { Part } from './parts/part.js'
import { openServices, prepareRecording } from './prepare.js'
import { recordHooks } from './recording/application-hooks.js'
import { timeHandlers } from './recording/handler-time.js'
import { internalHook, type LastHook } from './recording/hooks.js'
import { traceOf } from './recording/trace.js'

/** What `openRecorder` resolves to. */
export interface OpenedRecorder {
  /**
   * To be called after the listeners were registered: marks the beginning of the handler after their `preHandler`
   * hooks, and the end of the response after their `onSend` hooks.
   */
  readonly addLastHooks: () => void
}

/** Opens the recorder for a lifecycle, some or all of whose requests are recorded. */
export async function recordLifecycle (
  app: FastifyInstance, opening: Opening, parts: readonly Part[]
): Promise<OpenedRecorder> {
  const { options, setup, settings } = opening
  const { debug, recording } = setup
  if (debug) addRouteHooks(app, options)
  const prepared = prepareRecording(setup, opening, parts)
  // Stacks show the source that was written.
  if (debug) process.setSourceMapsEnabled(true)
  let handler: LastHook | null = null
  if (recording === 'always') {
    handler = timeHandlers(app)
    recordHooks(app, { preHandler: handler, ...debug && addRequestHooks(app) })
  }
  app.addHook('onRequest', internalHook(function beginRequest (request, reply, done) {
    const trace = traceOf(request)
    trace.begin(reply)
    app.hindsight.recorder?.begin(trace)
    done()
  }))
  // The first hook of a response; `timeHandlers` has another one.
  if (recording === 'on-failure') {
    app.addHook('onSend', internalHook(function beginResponse (
      request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Sent
    ) {
      traceOf(request).beginResponse(reply, payload)
      done(null, payload)
    }))
  }
  opening.publish(await openServices(setup, prepared))
  if (debug && settings !== null) addArrivalHook(app)
  if (debug && settings !== null) addStartMessage(app, settings)
  return {
    addLastHooks () {
      handler?.addTo(app)
      addReadyHook(app)
    }
  }
}

function addArrivalHook (app: FastifyInstance): void {
  app.addHook('onRequest', internalHook(function recordArrival (request, _reply, done) {
    const arrival = app.hindsight.recorder?.arrive(traceOf(request))
    if (arrival === undefined) done()
    else arrival.then(() => done(), done)
  }))
}

type Sent = (error: null, payload: unknown) => void

function addReadyHook (app: FastifyInstance): void {
  app.addHook('onSend', internalHook(function noteResponse (
    request: FastifyRequest, _reply: FastifyReply, payload: unknown, done: Sent
  ) {
    app.hindsight.recorder?.ready(traceOf(request))
    done(null, payload)
  }))
}

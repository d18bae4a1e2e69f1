import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { performance } from '../clock.js'
import { declaredPlace } from '../errors/declared-place.js'
import { isError } from '../errors/thrown-value.js'
import { headerValues } from '../http/responses.js'
import { LastHook, internalHook } from './hooks.js'
import { isHeadersSent } from './sending.js'
import { traceOf, type RequestTrace } from './trace.js'
import { explainNoMatch } from '../routing/no-match.js'
import type { Recording } from './recording.js'

type Sent = (error: null, payload: unknown) => void

/**
 * Records when handlers begin and end, for recorded requests. `onStart` is called before the handler.
 * The diagnostics channel `tracing:fastify.request.handler` is not used: where it has a subscriber, Fastify 5.12 sets
 * the status of an error before it calls an error handler of the application, which finds 200 otherwise.
 */
export function timeHandlers (app: FastifyInstance, onStart: (trace: RequestTrace) => void = () => {}): LastHook {
  const beforeHandler = new LastHook('preHandler', (isLast) => function hindsightHandler (
    request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void
  ) {
    const trace = traceOf(request)
    const { events, isRecording, timing } = trace.recording
    if (isRecording && isLast(request) && !request.is404 && timing.handlerStart === 0) {
      onStart(trace)
      watchThrown(trace)
      timing.handlerStart = performance.now()
      setCurrentCode(trace, 'handler')
    }
    if (isRecording && request.is404) {
      // `reply.callNotFound()` runs the hook once more, in the stack of its caller.
      if (trace.route !== null) explainNoMatch(trace)
      // Fastify binds the handler of an application to its instance, and not its own.
      const isOfApplication = request.routeOptions.handler.name.startsWith('bound ')
      if (isOfApplication) events?.setCurrentCode(reply, 'not-found handler')
    }
    done(events?.calledBackWith)
  })
  beforeHandler.addTo(app)
  app.addHook('preSerialization', internalHook(function hindsightSerialization (
    request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Sent
  ) {
    const { recording } = traceOf(request)
    const { events, sending, timing } = recording
    if (events !== null) {
      endHandler(recording)
      sending.serialize()
      timing.serializeStart = performance.now()
      events.setCurrentCode(reply, 'Fastify')
    }
    done(null, payload)
  }))
  // For a payload that is sent without serialization.
  app.addHook('onSend', internalHook(function hindsightHandled (
    request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Sent
  ) {
    const now = performance.now()
    const trace = traceOf(request)
    trace.beginResponse(reply, payload)
    const { recording, recording: { timing } } = trace
    if (timing.serializeStart !== 0 && timing.serializeEnd === 0) timing.serializeEnd = now
    endHandler(recording)
    done(null, payload)
  }))
  return beforeHandler
}

/**
 * Records an error for which Fastify calls no hook: that of a handler which throws after it has sent or hijacked its
 * response. The property has the function of Fastify until then: no call of Hindsight is in stacks of the application.
 */
function watchThrown (trace: RequestTrace): void {
  const { reply } = trace
  const original = reply.send
  const record = function send (this: FastifyReply, ...args: [payload?: unknown]): FastifyReply {
    // That of a second response is no cause.
    if (isError(args[0]) && !isHeadersSent(args[0])) trace.scope.hindsight.recorder?.addError(trace, args[0])
    return original.apply(this, args)
  }
  Reflect.defineProperty(reply, 'send', {
    configurable: true,
    get: () => reply.sent ? record : original,
    set (this: FastifyReply, value: unknown) {
      Reflect.defineProperty(this, 'send', { value, writable: true, configurable: true, enumerable: true })
    }
  })
}

/** Records the end of the handler, once. */
export function endHandler ({ timing }: Recording): void {
  if (timing.handlerStart !== 0 && timing.handlerEnd === 0) timing.handlerEnd = performance.now()
}

/**
 * Records what error handlers of the application throw or send after a failure. Fastify calls no hook for that, but
 * `send` of the reply: again for a value that is no error, where its own handler sends what it has received.
 */
export function watchErrorHandlers (
  trace: RequestTrace, recorder: { fail: (trace: RequestTrace, error: unknown) => void }
): void {
  const { reply } = trace
  const original = reply.send
  const pending: unknown[] = []
  const value = function send (this: FastifyReply, ...args: [payload?: unknown]): FastifyReply {
    const [payload] = args
    if (isError(payload) || (pending.length > 0 && pending.at(-1) === payload)) {
      recorder.fail(trace, payload)
      const { failure } = trace.recording
      if (failure !== null && isError(payload)) failure.sentStatus = this.statusCode
    }
    pending.push(payload)
    try {
      return original.apply(this, args)
    } finally {
      pending.pop()
    }
  }
  Reflect.defineProperty(reply, 'send', { value, writable: true, configurable: true })
}

/** Attributes header changes that follow, outside of recorded functions, to the route's hooks or to its handler. */
export function setCurrentCode (
  { reply, recording: { events, controller }, declaredRoute: route }: RequestTrace, of: 'route' | 'handler'
): void {
  if (events === null) return
  if (of === 'handler' && controller !== null) return events.setCurrentCode(reply, 'handler')
  const source = () => route?.declaredAt == null ? null : declaredPlace(route.declaredAt)?.source
  // Hooks of the route that run directly before its handler cannot be separated from it by comparing.
  const handler = route?.hooks.includes('preHandler') === true ? 'handler or route hooks' : 'handler'
  if (of === 'handler') events.setCurrentCode(reply, handler, source)
  else if (route !== null && route.hooks.length > 0) events.setCurrentCode(reply, 'route hooks', source)
  else events.setCurrentCode(reply, 'Fastify')
}

/**
 * Adds `Server-Timing` (W3C Server Timing, section 3): the times of the request until now, of the diagnostic page, of
 * the handler, and of each stage.
 */
export function addServerTiming ({ reply, recording }: RequestTrace): void {
  const { events, timing: { startedAt, handlerStart, handlerEnd, own: ofHindsight } } = recording
  if (events === null) return
  const now = performance.now()
  const times = new Map([['total', now - startedAt - ofHindsight]])
  if (ofHindsight !== 0) times.set('hindsight', ofHindsight)
  if (handlerStart !== 0) times.set('handler', (handlerEnd || now) - handlerStart)
  for (const { stage, outcome, duration } of events.events()) {
    if (outcome !== 'skipped') times.set(stage, (times.get(stage) ?? 0) + duration)
  }
  const metrics = Array.from(times, ([name, duration]) => `${name};dur=${Math.round(duration * 1000) / 1000}`)
  // A route may have set metrics of its own.
  const given = headerValues(reply, 'server-timing')
  reply.header('server-timing', [...given, ...metrics].join(', '))
}

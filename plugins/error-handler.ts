import fp from 'fastify-plugin'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { STATUS_CODES } from 'node:http'
import {
  addVary, applicationFrame, attemptCall, callAfter, dropReplaced, internalHook, invalidHeaders, isError,
  loadDebugPages, messageOf, nameOf, percentEncoded, plainStack, preventCaching, readProperty, renderShortError,
  errorRepresentation, type RequestTrace, statusOf, traceOf, watchErrorHandlers
} from 'fastify-hindsight/recorder'
import type { ListenerSlot } from '../lib/stages.js'
import { stateOf } from '../lib/state.js'
import { runSlots } from '../lib/listener.js'
import { logError } from '../lib/log-error.js'

/** Characters of a message in a header and in the log. */
const MAX_MESSAGE = 2_000

/**
 * Sets the error handler: a failure is answered with the diagnostic page, or with a short error for
 * clients that may not see it. Before it answers, it runs the stages of the error pass that precede the response.
 */
export const errorHandler = fp(async function errorHandler (app: FastifyInstance) {
  const pages = app.hindsight.debug ? await loadDebugPages() : null
  const { slots } = app.service

  // It also runs for errors that an error handler of an encapsulated plugin answers. It calls back synchronously if it
  // can: the parser may refuse the rest of a message in the same turn of the event loop, and Fastify throws for a
  // handler that calls `reply.send(error)` or `reply.callNotFound()`, returns nothing and ends before this hook.
  app.addHook('onError', internalHook(function startErrorPass (
    request: FastifyRequest, reply: FastifyReply, error: unknown, done: () => void
  ) {
    fail(request, reply, error)
    const { recorder } = app.hindsight
    if (request.server.errorHandler !== ourHandler && recorder !== null) watchErrorHandlers(traceOf(request), recorder)
    if (reply.raw.headersSent) done()
    else callAfter(runErrorPass(request, reply), () => done(), () => done())
  }))
  app.addHook('onSend', internalHook(function checkErrorAnswer (
    request: FastifyRequest, reply: FastifyReply, payload: unknown, done: (error: null, payload: unknown) => void
  ) {
    const trace = traceOf(request)
    // Where requests are recorded, the recorder has done it.
    if (app.hindsight.recording === 'none') trace.beginResponse(reply, payload)
    if (trace.followsAnswer) {
      const { recording } = trace
      const second = secondError(trace, payload)
      if (second !== recording.sending.again) return answerWithBoth(recording.raised, second, trace)
      // Hooks of the first response are running. Fastify sends it, and logs that another one cannot be sent.
      recording.addError(second)
    }
    done(null, payload)
  }))
  app.setErrorHandler(handleError)
  // The application may replace it.
  const ourHandler = app.errorHandler

  function fail (request: FastifyRequest, reply: FastifyReply, error: unknown): void {
    const { recorder } = app.hindsight
    const trace = traceOf(request)
    if (recorder !== null) return recorder.fail(trace, error)
    trace.begin(reply)
    trace.recording.failure = { error, after: null }
  }

  function runErrorPass (request: FastifyRequest, reply: FastifyReply): unknown {
    stateOf(request).pass = 'error'
    // In an error pass these stages only record.
    if (app.hindsight.recording === 'none') return
    return runSlots(slots.filter(({ stage }) => stage.startsWith('kernel.controller')), request, reply)
  }

  function handleError (
    raised: unknown, request: FastifyRequest, reply: FastifyReply
  ): undefined | string | Promise<undefined | string> {
    const state = stateOf(request)
    if (reply.raw.headersSent) {
      // Another response was sent. Fastify, too, ends one that is not complete.
      logUncaught(raised, state.trace, 500)
      if (!reply.sent) reply.raw.destroy(isError(raised) ? raised as Error : undefined)
      return
    }
    if (state.failed && state.recording.raised === raised) return answer(raised, state.trace)
    // Another error handler has failed: Fastify runs no `onError` hook for that.
    fail(request, reply, raised)
    const passed = runErrorPass(request, reply)
    return callAfter(passed, () => answer(raised, state.trace)) as ReturnType<typeof handleError>
  }

  function answer (raised: unknown, trace: RequestTrace): undefined | string | Promise<undefined> {
    const { request, reply, recording } = trace
    try {
      prepareFailedReply(raised, request, reply)
      logUncaught(raised, trace, reply.statusCode)
      const body = bodyOf(raised, trace)
      if (recording.sending.answer()) return body
      // A hook of this response has failed, and may fail again: the listeners run without the hooks of the application.
      const ofResponse = ({ stage }: ListenerSlot): boolean =>
        stage === 'kernel.response' || stage === 'kernel.finish_request'
      return callAfter(
        runSlots(slots.filter(ofResponse), request, reply, body),
        (payload) => { sendDirectly(trace, payload as string) },
        (second) => { answerWithBoth(raised, second, trace) }
      ) as undefined | Promise<undefined>
    } catch (second) {
      answerWithBoth(raised, second, trace)
    }
  }

  function bodyOf (raised: unknown, trace: RequestTrace): string {
    const { request, reply, recording } = trace
    const { mayReceiveDetails, recorder } = app.hindsight
    const { type, contentType } = errorRepresentation(trace.accept)
    recording.events?.setCurrentCode(reply, 'diagnostic page')
    reply.header('content-type', contentType)
    addVary(reply, 'Accept')
    if (pages === null || !mayReceiveDetails(request)) {
      const detail = refusalDetail(raised, trace)
      if (detail !== undefined) preventCaching(reply)
      return renderShortError(reply.statusCode, type, { token: referenceOf(trace), detail })
    }
    const profile = recorder?.profileOf(trace) ?? null
    if (profile !== null) recording.profile = profile
    const { body, exception } = recording.measureInternal(() => pages.diagnosticPage(trace, type))
    preventCaching(reply)
    if (exception === undefined) return body
    const frame = applicationFrame(trace)
    reply.header('x-debug-exception', percentEncoded(exception.message.slice(0, MAX_MESSAGE)))
    if (frame !== null) reply.header('x-debug-exception-file', `${percentEncoded(frame.file)}:${frame.line}`)
    return body
  }

  /** Answers with a short error that has both errors, where the page of the first could not be made or sent. */
  function answerWithBoth (raised: unknown, second: unknown, trace: RequestTrace): void {
    const { request, reply } = trace
    trace.recording.addError(second)
    logError(request, second, { channel: 'request' }, 'An error was raised while another one was being answered')
    const status = statusOf(raised, reply.statusCode)
    const { type, contentType } = errorRepresentation(trace.accept)
    const detail = pages !== null && app.hindsight.mayReceiveDetails(request)
      ? trace.mask.text(`${plainStack(raised)}\n\nRaised while this error was answered:\n${plainStack(second)}`)
      : undefined
    const body = renderShortError(status, type, { token: referenceOf(trace), detail })
    dropReplaced(reply)
    dropInvalid(request, reply)
    reply.code(status).headers({
      'cache-control': detail === undefined ? 'no-cache, private' : 'no-store',
      'content-type': contentType,
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'"
    })
    addVary(reply, 'Accept')
    sendDirectly(trace, body)
  }

  // The token that operators can look up; in debug mode clients that may not see the debug surface receive none.
  function referenceOf (trace: RequestTrace): string | undefined {
    const { debug, recorder } = app.hindsight
    if (!debug) return recorder?.profileOf(trace)?.token
  }

  // The wording is that of the observed service's log.
  function logUncaught (raised: unknown, trace: RequestTrace, status: number): void {
    const { request, recording: { exceptions } } = trace
    const { name, message } = exceptions?.at(-1) ?? { name: nameOf(raised), message: messageOf(raised) }
    const frame = exceptions && applicationFrame(trace)
    let line = `Uncaught ${name}: "${message.slice(0, MAX_MESSAGE)}"`
    if (frame) line += ` at ${frame.file}`
    if (frame && frame.line > 0) line += `:${frame.line}`
    const { recorder, profilerUrl } = app.hindsight
    const token = recorder?.profileOf(trace)?.token
    // Not the address in the profile: that has the `Host` of the client.
    const isNamed = token !== undefined && profilerUrl !== null
    const fields = { channel: 'request', ...isNamed && { profile: `${profilerUrl}${token}` } }
    if (status >= 500) logError(request, raised, fields, line)
    else request.log[exceptions === undefined ? 'info' : 'warn']({ statusCode: status, ...fields }, line)
  }
}, { fastify: '5.x', name: 'hindsight/error-handler' })

/**
 * Why a response follows the page: a hook of the application has failed for the page, and Fastify sends its own error,
 * which is recorded in debug mode; or the application has sent a response twice.
 */
function secondError ({ request, recording }: RequestTrace, payload: unknown): unknown {
  const message = messageIn(payload)
  const isByHook = message !== undefined || recording.sending.failedHook !== undefined || !recording.isRecording
  if (!isByHook) return recording.sending.repeat(request)
  const text = message ?? String(payload)
  return recording.otherErrors.find((error) => messageOf(error) === text) ?? new Error(text)
}

/** The message in a default error response of Fastify; undefined for any other payload, such as a thrown text. */
function messageIn (payload: unknown): string | undefined {
  const body = attemptCall(() => JSON.parse(String(payload)) as { statusCode?: unknown, message?: unknown } | null)
  if (body?.statusCode !== undefined) return String(body.message)
}

/** Sends a response without the hooks of the application. */
function sendDirectly ({ request, reply, recording }: RequestTrace, body: string): void {
  const { raw } = reply
  recording.sending.pass(body)
  reply.hijack()
  if (raw.headersSent) {
    raw.destroy()
    return
  }
  dropInvalid(request, reply)
  const headers = reply.getHeaders() as Record<string, string>
  raw.writeHead(reply.statusCode, { ...headers, 'content-length': Buffer.byteLength(body) })
  raw.end(body)
}

/** Why request validation refused a message, for a client that may see no more than that. */
function refusalDetail (raised: unknown, { request, mask, services }: RequestTrace): string | undefined {
  const { mayReceiveReason, originOf } = services
  const { problem } = originOf(request)
  if (raised !== problem || problem === null || !mayReceiveReason(request)) return undefined
  const { name, message } = problem.cause as Error
  return mask.text(`${problem.name}: ${problem.message}\n\nCaused by ${name}: ${message}`)
}

/** Removes headers of the body that is not sent, and sets the status and the headers of the error. */
function prepareFailedReply (raised: unknown, request: FastifyRequest, reply: FastifyReply): void {
  dropReplaced(reply)
  // That of the application may be what has failed.
  reply.serializer(String)
  reply.code(statusOf(raised, reply.statusCode))
  // A failed `writeHead` has set the message of another status.
  if (reply.raw.statusMessage !== undefined) reply.raw.statusMessage = STATUS_CODES[reply.statusCode] ?? ''
  const headers = readProperty(raised, 'headers')
  try {
    if (typeof headers === 'object' && headers !== null) reply.headers(headers as Record<string, string>)
  } catch (error) {
    request.log.warn({ err: error, channel: 'request' }, 'The headers of the error could not be set')
  }
  // Errors of HTTP clients have the headers of the response that they received.
  dropReplaced(reply, true)
  dropInvalid(request, reply)
}

/** Removes headers that Node.js refuses to write, which may be what failed. */
function dropInvalid (request: FastifyRequest, reply: FastifyReply): void {
  for (const [name, err] of invalidHeaders(reply)) {
    reply.removeHeader(name)
    request.log.warn({ err, channel: 'request' }, 'A header that cannot be sent was left out')
  }
}

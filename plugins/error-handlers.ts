import { STATUS_CODES } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { statusOf } from '../lib/http/http-errors.js'
import { percentEncoded } from '../lib/http/header-text.js'
import { ownHook } from '../lib/lifecycle/own-hooks.js'
import { noteFailure, runErrorPass, runSlots } from '../lib/lifecycle/pass.js'
import { stateOf, type RequestState } from '../lib/lifecycle/request-state.js'
import { addVary } from '../lib/lifecycle/responses.js'
import { servicesOf } from '../lib/lifecycle/services-of.js'
import { explainMiss } from '../lib/routing/route-error.js'
import type { FlattenedException } from '../lib/errors/exception.js'
import { dropEntityHeaders, dropInvalidHeaders, prepareFailedReply } from '../lib/errors/failed-reply.js'
import { loggedError } from '../lib/errors/flatten-error.js'
import { representation } from '../lib/errors/negotiate.js'
import { renderFallback, renderProductionError } from '../lib/error-page/plain-pages.js'
import { messageOf, nameOf } from '../lib/errors/thrown-value.js'

const MAX_DEBUG_HEADER = 2_000

// Only debug mode loads the modules of the page.
type Pages = typeof import('../lib/error-page/diagnostic-page.js')

/**
 * Sets the not-found handler and the error handler of `full` mode: whatever fails is answered with the diagnostic page, or with a short error for
 * clients that may not see it. Throws where the application has set a not-found handler before.
 */
export function setHandlers (app: FastifyInstance): { load: () => Promise<void> } {
  const { debug } = app.hindsight
  let pages: Pages | null = null
  // Whichever error handler answers: those that the application has set for a part of itself, too.
  app.addHook('onError', ownHook(function startErrorPass (request: FastifyRequest, reply: FastifyReply, error: unknown, done: () => void) {
    noteFailure(request, reply, error)
    const running = runErrorPass(request, reply)
    if (running === undefined) done()
    else running.then(() => done(), () => done())
  }))
  app.addHook('onSend', ownHook(function checkErrorAnswer (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: (error: null, payload: unknown) => void) {
    const state = stateOf(request)
    if (state.errorAnswer === 'sending') {
      // A hook of the application has failed at the page, and Fastify sends its own error: the hook is not asked again.
      return answerSecond(state.raised, errorOfAnswer(payload, state.others), request, reply)
    }
    if (state.errorAnswer === 'made') state.errorAnswer = 'sending'
    state.responses++
    done(null, payload)
  }))
  setNotFoundHandler(app)
  app.setErrorHandler(diagnosticHandler)
  const { errorHandler } = app
  app.addHook('onReady', function checkErrorHandler (done) {
    if (app.errorHandler !== errorHandler) {
      app.log.warn({ channel: 'request' }, 'The application has replaced the error handler of Hindsight: its errors have no diagnostic page. Set an error handler in a plugin of its own, or use lifecycle: \'observe\'../lib/errors')
    }
    done()
  })
  return {
    async load () {
      if (debug) pages = await import('../lib/error-page/diagnostic-page.js')
    }
  }

  function diagnosticHandler (raised: unknown, request: FastifyRequest, reply: FastifyReply): undefined | string | Promise<undefined | string> {
    const state = stateOf(request)
    if (state.failed && state.raised === raised) return answerSafely(raised, request, reply)
    // Another error handler has failed: Fastify runs no `onError` hook for that.
    noteFailure(request, reply, raised)
    const running = runErrorPass(request, reply)
    return running === undefined ? answerSafely(raised, request, reply) : running.then(() => answerSafely(raised, request, reply))
  }

  function answerSafely (raised: unknown, request: FastifyRequest, reply: FastifyReply): undefined | string | Promise<undefined> {
    const state = stateOf(request)
    try {
      prepareFailedReply(raised, request, reply)
      const body = answer(state, raised, request, reply)
      // A hook of this response has failed, and may fail again: the listeners are run without the hooks of the application.
      if (state.responses === 0) {
        state.errorAnswer = 'made'
        return body
      }
      const sending = runSlots(app.hindsight.lifecycle.slots.filter(({ stage }) => stage === 'kernel.response' || stage === 'kernel.finish_request'), request, reply, body)
      if (sending instanceof Promise) return sending.then((payload) => { sendDirectly(request, reply, payload as string) }, (second: unknown) => { answerSecond(raised, second, request, reply) }) as Promise<undefined>
      sendDirectly(request, reply, sending as string)
    } catch (second) {
      answerSecond(raised, second, request, reply)
    }
  }

  function answer (state: RequestState, raised: unknown, request: FastifyRequest, reply: FastifyReply): string {
    const { statusCode } = reply
    const reason = STATUS_CODES[statusCode] ?? 'Error'
    const as = representation(request.headers.accept)
    state.recorder?.setOutside(reply, 'diagnostic page')
    reply.header('content-type', as.contentType)
    addVary(reply, 'Accept')
    logUncaught(state, raised, request, statusCode)
    if (pages === null || !app.hindsight.mayReadDebug(request)) return renderProductionError(statusCode, reason, as.type, referenceOf(request))
    const { body, exception } = pages.diagnosticPage(request, reply, as.type, reason)
    const [frame] = exception.frames
    reply.header('x-debug-exception', percentEncoded(exception.message.slice(0, MAX_DEBUG_HEADER)))
    if (frame !== undefined) reply.header('x-debug-exception-file', `${percentEncoded(frame.file)}:${frame.line}`)
    return body
  }

  // The page itself could not be made: one small page with both errors.
  function answerSecond (raised: unknown, second: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const state = stateOf(request)
    if (!state.others.includes(second)) state.others.push(second)
    logError(request, second, 'request', 'An error was raised while another one was being answered')
    const { mask, mayReadDebug } = servicesOf(request)
    const status = statusOf(raised, reply.statusCode)
    const { type, contentType } = representation(request.headers.accept)
    const body = pages !== null && mayReadDebug(request)
      ? renderFallback(raised, second, type, mask.text)
      : renderProductionError(status, STATUS_CODES[status] ?? 'Error', type, referenceOf(request))
    dropEntityHeaders(reply)
    reply.code(status).headers({ 'cache-control': 'no-cache, private', 'content-type': contentType, 'content-security-policy': "default-src 'none'; frame-ancestors 'none'" })
    sendDirectly(request, reply, body)
  }
}

function setNotFoundHandler (app: FastifyInstance): void {
  try {
    // Only `reply.callNotFound()` comes here: for all other requests the router listener has thrown before.
    app.setNotFoundHandler(function notFoundHandler (request, reply) {
      const miss = explainMiss(request)
      if ('error' in miss) throw miss.error
      return reply.redirect(miss.redirect, 301)
    })
  } catch (error) {
    throw new Error('lifecycle: \'full\' sets the not-found handler, and the application has set one before. Remove it, set it in a plugin with a prefix, or use lifecycle: \'observe\'../lib/errors', { cause: error })
  }
}

/** The error that Fastify answers by default: one that was recorded, or else its message. */
function errorOfAnswer (payload: unknown, recorded: readonly unknown[]): unknown {
  let message = 'A hook failed while an error was being answered'
  try {
    message = String((JSON.parse(String(payload)) as { message?: unknown }).message ?? message)
  } catch {
    // The answer of a thrown value that is no error is no JSON.
  }
  return recorded.find((error) => messageOf(error) === message) ?? new Error(message)
}

/** Sends a response without the hooks of the application. */
function sendDirectly (request: FastifyRequest, reply: FastifyReply, body: string): void {
  const { raw } = reply
  reply.hijack()
  if (raw.headersSent) {
    raw.destroy()
    return
  }
  dropInvalidHeaders(request, reply)
  raw.writeHead(reply.statusCode, { ...reply.getHeaders() as Record<string, string>, 'content-length': Buffer.byteLength(body) })
  raw.end(body)
}

// What operators can look up; in debug mode clients that may not see the debug surface learn nothing.
function referenceOf (request: FastifyRequest): string | undefined {
  const { debug, profileOf } = servicesOf(request)
  return debug ? undefined : profileOf?.(request)?.token
}

// In the words of the observed service's log: what was not caught, and where it was thrown.
function logUncaught (state: RequestState, raised: unknown, request: FastifyRequest, status: number): void {
  const exceptions = state.exceptions as FlattenedException[] | null
  const last = exceptions?.at(-1)
  if (last === undefined) {
    const name = nameOf(raised)
    const message = messageOf(raised)
    if (status >= 500) logError(request, raised, undefined, message)
    else request.log.info({ statusCode: status }, `${name}: ${message}`)
    return
  }
  const frame = last.frames.find(({ own }) => own) ?? last.frames[0]
  const place = frame === undefined ? '' : ` at ${frame.file}:${frame.line}`
  const line = `Uncaught ${last.name}: "${last.message.slice(0, MAX_DEBUG_HEADER)}"${place}`
  if (status >= 500) logError(request, raised, 'request', line)
  else request.log.warn({ statusCode: status, channel: 'request' }, line)
}

// The logger serializes the error, whose getters may throw.
function logError (request: FastifyRequest, err: unknown, channel: string | undefined, line: string): void {
  try {
    request.log.error({ err: loggedError(err), ...(channel !== undefined && { channel }) }, line)
  } catch {
    request.log.error({ ...(channel !== undefined && { channel }) }, line)
  }
}

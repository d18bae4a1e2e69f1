import { STATUS_CODES } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { statusOf } from '../kernel/http-errors.js'
import { percentEncoded } from '../kernel/header-text.js'
import { noncesOf } from '../kernel/content-policy.js'
import { observeApplication } from '../kernel/application.js'
import { keep, keptBy } from '../kernel/fastify-symbols.js'
import { siteAbove, type CallSite } from '../kernel/header-trail.js'
import { kMalformed } from '../kernel/malformed.js'
import { observe, runErrorPass } from '../kernel/pass.js'
import { stateOf, type RequestState } from '../kernel/request-state.js'
import { addVary } from '../kernel/responses.js'
import type { FlattenedException } from './exception.js'
import { beginErrorPass, dropEntityHeaders, dropUnsendable } from './failed-reply.js'
import { representation, type Representation } from './negotiate.js'
import { hasOwnNotFound, setNotFound } from './not-found.js'
import { asksForPage, checkErrorPages, passOn, sendOn, type ErrorPageOptions } from './pass-on.js'
import { renderProductionError } from './page/production.js'
import { messageOf, nameOf } from './thrown-value.js'

const DEBUG_HEADER_LIMIT = 2000
/** Sets the not-found handler and the error handler: whatever fails is answered with the diagnostic page. What makes that is loaded later. */
export function setHandlers (app: FastifyInstance, { errorPages = 'asked' }: ErrorPageOptions): { load: () => Promise<void> } {
  const { debug, observed, fromBeginning } = app.hindsight
  checkErrorPages(errorPages)
  const own = takeErrorHandler(app)
  let pages: Pages | null = null
  let ownSite: CallSite | null = null
  const always = errorPages === 'always'
  app.hindsight.answersMiss = (request) => !hasOwnNotFound(request) && (always || asksForPage(request))
  setNotFound(app, always)
  // The second one is asked when the first one failed, or when a hook failed on the way of its page.
  app.setErrorHandler(lastResort)
  chainNextErrorHandler(app)
  app.setErrorHandler(diagnosticHandler)
  // The application may set its own on the same instance.
  chainNextErrorHandler(app)
  if (observed) observeApplication(app)
  // One that was there before answers like one that comes later.
  if (own !== null) app.setErrorHandler(own)
  return {
    async load () {
      if (debug) pages = await loadPages()
      if (fromBeginning) app.hindsight.placeOf = (await import('./declared-place.js')).declaredPlace
    }
  }

  function diagnosticHandler (raised: unknown, request: FastifyRequest, reply: FastifyReply): undefined | string | Buffer | Promise<string | Buffer> {
    if (!always && request.raw[kMalformed] === undefined && !asksForPage(request)) {
      passOn(stateOf(request), raised, request, reply)
      return
    }
    beginErrorPass(stateOf(request), raised, request, reply)
    observe(request, reply)
    const walking = runErrorPass(app, request, reply)
    return walking === undefined ? answer(raised, request, reply) : walking.then(() => answer(raised, request, reply))
  }

  function answer (raised: unknown, request: FastifyRequest, reply: FastifyReply): string | Buffer {
    const state = stateOf(request)
    const trail = state.recorder?.trail
    if (trail != null) trail.site = (ownSite ??= siteAbove(siteAbove))
    try {
      return answerAs(state, raised, request, reply)
    } finally {
      if (trail != null) trail.site = null
    }
  }

  function answerAs (state: RequestState, raised: unknown, request: FastifyRequest, reply: FastifyReply): string | Buffer {
    const { statusCode } = reply
    const reason = STATUS_CODES[statusCode] ?? 'Error'
    const as = representation(request.headers.accept)
    reply.header('content-type', as.contentType)
    addVary(reply, 'Accept')
    logUncaught(state, raised, request, statusCode)
    if (pages === null || !app.hindsight.mayReadDebug(request)) return renderProductionError(statusCode, reason, as.type, referenceOf(request))
    return diagnosticPage(pages, request, reply, state, as, reason)
  }

  // No stage of an error pass may start a second one: what can still be said is said at once, in one small page.
  function lastResort (second: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const state = stateOf(request)
    if (state.passedOn && second === state.raised) return sendOn(second, reply)
    const first = state.failed ? state.raised : second
    state.others.push(second)
    logError(request, second, 'request', 'An error was raised while another one was being answered')
    const { mask, mayReadDebug } = request.server.hindsight
    const status = statusOf(first, reply.statusCode)
    const { type, contentType } = representation(request.headers.accept)
    const body = pages !== null && mayReadDebug(request)
      ? pages.renderFallback(first, second, type, mask.text)
      : renderProductionError(status, STATUS_CODES[status] ?? 'Error', type, referenceOf(request))
    reply.hijack()
    if (reply.raw.headersSent) {
      reply.raw.destroy()
      return
    }
    dropEntityHeaders(reply, reply.getHeaders())
    dropUnsendable(request, reply)
    reply.raw.writeHead(status, {
      ...reply.getHeaders() as Record<string, string>,
      'cache-control': 'no-cache, private',
      'content-type': contentType,
      'content-length': Buffer.byteLength(body),
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'"
    })
    reply.raw.end(body)
  }
}

// Only those who may see them need what makes them.
async function loadPages () {
  return { ...await import('./report-of.js'), ...await import('./render.js'), ...await import('./page/fallback.js') }
}
type Pages = Awaited<ReturnType<typeof loadPages>>

// Fastify warns of a second handler in one scope, for it hides the first; here the first is what the second falls back on.
function chainNextErrorHandler (app: FastifyInstance): void {
  keep(app, 'fastify.errorHandlerAlreadySet', false)
}

type ErrorHandler = Parameters<FastifyInstance['setErrorHandler']>[0]

// The application's own, where it has one already: taken out of the chain, in which ours would hide it.
function takeErrorHandler (app: FastifyInstance): ErrorHandler | null {
  const top = keptBy<{ func?: ErrorHandler }>(app, 'fastify.errorHandler')
  if (typeof top?.func !== 'function' || top.func.name === 'defaultErrorHandler') return null
  keep(app, 'fastify.errorHandler', Object.getPrototypeOf(top))
  chainNextErrorHandler(app)
  return top.func
}

// What the public is told of a failure that operators can look up; in debug mode strangers are told nothing.
function referenceOf (request: FastifyRequest): string | undefined {
  const { debug, profileOf } = request.server.hindsight
  return debug ? undefined : profileOf?.(request)?.token
}

function diagnosticPage ({ reportOf, encodeReport }: Pages, request: FastifyRequest, reply: FastifyReply, state: RequestState, as: Representation, reason: string): string | Buffer {
  const report = reportOf(request, state, reply.statusCode, reason)
  const { message, frames: [frame] } = report.exceptions.at(-1) as FlattenedException
  reply.header('x-debug-exception', percentEncoded(message.slice(0, DEBUG_HEADER_LIMIT)))
  if (frame !== undefined) reply.header('x-debug-exception-file', `${percentEncoded(frame.file)}:${frame.line}`)
  const { script, style } = noncesOf(state)
  const nonce = { script, style }
  const body = encodeReport(report, as.type, nonce, request.server.hindsight.editor)
  state.ownPolicy = `default-src 'none'; style-src 'nonce-${nonce.style}'; script-src 'nonce-${nonce.script}'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  return body
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
  const line = `Uncaught ${last.name}: "${last.message.slice(0, DEBUG_HEADER_LIMIT)}"${place}`
  if (status >= 500) logError(request, raised, 'request', line)
  else request.log.warn({ statusCode: status, channel: 'request' }, line)
}

// The logger reads the error; one whose getters throw is told by the line alone.
function logError (request: FastifyRequest, err: unknown, channel: string | undefined, line: string): void {
  try {
    request.log.error({ err, ...(channel !== undefined && { channel }) }, line)
  } catch {
    request.log.error({ ...(channel !== undefined && { channel }) }, line)
  }
}

import { MethodNotAllowedError } from '../http/http-errors.js'
import { pathnameOf } from '../http/requests.js'
import type { RequestTrace } from '../lifecycle/state.js'
import { formatTime } from '../view/components.js'
import { formatCount } from '../view/text.js'
import type { FlattenedException, RejectedInput, StackFrame } from './exception.js'
import { handlerFrame, hookFrame, hookText, senderIn } from './declared-place.js'
import { maskFrame } from './masked-exceptions.js'
import { maskedLine } from './refusal.js'
import { isInternal, packageOf, placeOf } from './stack-frame.js'
import { messageOf, nameOf } from './thrown-value.js'

/** Why a request failed. */
export interface FailureSummary {
  /** What happened, in one sentence. */
  summary: string
  /**
   * In debug mode: the declaration of the route with its source; or the hook that has failed, or whose response was
   * refused.
   */
  handler?: StackFrame
}

/** By the exceptions of a response: its page and its profile have the same sentence. */
const summaries = new WeakMap<readonly FlattenedException[], FailureSummary>()

/** Why a request failed, masked; `exceptions` are those of its response. */
export function failureSummary (trace: RequestTrace, exceptions: readonly FlattenedException[]): FailureSummary {
  const summary = summaries.get(exceptions) ?? makeSummary(trace, exceptions)
  summaries.set(exceptions, summary)
  return summary
}

function makeSummary (trace: RequestTrace, exceptions: readonly FlattenedException[]): FailureSummary {
  const { mask } = trace
  const input = exceptions.at(-1)?.rejected ?? null
  const handler = trace.services.debug ? handlerFrame(trace) : null
  const shown = hookFrame(trace.recording) ?? handler
  const sentence = failureSentence(trace, exceptions, handler, input)
  return {
    // What was rejected is masked: a text such as `cookie: …` would be masked as a whole.
    summary: input?.fields === undefined ? mask.text(sentence) : sentence,
    ...(shown !== null && { handler: maskFrame(shown, mask) })
  }
}

function failureSentence (
  trace: RequestTrace, exceptions: readonly FlattenedException[], handler: StackFrame | null,
  input: RejectedInput | null
): string {
  const { request } = trace
  const unrouted = unroutedSentence(trace)
  if (unrouted !== null) return unrouted
  const place = handler === null ? '' : ` (${placeOf(handler)})`
  const { url, handlerTimeout } = request.routeOptions
  const route = `${request.method} ${url ?? pathnameOf(request)}`
  const { controller, failure: failed, isPartial, raisedBy, timing } = trace.recording
  const { handlerStart } = timing
  if (input?.fields !== undefined) {
    const [field] = input.fields
    const isMissing = field?.rule === 'required'
    const why = field === undefined ? '' : ` (${field.field}${isMissing ? ' is missing' : `: ${field.expected}`})`
    const by = field?.rule === 'prototype' ? 'The JSON parser' : `The schema of ${route}${place}`
    const then = handlerStart === 0
      ? 'the handler did not run'
      : 'with attachValidation the request continued, and failed with that error'
    return `${by} rejected the ${input.part}${why}; ${then}.`
  }
  const mayHaveRun = handlerStart !== 0 || isPartial
  const notRun = mayHaveRun || url === undefined ? '' : `; the handler of ${route}${place} did not run`
  if (input?.malformed !== undefined) return `The body is not valid JSON${notRun}.`
  const failure = thrownAs(exceptions.at(-1)?.name ?? 'Error')
  if (raisedBy?.stage === 'start') return `The application could not start: ${failure}.`
  if (failed?.refused !== undefined) {
    const { hook, why } = failed.refused
    const what = failed.after === 'failure' ? 'answer to an earlier failure' : 'response'
    return `The ${what} of ${route}${place}${hook === undefined ? '' : `, changed by the ${hookText(hook)},`} ${why}.`
  }
  if (failed?.after === 'failure') {
    const { first } = failed
    const why = first === undefined ? '' : ` (${maskedLine(trace.mask, `${nameOf(first)}: ${messageOf(first)}`)})`
    return `The answer to an earlier failure of ${route}${why} failed with ${failure}.`
  }
  const hook = raisedBy !== null && raisedBy.stage !== 'handler' ? `The ${hookText(raisedBy)}` : null
  // Fastify makes an error for a promise of a hook that was rejected without one. Hooks of routes are not recorded.
  if (exceptions.at(-1)?.code === 'FST_ERR_SEND_UNDEFINED_ERR') {
    return `${hook ?? `A hook of ${route}`} rejected without an error${notRun}.`
  }
  if (hook !== null) return `${hook} raised ${failure}${notRun}.`
  if (failed?.after === 'handler') {
    const before = `After the handler of ${route}${place} had returned or sent its response`
    return `${before}, the request failed with ${failure}.`
  }
  // Hooks of the route itself run when the start of its handler has been recorded.
  const isByHandler = controller === null
    ? trace.declaredRoute?.hooks.includes('preHandler') !== true
    : isCalledIn(exceptions, controller)
  if (isSent(failed?.calls)) return `${route}${notRun === '' ? place : ''} sent an error: ${failure}${notRun}.`
  // Fastify calls the same hooks for an error that a handler returns.
  const what = handlerStart !== 0 && isByHandler ? `The handler of ${route}${place}` : route
  if (exceptions.at(-1)?.code === 'FST_ERR_HANDLER_TIMEOUT') {
    return `${what} had not ended after its handlerTimeout, ${formatTime(handlerTimeout)}${notRun}.`
  }
  return `${what} failed with ${failure}${what === route ? notRun : ''}.`
}

/** Whether the application has called `reply.send()`, by the calls that led to it. */
function isSent (calls?: Error): boolean {
  const file = calls === undefined ? null : senderIn(calls)
  return file !== null && packageOf(file) !== 'fastify' && !isInternal(file)
}

/** Whether a function of the application was called: a framework may raise errors before it calls its controller. */
function isCalledIn (exceptions: readonly FlattenedException[], name: string): boolean {
  return exceptions.some(({ frames }) => frames.some((frame) => frame.own && frame.function.split(' ').includes(name)))
}

function unroutedSentence (trace: RequestTrace): string | null {
  const { request, failed, recording: { declined, failure, routeError, raised, raisedBy }, route, services } = trace
  const { method } = request
  const isOfNotFound = failure?.isOfNotFound === true && failure.error !== declined && raisedBy === null
  const then = isOfNotFound ? `; the not-found handler or its hook failed with ${thrownAs(nameOf(raised))}` : ''
  const error = failed ? raised : routeError
  const isUnrouted = raisedBy?.listener === 'router' || (routeError !== null && error === routeError)
  if (isUnrouted && error instanceof MethodNotAllowedError) {
    return `The path has routes for ${String(error.headers.allow)}, and none for ${method}.`
  }
  if (request.is404 && route !== null) {
    const isLater = failure?.refused !== undefined && then === ''
    const later = isLater ? `; then the request failed with ${thrownAs(nameOf(raised))}` : then
    return `${route.name} matched, and reply.callNotFound() was called${later}.`
  }
  if (!isUnrouted && !isOfNotFound) return null
  const routes = formatCount(services.routeTable.routes.length, 'route is', 'routes are')
  return `No route matches ${method} ${pathnameOf(request)}; ${routes} declared${then}.`
}

/** The name of an error, or a description of another thrown value, for a sentence. */
function thrownAs (name: string): string {
  const type = /^Thrown (.+)$/.exec(name)?.[1]
  return type === undefined ? name : `a value that is no Error (${type})`
}

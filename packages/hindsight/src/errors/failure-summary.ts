import { MethodNotAllowedError } from '../http/http-errors.js'
import { pathnameOf } from '../http/requests.js'
import type { RequestTrace } from '../recording/trace.js'
import { formatTime } from '../view/components.js'
import { formatCount } from '../view/text.js'
import type { FlattenedException, RejectedInput, StackFrame } from './exception.js'
import { nearestRoutes } from '../routing/no-match.js'
import { methodsText } from '../routing/route-table.js'
import { handlerFrame, hookFrame, hookText, senderIn, type Raiser } from './declared-place.js'
import { undefinedSentence } from './missing-decorator.js'
import { maskFrame } from './masked-exceptions.js'
import { maskedLine } from './refusal.js'
import { PIPE } from './rejected-input.js'
import { schemaFrame } from './schema-place.js'
import { isInternal, packageOf, placeOf } from './stack-frame.js'
import { messageOf, nameOf } from './thrown-value.js'

/** Why a request failed. */
export interface FailureSummary {
  /** What happened, in one sentence. */
  summary: string
  /**
   * In debug mode: the declaration of the route with its source; or the property of its schema that has rejected the
   * request; or the hook that has failed, or whose response was refused.
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
  const schema = schemaFrame(handler, input)
  const shown = hookFrame(trace.recording) ?? schema ?? handler
  let summary = failureSentence(trace, exceptions, handler, input)
  const missing = undefinedSentence(trace, exceptions)
  if (missing !== null) summary += ` ${missing}`
  return { summary: mask.text(summary), ...shown !== null && { handler: maskFrame(shown, mask) } }
}

/** What the sentences about a failure name. */
interface FailureWords {
  /** `<METHOD> <pattern>`. */
  route: string
  /** The same with the place of its handler, where that is known. */
  placed: string
  /** That the handler did not run; empty where it ran, or may have run. */
  notRun: string
  /** The error. */
  error: string
}

function wordsFor (
  { request, recording }: RequestTrace, exceptions: readonly FlattenedException[], handler: StackFrame | null
): FailureWords {
  const { url } = request.routeOptions
  const { isPartial, timing: { handlerStart } } = recording
  const route = `${request.method} ${url ?? pathnameOf(request)}`
  const placed = route + inBrackets(handler && placeOf(handler))
  const mayHaveRun = handlerStart !== 0 || isPartial || url === undefined
  return {
    route,
    placed,
    notRun: mayHaveRun ? '' : `; the handler of ${placed} did not run`,
    error: thrownAs(exceptions.at(-1)?.name ?? 'Error')
  }
}

function inBrackets (text: string | null | undefined): string {
  if (text == null) return ''
  return ` (${text})`
}

function failureSentence (
  trace: RequestTrace, exceptions: readonly FlattenedException[], handler: StackFrame | null,
  input: RejectedInput | null
): string {
  const unrouted = unroutedSentence(trace)
  if (unrouted !== null) return unrouted
  const words = wordsFor(trace, exceptions, handler)
  const { notRun, placed, route } = words
  let { error } = words
  const { failure, raisedBy, timing } = trace.recording
  if (input?.fields !== undefined) return rejectedSentence(input, placed, timing.handlerStart !== 0)
  if (input?.malformed !== undefined) return `The body is not valid JSON${notRun}.`
  if (raisedBy?.stage === 'start') return `The application could not start: ${error}.`
  if (failure?.isRepeated === true) error += ', and again for the response about that'
  if (failure?.refused !== undefined) return refusedSentence(failure.refused, placed, failure.after)
  if (failure?.after === 'failure') {
    const { first } = failure
    const why = first === undefined ? null : maskedLine(trace.mask, `${nameOf(first)}: ${messageOf(first)}`)
    const { failedHook } = trace.recording.sending
    if (failedHook !== undefined && failedHook.error === failure.error) {
      const hook = `The ${hookText(failedHook.hook)} failed`
      if (failedHook.first === first) return `${hook}, and again for the response about that.`
      return `${hook} with ${error} for the response about an earlier failure of ${route}${inBrackets(why)}.`
    }
    return `The answer to an earlier failure of ${route}${inBrackets(why)} failed with ${error}.`
  }
  // Fastify makes an error for a promise of a hook that was rejected without one. Hooks of routes are not recorded.
  const isEmpty = exceptions.at(-1)?.code === 'FST_ERR_SEND_UNDEFINED_ERR'
  const raised = isEmpty ? 'rejected without an error' : `raised ${error}`
  if (raisedBy !== null && raisedBy.stage !== 'handler') return `The ${hookText(raisedBy)} ${raised}${notRun}.`
  if (isEmpty) return `A hook of ${route} ${raised}${notRun}.`
  if (failure?.after === 'handler') {
    return `After the handler of ${placed} had returned or sent its response, the request failed with ${error}.`
  }
  if (isSent(failure?.calls) && notRun === '') return `${placed} sent an error: ${error}.`
  if (isSent(failure?.calls)) return `${route} sent an error: ${error}${notRun}.`
  return handlerSentence(trace, exceptions, words)
}

/** What a schema or the JSON parser rejected. */
function rejectedSentence ({ part, fields = [] }: RejectedInput, placed: string, hasRun: boolean): string {
  const [field] = fields
  let by = `The schema of ${placed}`
  if (field?.rule === 'prototype') by = 'The JSON parser'
  if (field?.rule === PIPE) return `${placed} rejected the ${part}.`
  const rejected = `${by} rejected the ${part}`
  if (!hasRun) return `${rejected}; the handler did not run.`
  return `${rejected}; with attachValidation the request continued, and failed with that error.`
}

/** Why a response could not be sent; `hook` is that of the application which has changed it. */
function refusedSentence (
  { hook, why }: { hook?: Raiser | undefined, why: string }, placed: string, after: string | null
): string {
  const what = after === 'failure' ? 'answer to an earlier failure' : 'response'
  const changed = hook && `, changed by the ${hookText(hook)},`
  return `The ${what} of ${placed}${changed ?? ''} ${why}.`
}

function handlerSentence (
  trace: RequestTrace, exceptions: readonly FlattenedException[], { route, placed, notRun, error }: FailureWords
): string {
  const { controller, timing: { handlerStart } } = trace.recording
  // Hooks of the route itself run when the start of its handler has been recorded.
  const isByHandler = controller === null
    ? trace.declaredRoute?.hooks.includes('preHandler') !== true
    : isCalledIn(exceptions, controller)
  // Fastify calls the same hooks for an error that a handler returns.
  const what = handlerStart !== 0 && isByHandler ? `The handler of ${placed}` : route
  if (exceptions.at(-1)?.code !== 'FST_ERR_HANDLER_TIMEOUT') return `${what} failed with ${error}${notRun}.`
  const limit = formatTime(trace.request.routeOptions.handlerTimeout)
  return `${what} had not ended after its handlerTimeout, ${limit}${notRun}.`
}

/** Whether the application has called `reply.send()`, by the calls that led to it. */
function isSent (calls?: Error): boolean {
  const file = calls && senderIn(calls)
  return file != null && packageOf(file) !== 'fastify' && !isInternal(file)
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
  // The message of the error has the path.
  let sentence = `${routes} declared, and none matches.`
  if (isOfNotFound) sentence = `No route matches ${method} ${pathnameOf(request)}${then}.`
  if (!services.debug) return sentence
  const [near] = nearestRoutes(trace)
  if (near === undefined) return sentence
  return `${sentence} ${methodsText(near.route.methods)} ${near.route.pattern} nearly matches: ${near.why}.`
}

/** The name of an error, or a description of another thrown value, for a sentence. */
function thrownAs (name: string): string {
  return name.replace(/^Thrown (.+)$/, 'a value that is no Error ($1)')
}

import type { FastifyRequest } from 'fastify'
import { MethodNotAllowedError } from '../http/http-errors.js'
import { pathnameOf } from '../http/request-target.js'
import type { ListenerEvent } from '../lifecycle/events.js'
import { stateOf, type RequestState } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import { counted } from '../view/counted.js'
import type { FlattenedException, StackFrame } from './exception.js'
import type { RejectedInput } from './rejected-input.js'
import { rootCause, thrownAs } from './root-cause.js'
import { placeOf } from './stack-frame.js'

/** What the sentence about a failure is made of. */
export interface Facts {
  exceptions: readonly FlattenedException[]
  events: readonly ListenerEvent[]
  handler: StackFrame | null
  input: RejectedInput | null
}

/** What happened, in one sentence. */
export function whatHappened (request: FastifyRequest, { exceptions, events, handler, input }: Facts): string {
  const state = stateOf(request)
  const miss = missSentence(request, state)
  if (miss !== null) return miss
  const place = handler === null ? '' : ` (${placeOf(handler)})`
  const { url } = request.routeOptions
  const route = `${request.method} ${url ?? pathnameOf(request)}`
  const name = thrownAs(exceptions.at(-1)?.name ?? 'Error')
  const { raisedBy, handlerStart } = state
  const notRun = handlerStart !== 0 || url === undefined ? '' : `; the handler of ${route}${place} did not run`
  if (input?.fields !== undefined) {
    return `The schema of ${route}${place} rejected the ${input.part}; the handler did not run.`
  }
  const cause = causeClause(exceptions)
  if (input?.malformed !== undefined) return `The body is not valid JSON${notRun}.`
  if (raisedBy !== null && raisedBy.stage !== 'handler') {
    const what = raisedBy.stage.startsWith('kernel.') ? 'listener' : 'hook'
    return `The ${what} ${raisedBy.listener} of ${raisedBy.stage} raised ${name}${cause}${notRun}.`
  }
  if (handlerStart === 0) {
    return url === undefined ? `${route} failed with ${name}${cause}.` : `${name} was raised${cause}${notRun}.`
  }
  if (!hasThrown(state, events)) {
    return `The handler of ${route}${place} had returned when its response failed with ${name}${cause}.`
  }
  return `The handler of ${route}${place} threw ${name}${cause}.`
}

function missSentence (request: FastifyRequest, state: RequestState): string | null {
  const { missed, raised, raisedBy, failed, route } = state
  const { method } = request
  const isMiss = missed !== null || raisedBy?.listener === 'router'
  const error = failed ? raised : missed
  if (isMiss && error instanceof MethodNotAllowedError) {
    return `The path has routes for ${String(error.headers.allow)}, and none for ${method}.`
  }
  if (request.is404 && route !== null) return `${route.name} matched, and reply.callNotFound() was called.`
  if (!isMiss) return null
  const routes = counted(servicesOf(request).routeTable.own().length, 'route is', 'routes are')
  return `No route matches ${method} ${pathnameOf(request)}; ${routes} declared.`
}

function causeClause (exceptions: readonly FlattenedException[]): string {
  const root = rootCause(exceptions)
  if (root === null || (exceptions.length < 2 && root.name === exceptions[0]?.name)) return ''
  const place = root.frame === undefined ? '' : ` at ${placeOf(root.frame)}`
  return `; the root cause is ${thrownAs(root.name)}${place}`
}

/** Whether the handler of the route threw what the response is about. */
export function hasThrown (state: RequestState, events: readonly ListenerEvent[]): boolean {
  const { failed, raisedBy, handlerStart } = state
  const isRaisedBefore = raisedBy !== null && raisedBy.stage !== 'handler'
  return failed && handlerStart !== 0 && !isRaisedBefore && !isSending(state, events)
}

function isSending ({ serializeStart }: RequestState, events: readonly ListenerEvent[]): boolean {
  return serializeStart !== 0 || events.some(({ pass, stage, outcome }) =>
    pass === 'main' && stage === 'kernel.response' && outcome !== 'skipped')
}

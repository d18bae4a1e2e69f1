import type { FastifyReply, FastifyRequest } from 'fastify'
import { keep } from '../kernel/fastify-symbols.js'
import { observe, walkErrorPass } from '../kernel/pass.js'
import type { RequestState } from '../kernel/request-state.js'
import { representation } from './negotiate.js'

const MEDIA_TYPE = /^[^;]+/

/** Stops the start at a word that means nothing. */
export function checkErrorPages (value: string): void {
  if (value !== 'always' && value !== 'asked') throw new Error(`errorPages: "${value}" is neither always nor asked`)
}

/** Who is told of errors by the lifecycle: everybody, or who asks for a page, a text or a problem by name. */
export interface ErrorPageOptions {
  /** `always`, or `asked` (the default): everybody else gets what Fastify, or the application, would answer. */
  errorPages?: 'always' | 'asked'
}

/** Whether a client names a form that only the lifecycle has: one that takes anything does not. */
export function asksForPage ({ headers: { accept } }: FastifyRequest): boolean {
  if (!accept) return false
  const { contentType } = representation(accept)
  const [type = ''] = MEDIA_TYPE.exec(contentType) ?? []
  return type !== 'application/json' && accept.toLowerCase().includes(type)
}

/** Takes note of a failure, and leaves its answer to Fastify: nothing of the response is touched. */
export function passOn (state: RequestState, raised: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (state.failed && state.raised !== raised) state.others.push(state.raised)
  state.pass = 'error'
  state.failed = true
  state.raised = raised
  state.passedOn = true
  if (state.handlerStart !== 0 && state.handlerEnd === 0) state.handlerEnd = performance.now()
  observe(request, reply)
  walkErrorPass(request.server, request, reply)
  sendOn(raised, reply)
}

/** Sends what was raised to the error handler that Fastify has behind this one. */
export function sendOn (raised: unknown, reply: FastifyReply): void {
  // Whatever is no error would be taken for a payload.
  if (!(raised instanceof Error)) keep(reply, 'fastify.reply.isError', true)
  reply.send(raised)
}

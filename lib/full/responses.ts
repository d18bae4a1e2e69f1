import type { FastifyReply } from 'fastify'
import { isRedirect, isStream } from '../http/responses.js'
import { Skip } from './listener.js'

/** The reason why headers about documents are not set on redirects. */
export const notOnRedirect = new Skip('not on redirects')
const setByRoute = new Skip('the route has set the header')

/** Sets a header, unless the route has set it. */
export function setIfAbsent (reply: FastifyReply, name: string, value: string): Skip | undefined {
  if (reply.hasHeader(name)) return setByRoute
  reply.header(name, value)
}

/** Sets a header about the document that a response has, unless the route has set it. */
export function setOnDocument (reply: FastifyReply, name: string, value: string): Skip | undefined {
  return isRedirect(reply) ? notOnRedirect : setIfAbsent(reply, name, value)
}

/** Calls `done` at once, or for a stream when it has been sent or aborted. */
export function afterBody (reply: FastifyReply, payload: unknown, done: () => void): void {
  if (isStream(payload)) reply.raw.once('close', done)
  else done()
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { replyPrototype } from './header-watch.js'

/** What is to be done at the end of a response. */
export interface AtEnd {
  /** It was sent, or failed on its way. */
  sent: (request: FastifyRequest, reply: FastifyReply) => void
  /** Its client has gone before. */
  gone: (request: FastifyRequest) => void
}

const followed = new WeakSet<FastifyReply>()

/** Follows one response to its end, as Fastify's `onResponse` and `onRequestAbort` do with all of them at the cost of all of them. */
export function followToEnd (request: FastifyRequest, reply: FastifyReply, { sent, gone }: AtEnd): void {
  if (followed.has(reply)) return
  followed.add(reply)
  const { raw } = reply
  function over (): void {
    raw.off('finish', over)
    raw.off('error', over)
    sent(request, reply)
  }
  raw.on('finish', over)
  raw.on('error', over)
  if (typeof request.raw.once !== 'function') return
  request.raw.once('close', () => {
    if (request.raw.aborted) gone(request)
  })
}

/** Tells of replies that the application takes out of Fastify's hands: nothing else is heard of them. */
export function onHijack (app: FastifyInstance, tell: (request: FastifyRequest, reply: FastifyReply) => void): void {
  const prototype = replyPrototype(app)
  const hijack = prototype?.hijack
  if (prototype === undefined || hijack === undefined) return
  prototype.hijack = function (this: FastifyReply) {
    tell(this.request, this)
    return hijack.call(this)
  }
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import { servicesOf } from './services-of.js'

/** What is to be done at the end of a response. */
export interface AtEnd {
  /** It was sent, or failed on its way. */
  sent: (request: FastifyRequest, reply: FastifyReply) => void
  /** Its connection was closed before. */
  gone: (request: FastifyRequest, reply: FastifyReply) => void
}

/** Follows a response to its end, also where Fastify does not send it: hijacked replies and upgrades. */
export function followToEnd (request: FastifyRequest, reply: FastifyReply, { sent, gone }: AtEnd): void {
  const { raw } = reply
  let isOver = false
  const end = (how: typeof sent) => (): void => {
    if (isOver) return
    isOver = true
    // What a listener throws would end the process.
    try {
      how(request, reply)
    } catch (error) {
      servicesOf(request).warn('A profile was not kept', error)
    }
  }
  raw.once('finish', end(sent))
  raw.once('error', end(sent))
  raw.once('close', end(gone))
}

import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** The request that a piece of work belongs to, where that one is observed: log lines, warnings and stray errors are attributed by it. */
export interface RequestContext {
  request: FastifyRequest
  reply: FastifyReply
}

export const requestContext = new AsyncLocalStorage<RequestContext | undefined>()

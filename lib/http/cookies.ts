import fastifyCookie from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { host, runHooks } from '../lifecycle/hosting.js'

/** The two parts of @fastify/cookie, which the session listeners run in their slots. */
export interface HostedCookies {
  /** Parses the `Cookie` header. */
  parse: (request: FastifyRequest, reply: FastifyReply) => void
  /** Sets the cookies of a response; those that are set later are written at once. */
  write: (request: FastifyRequest, reply: FastifyReply, payload: unknown) => undefined | Promise<void>
}

/** Hosts @fastify/cookie. */
export async function hostCookies (app: FastifyInstance): Promise<HostedCookies> {
  const hooks = await host(app, fastifyCookie as never, {}, { name: '@fastify/cookie' })
  const onRequest = hooks.get('onRequest') ?? []
  const onSend = hooks.get('onSend') ?? []
  return {
    parse (request, reply) { runHooks(onRequest, request, reply) },
    write: (request, reply, payload) => runHooks(onSend, request, reply, payload)
  }
}

import createError from '@fastify/error'
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { representation } from '../../plugins/diagnostics/negotiate.js'
import { assetAddresses } from '../../plugins/profiler/ui/assets.js'
import { pagePolicy, type PageOptions } from '../../plugins/profiler/ui/layout/component.js'

export const TokenNotFoundError = createError('HINDSIGHT_TOKEN_NOT_FOUND', 'Token "%s" was not found.', 404)

/** What all routes of the profiler declare: they are for who may see the debug surface, or outside debug mode for operators. */
export function routeConfig ({ profiler: { role } }: FastifyInstance, name: string): FastifyContextConfig {
  return { name, profile: false, ...(role === undefined ? { debugOnly: true } : { isGranted: role }) }
}

/** Whether the client prefers JSON to a page. */
export function wantsJson (request: FastifyRequest, reply: FastifyReply): boolean {
  reply.header('vary', 'accept')
  return representation(request.headers.accept).type === 'json'
}

/** Where the profiler's routes begin, without a slash at the end. */
export function baseOf (request: FastifyRequest): string {
  return request.server.prefix.replace(/\/$/, '')
}

/** Answers with a page under a policy of its own. */
export function sendPage (request: FastifyRequest, reply: FastifyReply, render: (options: PageOptions) => string): FastifyReply {
  const { script, style } = reply.cspNonce
  const nonce = { script, style }
  const base = baseOf(request)
  return reply
    .header('content-security-policy', pagePolicy(nonce))
    .type('text/html; charset=utf-8')
    .send(render({ base, nonce, assets: assetAddresses(base), formToken: request.server.profiler.formTokens.create() }))
}

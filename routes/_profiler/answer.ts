import createError from '@fastify/error'
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { noncesOf } from '../../lib/http/content-policy.js'
import { stateOf } from '../../lib/lifecycle/request-state.js'
import { representation } from '../../lib/errors/negotiate.js'
import type { PageOptions } from '../../lib/profiler/pages/layout.js'
import { ISOLATION, pagePolicy } from '../../lib/profiler/pages/layout.js'

const ForeignRequestError = createError('HINDSIGHT_FOREIGN_REQUEST', 'The profiler answers its own pages and links, and no other page.', 403)
export const TokenNotFoundError = createError('HINDSIGHT_TOKEN_NOT_FOUND', 'Token "%s" was not found.', 404)

/** What all routes of the profiler declare: they are for who may see the debug surface, or outside debug mode for operators. */
export function routeConfig ({ hindsight: { profiler: { role } } }: FastifyInstance, name: string): FastifyContextConfig {
  return { name, profile: false, ownOriginOnly: true, ...(role === undefined ? { debugOnly: true } : { isGranted: role }) }
}

/** Keeps the routes of a scope to their own origin, whatever else the browser of a developer may be looking at. */
export function keepToItself (app: FastifyInstance): void {
  app.addHook('onRequest', async function refusePagesOfOthers (request, reply) {
    // Pages have a policy of their own.
    reply.headers(ISOLATION).header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
    if (isForeign(request)) throw new ForeignRequestError()
  })
  // Our own rules do not hold here; an application may have registered a plugin of its own.
  app.addHook('onSend', async function allowNobodyElse (_request, reply) {
    for (const name in reply.getHeaders()) if (name.startsWith('access-control-')) reply.removeHeader(name)
  })
}

// Fetch Metadata, section 2: a link may lead here from anywhere, as nothing that a page does with it can be read or changes anything.
function isForeign ({ method, headers }: FastifyRequest): boolean {
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = headers
  if (site === undefined || site === 'same-origin' || site === 'none') return false
  return !(mode === 'navigate' && destination === 'document' && (method === 'GET' || method === 'HEAD'))
}

/** Whether the client prefers JSON to a page. */
export function wantsJson (request: FastifyRequest, reply: FastifyReply): boolean {
  reply.header('vary', 'accept')
  return representation(request.headers.accept).type === 'json'
}

/** Whether the client prefers Markdown to a page. */
export function wantsMarkdown (request: FastifyRequest, reply: FastifyReply): boolean {
  reply.header('vary', 'accept')
  return representation(request.headers.accept).type === 'markdown'
}

/** Answers with Markdown. */
export function sendMarkdown (reply: FastifyReply, text: string): FastifyReply {
  return reply.type('text/markdown; charset=utf-8').send(text)
}

/** Where the profiler's routes begin, without a slash at the end. */
export function baseOf (request: FastifyRequest): string {
  return request.server.prefix.replace(/\/$/, '')
}

/** Answers with a page under a policy of its own. Pages and panels are loaded with the first of them, so that no start waits for them. */
export async function sendPage (request: FastifyRequest, reply: FastifyReply, render: (options: PageOptions) => string): Promise<FastifyReply> {
  const { addressesOf, pageAssets } = await import('../../lib/profiler/pages/assets.js')
  const { script, style } = noncesOf(stateOf(reply.request))
  const nonce = { script, style }
  const base = baseOf(request)
  return reply
    .header('content-security-policy', pagePolicy(nonce))
    .type('text/html; charset=utf-8')
    .send(render({ base, nonce, assets: addressesOf(pageAssets, base), formToken: request.server.hindsight.profiler.formTokens.create() }))
}

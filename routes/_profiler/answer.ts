import createError from '@fastify/error'
import formbody from '@fastify/formbody'
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { representation } from '../../lib/errors/negotiate.js'
import { noncesOf } from '../../lib/http/content-policy.js'
import { stateOf } from '../../lib/lifecycle/request-state.js'
import type { PageOptions } from '../../lib/profiler/pages/layout.js'
import { ISOLATION, pagePolicy } from '../../lib/profiler/pages/layout.js'
import type { Profile } from '../../lib/profiler/profile.js'

export const TokenNotFoundError = createError('HINDSIGHT_TOKEN_NOT_FOUND', 'Token "%s" was not found.', 404)
export const BadFieldError = createError('HINDSIGHT_BAD_FIELD', 'Invalid "%s": %s.', 400)
export const NotSendableRequestError =
  createError('HINDSIGHT_NOT_SENDABLE', 'The request of profile "%s" cannot be sent again: %s', 409)
const ForeignRequestError =
  createError('HINDSIGHT_FOREIGN_REQUEST', 'The profiler answers its own pages and links, and no other page.', 403)
const ForeignFormError = createError('HINDSIGHT_FOREIGN_FORM',
  'The form did not come from a page of the profiler, or that is too old: load the page again.', 403)

const FORM = 'application/x-www-form-urlencoded'
const FORM_LIMIT = 16 * 1024

export type Fields = Readonly<Record<string, unknown>>

/** The configuration of each route: for clients that may see the debug surface, or for operators outside debug mode. */
export function routeConfig ({ hindsight }: FastifyInstance, name: string): FastifyContextConfig {
  const { role } = hindsight.profiler
  const access = role === undefined ? { debugOnly: true } : { isGranted: role }
  return { name, profile: false, ownOriginOnly: true, ...access }
}

/** Refuses requests of other sites to the routes of a scope, and keeps other sites from reading responses. */
export function keepToItself (app: FastifyInstance): void {
  app.addHook('onRequest', async function refuseOtherSites (request, reply) {
    // Pages replace this policy.
    reply.headers(ISOLATION).header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
    if (isForeign(request)) throw new ForeignRequestError()
  })
  // A CORS plugin of the application may have set them.
  app.addHook('onSend', async function removeCorsHeaders (_request, reply) {
    for (const name in reply.getHeaders()) if (name.startsWith('access-control-')) reply.removeHeader(name)
  })
}

// Fetch Metadata, section 2. A link of another site may lead here: it cannot read the page, and GET changes nothing.
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

export function sendMarkdown (reply: FastifyReply, text: string): FastifyReply {
  return reply.type('text/markdown; charset=utf-8').send(text)
}

/** The path of the profiler's routes, without a slash at the end. */
export function baseOf (request: FastifyRequest): string {
  return request.server.prefix.replace(/\/$/, '')
}

type Render = (options: PageOptions) => string

/** Sends a page with a policy of its own. Pages and panels are loaded with the first one: no start is slower. */
export async function sendPage (request: FastifyRequest, reply: FastifyReply, render: Render): Promise<FastifyReply> {
  const { addressesOf, pageAssets } = await import('../../lib/profiler/pages/assets.js')
  const { script, style } = noncesOf(stateOf(reply.request))
  const nonce = { script, style }
  const base = baseOf(request)
  const formToken = request.server.hindsight.profiler.formTokens.create()
  return reply
    .header('content-security-policy', pagePolicy(nonce))
    .type('text/html; charset=utf-8')
    .send(render({ base, nonce, assets: addressesOf(pageAssets, base), formToken }))
}

/** The profile of a token; by default, of the path parameter `token`. Throws where there is none. */
export async function profileOf (request: FastifyRequest, token = tokenOf(request)): Promise<Profile> {
  const profile = await request.server.hindsight.profiler.find(token)
  if (profile === undefined) throw new TokenNotFoundError(token)
  return profile
}

/** The path parameter `token`. */
export function tokenOf (request: FastifyRequest): string {
  return (request.params as { token: string }).token
}

/** Adds a parser of forms to a scope, in place of one of the application. */
export async function readForms (app: FastifyInstance): Promise<void> {
  if (app.hasContentTypeParser(FORM)) app.removeContentTypeParser(FORM)
  await app.register(formbody, { bodyLimit: FORM_LIMIT })
}

/** The fields of a form of the profiler's own pages; throws at any other form. */
export function fieldsOf (request: FastifyRequest): Fields {
  const { body } = request
  const fields = typeof body === 'object' && body !== null ? body as Fields : {}
  if (!request.server.hindsight.profiler.formTokens.accepts(fields.form_token)) throw new ForeignFormError()
  return fields
}

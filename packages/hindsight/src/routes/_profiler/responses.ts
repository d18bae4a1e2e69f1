import createError from '@fastify/error'
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isRetrieval, pathnameOf, errorRepresentation } from '../../http/requests.js'
import { addVary, noncesOf, preventCaching, type Nonces } from '../../http/responses.js'
import { doInternalWork } from '../../recording/event-loop.js'
import { traceOf } from '../../recording/trace.js'
import type { ProfilerPages } from '../../parts/part.js'
import { ISOLATION, pageLayout, pagePolicy, type PageOptions } from '../../reading/pages/layout.js'
import type { ProfileSource } from '../../reading/compare/last-success.js'
import { routeConfigOf, type RecordedConfig } from '../../routing/route-table.js'
import type { Profile } from '../../store/profile.js'
import type { SafeHtml } from '../../view/text.js'

export const TokenNotFoundError = createError('HINDSIGHT_TOKEN_NOT_FOUND', 'Token "%s" was not found.', 404)
/** Requested data that do not exist; the argument is the message. */
export const NotAvailableError = createError('HINDSIGHT_NOT_AVAILABLE', '%s', 404)
export const BadFieldError = createError('HINDSIGHT_BAD_FIELD', 'Invalid "%s": %s.', 400)
const ForeignRequestError =
  createError('HINDSIGHT_FOREIGN_REQUEST', 'The profiler answers only requests of its own pages and links.', 403)
const ForeignFormError = createError('HINDSIGHT_FOREIGN_FORM',
  'The form is not from a page of the profiler that this user has loaded in the last 12 hours: load it again.', 403)

/** The name of the route of stylesheets and scripts, which browsers keep. */
export const ASSET = '_profiler_asset'

export type Fields = Readonly<Record<string, unknown>>

/** The options of each route. */
export function routeOptions ({ profilerRoute }: FastifyInstance, name: string) {
  const config: RecordedConfig = { name, ...profilerRoute.config }
  return { ...profilerRoute, config: config as FastifyContextConfig }
}

/** What the routes of parts receive. */
export function pagesOf (app: FastifyInstance): ProfilerPages {
  return {
    base: app.prefix,
    optionsOf: (name) => routeOptions(app, name),
    profileOf,
    async amend (request, change) {
      const token = tokenOf(request)
      if (!await app.hindsight.profiler.amend(token, change)) throw new TokenNotFoundError(token)
    },
    formOf,
    formTokenOf,
    formatOf,
    sendPage: (request, reply, title, content) =>
      sendPage(request, reply, (options) => pageLayout(options, title, content)),
    sendFile,
    badField: (name, problem) => new BadFieldError(name, problem),
    notAvailable: (message) => new NotAvailableError(message)
  }
}

/**
 * Refuses requests of other sites to the routes of a scope, and keeps other sites from reading responses. Pages of
 * other origins that `checkPage` does not refuse, by an error, may send requests and read responses.
 */
export function isolateRoutes (app: FastifyInstance, checkPage?: (request: FastifyRequest) => void): void {
  app.addHook('onRequest', async function refuseOtherSites (request, reply) {
    // Pages replace this policy.
    reply.headers(ISOLATION).header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
    const isOther = isForeign(request)
    if (isOther && checkPage === undefined) throw new ForeignRequestError()
    if (isOther || request.headers.origin !== undefined) checkPage?.(request)
  })
  // Hooks of the application may have set headers of CORS and of caches.
  app.addHook('onSend', async function keepPrivate (request, reply) {
    for (const name in reply.getHeaders()) if (name.startsWith('access-control-')) reply.removeHeader(name)
    if (routeConfigOf(request)?.name !== ASSET) preventCaching(reply)
    const { origin } = request.headers
    if (checkPage === undefined || origin === undefined) return
    addVary(reply, 'Origin')
    if (reply.statusCode < 400) reply.header('access-control-allow-origin', origin)
  })
}

// Fetch Metadata, section 2. A link of another site may lead here: it cannot read the page, and GET changes nothing.
function isForeign (request: FastifyRequest): boolean {
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = request.headers
  if (site === undefined || site === 'same-origin' || site === 'none') return false
  return !(mode === 'navigate' && destination === 'document' && isRetrieval(request))
}

/** The suffix of the path, `.json` or `.md`, which names a format; without one, `Accept` decides. */
export function suffixOf (request: FastifyRequest): string | undefined {
  return /\.(?:json|md)$/.exec(pathnameOf(request))?.[0]
}

export function formatOf (request: FastifyRequest, reply: FastifyReply): 'html' | 'json' | 'markdown' {
  if (suffixOf(request) === undefined) reply.header('vary', 'accept')
  const { type } = errorRepresentation(request.headers.accept)
  if (type === 'text') return 'html'
  return type
}

export function sendHtml (reply: FastifyReply, render: (nonce: Nonces) => SafeHtml): FastifyReply {
  const { script, style } = noncesOf(traceOf(reply.request))
  // The application has not blocked its requests meanwhile.
  const page = doInternalWork(() => String(render({ script, style })))
  return reply
    .header('content-security-policy', pagePolicy({ script, style }))
    .type('text/html; charset=utf-8')
    .send(page)
}

/** Sends a page. Pages are imported with the first one, so that the start is not slower. */
export function sendPage (
  request: FastifyRequest, reply: FastifyReply, render: (options: PageOptions) => SafeHtml
): FastifyReply {
  return sendHtml(reply, (nonce) => render({ base: baseOf(request), debug: request.server.hindsight.debug, nonce }))
}

/** Sends a text as a file that the browser saves and does not display. */
export function sendFile (reply: FastifyReply, name: string, type: string, text: string): FastifyReply {
  return reply
    .header('content-disposition', `attachment; filename="${name}"`)
    .type(type)
    .send(text)
}

/** The path of the profiler's routes, without a slash at the end. */
export function baseOf (request: FastifyRequest): string {
  return request.server.prefix.replace(/\/$/, '')
}

/**
 * The profile of a token or `latest`; by default, of the path parameter `token`. That of a request that has not ended
 * is its profile until now. Throws where there is none.
 */
export async function profileOf (request: FastifyRequest, token = tokenOf(request)): Promise<Profile> {
  const { profiler, recorder } = request.server.hindsight
  const wanted = token === 'latest' ? (await profiler.latest())?.token ?? token : token
  const profile = recorder?.unfinished(wanted) ?? await profiler.find(wanted)
  if (profile === undefined) throw new TokenNotFoundError(token)
  return profile
}

/** The path parameter with a token, without the suffix of a format. */
export function tokenOf (request: FastifyRequest, name = 'token'): string {
  return String((request.params as Fields)[name]).replace(/\.(?:json|md)$/, '')
}

/** The profiles of the application, also those that wait to be stored. */
export function sourceOf ({ server: { hindsight: { profiler } } }: FastifyRequest): ProfileSource {
  return { search: (options) => profiler.search(options), get: (token) => profiler.find(token) }
}

export async function formTokenOf (request: FastifyRequest): Promise<string> {
  return await request.server.hindsight.profiler.formToken(identifierOf(request))
}

/** The fields of a form of the profiler's own pages; throws for any other form. */
export async function formOf (request: FastifyRequest): Promise<Fields> {
  const { body } = request
  const fields = typeof body === 'object' && body !== null ? body as Fields : {}
  const { profiler } = request.server.hindsight
  if (!await profiler.acceptsForm(fields.form_token, identifierOf(request))) throw new ForeignFormError()
  return fields
}

/** The user of a request, where a lifecycle has set one. */
function identifierOf (request: FastifyRequest): string | undefined {
  return (request as { user?: { identifier?: string } | null }).user?.identifier
}

import createError from '@fastify/error'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { representation } from '../../plugins/diagnostics/negotiate.js'
import { firstPanel, panelsOf } from '../../plugins/profiler/panels/index.js'
import { TOKEN_PATTERN } from '../../plugins/profiler/token.js'
import { pagePolicy } from '../../plugins/profiler/ui/layout.js'
import type { PageOptions } from '../../plugins/profiler/ui/layout.js'
import { listPage } from '../../plugins/profiler/ui/list-page.js'
import { profilePage } from '../../plugins/profiler/ui/profile-page.js'

const TokenNotFoundError = createError('HINDSIGHT_TOKEN_NOT_FOUND', 'Token "%s" was not found.', 404)
const NothingStoredError = createError('HINDSIGHT_NO_PROFILE', 'No %s has been stored yet.', 404)
const PanelNotFoundError = createError('HINDSIGHT_PANEL_NOT_FOUND', 'Panel "%s" was not found; this profile has: %s.', 404)
const BadCriterionError = createError('HINDSIGHT_BAD_CRITERION', 'Invalid "%s": %s.', 400)

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 500

type Query = Record<string, unknown>

/** The profiler's own pages, loaded in debug mode only: what is stored, the newest of it, and one profile. */
export default async function profilerRoutes (app: FastifyInstance): Promise<void> {
  const base = app.prefix.replace(/\/$/, '')

  app.addHook('onRequest', async function forbidCaching (_request, reply) {
    reply.header('cache-control', 'no-store')
  })

  // The address without the slash is redirected like that of any other route.
  app.get('/', { prefixTrailingSlash: 'slash', config: { name: '_profiler_home', profile: false, debugOnly: true } }, async function showProfiles (request, reply) {
    const query = request.query as Query
    const limit = limitOf(query)
    const cursor = textOf(query, 'cursor')
    const { profiles, next } = await app.profiler.search({ limit, ...(cursor !== undefined && { cursor }) })
    const page = { profiles, next }
    return wantsJson(request, reply) ? page : sendPage(reply, base, options => listPage(page, limit, options))
  })

  for (const suffix of ['', '.json']) {
    app.get(`/latest${suffix}`, { config: { name: '_profiler_latest', profile: false, debugOnly: true } }, async function redirectToLatest (request, reply) {
      const error = flagOf(request.query as Query, 'error')
      const newest = await app.profiler.latest(error ? { error } : {})
      if (newest === undefined) throw new NothingStoredError(error ? 'failure' : 'profile')
      return reply.redirect(`${base}/${newest.token}${suffix}`, 302)
    })
  }

  app.get('/:token', { config: { name: '_profiler', profile: false, debugOnly: true } }, async function showProfile (request, reply) {
    const segment = (request.params as { token: string }).token
    const token = segment.replace(/\.json$/, '')
    const profile = TOKEN_PATTERN.test(token) ? await app.profiler.find(token) : undefined
    if (profile === undefined) throw new TokenNotFoundError(token)
    const name = textOf(request.query as Query, 'panel')
    const known = panelsOf(profile)
    const panel = name === undefined ? firstPanel(profile) : known.find(panel => panel.name === name)
    if (panel === undefined) throw new PanelNotFoundError(name, known.map(panel => panel.name).join(', '))
    return segment !== token || wantsJson(request, reply)
      ? profile
      : sendPage(reply, base, options => profilePage(profile, panel, options))
  })
}

function wantsJson (request: FastifyRequest, reply: FastifyReply): boolean {
  reply.header('vary', 'accept')
  return representation(request.headers.accept).type === 'json'
}

function sendPage (reply: FastifyReply, base: string, render: (options: PageOptions) => string): FastifyReply {
  const { script, style } = reply.cspNonce
  const nonce = { script, style }
  return reply
    .header('content-security-policy', pagePolicy(nonce))
    .type('text/html; charset=utf-8')
    .send(render({ base, nonce }))
}

function textOf (query: Query, field: string): string | undefined {
  const value = query[field]
  if (value === undefined || typeof value === 'string') return value
  throw new BadCriterionError(field, 'it may be given only once')
}

function limitOf (query: Query): number {
  const text = textOf(query, 'limit') ?? String(DEFAULT_LIMIT)
  const limit = Number(text)
  if (/^\d{1,4}$/.test(text) && limit >= 1 && limit <= MAX_LIMIT) return limit
  throw new BadCriterionError('limit', `"${text}" is not a whole number from 1 to ${MAX_LIMIT}`)
}

function flagOf (query: Query, field: string): boolean {
  const text = textOf(query, field) ?? '0'
  if (text === '1' || text === '0') return text === '1'
  throw new BadCriterionError(field, `"${text}" is neither 1 nor 0`)
}

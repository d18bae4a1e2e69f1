import createError from '@fastify/error'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { absoluteUrl } from '../../http/origin.js'
import { TOKEN_PATTERN } from '../../store/profile.js'
import { toolbarScript } from '../../reading/pages/layout.js'
import { PAGE_TOOLBAR, renderToolbar, toolbarOf } from '../../reading/pages/toolbar/toolbar.js'
import { readSearch, type SearchQuery } from '../../store/search-query.js'
import { recordOf, summaryLine } from '../../store/summary.js'
import {
  formatOf, isolateRoutes, routeOptions, sendHtml, suffixOf, TokenNotFoundError
} from '../_profiler/responses.js'

const ForeignPageError = createError('HINDSIGHT_FOREIGN_PAGE',
  'The page of %s may not have the toolbar: the option debugHosts of Hindsight has to name its host.', 403)

/** The debug toolbar, in debug mode. */
export default async function toolbarRoutes (app: FastifyInstance): Promise<void> {
  await app.register(pageRoutes)
  await app.register(storedRoutes)
}

/** What pages that another server renders request, where their origin may see the debug surface. */
async function pageRoutes (app: FastifyInstance): Promise<void> {
  const { isPageAllowed, mask, profiler } = app.hindsight
  isolateRoutes(app, (request) => {
    const { origin, referer = '' } = request.headers
    const page = origin ?? (URL.canParse(referer) ? new URL(referer).origin : 'null')
    if (!isPageAllowed(request, page)) throw new ForeignPageError(page === 'null' ? 'an unknown origin' : page)
  })
  const options = (name: string) => {
    const given = routeOptions(app, name)
    return { ...given, config: { ...given.config, checksOrigin: true } }
  }

  // All requests of a page to one origin have the same `Referer`, whatever its policy is.
  async function requestsOfPage ({ headers: { referer } }: FastifyRequest, query: SearchQuery): Promise<object> {
    const { profiles } = await profiler.search(query)
    const shown = referer && summaryLine(mask.header('referer', referer))
    return { profiles: profiles.filter(({ values }) => values?.refererUrl === shown) }
  }

  const script = toolbarScript(String(PAGE_TOOLBAR))
  app.get('/toolbar.js', options('_wdt_script'), async (_request, reply) =>
    reply.header('cross-origin-resource-policy', 'cross-origin').type('text/javascript; charset=utf-8').send(script))
  app.get('/requests.json', options('_wdt_requests'), async function findRequests (request) {
    const { token, ...query } = request.query as Record<string, unknown>
    if (token === undefined) return await requestsOfPage(request, readSearch(query))
    const profile = await profiler.find(String(token))
    return { profiles: profile === undefined ? [] : [recordOf(profile).summary] }
  })
}

/** The toolbar of a stored profile: the toolbar alone, or its data. */
async function storedRoutes (app: FastifyInstance): Promise<void> {
  isolateRoutes(app)

  // Any method: an unknown token is 404 for each of them, as in the observed service.
  app.all('/:token', routeOptions(app, '_wdt'), async function showToolbar (request, reply) {
    const { base, originOf, profiler, parts, editor } = app.hindsight
    const token = (request.params as { token: string }).token.replace(/\.json$/, '')
    const profile = TOKEN_PATTERN.test(token) ? await profiler.find(token) : undefined
    if (profile === undefined) throw new TokenNotFoundError(token)
    const origin = originOf(request)
    const bar = toolbarOf(profile, absoluteUrl(origin, `${base}/_profiler/${token}`), parts, editor)
    if (suffixOf(request) === '.json' || formatOf(request, reply) === 'json') return bar.data
    return sendHtml(reply, (nonces) => renderToolbar(bar, `${origin.prefix}${base}/_profiler`, nonces))
  })
}

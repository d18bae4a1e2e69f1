import type { FastifyInstance } from 'fastify'
import { absoluteUrl } from '../../http/origin.js'
import { TOKEN_PATTERN } from '../../store/profile.js'
import { renderToolbar, toolbarOf } from '../../reading/pages/toolbar/toolbar.js'
import {
  formatOf, isolateRoutes, routeOptions, sendHtml, suffixOf, TokenNotFoundError
} from '../_profiler/responses.js'

/** The debug toolbar of a stored profile, in debug mode: the toolbar alone, or its data. */
export default async function toolbarRoutes (app: FastifyInstance): Promise<void> {
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

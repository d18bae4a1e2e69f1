import type { FastifyInstance } from 'fastify'
import { noncesOf } from '../../lib/http/content-policy.js'
import { stateOf } from '../../lib/lifecycle/request-state.js'
import { representation } from '../../lib/errors/negotiate.js'
import { absoluteUrl } from '../../lib/http/origin.js'
import { TOKEN_PATTERN } from '../../lib/profiler/token.js'
import { addressesOf, toolbarAssets } from '../../lib/profiler/pages/assets.js'
import { pagePolicy } from '../../lib/profiler/pages/layout.js'
import { toolbar, toolbarOf } from '../../lib/profiler/pages/toolbar/toolbar.js'
import { keepToItself, TokenNotFoundError } from '../_profiler/answer.js'

/** The debug toolbar of a stored profile, in debug mode: the toolbar alone, or its data. */
export default async function toolbarRoutes (app: FastifyInstance): Promise<void> {
  keepToItself(app)

  const config = { name: '_wdt', profile: false, ownOriginOnly: true, debugOnly: true }
  // Any method: an unknown token is 404 for each of them, as in the observed service.
  app.all('/:token', { config }, async function showToolbar (request, reply) {
    const { base, originOf, profiler } = app.hindsight
    const segment = (request.params as { token: string }).token
    const token = segment.replace(/\.json$/, '')
    const profile = TOKEN_PATTERN.test(token) ? await profiler.find(token) : undefined
    if (profile === undefined) throw new TokenNotFoundError(token)
    const origin = originOf(request)
    const data = toolbarOf(profile, absoluteUrl(origin, `${base}/_profiler/${token}`))
    reply.header('cache-control', 'no-store').header('vary', 'accept')
    if (segment !== token || representation(request.headers.accept).type === 'json') return data
    const { script, style } = noncesOf(stateOf(reply.request))
    const path = origin.prefix + base
    const addresses = addressesOf(toolbarAssets, `${path}/_profiler`)
    return reply
      .header('content-security-policy', pagePolicy({ script, style }))
      .type('text/html; charset=utf-8')
      .send(toolbar(data, {
        style: { href: addresses.style, nonce: style },
        script: { src: addresses.script, nonce: script, data: `${path}/_wdt/${token}.json` }
      }))
  })
}

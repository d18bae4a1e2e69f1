import type { FastifyInstance } from 'fastify'
import { noncesOf } from '../../plugins/kernel/content-policy.js'
import { stateOf } from '../../plugins/kernel/request-state.js'
import { representation } from '../../plugins/diagnostics/negotiate.js'
import { absoluteUrl } from '../../plugins/kernel/origin.js'
import { TOKEN_PATTERN } from '../../plugins/profiler/token.js'
import { pagePolicy } from '../../plugins/profiler/ui/page-policy.js'
import { toolbar } from '../../plugins/profiler/ui/toolbar/component.js'
import { toolbarOf } from '../../plugins/profiler/ui/toolbar/data.js'
import { keepToItself, TokenNotFoundError } from '../_profiler/answer.js'

/** The debug toolbar of a stored profile, loaded in debug mode only: the bar alone, or its data. */
export default async function toolbarRoutes (app: FastifyInstance): Promise<void> {
  keepToItself(app)

  // Whatever the method: as in the observed service a token that is unknown is not found, and nothing is changed.
  app.all('/:token', { config: { name: '_wdt', profile: false, ownOriginOnly: true, debugOnly: true } }, async function showToolbar (request, reply) {
    const segment = (request.params as { token: string }).token
    const token = segment.replace(/\.json$/, '')
    const profile = TOKEN_PATTERN.test(token) ? await app.profiler.find(token) : undefined
    if (profile === undefined) throw new TokenNotFoundError(token)
    const data = toolbarOf(profile, absoluteUrl(app.hindsight.originOf(request), `${app.hindsight.base}/_profiler/${token}`))
    reply.header('cache-control', 'no-store').header('vary', 'accept')
    if (segment !== token || representation(request.headers.accept).type === 'json') return data
    const { script, style } = noncesOf(stateOf(reply.request))
    const nonces = { script, style }
    return reply
      .header('content-security-policy', pagePolicy(nonces))
      .type('text/html; charset=utf-8')
      .send(toolbar(data, nonces))
  })
}

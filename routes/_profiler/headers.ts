import type { FastifyInstance } from 'fastify'
import { TOKEN_PATTERN } from '../../lib/profiler/token.js'
import { routeConfig, TokenNotFoundError } from './answer.js'
import { whileStoreIsThere } from './away.js'

/** Who set, changed and removed each header of a response, as JSON; for people the Events panel shows it. */
export default async function headerRoutes (app: FastifyInstance): Promise<void> {
  app.get('/:token/headers.json', { config: routeConfig(app, '_profiler_headers') }, async (request, reply) => await whileStoreIsThere(request, reply, async () => {
    const { token } = request.params as { token: string }
    const profile = TOKEN_PATTERN.test(token) ? await app.hindsight.profiler.find(token) : undefined
    if (profile === undefined) throw new TokenNotFoundError(token)
    const { headerHistory } = await import('../../lib/profiler/panels/header-history.js')
    return { token, headers: Object.fromEntries(headerHistory(profile)) }
  }))
}

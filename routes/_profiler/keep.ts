import createError from '@fastify/error'
import type { FastifyInstance } from 'fastify'
import { readFilter } from '../../lib/profiler/search-query.js'
import { baseOf, routeConfig, TokenNotFoundError } from './answer.js'
import { fieldsOf, readForms } from './forms.js'

export const BadFieldError = createError('HINDSIGHT_BAD_FIELD', 'Invalid "%s": %s.', 400)

/** What changes the store: pinning a profile, and purging. Forms of the profiler's own pages only. */
export default async function keepRoutes (app: FastifyInstance): Promise<void> {
  await readForms(app)

  app.post('/:token/pin', { config: routeConfig(app, '_profiler_pin') }, async function pinProfile (request, reply) {
    const { pinned, back } = fieldsOf(request)
    const { token } = request.params as { token: string }
    if (pinned !== '1' && pinned !== '0') throw new BadFieldError('pinned', 'it is neither 1 nor 0')
    if (!await app.hindsight.profiler.pin(token, pinned === '1')) throw new TokenNotFoundError(token)
    // Written anew, so that it can lead nowhere else.
    const to = typeof back === 'string' ? `search?${new URLSearchParams(back).toString()}` : token
    return reply.redirect(`${baseOf(request)}/${to}`, 303)
  })

  app.post('/purge', { config: routeConfig(app, '_profiler_purge') }, async function purgeProfiles (request, reply) {
    const { form_token: _, ...fields } = fieldsOf(request)
    await app.hindsight.profiler.purge(readFilter(fields))
    return reply.redirect(`${baseOf(request)}/`, 303)
  })
}

import createError from '@fastify/error'
import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { readFilter } from '../../plugins/profiler/search-query.js'
import { baseOf, routeConfig, TokenNotFoundError } from './answer.js'

const ForeignFormError = createError('HINDSIGHT_FOREIGN_FORM', 'The form did not come from a page of the profiler, or that is too old: load the page again.', 403)
export const BadFieldError = createError('HINDSIGHT_BAD_FIELD', 'Invalid "%s": %s.', 400)

const FORM = 'application/x-www-form-urlencoded'
const BODY_LIMIT = 16 * 1024

/** What changes the store: pinning a profile, and purging. Forms of the profiler's own pages only. */
export default async function keepRoutes (app: FastifyInstance): Promise<void> {
  await readForms(app)

  app.post('/:token/pin', { config: routeConfig(app, '_profiler_pin') }, async function pinProfile (request, reply) {
    const { pinned, back } = fieldsOf(request)
    const { token } = request.params as { token: string }
    if (pinned !== '1' && pinned !== '0') throw new BadFieldError('pinned', 'it is neither 1 nor 0')
    if (!await app.profiler.pin(token, pinned === '1')) throw new TokenNotFoundError(token)
    // Written anew, so that it can lead nowhere else.
    const to = typeof back === 'string' ? `search?${new URLSearchParams(back).toString()}` : token
    return reply.redirect(`${baseOf(request)}/${to}`, 303)
  })

  app.post('/purge', { config: routeConfig(app, '_profiler_purge') }, async function purgeProfiles (request, reply) {
    const { form_token: _, ...fields } = fieldsOf(request)
    await app.profiler.purge(readFilter(fields))
    return reply.redirect(`${baseOf(request)}/`, 303)
  })
}

/** Lets the routes of a scope read the profiler's forms. */
export async function readForms (app: FastifyInstance): Promise<void> {
  // No other route gets this parser; one that the application has may read forms in a way of its own.
  if (app.hasContentTypeParser(FORM)) app.removeContentTypeParser(FORM)
  await app.register(formbody, { bodyLimit: BODY_LIMIT })
}

/** The fields of a form of the profiler's own pages; raises where it came from elsewhere. */
export function fieldsOf (request: FastifyRequest): Record<string, unknown> {
  const { body } = request
  const fields = typeof body === 'object' && body !== null ? body as Record<string, unknown> : {}
  if (!request.server.profiler.formTokens.accepts(fields.form_token)) throw new ForeignFormError()
  return fields
}

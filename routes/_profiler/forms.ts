import createError from '@fastify/error'
import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyRequest } from 'fastify'

const ForeignFormError = createError('HINDSIGHT_FOREIGN_FORM', 'The form did not come from a page of the profiler, or that is too old: load the page again.', 403)

const FORM = 'application/x-www-form-urlencoded'
const BODY_LIMIT = 16 * 1024

/** Lets the routes of a scope read forms: no other route gets this parser, and one that the application has may read them in a way of its own. */
export async function readForms (app: FastifyInstance): Promise<void> {
  if (app.hasContentTypeParser(FORM)) app.removeContentTypeParser(FORM)
  await app.register(formbody, { bodyLimit: BODY_LIMIT })
}

/** The fields of a form of the profiler's own pages; any other is refused. */
export function fieldsOf (request: FastifyRequest): Record<string, unknown> {
  const { body } = request
  const fields = typeof body === 'object' && body !== null ? body as Record<string, unknown> : {}
  if (!request.server.hindsight.profiler.formTokens.accepts(fields.form_token)) throw new ForeignFormError()
  return fields
}

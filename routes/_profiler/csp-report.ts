import createError from '@fastify/error'
import type { FastifyInstance } from 'fastify'
import { routeOptions, TokenNotFoundError, tokenOf } from './responses.js'

const BadReportError =
  createError('HINDSIGHT_BAD_REPORT', 'The body is not a report of a Content Security Policy.', 400)

const TYPE = 'application/csp-report'
const BODY_LIMIT = 64 * 1024

/** Attaches the reports of pages whose policy was violated to the profiles of these pages; in debug mode only. */
export default async function reportRoutes (app: FastifyInstance): Promise<void> {
  const { hindsight } = app
  if (!hindsight.debug) return

  // Replaces a parser of the application.
  if (app.hasContentTypeParser(TYPE)) app.removeContentTypeParser(TYPE)
  app.addContentTypeParser(TYPE, { parseAs: 'string' }, app.getDefaultJsonParser('error', 'error'))
  const options = { ...routeOptions(app, '_profiler_csp_report'), bodyLimit: BODY_LIMIT }
  app.post('/csp-report/:token', options, async function attachReport (request, reply) {
    const { readReport, withViolation } = await import('../../lib/parts/csp/index.js')
    const { mask, routeTable } = hindsight
    const violation = readReport(request.body, (url) => mask.withParams(routeTable.paramsOf(url, request)).url(url))
    if (violation === null) throw new BadReportError()
    const token = tokenOf(request)
    const isAmended = await hindsight.profiler.amend(token, (profile) => withViolation(profile, violation))
    if (!isAmended) throw new TokenNotFoundError(token)
    return reply.code(204).send()
  })
}

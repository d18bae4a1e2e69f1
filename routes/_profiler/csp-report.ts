import { setTimeout as sleep } from 'node:timers/promises'
import createError from '@fastify/error'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { TOKEN_PATTERN } from '../../lib/profiler/token.js'
import { routeOptions, TokenNotFoundError, tokenOf } from './responses.js'

const BadReportError =
  createError('HINDSIGHT_BAD_REPORT', 'The body is not a report of a Content Security Policy.', 400)
const ForeignReportError =
  createError('HINDSIGHT_FOREIGN_REPORT', 'Reports are accepted from pages of this origin only.', 403)
const TooManyReportsError =
  createError('HINDSIGHT_TOO_MANY_REPORTS', 'At most %s reports may wait for their profiles at once.', 429)

const TYPE = 'application/csp-report'
const BODY_LIMIT = 64 * 1024
/** A page may report before its profile is stored: milliseconds between two attempts to find it. */
const INTERVAL = 100
const MAX_ATTEMPTS = 20
const MAX_WAITING = 200
/** Destinations of requests for pages (Fetch Metadata, section 2.1). */
const DOCUMENTS = new Set(['document', 'iframe', 'frame'])

/** Attaches the reports of pages whose policy was violated to the profiles of these pages; in debug mode only. */
export default async function reportRoutes (app: FastifyInstance): Promise<void> {
  const { hindsight } = app
  if (!hindsight.debug) return
  const base = app.prefix.replace(/\/$/, '')
  let waiting = 0
  const closing = new AbortController()
  // One after the other, so that none overwrites another.
  let attached: Promise<unknown> = Promise.resolve()
  app.addHook('preClose', async function endWaiting () {
    closing.abort()
  })

  hindsight.cspReportUri = (request) => {
    const destination = String(request.headers['sec-fetch-dest'])
    if (!DOCUMENTS.has(destination) || !hindsight.mayReadDebug(request)) return null
    const profile = hindsight.profiles?.profileOf(request) ?? null
    return profile && `${hindsight.originOf(request).prefix}${base}/csp-report/${profile.token}`
  }

  async function attach (token: string, body: unknown): Promise<void> {
    const { readReport, withViolation } = await import('../../lib/profiler/csp/csp.js')
    const violation = readReport(body, hindsight.mask)
    if (violation === null) throw new BadReportError()
    if (!TOKEN_PATTERN.test(token)) throw new TokenNotFoundError(token)
    for (let attempt = 0; attempt < MAX_ATTEMPTS && !closing.signal.aborted; attempt++) {
      const amended = attached.then(async () =>
        await hindsight.profiler.amend(token, (profile) => withViolation(profile, violation)))
      attached = amended.catch(() => {})
      if (await amended) return
      await sleep(INTERVAL)
    }
    throw new TokenNotFoundError(token)
  }

  // Of an application.
  if (app.hasContentTypeParser(TYPE)) app.removeContentTypeParser(TYPE)
  app.addContentTypeParser(TYPE, { parseAs: 'string' }, app.getDefaultJsonParser('error', 'error'))
  const options = { ...routeOptions(app, '_profiler_csp_report'), bodyLimit: BODY_LIMIT }
  app.post('/csp-report/:token', options, async function takeReport (request, reply) {
    if (isForeign(request)) throw new ForeignReportError()
    if (waiting >= MAX_WAITING) throw new TooManyReportsError(MAX_WAITING)
    waiting++
    await attach(tokenOf(request), request.body).finally(() => { waiting-- })
    return reply.code(204).send()
  })
}

// The hook of the scope refuses other sites by `Sec-Fetch-Site`; browsers without that send `Origin`.
function isForeign (request: FastifyRequest): boolean {
  const { origin, 'sec-fetch-site': site } = request.headers
  if (site !== undefined || origin === undefined) return false
  const { scheme, authority } = request.server.hindsight.originOf(request)
  return origin !== `${scheme}://${authority}`
}

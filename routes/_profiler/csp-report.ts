import createError from '@fastify/error'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { RateLimiterMemory } from 'rate-limiter-flexible'
import { ReportInbox } from '../../lib/profiler/csp/inbox.js'
import { TOKEN_PATTERN } from '../../lib/profiler/token.js'
import { routeOptions, TokenNotFoundError, tokenOf } from './responses.js'

const BadReportError =
  createError('HINDSIGHT_BAD_REPORT', 'The body is not a report of a Content Security Policy: %s.', 400)
const ForeignReportError =
  createError('HINDSIGHT_FOREIGN_REPORT', 'Reports are accepted from pages of this origin only.', 403)
const TooManyReportsError =
  createError('HINDSIGHT_TOO_MANY_REPORTS', 'Too many reports were sent in the last minute.', 429)

const TYPES = ['application/csp-report', 'application/reports+json']
const BODY_LIMIT = 64 * 1024
/** Messages of one client in a minute: a page sends one for each element that its policy refuses. */
const MAX_MESSAGES = 300
/** Destinations of requests for pages (Fetch Metadata, section 2.1). */
const DOCUMENTS = new Set(['document', 'iframe', 'frame'])

/** Attaches the reports of pages whose policy was violated to the profiles of these pages; in debug mode only. */
export default async function reportRoutes (app: FastifyInstance): Promise<void> {
  const { hindsight } = app
  if (!hindsight.debug) return
  // Reports are JSON: the parser for the forms of the other routes is not for them.
  app.removeContentTypeParser('application/x-www-form-urlencoded')
  const base = app.prefix.replace(/\/$/, '')
  const inbox = new ReportInbox(hindsight.profiler)
  let limiter: RateLimiterMemory | null = null
  // This hook runs before that of the profiler, which was added earlier.
  app.addHook('onClose', async function attachReports () {
    await inbox.close()
  })
  hindsight.cspReports = { uriOf }

  function uriOf (request: FastifyRequest): string | null {
    const destination = String(request.headers['sec-fetch-dest'])
    if (!DOCUMENTS.has(destination) || !hindsight.mayReadDebug(request)) return null
    const profile = hindsight.profiles?.profileOf(request) ?? null
    if (profile === null) return null
    inbox.expect(profile.token)
    return `${hindsight.originOf(request).prefix}${base}/csp-report/${profile.token}`
  }

  // The package has a module for each of many stores: it is loaded with the first report.
  async function limit (request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { RateLimiterMemory, RateLimiterRes } = await import('rate-limiter-flexible')
    limiter ??= new RateLimiterMemory({ keyPrefix: 'csp-report', points: MAX_MESSAGES, duration: 60 })
    await limiter.consume(hindsight.originOf(request).ip).catch((refused: unknown) => {
      if (!(refused instanceof RateLimiterRes)) throw refused
      reply.header('retry-after', Math.max(1, Math.ceil(refused.msBeforeNext / 1_000)))
      throw new TooManyReportsError()
    })
  }

  for (const type of TYPES) {
    if (app.hasContentTypeParser(type)) app.removeContentTypeParser(type)
    app.addContentTypeParser(type, { parseAs: 'string', bodyLimit: BODY_LIMIT }, (_request, body, done) => {
      done(null, body)
    })
  }

  const options = { ...routeOptions(app, '_profiler_csp_report'), bodyLimit: BODY_LIMIT }
  app.post('/csp-report/:token', options, async function takeReport (request, reply) {
    if (isForeign(request)) throw new ForeignReportError()
    await limit(request, reply)
    const token = tokenOf(request)
    if (!TOKEN_PATTERN.test(token) || !await inbox.has(token)) throw new TokenNotFoundError(token)
    const { readReports } = await import('../../lib/profiler/csp/reports.js')
    const violations = readReports(parsed(request.body), hindsight.mask)
    if (violations === null) throw new BadReportError('it has no violation with a directive')
    if (!inbox.add(token, violations)) throw new TooManyReportsError()
    return reply.code(204).send()
  })
}

function parsed (body: unknown): unknown {
  if (typeof body !== 'string') throw new BadReportError(`its type is none of ${TYPES.join(' and ')}`)
  try {
    return JSON.parse(body)
  } catch {
    throw new BadReportError('it is not JSON')
  }
}

// The hook of the scope refuses other sites by `Sec-Fetch-Site`; browsers without that send `Origin`.
function isForeign (request: FastifyRequest): boolean {
  const { origin, 'sec-fetch-site': site } = request.headers
  if (site !== undefined || origin === undefined) return false
  const { scheme, authority } = request.server.hindsight.originOf(request)
  return origin !== `${scheme}://${authority}`
}

import createError from '@fastify/error'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { checkOptions, ROUTE_OPTIONS, type OptionSchema } from '../../check-options.js'
import { internalHook } from '../../recording/hooks.js'
import { traceOf } from '../../recording/trace.js'
import type { Recording } from '../../recording/recording.js'
import type { HindsightOptions, QuerySettings } from '../../options.js'
import { routeName } from '../../routing/route-table.js'
import { formatCount } from '../../view/text.js'
import type { QueryGroup } from './groups.js'
import type { Finding } from './recorded-query.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    hindsight?: QuerySettings
  }
}

const QueryBudgetError = createError('HINDSIGHT_QUERY_BUDGET', '%s', 500)

const SCHEMAS = { hindsight: ROUTE_OPTIONS.hindsight as OptionSchema }

interface Queries { count: number, findings: Finding[], groups: QueryGroup[] }
type Sent = (error: Error | null, payload?: unknown) => void

/** Checks the responses of routes with a budget of queries; other routes have no further hook. */
export function checkBudgets (app: FastifyInstance, setting: HindsightOptions['queryBudget'] = 'fail'): void {
  app.addHook('onRoute', function addBudget (route) {
    const { hindsight } = route.config ?? {}
    if (hindsight === undefined) return
    try {
      checkOptions({ hindsight }, SCHEMAS, 'config.')
    } catch (error) {
      throw new Error(`Route "${routeName(route)}": ${(error as Error).message}`)
    }
    // The HEAD route that Fastify adds has the hooks of its GET route.
    const hooks = new Set([checkBudget, ...[route.onSend ?? []].flat()])
    if (hindsight.maxQueries !== undefined) route.onSend = [...hooks]
  })

  const checkBudget = internalHook(function checkBudget (
    request: FastifyRequest, _reply: FastifyReply, payload: unknown, done: Sent
  ): void {
    const { recording } = traceOf(request)
    const { maxQueries = Infinity } = request.routeOptions.config.hindsight ?? {}
    // The response about an error is sent in any case.
    if (recording.failure !== null) return done(null, payload)
    describe(request, recording, maxQueries).then((problem) => {
      if (problem === null) return done(null, payload)
      if (setting === 'warn') {
        request.log.warn({ channel: 'profiler' }, problem)
        return done(null, payload)
      }
      const { destroy } = Object(payload) as { destroy?: unknown }
      if (typeof destroy === 'function') destroy.call(payload)
      // The page of this error is the first response: it is not about a hook of the application.
      recording.sending.restart()
      done(new QueryBudgetError(problem))
    }, done)
  })
}

/** One sentence, and what explains it; null where some of the queries are parts of others, and the rest are few. */
async function describe (
  request: FastifyRequest, recording: Recording, maxQueries: number
): Promise<string | null> {
  // They are loaded already, but in production.
  const [{ collectedBy }, { queryPlace }] = await Promise.all([import('../collect.js'), import('./trace.js')])
  const { count = 0, findings = [], groups = [] } = (collectedBy(recording, 'queries') ?? {}) as Partial<Queries>
  if (count <= maxQueries) return null
  const causes = findings.filter(({ kind }) => /^(?:n\+1|repeated|duplicates)$/.test(kind)).map(({ text }) => text)
  const [most] = groups.toSorted((a, b) => b.count - a.count)
  if (causes.length === 0 && most !== undefined) {
    const places = most.sources.map((source) => queryPlace({ source })).join(' and ')
    causes.push(`Most often: \`${most.shape}\`, ${formatCount(most.count, 'time')} from ${places}`)
  }
  const sent = `${request.method} ${request.routeOptions.url} sent ${formatCount(count, 'query', 'queries')}`
  return [`${sent}, and its budget is ${maxQueries}`, ...causes].join('. ')
}

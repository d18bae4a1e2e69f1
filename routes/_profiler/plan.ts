import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { addressOf, dataOf, listOf } from '../../lib/parts/read.js'
import type { RecordedQuery } from '../../lib/parts/queries/recorded-query.js'
import { layout } from '../../lib/reading/pages/layout.js'
import { html } from '../../lib/view/html.js'
import { BadFieldError, formatOf, formOf, profileOf, routeOptions, sendPage } from './responses.js'

/** Shows how a database runs a recorded query, in debug mode only: no role permits it in production. */
export default async function planRoutes (app: FastifyInstance): Promise<void> {
  if (app.hindsight.debug) app.post('/:token/plan', routeOptions(app, '_profiler_plan'), explainQuery)
}

async function explainQuery (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { explain, planMarkup } = await import('../../lib/parts/queries/plan.js')
  const { runnerOf } = await import('../../lib/parts/queries/runners.js')
  const { query: number } = await formOf(request)
  const profile = await profileOf(request)
  const { token } = profile
  const queries = listOf(dataOf(profile, 'queries').queries) as unknown as RecordedQuery[]
  const index = Number(number) - 1
  const query = queries[index]
  if (query === undefined) throw new BadFieldError('query', `the profile has the queries 1 to ${queries.length}`)
  const { system, statement } = query
  const plan = await explain(query, runnerOf(token, index))
  if (formatOf(request, reply) === 'json') return { token, query: index + 1, system, statement, ...plan }
  return await sendPage(request, reply, (options) => {
    const address = `${options.base}/${token}${addressOf('queries', `query-${index + 1}`)}`
    return layout(options, `Plan of query ${index + 1}`, html`<main id="content" class="replay">
<h1>Plan</h1>
<p class="note">This is how the database would run <a href="${address}">query ${index + 1}</a> of the profile
<a href="${options.base}/${token}">${token}</a> now. It did not run it.</p>
!${planMarkup(query, plan)}
</main>`)
  })
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { LastSuccess } from '../../lib/profiler/compare/last-success.js'
import type { Profile } from '../../lib/profiler/profile.js'
import { baseOf, formatOf, profileOf, routeOptions } from './responses.js'

/** How a request differs from the last success of its route: a part of other pages, or JSON. */
export default async function differencesRoutes (app: FastifyInstance): Promise<void> {
  for (const suffix of ['', '.json']) {
    app.get(`/:token/differences${suffix}`, routeOptions(app, '_profiler_differences'), sendDifferences)
  }
}

async function sendDifferences (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { profiler, debug } = request.server.hindsight
  const profile = await profileOf(request)
  const { lastSuccess, renderDifferences } = await import('../../lib/profiler/compare/last-success.js')
  const found = await lastSuccess(profiler, profile)
  if (formatOf(request, reply) === 'json') {
    const { summary = null, differences = [] } = found ?? {}
    return { token: profile.token, lastSuccess: summary, differences }
  }
  return reply.type('text/html; charset=utf-8').send(renderDifferences(found, baseOf(request), debug))
}

/** The last success of the route of a failure; null for a success, or where none is stored. */
export async function successOf (request: FastifyRequest, profile: Profile): Promise<LastSuccess | null> {
  const { hasFailed, lastSuccess } = await import('../../lib/profiler/compare/last-success.js')
  return hasFailed(profile) ? await lastSuccess(request.server.hindsight.profiler, profile) : null
}

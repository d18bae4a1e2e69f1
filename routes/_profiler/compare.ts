import createError from '@fastify/error'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readFilter } from '../../lib/profiler/search-query.js'
import { baseOf, routeConfig, sendPage, wantsJson } from './answer.js'
import { whileStoreIsThere } from './away.js'
import { previousToken, profileOf } from './find.js'

const BadChoiceError = createError('HINDSIGHT_BAD_CHOICE', 'Two profiles can be compared, %s given: /_profiler/compare?profile=3fa94c&profile=0b11e2.', 400)

/** Two profiles side by side, as a page or as JSON: by their tokens, by the boxes of the list, or one and the one before it. */
export default async function compareRoutes (app: FastifyInstance): Promise<void> {
  app.get('/compare', { config: routeConfig(app, '_profiler_compare_chosen') }, async (request, reply) => await whileStoreIsThere(request, reply, () => compareChosen(request, reply)))
  app.get('/:token/compare/previous', { config: routeConfig(app, '_profiler_compare_previous') }, async (request, reply) => await whileStoreIsThere(request, reply, () => comparePrevious(request, reply)))
  app.get('/:token/compare/:other', { config: routeConfig(app, '_profiler_compare') }, async (request, reply) => await whileStoreIsThere(request, reply, () => compareTwo(request, reply)))
}

async function compareChosen (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { profile } = request.query as { profile?: unknown }
  const tokens = [profile ?? []].flat().map(String)
  const [one = '', other = ''] = tokens
  if (tokens.length !== 2) throw new BadChoiceError(tokens.length === 1 ? 'one was' : `${tokens.length} were`)
  const { inOrder } = await import('../../lib/profiler/compare/compare.js')
  const [older, newer] = inOrder(await profileOf(request.server, one), await profileOf(request.server, other))
  return reply.redirect(`${baseOf(request)}/${older.token}/compare/${newer.token}`, 302)
}

async function comparePrevious (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { token } = request.params as { token: string }
  const profile = await profileOf(request.server, token)
  const previous = await previousToken(request.server, profile, readFilter(request.query as Record<string, unknown>))
  return reply.redirect(`${baseOf(request)}/${previous}/compare/${profile.token}${wantsJson(request, reply) ? '.json' : ''}`, 302)
}

async function compareTwo (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { token, other } = request.params as { token: string, other: string }
  const second = other.replace(/\.json$/, '')
  const { compareProfiles } = await import('../../lib/profiler/compare/compare.js')
  const [a, b] = await Promise.all([profileOf(request.server, token), profileOf(request.server, second)])
  const comparison = compareProfiles(a, b)
  if (second !== other || wantsJson(request, reply)) return comparison
  const { comparePage } = await import('../../lib/profiler/pages/compare.js')
  return await sendPage(request, reply, (options) => comparePage(comparison, options))
}

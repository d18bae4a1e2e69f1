import createError from '@fastify/error'
import type { FastifyInstance } from 'fastify'
import type { Profile } from '../../lib/profiler/profile.js'
import type { Criteria } from '../../lib/profiler/storage/criteria.js'
import { TokenNotFoundError } from './answer.js'

const NoPreviousError = createError('HINDSIGHT_NO_PREVIOUS', 'No profile of the same route is stored that is older than "%s"%s.', 404)

/** The profile of a token as it stands in a path; raises where there is none. */
export async function profileOf ({ hindsight: { profiler } }: FastifyInstance, token: string): Promise<Profile> {
  const profile = await profiler.find(token)
  if (profile === undefined) throw new TokenNotFoundError(token)
  return profile
}

/** The newest profile of the same route that is older and fits; raises where there is none. */
export async function previousToken ({ hindsight: { profiler } }: FastifyInstance, profile: Profile, criteria: Criteria): Promise<string> {
  const { previousOf } = await import('../../lib/profiler/compare/previous.js')
  const found = await previousOf(profile, criteria, (options) => profiler.search(options))
  if (found === undefined) throw new NoPreviousError(profile.token, Object.keys(criteria).length === 0 ? '' : ' and fits')
  return found.token
}

import { previousOf } from '../../lib/profiler/compare/previous.js'
import type { Profile } from '../../lib/profiler/profile.js'
import type { ProfileStorage } from '../../lib/profiler/storage/storage.js'
import { CommandError, type Command } from '../command.js'
import { comparisonLines } from '../comparison-lines.js'
import { readFlags } from '../criteria.js'
import { profileOf } from '../find.js'

/** Puts two profiles side by side, or one and the one before it. */
export const compareCommand: Command = {
  name: 'compare',
  args: '<a | previous> <b>',
  what: 'tell how two profiles differ; previous: the newest older one of the same route that fits the criteria',
  criteria: true,
  arity: [2, 2],
  async run ({ args: [one = '', other = ''], flags, terminal, open }) {
    const { criteria } = readFlags(flags)
    for (const flag of ['limit', 'cursor']) if (flags[flag] !== undefined) throw new CommandError(`--${flag}: there are no pages here.`, 2)
    if (one !== 'previous' && Object.keys(criteria).length > 0) throw new CommandError('Criteria belong to "previous": fastify-hindsight compare previous <b> --error 0.', 2)
    const store = await open()
    const b = await profileOf(store, other)
    const a = one === 'previous' ? await previous(store, b, criteria) : await profileOf(store, one)
    const { compareProfiles } = await import('../../lib/profiler/compare/compare.js')
    const comparison = compareProfiles(a, b)
    if (flags.json === true) return await terminal.json(comparison, 2)
    for (const line of comparisonLines(comparison, terminal)) await terminal.line(line)
  }
}

async function previous (store: ProfileStorage, profile: Profile, criteria: object): Promise<Profile> {
  const found = await previousOf(profile, criteria, async (options) => await store.search(options))
  if (found === undefined) throw new CommandError(`No profile of the same route is stored that is older than "${profile.token}"${Object.keys(criteria).length === 0 ? '' : ' and fits'}.`)
  return await profileOf(store, found.token)
}

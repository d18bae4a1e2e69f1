import { findProfile } from '../store/follow.js'
import type { Profile } from '../store/profile.js'
import { CRITERIA as FIELDS, readSearch, type SearchQuery } from '../store/search-query.js'
import type { CommandContext, CommandOptions, Flags } from './command.js'

export const CRITERIA: CommandOptions = criteriaOptions()

function criteriaOptions (): CommandOptions {
  const options: Record<string, CommandOptions[string]> = {}
  for (const [name, { help }] of Object.entries(FIELDS)) {
    if (help !== undefined) options[name] = { type: name === 'issues' ? 'boolean' : 'string', help }
  }
  return options
}

export const SEARCH: CommandOptions = {
  ...CRITERIA,
  sort: { type: 'string', help: 'time, duration or status; -time (descending) by default' },
  limit: { type: 'string', help: 'how many profiles; 50 by default' },
  cursor: { type: 'string', help: 'the cursor of the previous page' }
}

const MAX_LIMIT = 1_000_000

export function searchOf (flags: Flags): SearchQuery {
  const fields = Object.entries(flags).filter(([name]) => name in SEARCH)
  const texts = fields.map(([name, value]) => [name, value === true ? 'yes' : value])
  return readSearch(Object.fromEntries(texts), MAX_LIMIT)
}

/** The profile of a token in the store, or for `latest` the newest that matches the criteria of the flags. */
export async function storedProfile (
  { flags, open }: Pick<CommandContext, 'flags' | 'open'>, wanted = ''
): Promise<Profile> {
  return await findProfile(await open(), wanted, searchOf(flags).criteria)
}

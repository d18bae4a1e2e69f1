import { CRITERIA, readSearch, type SearchQuery } from '../lib/profiler/search-query.js'
import type { Flags } from './command.js'
import { CommandError } from './command.js'

/** The flags that say what is looked for: `--min-duration` is the criterion `min_duration`. */
export const CRITERIA_FLAGS = Object.fromEntries([...CRITERIA, 'limit', 'cursor']
  .map((name) => [flagOf(name), { type: 'string' as const }]))

/** What the criteria are, for the help. */
export const CRITERIA_HELP: Readonly<Record<string, string>> = {
  url: 'text that the URL contains, in any case',
  status: '404, or a class such as 4xx',
  method: 'GET, POST, …',
  route: 'name of the route; * for any part of it',
  exception: 'text in name or message of any exception of the chain',
  ip: 'address of the client, or a range such as 10.0.0.0/8',
  'min-duration': 'milliseconds at least',
  from: 'time in ISO 8601 (UTC where it has no zone)',
  until: 'time in ISO 8601',
  error: '1: failures only; 0: successes only',
  parent: 'token of the request that caused it',
  token: 'token',
  limit: 'how many at most; 50 by default',
  cursor: 'where the page before ended'
}

const MAX_LIMIT = 1_000_000

/** Reads a search from flags; a mistake is told with the name of the flag. */
export function readFlags (flags: Flags): SearchQuery {
  const fields = Object.fromEntries([...CRITERIA, 'limit', 'cursor'].map((name) => [name, flags[flagOf(name)]]))
  try {
    return readSearch(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)), MAX_LIMIT)
  } catch (error) {
    throw new CommandError((error as Error).message.replace(/"([a-z_]+)"/, (_, name: string) => `--${flagOf(name)}`), 2)
  }
}

function flagOf (criterion: string): string {
  return criterion.replace('_', '-')
}

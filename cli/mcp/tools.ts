import { profileMarkdown } from '../../lib/profiler/markdown/profile-markdown.js'
import type { Profile } from '../../lib/profiler/profile.js'
import { CRITERIA, readSearch } from '../../lib/profiler/search-query.js'
import type { ProfileStorage } from '../../lib/profiler/storage/storage.js'
import type { ProfileSummary } from '../../lib/profiler/summary.js'
import { TOKEN_PATTERN } from '../../lib/profiler/token.js'
import { code, escapeMarkdown, fence } from '../../lib/view/markdown.js'
import { cut } from '../../lib/view/visible.js'
import { CommandError } from '../command.js'
import { CRITERIA_HELP } from '../criteria.js'
import { counted } from '../../lib/view/counted.js'
import { compareMarkdown } from './compare.js'

type Arguments = Readonly<Record<string, unknown>>

/** What a model may ask of a store; all of it only reads. */
export interface ProfileTool {
  name: string
  title: string
  description: string
  /** Of its arguments. */
  schema: { type: 'object', properties: Record<string, object>, required?: string[], additionalProperties: false }
  run (store: ProfileStorage, given: Arguments): Promise<string>
}

const MAX_LIMIT = 100
const DEFAULT_LIMIT = 20
const MAX_PART = 20_000
const text = { type: 'string', maxLength: 500 }
const token = { type: 'string', pattern: '^[0-9a-f]{6}$', description: 'The token of a profile: six hexadecimal digits.' }
const error = { type: 'boolean', description: 'true: failures only; false: successes only.' }
const page = {
  limit: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, description: `How many at most; ${DEFAULT_LIMIT} by default.` },
  cursor: { ...text, description: 'Where the page before ended.' }
}
const TYPES: Readonly<Record<string, object>> = { error, token, parent: token, min_duration: { type: 'number', minimum: 0 }, status: { type: ['string', 'integer'] } }
const criteria = Object.fromEntries(CRITERIA.map((name) => [name, { description: CRITERIA_HELP[name.replace('_', '-')] ?? name, ...TYPES[name] ?? text }]))

/** The tools in the order in which they are told. */
export const TOOLS: readonly ProfileTool[] = [
  {
    name: 'list_profiles',
    title: 'List profiles',
    description: 'Lists the newest requests that the service has handled, newest first: token, time, status, method, URL, duration, error.',
    schema: { type: 'object', properties: { error, ...page }, additionalProperties: false },
    run: async (store, given) => await search(store, given)
  },
  {
    name: 'search_profiles',
    title: 'Search profiles',
    description: 'Lists the requests that fit all of the given criteria, newest first.',
    schema: { type: 'object', properties: { ...criteria, ...page }, additionalProperties: false },
    run: async (store, given) => await search(store, given)
  },
  {
    name: 'read_profile',
    title: 'Read a profile',
    description: 'Tells all of one request in a page: the error with the source around it, the request, the last log lines, what each listener did, hints. Without a token the newest, with "error": true the newest failure. With "part" the data of one part as JSON.',
    schema: {
      type: 'object',
      properties: { token, error, part: { ...text, description: 'exceptions, logs, events, or the name of a collector such as request, response, security or http-client.' } },
      additionalProperties: false
    },
    run: async (store, { token, error, part }) => {
      const profile = await found(store, token, error)
      return part === undefined ? profileMarkdown(profile) : partOf(profile, String(part))
    }
  },
  {
    name: 'compare_profiles',
    title: 'Compare two profiles',
    description: 'Tells what differs between two requests, for instance one that failed and one that did not: facts, headers, what the listeners did; then both.',
    schema: { type: 'object', properties: { left: token, right: token }, required: ['left', 'right'], additionalProperties: false },
    run: async (store, { left, right }) => compareMarkdown(await found(store, left), await found(store, right))
  }
]

async function search (store: ProfileStorage, given: Arguments): Promise<string> {
  const fields = Object.fromEntries(Object.entries({ limit: DEFAULT_LIMIT, ...given }).map(([name, value]) => [name, typeof value === 'boolean' ? (value ? '1' : '0') : String(value)]))
  const { profiles, next } = await store.search(readSearch(fields, MAX_LIMIT))
  if (profiles.length === 0) return 'No stored profile fits.'
  return [
    '| token | time | status | method | URL | ms | route | error |\n|---|---|---|---|---|---|---|---|',
    ...profiles.map(row),
    ...(next === null ? [] : [`\nThere are more: cursor ${code(next)}`])
  ].join('\n')
}

function row ({ token, time, status, method, url, duration, route, exception, warnings }: ProfileSummary): string {
  const remark = exception ?? (warnings > 0 ? `${counted(warnings, 'warning')} logged` : '')
  return `| ${[token, time, status, cut(method, 20), cut(url, 200), Math.round(duration * 100) / 100, cut(route ?? '', 100), cut(remark, 200)].map((cell) => escapeMarkdown(String(cell))).join(' | ')} |`
}

async function found (store: ProfileStorage, token: unknown, error?: unknown): Promise<Profile> {
  const wanted = token ?? (await store.search({ criteria: typeof error === 'boolean' ? { error } : {}, limit: 1 })).profiles[0]?.token
  if (wanted === undefined) throw new CommandError('No stored profile fits.')
  const profile = TOKEN_PATTERN.test(String(wanted)) ? await store.get(String(wanted)) : undefined
  if (profile === undefined) throw new CommandError(`Token "${String(wanted)}" was not found.`)
  return profile
}

function partOf (profile: Profile, name: string): string {
  const known = { exceptions: profile.exceptions, logs: profile.logs, events: profile.events, ...profile.collectors }
  if (!Object.hasOwn(known, name)) throw new CommandError(`Part "${cut(name, 100)}" was not found; this profile has: ${Object.keys(known).join(', ')}.`)
  return fence(cut(JSON.stringify(known[name as keyof typeof known], null, 1), MAX_PART), 'json')
}

import { compareProfiles } from '../lib/profiler/compare/compare.js'
import { profileMarkdown } from '../lib/profiler/markdown/profile-markdown.js'
import type { Profile } from '../lib/profiler/profile.js'
import { readSearch } from '../lib/profiler/search-query.js'
import type { ProfileStorage } from '../lib/profiler/storage/storage.js'
import type { ProfileSummary } from '../lib/profiler/summary.js'
import { TOKEN_PATTERN } from '../lib/profiler/token.js'
import { counted } from '../lib/view/counted.js'
import { code, escapeMarkdown, fence } from '../lib/view/markdown.js'
import { cut } from '../lib/view/visible.js'
import { CommandError, CRITERIA_HELP, nothingFound } from './command.js'
import { partOf } from './commands/profiles.js'

type Arguments = Readonly<Record<string, unknown>>

/** A tool for models. It only reads. */
export interface ProfileTool {
  name: string
  title: string
  description: string
  /** The JSON schema of its arguments. */
  schema: { type: 'object', properties: Record<string, object>, required?: string[], additionalProperties: false }
  run: (store: ProfileStorage, args: Arguments) => Promise<string>
}

const MAX_LIMIT = 100
const DEFAULT_LIMIT = 20
/** Characters. */
const MAX_PART = 20_000
const MAX_VALUE = 200
const MAX_DIFFERENCES = 40

const text = { type: 'string', maxLength: 500 }
const token = { type: 'string', pattern: TOKEN_PATTERN.source, description: 'Six hexadecimal digits.' }
const error = { type: 'boolean', description: 'true: failures only; false: successes only.' }
const pages = {
  limit: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, description: `${DEFAULT_LIMIT} by default.` },
  cursor: { ...text, description: 'Of the previous page.' }
}
const status = { type: ['string', 'integer'] }
const TYPES: Readonly<Record<string, object>> = {
  error, token, parent: token, min_duration: { type: 'number', minimum: 0 }, status
}
const criteria = Object.fromEntries([...CRITERIA_HELP].map(([name, description]) =>
  [name, { description, ...TYPES[name] ?? text }]))
const part = {
  ...text,
  description: 'exceptions, logs, events, or the name of a collector such as request, security or http-client.'
}

/** The tools in the order of their list. */
export const TOOLS: readonly ProfileTool[] = [
  {
    name: 'list_profiles',
    title: 'List profiles',
    description: 'Lists the newest requests of the service: token, time, status, method, URL, duration, error.',
    schema: { type: 'object', properties: { error, ...pages }, additionalProperties: false },
    run: search
  },
  {
    name: 'search_profiles',
    title: 'Search profiles',
    description: 'Lists the requests that match all criteria, newest first.',
    schema: { type: 'object', properties: { ...criteria, ...pages }, additionalProperties: false },
    run: search
  },
  {
    name: 'read_profile',
    title: 'Read a profile',
    description: 'One request in a page: the error with the source around it, the request, the last log lines, the ' +
      'changes of each listener, hints. Without a token it is the newest, with "error": true the newest failure. ' +
      'With "part", the data of one part as JSON.',
    schema: { type: 'object', properties: { token, error, part }, additionalProperties: false },
    run: async (store, { token, error, part }) => {
      const profile = await profileOf(store, token, error)
      if (part === undefined) return profileMarkdown(profile)
      return fence(cut(JSON.stringify(partOf(profile, String(part)), null, 1), MAX_PART), 'json')
    }
  },
  {
    name: 'compare_profiles',
    title: 'Compare two profiles',
    description: 'The differences between two requests, such as one that failed and one that did not; then both.',
    schema: {
      type: 'object',
      properties: { left: token, right: token },
      required: ['left', 'right'],
      additionalProperties: false
    },
    run: async (store, { left, right }) => compareMarkdown(await profileOf(store, left), await profileOf(store, right))
  }
]

async function search (store: ProfileStorage, args: Arguments): Promise<string> {
  const fields = Object.entries({ limit: DEFAULT_LIMIT, ...args }).map(([name, value]) =>
    [name, typeof value === 'boolean' ? String(Number(value)) : String(value)])
  const { profiles, next } = await store.search(readSearch(Object.fromEntries(fields), MAX_LIMIT))
  if (profiles.length === 0) return 'No stored profile matches.'
  return [
    '| token | time | status | method | URL | ms | route | error |\n|---|---|---|---|---|---|---|---|',
    ...profiles.map(row),
    ...(next === null ? [] : [`\nThere are more: cursor ${code(next)}`])
  ].join('\n')
}

function row ({ token, time, status, method, url, duration, route, exception, warnings }: ProfileSummary): string {
  const remark = exception ?? (warnings > 0 ? `${counted(warnings, 'warning')} logged` : '')
  const cells = [
    token, time, status, cut(method, 20), cut(url, MAX_VALUE), Math.round(duration * 100) / 100, cut(route ?? '', 100),
    cut(remark, MAX_VALUE)
  ]
  return `| ${cells.map((cell) => escapeMarkdown(String(cell))).join(' | ')} |`
}

async function profileOf (store: ProfileStorage, token: unknown, error?: unknown): Promise<Profile> {
  const criteria = typeof error === 'boolean' ? { error } : {}
  const wanted = token ?? (await store.search({ criteria, limit: 1 })).profiles[0]?.token
  if (wanted === undefined) throw nothingFound(criteria)
  const profile = TOKEN_PATTERN.test(String(wanted)) ? await store.get(String(wanted)) : undefined
  if (profile === undefined) throw new CommandError(`Token "${String(wanted)}" was not found.`)
  return profile
}

/** The differences between two profiles as Markdown, then both profiles. */
export function compareMarkdown (left: Profile, right: Profile): string {
  const { sections, differences: count, equal } = compareProfiles(left, right)
  const lines = sections.flatMap(({ label, differences }) => differences.map(({ what, a, b }) =>
    `- ${label}, ${code(cut(what, MAX_VALUE))}: ${valueText(a)} → ${valueText(b)}`))
  const more = lines.length - MAX_DIFFERENCES
  return [
    `# ${left.token} and ${right.token}`,
    ...count === 0 ? ['Nothing that matters differs.'] : [lines.slice(0, MAX_DIFFERENCES).join('\n')],
    ...more > 0 ? [`and ${more} more`] : [],
    `${equal} things are the same.`,
    `---\n\nThe first, ${left.token}:`, profileMarkdown(left),
    `---\n\nThe second, ${right.token}:`, profileMarkdown(right)
  ].join('\n\n')
}

function valueText (value: unknown): string {
  if (value === undefined || value === null) return 'none'
  return code(cut(typeof value === 'string' ? value : JSON.stringify(value), MAX_VALUE))
}

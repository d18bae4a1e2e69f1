import { compareProfiles } from '../lib/profiler/compare/compare.js'
import { profileMarkdown } from '../lib/profiler/markdown/profile-markdown.js'
import type { Profile } from '../lib/profiler/profile.js'
import { readSearch } from '../lib/profiler/search-query.js'
import type { ProfileStorage } from '../lib/profiler/storage/storage.js'
import { TOKEN_PATTERN } from '../lib/profiler/token.js'
import { fence } from '../lib/view/markdown.js'
import { cut, visibleLine } from '../lib/view/visible.js'
import { CRITERIA_HELP, findProfile } from './command.js'
import { comparisonLines } from './commands/compare.js'
import { listLines } from './commands/list.js'
import { partOf } from './commands/profiles.js'
import { fit, type Formatter } from './terminal.js'

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
const MAX_LINE = 400
/** Models read what the commands print, in lines of this width and without colors. */
const PLAIN: Formatter = { columns: 200, style: (_, text) => visibleLine(text) }

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
const criteria = Object.fromEntries(Object.entries(CRITERIA_HELP).map(([name, description]) =>
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
    description: 'Lists the newest requests of the service: token, status, method, duration, time, URL, error.',
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
    run: async (store, { token = 'latest', error, part }) => {
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
    run: async (store, { left, right }) => {
      const [a, b] = [await profileOf(store, left), await profileOf(store, right)]
      return [
        textOf(comparisonLines(compareProfiles(a, b), PLAIN)),
        `---\n\nThe first, ${a.token}:`, profileMarkdown(a),
        `---\n\nThe second, ${b.token}:`, profileMarkdown(b)
      ].join('\n\n')
    }
  }
]

async function search (store: ProfileStorage, args: Arguments): Promise<string> {
  const fields = Object.entries({ limit: DEFAULT_LIMIT, ...args }).map(([name, value]) =>
    [name, String(typeof value === 'boolean' ? Number(value) : value)])
  const page = await store.search(readSearch(Object.fromEntries(fields), MAX_LIMIT))
  return page.profiles.length === 0 ? 'No stored profile matches.' : textOf(listLines(page, PLAIN))
}

function textOf (lines: readonly string[]): string {
  return fence(cut(lines.map((line) => fit(line, MAX_LINE)).join('\n'), MAX_PART), 'text')
}

async function profileOf (store: ProfileStorage, token: unknown, error?: unknown): Promise<Profile> {
  return await findProfile(async () => store, String(token), typeof error === 'boolean' ? { error } : {})
}

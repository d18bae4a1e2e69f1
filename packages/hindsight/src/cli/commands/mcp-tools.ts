import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { compareProfiles, type Comparison } from '../../reading/compare/compare.js'
import { markdownOf } from '../../reading/profile-markdown.js'
import { followProfiles } from '../../store/follow.js'
import { TOKEN_PATTERN, type ProfileSummary } from '../../store/profile.js'
import { factsOf, readSearch, type SearchQuery } from '../../store/search-query.js'
import type { ProfilePage, ProfileStorage } from '../../store/storage.js'
import { recordOf } from '../../store/summary.js'
import { cutText, fencedCode, presentItems, textOrJson, visibleLine } from '../../view/text.js'
import { findProfile, SEARCH, type Flags } from '../command.js'
import type { Formatter } from '../terminal.js'
import { comparisonLines, differencesOf, replayOnService, serviceOf } from './compare.js'
import type { RouteData } from '../../reading/hook-order.js'
import { listLines } from './profiles.js'

const MAX_LIMIT = 100
const MAX_TEXT = 20_000
const MAX_LINES = 40
/** Differences of one section. */
const MAX_OF_SECTION = 5
const MAX_VALUE = 500
/** Seconds: clients end a call after a minute. */
const MAX_WAIT = 50
/** Profiles that are read for the criterion `file`. */
const MAX_READ = 500
/** Milliseconds in which the application of `list_routes` is loaded. */
const LOAD_TIMEOUT = 50_000
const MAX_OUTPUT = 64 * 1024 * 1024
/** Models receive the output of the commands, in lines of this width and without colors. */
const PLAIN: Formatter = { columns: 200, style: (_, text) => visibleLine(text) }

type Arguments = Readonly<Record<string, unknown>>
type Schemas = Readonly<Record<string, object>>

export interface Server {
  flags: Flags
  /** Opens the store, which may not exist before the service has run. */
  open: () => Promise<ProfileStorage>
  /** Aborts when the client cancels the call. */
  signal: AbortSignal
}

/** The text, and the same as data: `markdown` of an output is the text with its delimiter. */
interface ToolResult { text: string, data: Record<string, unknown> }

interface ProfileTool {
  name: string
  description: string
  /** The JSON schemas of its arguments, and of what it returns as data. */
  input: Schemas
  required?: string[]
  output: Schemas
  /** The option of the command that permits it; default: always permitted. */
  option?: string
  /** Whether it runs code of the application. */
  runsCode?: true
  run: (server: Server, args: Arguments) => Promise<ToolResult>
}

const text = { type: 'string', maxLength: 500 }
const [string, integer, boolean] = [{ type: 'string' }, { type: 'integer' }, { type: 'boolean' }]
const nullable = { type: ['string', 'null'] }
const token = {
  type: 'string', pattern: `${TOKEN_PATTERN.source}|^latest$`, description: 'Six hexadecimal digits, or "latest".'
}
const strings = { type: 'array', items: string }
const SUMMARY = {
  ...{ token: string, time: string, method: string, url: string, status: integer, duration: { type: 'number' } },
  ...{ error: boolean, route: nullable, exception: nullable, warnings: integer, facts: strings }
}
const listOf = (properties: Schemas): object =>
  ({ type: 'array', items: { type: 'object', properties, required: Object.keys(properties) } })
const DIFFERENCES = {
  ...{ left: string, right: string, count: integer },
  differences: listOf({ section: string, what: string, left: {}, right: {} })
}
const error = { ...boolean, description: 'true: failures only; false: successes only.' }
/** The criteria and other fields of a search, which checks their values. Models accept names of words only. */
const SEARCHED: Schemas = {
  ...Object.fromEntries(Object.entries(SEARCH).filter(([name]) => /^\w+$/.test(name))
    .map(([name, { help }]) => [name, { ...text, description: help }])),
  q: { ...text, description: 'Criteria as one text, such as: status:5xx method:POST /orders slow:>200ms n+1:yes' },
  ...Object.fromEntries(['status', 'queries', 'calls', 'size', 'cursor'].map((name) =>
    [name, { type: ['integer', 'string'], description: SEARCH[name]?.help }])),
  slow: { type: 'number', description: 'Minimum duration in milliseconds.' },
  error,
  issues: { ...boolean, description: 'true: only profiles with an error or a warning, such as one query in a loop.' },
  since: { ...text, description: 'The same as "from": a time, or an age such as 15m.' },
  file: { ...text, description: `A file that the profile names, such as routes/orders.ts; of the newest ${MAX_READ}.` },
  wait: {
    ...{ type: 'number', minimum: 1, maximum: MAX_WAIT },
    description: 'Seconds to wait for the next request that matches, sent after this call.'
  },
  limit: { ...integer, minimum: 1, maximum: MAX_LIMIT, description: '50 by default.' }
}

export const TOOLS: readonly ProfileTool[] = [
  {
    name: 'search_profiles',
    description: 'Lists the requests that match all criteria, newest first; without criteria, all of them.',
    input: SEARCHED,
    output: { store: string, origins: strings, profiles: listOf(SUMMARY), next: nullable },
    run: async ({ open, signal }, { file, wait, issues, ...fields }) => {
      const given = { ...fields, issues: issues === true ? 'yes' : undefined }
      const query = readSearch(textsOf(given), MAX_LIMIT)
      const store = await open()
      const page = await find(store, query, { file, wait }, signal)
      const { place } = await store.stats()
      const origins = [...new Set(page.profiles.map(({ url }) => /^\w+:\/\/[^/?#]*/.exec(url)?.[0] ?? url))]
      const data = { store: place, origins, profiles: page.profiles.map(shownSummary), next: page.next }
      const head = [`Store: ${place}`]
      if (origins.length > 1) head.push(`Several services: ${origins.join(', ')}`)
      if (wait !== undefined) head.push(`Waited for the next request, at most ${String(wait)} s.`)
      return { text: textOf([...head, ...listLines(page, PLAIN, 'the same arguments and "cursor":')]), data }
    }
  },
  {
    name: 'read_profile',
    description: 'A request in one text of at most 6 kB: what happened, the root cause with its source, where the ' +
      'time went, queries and calls with their lines, changed values, log, response, differences from the last ' +
      'success. Without a token it is the newest, with "error": true the newest failure. "part": one part as a whole.',
    input: { token, error, part: { ...text, description: 'Such as logs, queries, cpu or request.' } },
    output: { ...SUMMARY, markdown: string },
    run: async ({ open }, { token = 'latest', error, part }) => {
      const store = await open()
      const profile = await findProfile(store, String(token), readSearch(textsOf({ error })).criteria)
      return { text: await markdownOf(store, profile, part), data: shownSummary(recordOf(profile).summary) }
    }
  },
  {
    name: 'compare_profiles',
    description: 'The differences between two requests, without what is different each time, in at most 40 lines.',
    input: { left: token, right: token },
    required: ['left', 'right'],
    output: DIFFERENCES,
    run: async ({ open }, { left, right }) => {
      const store = await open()
      return compared(compareProfiles(await findProfile(store, String(left)), await findProfile(store, String(right))))
    }
  },
  {
    name: 'replay_request',
    description: 'Sends the request of a profile again to the running service, and compares both: verifies a repair.',
    input: {
      token,
      values: { type: 'object', additionalProperties: string, description: 'Masked values that it needs, by name.' },
      confirm: { ...boolean, description: 'true for a POST, PUT, PATCH or DELETE: it may repeat side effects.' }
    },
    required: ['token'],
    output: { token: string, status: integer, failed: boolean, unset: strings, ...DIFFERENCES },
    option: 'replay',
    runsCode: true,
    run: async ({ flags, open }, { token: given, values = {}, confirm }) => {
      const confirmation = confirm === true ? undefined : '"confirm": true'
      const service = await serviceOf({ flags, open }, String(given))
      const answer = await replayOnService(service, String(given), values as Record<string, string>, confirmation)
      const { token, status, comparison, failed, unset } = answer
      const { text, data } = compared(comparison)
      let outcome = `The replay ${failed ? 'failed' : 'succeeded'}: ${status}, profile ${token}.`
      if (unset.length > 0) outcome += ` Not sent, as they are masked: ${unset.join(', ')}; "values" has them.`
      return { text: `${outcome}\n\n${text}`, data: { token, status, failed, unset, ...data } }
    }
  },
  {
    name: 'list_routes',
    description: 'The routes of the application with their hooks in order, their schemas and lines of code.',
    input: { route: { ...text, description: 'Only this one, with its whole schema, such as: GET /articles/:id' } },
    output: {
      routes: listOf({
        ...{ route: string, place: nullable, schema: { type: ['object', 'null'] } },
        hooks: listOf({ stage: string, hook: string, place: nullable })
      })
    },
    runsCode: true,
    run: async ({ flags: { app } }, { route }) => {
      if (app === undefined) throw new Error('list_routes needs a file: start fastify-hindsight mcp --app app.js')
      const routes = await routesOf(String(app), route)
      const lines = routes.flatMap(({ route, place, hooks, schema }) => [
        presentItems([route, place]).join('  '),
        ...hooks.map(({ stage, hook, place }) => presentItems([`  ${stage}`, hook, place]).join('  ')),
        ...presentItems([schema !== null && `  schema  ${JSON.stringify(schema)}`])
      ])
      return { text: textOf(lines.map((line) => visibleLine(line))), data: { routes } }
    }
  }
]

/** The fields that have a value, as the query of a search writes them. */
function textsOf (fields: Arguments): Record<string, string> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
}

function shownSummary (summary: ProfileSummary): Record<string, unknown> {
  const facts = factsOf(summary).map(shortValue)
  const shown = Object.entries(summary).filter(([name]) => name in SUMMARY)
  return { ...Object.fromEntries(shown.map(([name, value]) => [name, shortValue(value)])), facts }
}

/** A page of a search, or with `wait` (seconds) the next profiles that match. `file`: only those that name it. */
async function find (
  store: ProfileStorage, query: SearchQuery, { file, wait }: Arguments, cancelled: AbortSignal
): Promise<Pick<ProfilePage, 'profiles' | 'next'>> {
  // As a frame, or with a line of code.
  const name = JSON.stringify(file)?.slice(1, -1)
  const naming = async (all: readonly ProfileSummary[]): Promise<ProfileSummary[]> => {
    const texts = await Promise.all(all.map(async ({ token }) => JSON.stringify(await store.get(token) ?? null)))
    return all.filter((_, i) => texts[i]?.includes(`${name}"`) === true || texts[i]?.includes(`${name}:`) === true)
  }
  if (wait === undefined) {
    if (file === undefined) return await store.search(query)
    const { profiles } = await store.search({ ...query, limit: MAX_READ })
    return { profiles: (await naming(profiles)).slice(0, query.limit), next: null }
  }
  const { head: after } = await store.search({ limit: 1 })
  const signal = AbortSignal.any([cancelled, AbortSignal.timeout(Number(wait) * 1_000)])
  for await (const batch of followProfiles(store, { criteria: query.criteria, after, signal })) {
    const profiles = file === undefined ? batch : await naming(batch)
    if (profiles.length > 0) return { profiles, next: null }
  }
  return { profiles: [], next: null }
}

function compared (comparison: Comparison): ToolResult {
  const { a: { token: left }, b: { token: right } } = comparison
  const all = differencesOf(comparison).flatMap(({ label, differences }) => differences.map(({ what, a, b }) =>
    ({ section: label, what: shortValue(what), left: shortValue(a), right: shortValue(b) })))
  const lines = comparisonLines(comparison, PLAIN, MAX_OF_SECTION)
  const more = `… ${lines.length - MAX_LINES + 1} more lines: fastify-hindsight compare ${left} ${right}`
  if (lines.length > MAX_LINES) lines.splice(MAX_LINES - 1, Infinity, more)
  return { text: textOf(lines), data: { left, right, count: all.length, differences: all.slice(0, MAX_LINES) } }
}

/** A scalar as it is, other values as short text. */
function shortValue (value: unknown): unknown {
  if (typeof value !== 'string' && typeof value !== 'object') return value
  if (value === null) return null
  return visibleLine(cutText(textOrJson(value), MAX_VALUE))
}

/** The routes of an application, which is loaded in a process of its own: this one speaks the protocol. */
async function routesOf (app: string, route: unknown): Promise<RouteData[]> {
  const args = [...process.execArgv, process.argv[1] ?? '', 'lifecycle', app, '--json']
  if (route !== undefined) args.push('--route', String(route))
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: LOAD_TIMEOUT, maxBuffer: MAX_OUTPUT })
    .catch(({ stderr, message }: { stderr?: string, message: string }) => {
      throw new Error((stderr || message).trim().replace(/^fastify-hindsight: /, ''))
    })
  const namesOf = (schema: object): object => Object.fromEntries(Object.keys(schema).map((name) => [name, {}]))
  // Schemas of many routes are long: only what they check is named.
  return (JSON.parse(stdout) as RouteData[]).map((one) =>
    ({ ...one, schema: one.schema === null || route !== undefined ? one.schema : namesOf(one.schema) }) as RouteData)
}

function textOf (lines: readonly string[]): string {
  return fencedCode(cutText(lines.join('\n'), MAX_TEXT), 'text')
}

import type { Part } from '../../parts/part.js'
import { CODE_OR_INPUT } from '../../parts/read.js'
import { findProfile, followProfiles, NOTHING_FOUND } from '../../store/follow.js'
import { listedException, shownOutcome, type ProfileSummary } from '../../store/profile.js'
import { criteriaOf, factsOf, readSearch, type SearchQuery } from '../../store/search-query.js'
import type { ProfilePage } from '../../store/storage.js'
import { hintFor } from '../../similar-name.js'
import { formatTime, statusText } from '../../view/components.js'
import { cutText, fencedCode, formatCount, presentItems, textOrJson, visibleLine } from '../../view/text.js'
import { compareProfiles, type Comparison } from '../compare/compare.js'
import type { ProfileSource } from '../compare/last-success.js'
import type { RouteData } from '../hook-order.js'
import { markdownOf } from '../profile-markdown.js'

const MAX_LIMIT = 100
const MAX_TEXT = 20_000
const MAX_LINES = 40
const MAX_VALUE = 500
/** Seconds: clients end a call after a minute. */
const MAX_WAIT = 50
/** Profiles that are read for the criterion `file`. */
const MAX_READ = 500

type Arguments = Readonly<Record<string, unknown>>

/** What the tools read, and what they may do. */
export interface ToolSource {
  profiles: ProfileSource
  parts: readonly Part[]
  /** Replays the request of a profile; undefined where the user has not permitted it. */
  replay: undefined | ((wanted: string, values: Arguments, isConfirmed: boolean) => Promise<ReplayOutcome>)
  /** The routes of the application, or those of a name. */
  routes: (wanted?: string) => RouteData[]
}

export interface ReplayOutcome {
  token: string
  status: number
  failed: boolean
  /** The masked values that were not sent. */
  unset: string[]
  comparison: Comparison
}

/** The schema of an argument, in the part of JSON Schema that is needed. */
interface ArgumentSchema {
  type: 'string' | 'number' | 'boolean' | 'object'
  description?: string
  minimum?: number
  maximum?: number
}

interface Tool {
  name: string
  description: string
  properties: Readonly<Record<string, ArgumentSchema>>
  required?: readonly string[]
  /** Whether it only reads; a replay runs code of the application. */
  isReading: boolean
  run: (source: ToolSource, args: Arguments, signal: AbortSignal) => Promise<string> | string
}

const token: ArgumentSchema = { type: 'string', description: 'six hexadecimal digits, or latest' }
const [string, boolean]: [ArgumentSchema, ArgumentSchema] = [{ type: 'string' }, { type: 'boolean' }]

const TOOLS: readonly Tool[] = [
  {
    name: 'search_profiles',
    description: 'Lists recorded requests that match all criteria, newest first. "q" is criteria as one text, such ' +
      'as: status:5xx method:POST /orders slow:>200ms n+1:yes queries:>20 since:15m exception:TypeError',
    properties: {
      q: string,
      error: { ...boolean, description: 'true: failures only; false: successes only' },
      issues: { ...boolean, description: 'true: those with an error or a warning' },
      file: { ...string, description: 'that name this file, such as routes/orders.ts' },
      wait: { type: 'number', minimum: 1, maximum: MAX_WAIT, description: 'seconds to wait for the next request' },
      limit: { type: 'number', minimum: 1, maximum: MAX_LIMIT },
      cursor: string
    },
    isReading: true,
    run: searchProfiles
  },
  {
    name: 'read_profile',
    description: 'Explains one request: root cause with source, queries, calls, changed values, log, response, ' +
      'differences from the last success. Default: the newest; with "error": true the newest failure.',
    properties: { token, error: boolean, part: { ...string, description: 'one part as a whole, such as logs' } },
    isReading: true,
    async run ({ profiles, parts }, { token = 'latest', error, part }) {
      const { criteria } = readSearch(error === undefined ? {} : { error: String(error) })
      const profile = await findProfile(profiles, String(token), criteria)
      return await markdownOf(profiles, profile, part, parts)
    }
  },
  {
    name: 'compare_profiles',
    description: 'The differences between two requests.',
    properties: { left: token, right: token },
    required: ['left', 'right'],
    isReading: true,
    async run ({ profiles, parts }, { left, right }) {
      const [a, b] = [await findProfile(profiles, String(left)), await findProfile(profiles, String(right))]
      return comparisonText(compareProfiles(a, b, parts))
    }
  },
  {
    name: 'replay_request',
    description: 'Sends the request of a profile to the application again, and compares both: verifies a repair.',
    properties: {
      token,
      values: { type: 'object', description: 'masked values that it needs, by name' },
      confirm: { ...boolean, description: 'true for a method that is not safe: it may repeat side effects' }
    },
    required: ['token'],
    isReading: false,
    async run ({ replay }, { token: wanted, values = {}, confirm }) {
      if (replay === undefined) throw new Error('Replays are not permitted.')
      const { token, status, failed, unset, comparison } =
        await replay(String(wanted), values as Arguments, confirm === true)
      const lines = [`The replay ${failed ? 'failed' : 'succeeded'}: ${status}, profile ${token}.`]
      const names = unset.map((name) => valueLine('request', name))
      if (names.length > 0) lines.push('Not sent, as they are masked:', ...names)
      return `${lines.join('\n')}\n\n${comparisonText(comparison)}`
    }
  },
  {
    name: 'list_routes',
    description: 'The routes of the running application with their hooks in order, schemas and lines of code.',
    properties: { route: { ...string, description: 'only this one, with its schema, such as: GET /articles/:id' } },
    isReading: true,
    run: ({ routes }, { route }) => routesText(routes(route as string | undefined), route !== undefined)
  }
]

/** The definitions of the tools, as clients receive them. */
export function toolDefinitions (source: ToolSource): object[] {
  return permittedTools(source).map(({ name, description, properties, required, isReading }) => ({
    name,
    description,
    inputSchema: { type: 'object', properties, ...required !== undefined && { required } },
    annotations: { readOnlyHint: isReading, openWorldHint: false }
  }))
}

/** Runs a tool and returns its text; undefined where there is none of the name. Throws with a sentence. */
export async function callTool (
  source: ToolSource, name: unknown, args: Arguments, signal: AbortSignal
): Promise<string | undefined> {
  const tool = permittedTools(source).find((one) => one.name === name)
  if (tool === undefined) return undefined
  checkArguments(tool, args)
  return await tool.run(source, args, signal)
}

function permittedTools ({ replay }: ToolSource): Tool[] {
  return TOOLS.filter(({ name }) => name !== 'replay_request' || replay !== undefined)
}

function checkArguments ({ properties, required = [] }: Tool, args: Arguments): void {
  const names = Object.keys(properties)
  for (const [name, value] of Object.entries(args)) {
    const { type, minimum = -Infinity, maximum = Infinity } = properties[name] ?? {}
    if (type === undefined || !names.includes(name)) {
      throw new Error(`There is no argument "${visibleLine(name)}"; the arguments are ${names.join(', ')}.` +
        hintFor(name, names))
    }
    // Models write the number of a cursor, or of a status, in either form.
    const isText = type === 'string' && typeof value === 'number'
    const isOther = typeof value !== type || value === null || Array.isArray(value)
    if (isOther && !isText) throw new Error(`"${name}" must be a ${type}.`)
    if (type === 'number' && !(Number(value) >= minimum && Number(value) <= maximum)) {
      throw new Error(`"${name}" must be between ${minimum} and ${maximum}.`)
    }
  }
  const missing = required.find((name) => args[name] === undefined)
  if (missing !== undefined) throw new Error(`"${missing}" is missing.`)
}

async function searchProfiles (
  { profiles, parts }: ToolSource, { file, wait, issues, ...fields }: Arguments, signal: AbortSignal
): Promise<string> {
  const given = { ...fields, ...issues === true && { issues: 'yes' } }
  const texts = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]))
  const query = readSearch(texts, MAX_LIMIT, criteriaOf(parts))
  const found = await find(profiles, query, { file, wait }, signal)
  const lines = found.profiles.flatMap(summaryLines)
  if (wait !== undefined && lines.length === 0) lines.push(`No request has matched within ${String(wait)} s.`)
  if (lines.length === 0) lines.push(NOTHING_FOUND)
  if (found.next !== null) lines.push(`More profiles: the same arguments and "cursor": "${found.next}"`)
  return textOf(lines)
}

/** A page of a search, or with `wait` (seconds) the next profiles that match. `file`: only those that name it. */
async function find (
  profiles: ProfileSource, query: SearchQuery, { file, wait }: Arguments, cancelled: AbortSignal
): Promise<Pick<ProfilePage, 'profiles' | 'next'>> {
  // As a frame, or with a line of code.
  const name = JSON.stringify(file)?.slice(1, -1)
  const naming = async (all: readonly ProfileSummary[]): Promise<ProfileSummary[]> => {
    const texts = await Promise.all(all.map(async ({ token }) => JSON.stringify(await profiles.get(token) ?? null)))
    return all.filter((_, i) => texts[i]?.includes(`${name}"`) === true || texts[i]?.includes(`${name}:`) === true)
  }
  if (wait === undefined) {
    if (file === undefined) return await profiles.search(query)
    const newest = await profiles.search({ ...query, limit: MAX_READ })
    return { profiles: (await naming(newest.profiles)).slice(0, query.limit), next: null }
  }
  const { head: after } = await profiles.search({ limit: 1 })
  const signal = AbortSignal.any([cancelled, AbortSignal.timeout(Number(wait) * 1_000)])
  for await (const batch of followProfiles(profiles, { criteria: query.criteria, after, signal })) {
    const found = file === undefined ? batch : await naming(batch)
    if (found.length > 0) return { profiles: found, next: null }
  }
  return { profiles: [], next: null }
}

/** A request as a line of facts, and a line for each text, with the mark of who wrote it. */
function summaryLines (summary: ProfileSummary): string[] {
  const { token, time, duration, method, url, error, warnings, values } = summary
  const exception = listedException(summary)
  let mark = ' '
  if (warnings > 0 || Boolean(values?.issues)) mark = '▲'
  if (error) mark = '●'
  return [
    `${mark} ${token}  ${statusText(summary.status, shownOutcome(summary))}  ${time}  ${formatTime(duration)}`,
    valueLine('request', `${method} ${url}`),
    ...presentItems([exception, ...factsOf(summary)]).map((text) => valueLine(CODE_OR_INPUT, text))
  ]
}

function valueLine (from: string, value: unknown): string {
  return `  from: ${from}  ${shortValue(value)}`
}

function comparisonText ({ a, b, sections, differences }: Comparison): string {
  const lines = [a, b].flatMap((one) => [
    `${one.token}  ${statusText(one.status, shownOutcome(one))}  ${one.time}  ${formatTime(one.duration)}`,
    valueLine('request', `${one.method} ${one.url}`),
    ...presentItems([one.exception]).map((text) => valueLine(CODE_OR_INPUT, text))
  ])
  lines.push(differences === 0 ? 'No differences.' : `${formatCount(differences, 'difference')}:`)
  for (const { from = CODE_OR_INPUT, differences } of sections) {
    for (const { what, kind, a: left, b: right } of differences) {
      const [before, after] = [left, right].map((value) => shortValue(textOrJson(value)))
      let change = `${before} → ${after}`
      if (kind === 'only-a') change = `only in the first: ${before}`
      if (kind === 'only-b') change = `only in the second: ${after}`
      lines.push(valueLine(from, `${what}: ${change}`))
    }
  }
  const left = lines.length - MAX_LINES
  if (left > 0) lines.splice(MAX_LINES - 1, Infinity, `… ${left + 1} more lines.`)
  return textOf(lines)
}

function routesText (routes: readonly RouteData[], isWhole: boolean): string {
  const lines = routes.flatMap(({ route, place, hooks, schema }) => {
    // Schemas of many routes are long: only what they check is named.
    let checked = Object.keys(schema ?? {}).join(', ')
    if (isWhole && schema !== null) checked = JSON.stringify(schema)
    return [
      presentItems([route, place]).join('  '),
      ...hooks.map(({ stage, hook, place }) => presentItems([`  ${stage}`, hook, place]).join('  ')),
      ...presentItems([checked !== '' && `  schema  ${checked}`])
    ]
  })
  return textOf(lines.map((line) => visibleLine(line)))
}

function shortValue (value: unknown): string {
  return visibleLine(cutText(String(value), MAX_VALUE))
}

function textOf (lines: readonly string[]): string {
  return fencedCode(cutText(lines.join('\n'), MAX_TEXT), 'text')
}

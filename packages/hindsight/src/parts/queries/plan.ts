import type { FastifyReply, FastifyRequest } from 'fastify'
import { cachedByObject } from '../../call.js'
import { messageOf } from '../../errors/thrown-value.js'
import { MASKED } from '../../mask/mask.js'
import type { Run } from '../../queries/run.js'
import { postForm, titledSection, withCode } from '../../view/components.js'
import { cutText, html, type HtmlValue } from '../../view/text.js'
import type { PanelView, ProfilerPages } from '../part.js'
import { addressOf, dataOf, listOf } from '../read.js'
import type { RecordedQuery } from './recorded-query.js'
import { highlightedText, runnableText } from './statement-text.js'
import { significantTokens, tokensOf, type Token } from './tokens.js'
import { SHORTENED } from './trace.js'

type Explained = Pick<RecordedQuery, 'system' | 'statement' | 'parameters'>

export interface Plan {
  /** Its lines; null: there is none. */
  plan: string | null
  /** Its sequential scans in one sentence; without a plan, the reason. */
  sentence: string
}

/** Milliseconds that a database may take for a plan. */
const TIMEOUT = 2_000
/** Milliseconds after which the page does not wait for the database, such as for a connection of its pool. */
const MAX_WAIT = 3_000
const MAX_PLAN = 20_000

/** The statements that are run for a plan, by system; the last one returns it. None of them executes the query. */
const EXPLAIN: Readonly<Record<string, (statement: string) => string[]>> = {
  // Some clients have begun a transaction, in which `begin` is only a warning.
  postgresql: (statement) =>
    ['begin', 'set transaction read only', `set local statement_timeout = ${TIMEOUT}`, `explain ${statement}`],
  mysql: (statement) => ['start transaction read only', explainMysql(statement)],
  sqlite: (statement) => [`explain query plan ${statement}`]
}

// The comment is executed by MariaDB, the hint is read by MySQL: each ignores the limit of the other.
function explainMysql (statement: string): string {
  return `/*M! set statement max_statement_time = ${TIMEOUT / 1000} for */ explain ` +
    statement.replace(/\bselect\b/i, (word) => `${word} /*+ max_execution_time(${TIMEOUT}) */`)
}

export async function explainStatement (query: Explained, run: Run | undefined): Promise<Plan> {
  const reason = planProblem(query)
  if (reason !== null) return refused(reason)
  if (run === undefined) {
    return refused('no client of this process can run a statement for it. Hindsight runs it on a connection of its ' +
      'own of an observed pool of pg or mysql2, or in a database of SQLite')
  }
  const statements = EXPLAIN[query.system]?.(withoutComments(query)) ?? []
  const limit = new Promise<never>((_resolve, reject) => {
    setTimeout(reject, MAX_WAIT, new Error(`no answer within ${MAX_WAIT / 1000} seconds`)).unref()
  })
  try {
    const rows = await Promise.race([run(statements), limit])
    const { lines, scans } = readPlan(rows)
    return { plan: cutText(lines.join('\n'), MAX_PLAN), sentence: scanSentence(scans) }
  } catch (error) {
    return refused(`the database refused: ${messageOf(error)}`)
  }
}

function refused (reason: string): Plan {
  return { plan: null, sentence: `There is no plan: ${reason}.` }
}

function scanSentence (scans: readonly string[]): string {
  if (scans.length === 0) return 'The plan has no sequential scan.'
  const tables = [...new Set(scans)].map((table) => `\`${table}\``)
  return `The plan reads all rows of ${new Intl.ListFormat('en').format(tables)} (sequential scan): that is right ` +
    'for a small table, or where most rows match; otherwise an index on the columns of the condition is missing.'
}

const SQLITE_SCAN = /^ *SCAN (?:TABLE )?(?!\(|\d+ CONSTANT|CONSTANT)(\S+)(?!.* (?:USING|VIRTUAL) )/

/** The lines of a plan, and the tables that it reads completely. */
export function readPlan (rows: readonly unknown[]): { lines: string[], scans: string[] } {
  const records = rows.map((row) => ({ ...row as Record<string, unknown> }))
  // SQLite: steps, each with the number of the one that it is a part of.
  if (records.some(({ detail }) => detail !== undefined)) {
    const depths = new Map<unknown, number>()
    const lines = records.map(({ id, parent, detail }) => {
      const depth = (depths.get(parent) ?? -1) + 1
      depths.set(id, depth)
      return '  '.repeat(depth) + String(detail)
    })
    // With `USING` it reads an index, and may end early.
    return { lines, scans: lines.flatMap((line) => SQLITE_SCAN.exec(line)?.[1] ?? []) }
  }
  // PostgreSQL, and MySQL as a tree: lines of text.
  if (records.every((record) => Object.keys(record).length === 1)) {
    const lines = records.flatMap((record) => String(Object.values(record)[0]).split('\n'))
    return { lines, scans: lines.flatMap((line) => /\b(?:Seq Scan|Table scan) on (\S+)/.exec(line)?.[1] ?? []) }
  }
  const lines = records.map(({ table, type, key, rows, Extra: extra }) =>
    `${text(table)}: access ${text(type)}, key ${text(key)}, about ${text(rows)} rows` +
    (extra ? `; ${text(extra)}` : ''))
  // Names such as `<derived2>` are those of results.
  const scanned = records.filter(({ table, type }) => type === 'ALL' && !text(table).startsWith('<'))
  return { lines, scans: scanned.map(({ table }) => text(table)) }
}

function text (value: unknown): string {
  return String(value ?? 'none')
}

/** Why a query has no plan; null: it may be explained. What is not certain to only read is not explained. */
export function planProblem (query: Explained): string | null {
  const { system, statement, parameters } = query
  if (!Object.hasOwn(EXPLAIN, system)) {
    return `Hindsight explains queries of PostgreSQL, MySQL and SQLite, not of ${system}`
  }
  if (statement.includes(MASKED)) return 'a value of the statement is masked'
  const values = JSON.stringify(parameters ?? [])
  if (values.includes(MASKED)) return 'a parameter is masked'
  if (SHORTENED.test(statement + values)) {
    return 'the profile does not have the whole statement with its parameters'
  }
  const text = runnableText(query)
  if (READABLE[system]?.test(text) !== true) {
    return 'it has a text, a comment or a character that databases read in different ways'
  }
  const words = significantTokens(tokensOf(text, system))
  if (words.at(-1)?.text === ';') words.pop()
  return writingProblem(words)
}

/**
 * What databases read alike, whatever their settings: texts and names without a backslash, comments that end where they
 * seem to and that MySQL does not execute, words and signs. Each text is read in one way only, in linear time.
 */
const COMMON = [
  String.raw`'(?:[^'\\]|'')*'(?!')`,
  String.raw`"(?:[^"\\]|"")*"(?!")`,
  '`[^`\\\\]*`',
  String.raw`--(?:[ \t].*)?(?=\n|$)|-(?!-)`,
  String.raw`\/\*(?!M?!)(?:[^/*]|\*(?!\/)|\/(?!\*))*\*\/|\/(?!\*)`,
  String.raw`:(?!=)|[\t-\r \p{L}\p{M}\w!%&()*+,.;<=>?^{|}~]`
]
/** Further signs, and placeholders without a value. */
const FURTHER: Readonly<Record<string, string>> = {
  postgresql: String.raw`[@#[\]]|\$\d+(?![\w$])`, sqlite: String.raw`\[\w+\]|[@$]`, mysql: '[]'
}
const READABLE: Readonly<Record<string, RegExp | undefined>> = Object.fromEntries(Object.entries(FURTHER)
  .map(([system, further]) => [system, new RegExp(`^(?:${[...COMMON, further].join('|')})*$`, 'u')]))

/** Words with which a SELECT may write or lock. */
const WRITES = new Set(('insert update delete merge upsert create alter drop truncate call do copy grant revoke ' +
  'vacuum lock into exec execute refresh reindex rename share attach detach replace returning procedure ' +
  'nextval').split(' '))

function writingProblem (words: readonly Token[]): string | null {
  if (words.some(({ text }) => text === ';')) return 'it has several statements'
  const [first = '', ...others] = words.map(({ kind, text }) => kind === 'word' ? text.toLowerCase() : '')
  if (first !== 'select' && !(first === 'with' && others.includes('select'))) return 'it is no SELECT'
  const write = others.find((word, i) =>
    WRITES.has(word) && !(word === 'replace' && words[i + 2]?.text === '('))
  if (write !== undefined) return `it has the word \`${write}\`, which may write or lock`
  if (others.join(' ').includes('next value for')) return 'it takes a number of a sequence'
  const name = unknownFunction(words)
  if (name === null) return null
  return `it calls \`${name}()\`, and Hindsight does not know whether that has an effect`
}

/** Words after which a parenthesis is no call of a function. */
const NO_CALL = new Set((
  'select distinct all from where and or not in is like ilike glob regexp rlike between case when then else ' +
  'exists any some on using as by having limit offset union except intersect values over filter group lateral ' +
  'sets rollup cube array row to zone escape materialized recursive key index partition against join'
).split(' '))

/** Functions that only compute a value, or return rows. The effect of one of another name is unknown. */
const SAFE_FUNCTIONS = new Set((
  'count sum avg min max total every bool_and bool_or string_agg array_agg group_concat json_agg jsonb_agg ' +
  'row_number rank dense_rank lag lead first_value last_value lower upper length char_length trim ltrim rtrim ' +
  'btrim substr substring replace concat concat_ws left right position strpos instr to_char to_date to_timestamp ' +
  'format regexp_replace regexp_like coalesce nullif ifnull isnull if iif greatest least abs ceil ceiling floor ' +
  'round trunc mod power pow sqrt random rand now date time datetime timestamp strftime julianday curdate ' +
  'current_date current_timestamp date_trunc date_part date_add date_sub date_format datediff timestampdiff ' +
  'extract age year month day hour minute second unix_timestamp from_unixtime interval cast convert typeof ' +
  'grouping unnest array_length cardinality array_position generate_series json json_extract json_value ' +
  'json_unquote json_contains json_object json_array json_each json_array_length jsonb_array_length ' +
  'json_build_object jsonb_build_object json_array_elements jsonb_array_elements json_array_elements_text ' +
  'jsonb_array_elements_text jsonb_each to_json to_jsonb to_tsvector to_tsquery plainto_tsquery ' +
  'websearch_to_tsquery ts_rank match similarity'
).split(' '))

/** The name of the first function that a statement calls and that is none of these; null: it calls none. */
function unknownFunction (words: readonly Token[]): string | null {
  for (const [i, { text: parenthesis }] of words.entries()) {
    const [token, before, owner] = [words[i - 1], words[i - 2]?.text.toLowerCase(), words[i - 3]?.text.toLowerCase()]
    const isName = token?.kind === 'word' || token?.kind === 'name' || token?.text.startsWith('"') === true
    if (parenthesis !== '(' || !isName) continue
    const name = token.text.toLowerCase()
    const isOwned = before === '.' && owner !== 'pg_catalog'
    // A list of columns of a common table expression or an alias, or the size of a type.
    const isDeclared = /^(?:with|recursive|as)$/.test(before ?? '') || (before === ':' && owner === ':')
    const isSafe = token.kind === 'word' && (NO_CALL.has(name) || SAFE_FUNCTIONS.has(name))
    if (isOwned || (!isDeclared && !isSafe)) return token.text
  }
  return null
}

/** The statement with its parameters as literals: clients differ in placeholders. */
function withoutComments (query: Explained): string {
  const tokens = tokensOf(runnableText(query), query.system)
  const text = tokens.map(({ kind, text }) => kind === 'comment' ? ' ' : text).join('')
  return text.replace(/(?<![\s;])[\s;]+$/, '').trim()
}

/** The list of queries as a form, of which each button of `planButton` shows a plan. */
export function planForm (token: string, { base, formToken, debug }: PanelView, list: HtmlValue): HtmlValue {
  if (base === undefined || formToken === undefined || debug !== true) return list
  return postForm(`${base}/${token}/plan`, formToken, list, 'plans')
}

/** The button of the query with a position in the list; none for what is no SELECT. */
export function planButton ({ system, statement }: Explained, i: number, { formToken, debug }: PanelView): HtmlValue {
  const isOffered = formToken !== undefined && debug === true && Object.hasOwn(EXPLAIN, system)
  if (!isOffered || !/^\s*(?:select|with)\b/i.test(statement)) return null
  return html`<button type="submit" name="query" value="${i + 1}">Explain plan</button>`
}

export function planMarkup ({ system, statement }: Explained, { plan, sentence }: Plan): HtmlValue {
  const lines = plan !== null && html`<pre class="data">${plan}</pre>`
  return [
    titledSection('Statement', html`<pre class="data sql">${highlightedText({ system, statement })}</pre>`, '', 2),
    titledSection('Plan', [lines, html`<p class="note">${withCode(sentence, null)}</p>`], 'plan', 2)
  ]
}

/** Profiles whose queries can be explained: the newest ones of this process. */
const MAX_PROFILES = 500

/** Weak: a client that the application has released can be collected. */
const runners = new Map<string, ReadonlyArray<WeakRef<Run> | undefined>>()

const referenceTo = cachedByObject((run: Run) => new WeakRef(run))

/** Keeps what runs statements on the clients of the queries of a profile, in their order. */
export function keepRunners (token: string, runs: ReadonlyArray<Run | undefined>): void {
  if (runs.every((run) => run === undefined)) return
  runners.set(token, runs.map((run) => run && referenceTo(run)))
  const [oldest = ''] = runners.keys()
  if (runners.size > MAX_PROFILES) runners.delete(oldest)
}

/** Runs statements on the client of a query; undefined where it is gone, or is of another process. */
export function runnerOf (token: string, index: number): Run | undefined {
  return runners.get(token)?.[index]?.deref()
}

/** Shows how a database runs a recorded query. */
export async function sendPlan (
  request: FastifyRequest, reply: FastifyReply, { base, formOf, profileOf, formatOf, sendPage, badField }: ProfilerPages
): Promise<unknown> {
  const { query: number } = await formOf(request)
  const profile = await profileOf(request)
  const { token } = profile
  const queries = listOf(dataOf(profile, 'queries').queries) as unknown as RecordedQuery[]
  const index = Number(number) - 1
  const query = queries[index]
  if (query === undefined) throw badField('query', `the profile has the queries 1 to ${queries.length}`)
  const { system, statement } = query
  const plan = await explainStatement(query, runnerOf(token, index))
  if (formatOf(request, reply) === 'json') return { token, query: index + 1, system, statement, ...plan }
  const address = `${base}/${token}${addressOf('queries', `query-${index + 1}`)}`
  return sendPage(request, reply, `Plan of query ${index + 1}`, html`<main id="content" class="replay">
<h1>Plan</h1>
<p class="note">This is how the database would run <a href="${address}">query ${index + 1}</a> of the profile
<a href="${base}/${token}">${token}</a> now. It did not run it.</p>
${planMarkup(query, plan)}
</main>`)
}

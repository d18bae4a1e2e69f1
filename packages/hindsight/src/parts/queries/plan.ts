import { cachedByObject } from '../../call.js'
import { messageOf } from '../../errors/thrown-value.js'
import { MASKED } from '../../mask/mask.js'
import type { Run } from '../../queries/run.js'
import { note, postForm, section } from '../../view/components.js'
import { cut, html } from '../../view/text.js'
import type { PanelView } from '../part.js'
import type { RecordedQuery } from './recorded-query.js'
import { unknownFunction, WRITES } from './statement.js'
import { highlighted, runnable } from './statement-text.js'
import { significant, tokensOf, type Token } from './tokens.js'
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
  mariadb: (statement) => ['start transaction read only', explainMysql(statement)],
  sqlite: (statement) => [`explain query plan ${statement}`]
}

// The comment is executed by MariaDB, the hint is read by MySQL: each ignores the limit of the other.
function explainMysql (statement: string): string {
  return `/*M! set statement max_statement_time = ${TIMEOUT / 1000} for */ explain ` +
    statement.replace(/\bselect\b/i, (word) => `${word} /*+ max_execution_time(${TIMEOUT}) */`)
}

export async function explain (query: Explained, run: Run | undefined): Promise<Plan> {
  const reason = planProblem(query)
  if (reason !== null) return refused(reason)
  if (run === undefined) {
    return refused('no client of this process can run a statement for it. Hindsight runs it on a connection of its ' +
      'own, of an observed pool of pg or mysql2, of postgres, Knex, Sequelize or TypeORM, or in a database of SQLite')
  }
  const statements = EXPLAIN[query.system]?.(withoutComments(query)) ?? []
  const limit = new Promise<never>((_resolve, reject) => {
    setTimeout(reject, MAX_WAIT, new Error(`no answer within ${MAX_WAIT / 1000} seconds`)).unref()
  })
  try {
    const rows = await Promise.race([run(statements), limit])
    const { lines, scans } = readPlan(rows)
    return { plan: cut(lines.join('\n'), MAX_PLAN), sentence: scanSentence(scans) }
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
  const text = runnable(query)
  if (READABLE[system]?.test(text) !== true) {
    return 'it has a text, a comment or a character that databases read in different ways'
  }
  const words = significant(tokensOf(text, system))
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
const OWN: Readonly<Record<string, string>> = {
  postgresql: String.raw`[@#[\]]|\$\d+(?![\w$])`, sqlite: String.raw`\[\w+\]|[@$]`, mysql: '[]', mariadb: '[]'
}
const READABLE: Readonly<Record<string, RegExp | undefined>> = Object.fromEntries(Object.entries(OWN)
  .map(([system, own]) => [system, new RegExp(`^(?:${[...COMMON, own].join('|')})*$`, 'u')]))

/** Further words with which a SELECT may write. */
const FURTHER_WRITES = /^(?:replace|returning|procedure|nextval)$/

function writingProblem (words: readonly Token[]): string | null {
  if (words.some(({ text }) => text === ';')) return 'it has several statements'
  const [first = '', ...others] = words.map(({ kind, text }) => kind === 'word' ? text.toLowerCase() : '')
  if (first !== 'select' && !(first === 'with' && others.includes('select'))) return 'it is no SELECT'
  const write = others.find((word, i) =>
    (WRITES.has(word) || FURTHER_WRITES.test(word)) && !(word === 'replace' && words[i + 2]?.text === '('))
  if (write !== undefined) return `it has the word \`${write}\`, which may write or lock`
  if (others.join(' ').includes('next value for')) return 'it takes a number of a sequence'
  const name = unknownFunction(words)
  return name === null ? null : `it calls \`${name}()\`, and Hindsight does not know whether that has an effect`
}

/** The statement with its parameters as literals: clients differ in placeholders. */
function withoutComments (query: Explained): string {
  const text = tokensOf(runnable(query), query.system).map(({ kind, text }) => kind === 'comment' ? ' ' : text).join('')
  return text.replace(/[\s;]+$/, '').trim()
}

/** The list of queries as a form, of which each button of `planButton` shows a plan. */
export function planForm (token: string, { base, formToken, debug }: PanelView, list: string): string {
  if (base === undefined || formToken === undefined || debug !== true) return list
  return postForm(`${base}/${token}/plan`, formToken, list)
}

/** The button of the query with a position in the list; none for what is no SELECT. */
export function planButton ({ system, statement }: Explained, i: number, { formToken, debug }: PanelView): string {
  const isOffered = formToken !== undefined && debug === true && Object.hasOwn(EXPLAIN, system)
  if (!isOffered || !/^\s*(?:select|with)\b/i.test(statement)) return ''
  return html`<button type="submit" name="query" value="${i + 1}">Explain plan</button>`
}

export function planMarkup ({ system, statement }: Explained, { plan, sentence }: Plan): string {
  return section('Statement', html`<pre class="data sql">!${highlighted({ system, statement })}</pre>`, '', 2) +
    section('Plan', (plan === null ? '' : html`<pre class="data">${plan}</pre>`) + note(sentence), '', 2)
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

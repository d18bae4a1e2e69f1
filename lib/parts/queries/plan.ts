import { messageOf } from '../../errors/thrown-value.js'
import { MASKED } from '../../mask/mask.js'
import type { Run } from '../../queries/run.js'
import { note, postForm, section } from '../../view/components.js'
import { html } from '../../view/html.js'
import { cut } from '../../view/visible.js'
import type { PanelView } from '../part.js'
import type { RecordedQuery } from './recorded-query.js'
import { unknownFunction } from './statement.js'
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
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => { reject(new Error(`no answer within ${MAX_WAIT / 1000} seconds`)) }, MAX_WAIT)
  })
  try {
    const rows = await Promise.race([run(statements), limit])
    const { lines, scans } = readPlan(rows)
    return { plan: cut(lines.join('\n'), MAX_PLAN), sentence: scanSentence(scans) }
  } catch (error) {
    return refused(`the database refused: ${messageOf(error)}`)
  } finally {
    clearTimeout(timer)
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
  const tokens = tokensOf(runnable(query), system)
  const words = significant(tokens)
  if (words.at(-1)?.text === ';') words.pop()
  return lexicalProblem(system, tokens, words) ?? writingProblem(words) ?? functionProblem(words)
}

const TEXT = /^[enxb]?'(?:[^'\\]|'')*'$/i
const NAME = /^(?:"(?:[^"\\]|"")*"|`[^`\\]*`|\[\w+\])$/
/** A comment that ends where it seems to, and is none of those that MySQL executes. */
const COMMENT = /^(?:--.*|\/\*(?!M?!)(?:[^/]|\/(?!\*))*\*\/)$/

/** Texts, names and comments whose end depends on the database or its settings. */
function lexicalProblem (system: string, tokens: readonly Token[], words: readonly Token[]): string | null {
  const isMysql = system === 'mysql' || system === 'mariadb'
  for (const [i, { kind, text }] of tokens.entries()) {
    // `--1` is a comment of other databases.
    const isDoubtful = kind === 'comment' ? !COMMENT.test(text) : isMysql && text + tokens[i + 1]?.text === '--'
    if (isDoubtful) return 'it has a comment that a database may execute'
    // MySQL reads `"a"` as a text or as a name.
    if ((kind === 'string' && !TEXT.test(text) && !NAME.test(text)) || (kind === 'name' && !NAME.test(text))) {
      return 'it has a text whose end depends on the settings of the database'
    }
    if ((kind === 'sign' || kind === 'space') && !/^[\t-\r -~]+$/.test(text)) return 'it has an unusual character'
  }
  for (const [i, { kind, text }] of words.entries()) {
    if (text === ';') return 'it has several statements'
    const isSign = /^[$\\]$/.test(text) || (isMysql && /^[#@]/.test(text)) || (system === 'sqlite' && text === '[')
    const isVariable = kind === 'placeholder' && system !== 'sqlite' && /^[$@][a-z_]/i.test(text)
    if (isSign || isVariable) return `it has \`${text}\`, which may begin a comment, a text or a variable`
    if (text === ':' && words[i + 1]?.text === '=') return 'it sets a variable'
  }
  return null
}

/** Words with which a SELECT writes, in a part of it or after it. */
const WRITES = new Set((
  'insert update delete merge replace into returning truncate drop alter create grant revoke copy procedure ' +
  'nextval'
).split(' '))

function writingProblem (words: readonly Token[]): string | null {
  const [first = '', ...others] = words.map(({ kind, text }) => kind === 'word' ? text.toLowerCase() : text)
  if ((first !== 'select' && first !== 'with') || words[0]?.kind !== 'word') return 'it is no SELECT'
  for (const [i, word] of others.entries()) {
    const next = others[i + 1] ?? ''
    if (words[i + 1]?.kind !== 'word' || (word === 'replace' && next === '(')) continue
    if (WRITES.has(word)) return `it has the word \`${word}\`, which may write`
    if (/^(?:for (?:update|share|no|key)|lock in)$/.test(`${word} ${next}`)) return 'it locks rows'
    if (word === 'value' && next === 'for') return 'it takes a number of a sequence'
  }
  return first === 'with' && !others.includes('select') ? 'it is no SELECT' : null
}

function functionProblem (words: readonly Token[]): string | null {
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

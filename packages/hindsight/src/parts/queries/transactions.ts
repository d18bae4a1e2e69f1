import { formatTime } from '../../view/components.js'
import { formatCount } from '../../view/text.js'
import { linesOf } from './findings.js'
import type { Finding } from './recorded-query.js'
import { shortShape } from './sql.js'
import { isSql } from './tokens.js'
import { queryPlace, type Traced } from './trace.js'

/** Of one request; times are milliseconds since it arrived. `end`: when its end was sent; null: it was not. */
export interface Transaction {
  start: number
  end: number | null
  /** The line that began it, `file:line:column`; null: unknown. */
  source: string | null
}

/** A transaction with its connection, and when each table was first written. */
interface Open extends Transaction { begin: Traced, tables: Map<string, number> }

type LineOf = (query: Traced) => string | null

const BEGIN = /^(?:begin|start transaction)\b/i
const END = /^(?:commit|end|abort|rollback(?! (?:work |transaction )?to\b))/i
/** Of MySQL; other statements end a transaction there. */
const WITHIN_MYSQL = /^(?:select|insert|update|delete|replace|with|set|savepoint|release|rollback|show|explain)\b/i
const NAME = '((?:["`[]?[\\w$]+["`\\]]?\\.)*["`[]?[\\w$]+["`\\]]?)'
const WRITTEN = new RegExp('^(?:(?:insert|replace)(?: or \\w+)? into|replace into|update(?: or \\w+)?|delete from|' +
  `truncate(?: table)?) (?:only )?${NAME}`, 'i')
const NAMED = new RegExp(`\\b(?:from|join|into|update) (?:only )?${NAME}`, 'gi')

/**
 * The transactions of a request, and what is remarkable about them and about pools. `responseEnd`: milliseconds since
 * the request arrived; 0: not yet. `isWhole`: whether these are all queries; other ones may end a transaction.
 * `ending`: the end in words.
 */
export function transactionFindings (
  all: readonly Traced[], responseEnd: number, isWhole = true, ending = 'the response was sent'
): { transactions: Transaction[], found: Finding[] } {
  const lineOf = linesOf(all)
  const open = transactionsOf(all, lineOf).filter(({ end }) => isWhole || end !== null)
  const transactions = open.map(({ start, end, source }) => ({ start, end, source }))
  const found = [
    ...queriesOutside(all, open, lineOf), ...transactionsLeftOpen(open, responseEnd, ending),
    ...exhaustedPool(all, lineOf)
  ]
  return { transactions, found }
}

/** The transactions of a request whose connections are known. The pool of a client is no connection. */
function transactionsOf (all: readonly Traced[], lineOf: LineOf): Open[] {
  const found: Open[] = []
  const open = new Map<number, Open>()
  for (const query of all) {
    const { connection, client, shape, system, start, duration, rows, error } = query
    if (connection === undefined || connection === client || !isSql(system)) continue
    for (const statement of shape.split(/ ?; ?/)) {
      const current = open.get(connection)
      const endsInMysql = /^(?:mysql|mariadb)$/.test(system) && !WITHIN_MYSQL.test(statement)
      // Except in PostgreSQL, an error may have ended it.
      const endsByError = error !== undefined && system !== 'postgresql'
      if (current !== undefined && (END.test(statement) || endsInMysql || endsByError)) {
        current.end = start
        open.delete(connection)
      }
      if (error !== undefined || duration === null) continue
      if (BEGIN.test(statement)) {
        const begun = { start, end: null, source: lineOf(query), begin: query, tables: new Map<string, number>() }
        open.set(connection, begun)
        found.push(begun)
      }
      const [, table] = WRITTEN.exec(statement) ?? []
      const { tables } = open.get(connection) ?? {}
      if (table !== undefined && rows !== 0 && tables?.has(plainTable(table)) === false) {
        tables.set(plainTable(table), start + duration)
      }
    }
  }
  return found
}

function plainTable (name: string): string {
  return name.replace(/["`[\]]/g, '').toLowerCase()
}

/** Queries that did not see, or waited for, what an open transaction of their request had changed. */
function queriesOutside (all: readonly Traced[], transactions: readonly Open[], lineOf: LineOf): Finding[] {
  const covers = ({ start, end }: Open, query: Traced): boolean =>
    start <= query.start && query.start < (end ?? Infinity)
  const outside = new Map<string, Finding>()
  for (const query of all) {
    const { connection, client, shape } = query
    const isWithin = transactions.some((one) => one.begin.connection === connection && covers(one, query))
    // A table expression may have the name of a table.
    if (connection === undefined || isWithin || /^with\b/i.test(shape)) continue
    const named = [...shape.matchAll(NAMED)].map(([, name = '']) => plainTable(name))
    for (const transaction of transactions) {
      const { begin, tables, source } = transaction
      const table = named.find((name) => Number(tables.get(name)) <= query.start)
      if (table === undefined || begin.client !== client || !covers(transaction, query)) continue
      const place = queryPlace({ ...query, source: lineOf(query) })
      const text = `\`${shortShape(shape)}\` from ${place} was sent outside of the ` +
        `transaction that began at ${queryPlace({ ...begin, source })} and had changed ${table}`
      const finding = outside.get(text) ?? { kind: 'transaction', text, queries: [] }
      outside.set(text, finding)
      finding.queries.push(query.index)
    }
  }
  return [...outside.values()]
}

/** Transactions without an end when the response had ended, in milliseconds since the request arrived. */
function transactionsLeftOpen (transactions: readonly Open[], responseEnd: number, ending: string): Finding[] {
  return transactions.filter(({ start, end }) => start < responseEnd && (end === null || end > responseEnd))
    .map(({ source, begin }) => ({
      kind: 'transaction',
      text: `The transaction that began at ${queryPlace({ ...begin, source })} was neither committed nor rolled ` +
        `back before ${ending}`,
      queries: [begin.index]
    }))
}

/** Queries that waited as each connection of their pool was in use. */
function exhaustedPool (all: readonly Traced[], lineOf: LineOf): Finding[] {
  const waiting = all.filter(({ exhausted }) => exhausted !== undefined)
  const [first] = waiting
  if (first === undefined) return []
  const longest = Math.max(...waiting.map(({ wait = 0 }) => wait))
  const [count, connections] = [formatCount(waiting.length, 'query', 'queries'), Number(first.exhausted)]
  let inUse = `All ${connections} connections of the pool were`
  if (connections === 1) inUse = 'The one connection of the pool was'
  return [{
    kind: 'pool',
    text: `${inUse} in use: ${count} waited up to ${formatTime(longest)} for one, ` +
      `the first from ${queryPlace({ ...first, source: lineOf(first) })}`,
    queries: waiting.map(({ index }) => index)
  }]
}

import { isPlain } from './mask-document.js'
import { isSql, isValue, jsonKeys, KEYWORDS, significantTokens, tokensOf, type Token } from './tokens.js'

const MAX_SHAPE = 1_000
/** Items of lists, and depth of documents, that are part of a shape. */
const MAX_DEPTH = 4
const MAX_FIELDS = 20

/**
 * The statement without what differs between its uses: literals and placeholders are `?`, lists of them `(?)`, comments
 * are left out, and space is one blank. Commands of Redis have the pattern of their key, operations of MongoDB the
 * fields of their documents.
 */
export function shapeOf (system: string, statement: string, parameters?: unknown): string {
  if (isSql(system)) return shapeOfTokens(tokensOf(statement, system))
  if (system === 'redis') return short(redisShape(statement, parameters), MAX_SHAPE)
  return short(documentShape(statement, parameters), MAX_SHAPE)
}

function short (text: string, limit: number): string {
  if (text.length <= limit) return text
  return `${text.slice(0, limit - 1)}…`
}

/** A sign of a number: `= -1`, but not `a - 1`. */
const SIGN = new RegExp(`[-+](?<=(?:^|[^\\w)\\]?"'\`\\s]|\\b(?:${[...KEYWORDS].join('|')})) ?.) ?(?=\\?)`, 'gi')

export function shapeOfTokens (tokens: readonly Token[]): string {
  // The key of `data ->> 'key'` is a part of the statement.
  const keys = jsonKeys(significantTokens(tokens))
  const text = tokens.map((token) => {
    if (token.kind === 'space' || token.kind === 'comment') return ' '
    if (isValue(token) && !keys.has(token)) return '?'
    return token.text
  }).join('').replace(/ +/g, ' ').replace(SIGN, '')
  const shape = oneRow(text).replace(/\( ?\?(?: ?, ?\?)* ?\)(?: ?, ?\( ?\?(?: ?, ?\?)* ?\))*/g, '(?)')
    .replace(/\[ ?\?(?: ?, ?\?)* ?\]/g, '[?]').replace(/(?<![ ;])[ ;]+$/, '').trim()
  return short(shape, MAX_SHAPE)
}

const ROW = String.raw`\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)`
const VALUES = new RegExp(String.raw`(\bvalues? ?)(${ROW})((?: ?, ?${ROW})*)`, 'gi')

/** Leaves one row of `values (…), (…)` where all rows are alike. */
function oneRow (text: string): string {
  return text.replace(VALUES, (all, before: string, ...rows: [string, string]) => {
    const [first, others] = rows.slice(0, 2).map((row) => row.replace(/\b(?:null|default|true|false)\b/gi, '?'))
    return /^[ ,]*$/.test((others as string).replaceAll(first as string, '')) ? `${before}${first}` : all
  })
}

/** `GET user:?` for `GET user:42`. */
function redisShape (statement: string, parameters: unknown): string {
  const [command = '', ...words] = statement.trim().split(/\s+/)
  const [key] = Array.isArray(parameters) && parameters.length > 0 ? parameters as unknown[] : words
  const name = command.toUpperCase()
  if (key === undefined) return name
  if (typeof key === 'string') return `${name} ${keyPattern(key)}`
  // Other arguments than keys.
  return `${name} ${Array.isArray(key) ? '[?]' : '?'}`
}

function keyPattern (key: string): string {
  const segments = key.slice(0, 200).split(/([:/|.])/)
  const isVariable = (segment: string): boolean => /\d|^.{25}|[*@]/.test(segment)
  const shown = segments.map((segment, i) => i % 2 === 0 && isVariable(segment) ? '?' : segment)
  const hasVariable = shown.some((segment, i) => segment !== segments[i])
  if (segments.length > 1 && !hasVariable) shown.splice(-1, 1, '?')
  return shown.join('')
}

/** `item.findOne({ _id: ? })` */
function documentShape (statement: string, parameters: unknown): string {
  const name = statement.replace(/\s+/g, ' ').trim()
  const given: unknown[] = [parameters].flat()
  if (parameters === undefined || given.length === 0) return name
  return `${name}(${given.slice(0, MAX_DEPTH).map((value) => outline(value, 0)).join(', ')})`
}

function outline (value: unknown, depth: number): string {
  if (Array.isArray(value)) {
    const items = [...new Set(value.slice(0, MAX_FIELDS).map((item) => outline(item, depth + 1)))]
    return `[${items.join(', ')}]`
  }
  if (!isPlain(value) || depth >= MAX_DEPTH) return '?'
  const fields = Object.entries(value).slice(0, MAX_FIELDS)
    .map(([name, item]) => `${name}: ${outline(item, depth + 1)}`)
  if (fields.length === 0) return '{}'
  return `{ ${fields.join(', ')} }`
}

/** Commands of Redis that only read. */
const READING_COMMANDS = new Set(('GET MGET HGET HMGET HGETALL HKEYS HVALS HEXISTS HLEN EXISTS TTL PTTL TYPE STRLEN ' +
  'LRANGE LINDEX LLEN SMEMBERS SISMEMBER SMISMEMBER SCARD SINTER SUNION ZRANGE ZREVRANGE ZRANGEBYSCORE ZSCORE ZRANK ' +
  'ZCARD ZCOUNT GETRANGE XRANGE XLEN JSON.GET JSON.MGET').split(' '))
/** Operations of MongoDB and of ORMs that only read: `item.findOne`. */
const READING_OPERATION = new RegExp('\\.(?:find(?:One|ById|Many|(?:First|Unique)(?:OrThrow)?)?|count|countDocuments|' +
  'estimatedDocumentCount|distinct|aggregate|groupBy|exists)$')
/** A table expression that writes: `with a as (insert into …) select …`. */
const WRITING = /\b(?:insert into|delete from|merge into|update [^ ]+ set)\b/i

/** Whether a query only reads data, by its shape: functions and locks make it no write. */
export function isReading (system: string, shape: string): boolean {
  if (system === 'redis') return READING_COMMANDS.has(shape.split(' ', 1)[0] ?? '')
  const [operation = ''] = shape.split('(', 1)
  if (!isSql(system) || /^[\w$]+\.[\w$.]+$/.test(operation)) return READING_OPERATION.test(operation)
  // Without `from` it is a check of the connection, or the call of a function.
  return /^(?:select|with)\b.* from /i.test(shape) && !WRITING.test(shape)
}

const COLUMNS = new RegExp(`^(select (?:distinct )?)(?=.{25})(?:[^()]|${ROW})+?(?= from )`, 'i')

/** A shape for a sentence: a long list of columns is `…`. */
export function shortShape (shape: string): string {
  const shown = shape.replace(COLUMNS, (all, before: string) => all.length > before.length + 20 ? `${before}…` : all)
  return short(shown, 200)
}

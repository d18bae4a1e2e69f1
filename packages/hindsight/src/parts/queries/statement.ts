import { cachedByObject } from '../../call.js'
import type { RecordedQuery } from './recorded-query.js'
import { isValue, parameterOf, significant, type Token } from './tokens.js'

/** Commands of Redis that change nothing. */
const COMMANDS = new Set(('GET MGET HGET HMGET HGETALL HKEYS HVALS HEXISTS HLEN EXISTS TTL PTTL TYPE STRLEN LRANGE ' +
  'LINDEX LLEN SMEMBERS SISMEMBER SMISMEMBER SCARD SINTER SUNION ZRANGE ZREVRANGE ZRANGEBYSCORE ZSCORE ZRANK ZCARD ' +
  'ZCOUNT GETRANGE XRANGE XLEN JSON.GET JSON.MGET').split(' '))
/** Operations of MongoDB and of ORMs that change nothing: `item.findOne`. */
const OPERATION = new RegExp('^[\\w$]+(?:\\.[\\w$]+)*\\.(?:find(?:One|ById|Many|(?:First|Unique)(?:OrThrow)?)?|' +
  'count|countDocuments|estimatedDocumentCount|distinct|aggregate|groupBy|exists)$')
const ANY_OPERATION = /^[\w$]+(?:\.[\w$]+)+$/

/** Words that make a statement of SQL a write, wherever they are. */
export const WRITES = new Set(('insert update delete merge upsert create alter drop truncate call do copy grant ' +
  'revoke vacuum lock into exec execute refresh reindex rename share attach detach').split(' '))
const DEFINITIONS = new Set(['create', 'alter', 'drop', 'truncate', 'rename'])
/** Functions whose result differs with each call, or that change something. */
const VOLATILE = new RegExp('\\b(?:nextval|setval|random|rand|now|(?:clock|statement)_timestamp|gen_random_uuid|' +
  'uuid|newid|pg_\\w*(?:lock|sleep|notify|terminate|cancel)\\w*|get_lock|release_lock|sleep|changes|set_config|' +
  'last_insert_(?:row)?id|generate_series)\\s*\\(', 'i')
const CATALOG = new RegExp('\\b(?:information_schema|pg_catalog|pg_(?:class|attribute|type|namespace|indexes|tables|' +
  'stat\\w*)|sqlite_(?:master|schema))\\b|\\bpragma_', 'i')
/** Statements after which another one returns the same, unlike `set search_path` and `use`. */
const NEUTRAL = new Set('show begin start commit end savepoint release explain'.split(' '))

const TRANSACTION: ReadonlyMap<string, 'begin' | 'commit' | 'rollback'> = new Map([
  ['begin', 'begin'], ['start', 'begin'], ['commit', 'commit'], ['end', 'commit'], ['rollback', 'rollback'],
  ['abort', 'rollback']
])
const REDIS_TRANSACTION: typeof TRANSACTION = new Map([['MULTI', 'begin'], ['EXEC', 'commit'], ['DISCARD', 'rollback']])

export interface Effect {
  /** Whether it reads data. It may also be a write: the effect of a function that it calls is unknown. */
  isRead: boolean
  /** Whether it may change what another one returns. */
  isWrite: boolean
  isDefinition: boolean
  /** What it does with the transaction; `undo`: it goes on. */
  command: 'begin' | 'commit' | 'rollback' | 'undo' | null
}

/** `tokens`: of a statement of SQL. */
export function effectOf (system: string, statement: string, tokens: readonly Token[]): Effect {
  if (system === 'redis') {
    const command = commandOf(statement)
    const isRead = COMMANDS.has(command)
    const isNeutral = /^(?:PING|HELLO|AUTH|INFO|\w*SCAN|CLIENT|COMMAND)$/.test(command)
    const transaction = REDIS_TRANSACTION.get(command) ?? null
    return { isRead, isWrite: !isRead && !isNeutral, isDefinition: false, command: transaction }
  }
  if (isOperation(system, statement)) {
    const isRead = OPERATION.test(statement)
    const end = /(?:abort|(commit))Transaction$/.exec(statement)
    const command = end === null ? null : end[1] === undefined ? 'rollback' : 'commit'
    return { isRead, isWrite: !isRead, isDefinition: false, command }
  }
  const words = tokens.filter(({ kind }) => kind === 'word').map(({ text }) => text.toLowerCase())
  const [first = ''] = words
  const hasFrom = words.includes('from')
  const hasWrite = words.some((word) => WRITES.has(word)) || VOLATILE.test(statement)
  const isCatalog = first !== 'set' && CATALOG.test(statement)
  // `from` is left out by health checks and settings. The call of a function may write.
  const isRead = /^(?:select|with|values|table)$/.test(first) && hasFrom && !hasWrite && !isCatalog
  const isNeutral = NEUTRAL.has(first) || isCatalog
  const isCall = !isCatalog && unknownFunction(significant(tokens)) !== null
  const isWrite = isCall || (!isRead && !isNeutral && (first !== 'select' || hasWrite))
  // `rollback to savepoint a`, `rollback transaction to a`
  const isUndo = first === 'rollback' && words.includes('to')
  const command = isUndo ? 'undo' : TRANSACTION.get(first) ?? null
  return { isRead, isWrite, isDefinition: DEFINITIONS.has(first), command }
}

/** Whether the statement is the name of an operation, such as `item.findOne`. */
function isOperation (system: string, statement: string): boolean {
  return system === 'mongodb' || system === 'prisma' || ANY_OPERATION.test(statement)
}

function commandOf (statement: string): string {
  return statement.trim().split(/\s/, 1)[0]?.toUpperCase() ?? ''
}

/** Whether a query selects a part of a large result: it is sent until there are no more. */
export function isPage ({ system, statement, shape }: Pick<RecordedQuery, 'system' | 'statement' | 'shape'>): boolean {
  if (isOperation(system, statement)) {
    return /\b(?:skip|cursor)\b|\$[gl]te?\b[^]*\b(?:limit|take)\b/.test(shape)
  }
  return /\boffset\b|\bfetch (?:next|first)\b|\blimit \?, ?\?|[<>]=? ?\(?\?[^]*\blimit \?|\btop ?\(?\?[^]*[<>]/i
    .test(shape)
}

/** Whether a query selects a range, such as a part of a table, or what is new: `id between ? and ?`, `id > ?`. */
export function isRange ({ shape }: Pick<RecordedQuery, 'shape'>): boolean {
  return /\bbetween \? and \?|[<>]=? ?\(?\?|\$[gl]te?\b/i.test(shape)
}

interface Selecting extends Pick<RecordedQuery, 'system' | 'statement' | 'parameters'> { words: readonly Token[] }

/** The values by which a query selects one thing, several, or the next part of one list. */
interface Selection {
  /** Values that columns are equal to, as JSON. */
  keys: string
  /** Those of lists with several items: of `in (…)`, of lists among the parameters, of several keys; '' without one. */
  lists: string
}

export function selectionOf ({ system, statement, parameters, words }: Selecting): Selection {
  const list = Array.isArray(parameters) ? parameters as unknown[] : []
  if (system === 'redis') {
    const command = commandOf(statement)
    // Several keys, or several fields of one.
    const items = /^(?:JSON\.)?MGET$/.test(command) ? list : /^(?:HMGET|SMISMEMBER)$/.test(command) ? list.slice(1) : []
    return { keys: JSON.stringify(list[0] ?? null), lists: items.flat().length > 1 ? JSON.stringify(items) : '' }
  }
  if (isOperation(system, statement)) {
    const given = Object(list[0] ?? parameters) as Record<string, unknown>
    const keys = Object.entries(Object(given.filter ?? given.where ?? given) as object)
      .filter(([, value]) => typeof value !== 'object')
    const lists = JSON.stringify(parameters)?.match(/"\$?in":\[[^\]]*,[^\]]*\]/g) ?? []
    return { keys: JSON.stringify(keys), lists: lists.join() }
  }
  return sqlSelection(words, parameters, list)
}

function sqlSelection (tokens: readonly Token[], parameters: unknown, list: unknown[]): Selection {
  // Arrays, also as JSON or as a text of PostgreSQL.
  const arrays = list.filter((value) => Array.isArray(value)
    ? value.length > 1
    : typeof value === 'string' && /^\[[^]*,[^]*\]$|^\{[^:]*,[^:]*\}$/.test(value))
  const valueOf = (place: string): unknown => {
    const token = tokens[Number(place.slice(1))] as Token
    return token.position === undefined ? token.text : parameterOf(token, parameters)
  }
  const { keys, items } = placesOf(tokens)
  const lists = [...arrays, ...items.map(valueOf)]
  return { keys: JSON.stringify(keys.map(valueOf)), lists: lists.length === 0 ? '' : JSON.stringify(lists) }
}

/** `in (…)`, and rows of `values`. */
const LISTS = /\b(?:in|values) \((?:[^()]|\([^()]*\))*\)(?: , \((?:[^()]|\([^()]*\))*\))*/g
const EQUAL = /((?:\S+ \. )?[^\s<>!]+) = (\0\d+)/g

/** The places of values that a column is equal to, and of several items of a list, by the tokens of a statement. */
const placesOf = cachedByObject((tokens: readonly Token[]) => {
  const text = tokens.map((token, i) => isValue(token) ? `\0${i}` : token.text.toLowerCase()).join(' ')
  const equal = new Map<string, string[]>()
  for (const [, column = '', place = ''] of text.matchAll(EQUAL)) {
    equal.set(column, [...equal.get(column) ?? [], place])
  }
  // `id = ? or id = ?`, `where id = ? union all … where id = ?`
  const isAlternative = / (?:or|union) /.test(text)
  const lists = (text.match(LISTS) ?? []).map((one) => one.match(/\0\d+/g) ?? [])
  return {
    keys: [...equal.values()].filter(({ length }) => !isAlternative || length === 1).flat(),
    items: [...lists, ...isAlternative ? equal.values() : []].filter(({ length }) => length > 1).flat()
  }
})

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
export function unknownFunction (words: readonly Token[]): string | null {
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

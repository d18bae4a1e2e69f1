import { isPlain } from './mask-document.js'

type TokenKind = 'comment' | 'string' | 'name' | 'placeholder' | 'number' | 'word' | 'sign' | 'space'

/** A token of a statement; `text` is as written. */
export interface Token {
  kind: TokenKind
  text: string
  /** Of a placeholder, that of its parameter: `$2`, `?`, and names, which SQLite numbers, too. */
  position?: number
}

/** Characters of a statement that are read; the rest is one token. */
const MAX_LENGTH = 20_000

interface Dialect { comment: string, string: string, name: string, placeholder: string }

// No alternative can fail after it has read much: each statement takes linear time.
const PLAIN = String.raw`'(?:[^']|'')*(?:'|$)`
const ESCAPED = String.raw`'(?:[^'\\]|''|\\(?:[^]|$))*(?:'|$)`
const QUOTED_NAME = '"(?:[^"]|"")*(?:"|$)'
const BACKTICKS = '`[^`]*(?:`|$)'
/** Of libraries that replace names, such as `:id`; `::text` is a cast, and `[1:2]` a slice. */
const NAMED = String.raw`(?<![:\w\]]):(?:[a-z_]\w*|\d+)`

const POSTGRESQL: Dialect = {
  comment: String.raw`--[^\n]*`,
  string: `E${ESCAPED}|(?:[NXB]|U&)?${PLAIN}|` +
    String.raw`\$(?<tag>(?:[\p{L}_][\p{L}\w]*)?)\$[^]*?(?:\$\k<tag>\$|$)`,
  name: `(?:U&)?${QUOTED_NAME}`,
  // Sequelize replaces `$name`.
  placeholder: String.raw`\$\w+|\\\?|\?[|&](?=\s*(?:['$:?]|array\b))|\?|${NAMED}`
}
const MYSQL: Dialect = {
  comment: String.raw`--(?=\s|$)[^\n]*|#[^\n]*`,
  string: String.raw`[NXB]?${ESCAPED}|${ESCAPED.replaceAll("'", '"')}`,
  name: BACKTICKS,
  // `??` is a name; Sequelize replaces `$1` and `$name`.
  placeholder: String.raw`\?\??|\$\w+|${NAMED}`
}
const OTHER: Dialect = {
  comment: String.raw`--[^\n]*`,
  string: `[NXB]?${PLAIN}`,
  name: String.raw`${QUOTED_NAME}|${BACKTICKS}|\[[a-z_][\w ]*\]`,
  placeholder: String.raw`\?\d*|\$\w+|(?<!@)@[a-z_]\w*|${NAMED}`
}

const ESCAPING: Dialect = { ...OTHER, string: `[NXBR]?${ESCAPED}` }

const [postgresql, mysql, other, escaping] = [POSTGRESQL, MYSQL, OTHER, ESCAPING].map((dialect) => new RegExp([
  String.raw`\s+|${dialect.comment}|\/\*[^]*?(?:\*\/|$)`,
  dialect.string,
  dialect.name,
  dialect.placeholder,
  String.raw`0x[\da-f]+|(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?`,
  // With the variables of MySQL and of SQL Server.
  String.raw`@{0,2}[\p{L}_][\p{L}\p{M}\w$]*|[^]`
].join('|'), 'giu'))
const EXPRESSIONS: Readonly<Record<string, RegExp | undefined>> =
  { postgresql, cockroachdb: postgresql, mysql, mariadb: mysql }
/** Systems in which a backslash escapes a quote. */
const ESCAPING_SYSTEM = /^(?:clickhouse|(?:gcp\.)?(?:bigquery|spanner)|snowflake|databricks|hive|neo4j)$/

export const KEYWORDS = new Set(('select from where and or not null is in like ilike between case when then else end ' +
  'insert into values update set delete join left right inner outer full cross on using group by order having limit ' +
  'offset union all any distinct as with returning return create table index drop alter begin commit rollback asc ' +
  'desc exists primary key references default for explain analyze replace conflict do nothing interval').split(' '))

/** The tokens of a statement of SQL: systems differ in quotation, comments and placeholders. */
export function tokensOf (statement: string, system: string): Token[] {
  const expression = (EXPRESSIONS[system] ?? (ESCAPING_SYSTEM.test(system) ? escaping : other)) as RegExp
  const texts = statement.slice(0, MAX_LENGTH).match(expression) ?? []
  const tokens = texts.map((text): Token => ({ kind: kindOf(text, expression), text }))
  if (expression === postgresql) markOperators(tokens)
  if (statement.length > MAX_LENGTH) tokens.push({ kind: 'comment', text: '…' })
  const names = new Map<string, number>()
  let last = -1
  for (const token of tokens) {
    if (token.kind !== 'placeholder') continue
    const number = /^\D(\d+)$/.exec(token.text)?.[1]
    const position: number = number !== undefined ? Number(number) - 1 : names.get(token.text) ?? last + 1
    if (!/^\?\??$/.test(token.text)) names.set(token.text, position)
    last = Math.max(last, position)
    token.position = position
  }
  return tokens
}

/** `?` before a value is an operator of JSON: no value follows a placeholder. */
function markOperators (tokens: readonly Token[]): void {
  let next = ''
  for (const token of tokens.toReversed()) {
    if (token.text === '?' && /^(?:['$]|\?$|:[a-z]|array$)/i.test(next)) token.kind = 'sign'
    if (token.kind !== 'space' && token.kind !== 'comment') next = token.text
  }
}

// Groups of the expression for each kind would make it slower.
function kindOf (text: string, expression: RegExp | undefined): TokenKind {
  const first = text.charAt(0)
  if (/\s/.test(first)) return 'space'
  if (/\d/.test(first) || /^\.\d/.test(text)) return 'number'
  const quote = /^(?:[a-z]|u&)?(['"])/i.exec(text)?.[1]
  if (quote === "'" || (quote === '"' && expression === mysql)) return 'string'
  if (quote === '"') return 'name'
  if (/[\p{L}_]/u.test(first)) return 'word'
  if (/^\?[|&]/.test(text)) return 'sign'
  if (first === '?') return 'placeholder'
  // Or a character of two units.
  if (text.length === 1 || (text.length === 2 && first >= '\ud800')) return 'sign'
  switch (first) {
    case '`':
    case '[': return 'name'
    case '$': return text.includes('$', 1) ? 'string' : 'placeholder'
    case '@': return [other, escaping].includes(expression) && text.charAt(1) !== '@' ? 'placeholder' : 'word'
    case ':': return 'placeholder'
    case '\\': return 'sign'
    default: return 'comment'
  }
}

/** The name of a token without quotes, or without the sign of a placeholder. */
export function plainName ({ kind, text }: Token): string {
  if (kind === 'placeholder') return text.slice(1)
  return text.replace(/^(?:U&)?["`[]|["`\]]$/gi, '')
}

/** The value of a placeholder: from a list by its position, or from an object, which may be in a list, by its name. */
export function parameterOf ({ text, position = 0 }: Token, parameters: unknown): unknown {
  const placed: unknown = Array.isArray(parameters) ? parameters[position] : undefined
  if (placed !== undefined && !isPlain(placed)) return placed
  const objects = [parameters].flat().filter(isPlain)
  const named = objects.map((object) => object[text.slice(1)] ?? object[text]).find((value) => value !== undefined)
  return named === undefined ? placed : named
}

/** Where a place of a statement is in the same tokens with other texts, each with the `length` that it had. */
export function placeIn (tokens: ReadonlyArray<{ text: string, length: number }>, place: number): number {
  let [left, shown] = [place, 0]
  for (const { text, length } of tokens) {
    if (left < length) return text.length === length ? shown + left : shown
    left -= length
    shown += text.length
  }
  return shown
}

/** The place in a statement of the `position` of an error, which counts characters from 1. */
export function placeOf (statement: string, position: number): number {
  return [...statement].slice(0, position - 1).join('').length
}

export function significantTokens (tokens: readonly Token[]): Token[] {
  return tokens.filter(({ kind }) => kind !== 'space' && kind !== 'comment')
}

export function isValue (token: Token | undefined): boolean {
  return token !== undefined && (token.kind === 'string' || token.kind === 'number' || token.kind === 'placeholder')
}

/** Texts that are keys of JSON: `data ->> 'key'`, `data['key']`. */
export function jsonKeys (words: readonly Token[]): Set<Token> {
  return new Set(words.filter(({ kind }, i) =>
    kind === 'string' && /^(?:[->#] ?>|(?!array).* \[)$/i.test(`${words[i - 2]?.text} ${words[i - 1]?.text}`)))
}

const OTHER_SYSTEMS = new Set(['redis', 'mongodb', 'prisma'])

export function isSql (system: string): boolean {
  return !OTHER_SYSTEMS.has(system)
}

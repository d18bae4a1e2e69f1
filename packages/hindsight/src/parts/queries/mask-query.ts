import { cachedFunction } from '../../call.js'
import { flattenError } from '../../errors/masked-exceptions.js'
import { copyFields, readProperty } from '../../errors/thrown-value.js'
import { MASKED, type Mask } from '../../mask/mask.js'
import type { Query } from '../../queries/query.js'
import { cutText } from '../../view/text.js'
import { maskCommand, type Shown } from './mask-command.js'
import { isSmall, mentionsSecret, withoutValues } from './mask-document.js'
import { MAX_STATEMENT, type QueryError } from './recorded-query.js'
import { isReading, shapeOf, shapeOfTokens } from './sql.js'
import { isSql, jsonKeys, placeIn, placeOf, plainName, significantTokens, tokensOf, type Token } from './tokens.js'

/** A query as it is shown, and what is the same each time that its statement is sent. */
export interface ReadQuery extends Shown {
  shape: string
  /** Whether it only reads data. */
  isRead: boolean
  /** Whether its client has replaced its keys by question marks. */
  isHidden?: boolean
  hasPlaceholders?: boolean
  /** The tokens of a statement of SQL, as they are shown. */
  texts?: readonly string[]
}

type Reader = (system: string, statement: string, parameters: unknown) => ReadQuery

/** Returns a function that hides all values of a query with a secret name; others are masked by their shapes. */
export function queryReader (mask: Mask): Reader {
  const statements = cachedFunction((system: string) =>
    cachedFunction((statement: string) => readStatement(mask, system, statement), isKept))
  return (system, statement, parameters) => {
    if (isSql(system)) return maskSql(mask, system, statements(system)(statement), parameters)
    const shown = maskOperation(mask, system, statement, parameters)
    const shape = shapeOf(system, shown.statement, shown.parameters)
    const isHidden = system === 'redis' && [parameters].flat().includes('?')
    // Others than these may read several keys, or a part of a list.
    const isRead = isReading(system, shape) && (!isHidden || /^HGET(?:ALL)?$/i.test(statement))
    return { ...shown, shape, isRead, isHidden }
  }
}

function maskOperation (mask: Mask, system: string, statement: string, parameters: unknown): Shown {
  if (system === 'redis') return maskCommand(mask, statement, parameters)
  const isSecret = mentionsSecret(mask, [statement, parameters])
  return { statement: mask.text(statement), parameters: mask.value(isSecret ? withoutValues(parameters) : parameters) }
}

/** Commands and functions with a secret that has no name: `identified by '…'`, `md5(?)`, `pragma key = '…'`. */
const SECRET_WORD = new RegExp('^(?:identified|attach|pragma|stdin|exec|execute|\\w*crypt(?:_\\w+)?|' +
  'argon2\\w*|md5|sha\\d*|digest|hashbytes|\\w+_hash|hmac\\w*|remote(?:secure)?|s3|gcs|postgresql|mysql|' +
  'opendatasource)$', 'i')

/** A statement of SQL with its tokens as they are shown, without its values where it has a secret name. */
function readStatement (mask: Mask, system: string, statement: string) {
  const tokens = tokensOf(statement, system)
  const names = tokens.filter(({ kind }) => kind === 'word' || kind === 'name' || kind === 'placeholder')
  const texts = tokens.filter(({ kind }) => kind === 'string' || kind === 'comment')
  // The end of a statement that was cut may have a secret name.
  const isSecret = statement.endsWith('…') || names.some((token) => isSecretName(mask, token)) ||
    texts.some(({ text }) => mask.mentions(text))
  return { tokens, isSecret, ...isSecret ? hideValues(mask, system, tokens) : maskTexts(mask, tokens) }
}

function isSecretName (mask: Mask, token: Token): boolean {
  return mask.hides(plainName(token)) || SECRET_WORD.test(token.text)
}

type Statement = ReturnType<typeof readStatement>

/** No secret is kept in memory: only statements without texts and hidden numbers. */
function isKept ({ tokens, texts }: Statement, statement: string): boolean {
  return texts.join('') === statement && !tokens.some(({ kind }) => kind === 'string')
}

function maskSql (mask: Mask, system: string, read: Statement, parameters: unknown): ReadQuery {
  // The name may be a parameter: `data ->> $1`.
  const isSecret = read.isSecret || mentionsSecret(mask, parameters)
  const { texts, shape } = isSecret && !read.isSecret ? hideValues(mask, system, read.tokens) : read
  return {
    statement: texts.join(''),
    texts,
    parameters: isSecret ? withoutValues(parameters) : maskedParameters(mask, parameters),
    shape,
    isRead: isReading(system, shape),
    hasPlaceholders: read.tokens.some(({ kind }) => kind === 'placeholder')
  }
}

function maskedParameters (mask: Mask, parameters: unknown): unknown {
  if (parameters === undefined) return undefined
  // A list of parameters has no pairs of names and values.
  if (Array.isArray(parameters)) return parameters.map((value) => mask.value(value))
  return mask.value(parameters)
}

/** The texts of tokens, masked by their shapes, and the shape of the statement. */
function maskTexts (mask: Mask, tokens: readonly Token[]) {
  const shown = tokens.map((token): Token => {
    const { kind, text } = token
    if (kind !== 'string' && kind !== 'comment' && !text.startsWith('"')) return token
    return { kind, text: mask.text(text) }
  })
  return { texts: shown.map(({ text }) => text), shape: shapeOfTokens(shown) }
}

function hideValues (mask: Mask, system: string, tokens: readonly Token[]) {
  const words = significantTokens(tokens)
  const keys = jsonKeys(words)
  // ORMs write secret names in quotes. Where one has none, quotes are those of texts.
  const isBare = words.some((token) =>
    (token.kind !== 'name' || token.text.startsWith('"$')) && isSecretName(mask, token))
  const isCopy = words.some(({ text }) => /^stdin$/i.test(text))
  const identified = tokens.findIndex(({ text }) => /^identified$/i.test(text))
  let isRest = false
  const shown = tokens.map((token, i): Token => {
    const before = tokens[i - 1]
    if (isRest) return { kind: 'space', text: '' }
    // A quote within a text has ended it, and rows follow `copy … from stdin;`.
    isRest = (before?.kind === 'string' && /^(?:word|number|string)$/.test(token.kind)) ||
      (token.text === ';' && isCopy)
    if (isRest) return { kind: 'string', text: MASKED }
    const isText = token.kind === 'string' ? !keys.has(token) : isBare && mayBeText(token, system, tokens[i + 1])
    // The password of `identified by` may have no quotes, or those of a name.
    const isPassword = identified !== -1 && i > identified && /^(?:word|name)$/.test(token.kind) &&
      !BEFORE_PASSWORD.test(token.text)
    if (isText || isPassword) return { kind: 'string', text: withoutContent(token.text) }
    if (token.kind === 'number' && !isSmall(token.text)) return { kind: 'number', text: MASKED }
    if (token.kind === 'comment') return { kind: 'comment', text: `/* ${MASKED} */` }
    return token
  })
  return { texts: shown.map(({ text }) => text), shape: shapeOfTokens(shown) }
}

const BEFORE_PASSWORD = /^(?:by|with|as|values|password|replace)$/i
const QUOTED_NAMES = /^(?:postgresql|cockroachdb|oracle|microsoft\.sql_server|snowflake)$/

/** Whether double quotes may be those of a text, as in SQLite, where a name that does not exist is one. */
function mayBeText ({ text }: Token, system: string, after: Token | undefined): boolean {
  return text.startsWith('"') && !QUOTED_NAMES.test(system) && after?.text !== '.' && after?.text !== '('
}

/** The quotes stay: a comparison with the statement as it was sent shows which texts are masked. */
function withoutContent (text: string): string {
  const [open = ''] = /^(?:[\w&]*['"]|\$\w*\$)/.exec(text) ?? []
  const close = open.replace(/^[\w&]+/, '')
  return open + MASKED + (text.length > open.length && text.endsWith(close) ? close : '')
}

/** Where the `position` of an error is in the statement that is shown: values before it may be masked. */
function shownPosition (
  system: string, statement: string, texts: readonly string[] | undefined, position: number
): number {
  const tokens = tokensOf(statement, system).map(({ text }, i) => ({ text: texts?.[i] ?? text, length: text.length }))
  const place = placeIn(tokens, placeOf(statement, position))
  return [...tokens.map(({ text }) => text).join('').slice(0, place)].length + 1
}

/** Fields of errors of databases: those of PostgreSQL, MySQL and SQLite. */
const ERROR_FIELDS = [
  'code', 'severity', 'detail', 'hint', 'position', 'where', 'schema', 'table', 'column', 'constraint', 'errno',
  'sqlState', 'errcode', 'errstr'
]

/** The error of a query, masked; `texts`: the tokens of its statement, as they are shown. */
export function errorOf (
  given: unknown, mask: Mask, { system, statement }: Query, texts?: readonly string[]
): QueryError {
  const parent = readProperty(given, 'parent')
  // Of Sequelize: that of the database.
  const error = parent instanceof Error ? parent : given
  const copy = copyFields(error, ['sql', ...ERROR_FIELDS])
  const shown = (text: string): string => mask.cut(text, 1_000)
  // Sequelize has replaced names: the position is that in another text.
  const isOther = typeof copy.sql === 'string' && copy.sql !== statement
  const fields = ERROR_FIELDS.filter((name) => name !== 'position' || !isOther).flatMap((name) => {
    const value = copy[name]
    if (typeof value === 'number') return [[name, value]]
    if (typeof value === 'string') return [[name, shown(value)]]
    return []
  })
  const position = Number(copy.position)
  // Of Prisma: after an excerpt of the code.
  const message = flattenError(error)[0]?.message.replace(/^\s*Invalid `[^]*\n/, '') ?? ''
  return {
    message: mask.cut(message, 2_000),
    ...Object.fromEntries(fields),
    ...!isOther && position > 0 && {
      position: shownPosition(system, cutText(statement, MAX_STATEMENT), texts, position)
    }
  }
}

import { cached } from '../../call.js'
import { flattenError } from '../../errors/masked-exceptions.js'
import { read } from '../../errors/thrown-value.js'
import { isHarmless, valueFieldTest } from '../../mask/names.js'
import { MASKED, type Mask } from '../../mask/mask.js'
import type { Query } from '../../queries/query.js'
import { cut } from '../../view/text.js'
import { columnName, mayBeText, namedValues, unquoted } from './columns.js'
import { maskCommand, type Shown } from './mask-command.js'
import { isPlain, masked, withoutComparands } from './mask-document.js'
import { MAX_STATEMENT, type QueryError } from './recorded-query.js'
import { shapeOf, shapeOfTokens } from './sql.js'
import { effectOf, type Effect } from './statement.js'
import { isSql, parameterOf, placeIn, placeOf, significant, tokensOf, type Token } from './tokens.js'

/** A query as it is shown, and what is the same each time that its statement is sent. */
export interface ReadQuery extends Shown {
  shape: string
  effect: Effect
  /** Of a statement of SQL, without space and comments. */
  words: readonly Token[]
  /** Whether its client has replaced its keys by question marks. */
  isHidden?: boolean
  /** The tokens of a statement of SQL, as they are shown. */
  texts?: readonly string[]
}

type Reader = (system: string, statement: string, parameters: unknown) => ReadQuery

/** Returns a function that masks those values of a query that belong to a column or a field with a secret name. */
export function queryReader (mask: Mask): Reader {
  const statements = cached((system: string) =>
    cached((statement: string) => readStatement(mask, system, statement), hasNoSecret))
  return (system, statement, parameters) => {
    if (isSql(system)) return maskSql(mask, statements(system)(statement), parameters)
    const shown = system === 'redis'
      ? maskCommand(mask, statement, parameters)
      : { statement: mask.text(statement), parameters: mask.value(withoutComparands(mask, parameters)) }
    const shape = shapeOf(system, shown.statement, shown.parameters)
    const effect = effectOf(system, shown.statement, [])
    const isHidden = system === 'redis' && [parameters].flat().includes('?')
    // Others than these may read several keys, or a part of a list.
    const isRead = effect.isRead && (!isHidden || /^HGET(?:ALL)?$/i.test(statement))
    return { ...shown, shape, effect: { ...effect, isRead }, isHidden, words: [] }
  }
}

/** `:id`, `@id`, `$id` */
function isNamed ({ text }: Token): boolean {
  return /^[:@$][a-z_]/i.test(text)
}

/** What is the same each time that a statement of SQL is sent; without secrets that have a secret name. */
function readStatement (mask: Mask, system: string, statement: string) {
  const tokens = tokensOf(statement, system)
  const isDefinition = /^\s*(?:create|alter|drop|comment)\b/i.test(statement)
  const { values, isCommand } = namedValues(tokens, mask.hides, system)
  const named = values.filter(({ token }) => !(token.kind === 'number' && isDefinition)).map((value) => ({
    ...value,
    // Of a placeholder with a name, also its own.
    names: [value.column ?? '', ...isNamed(value.token) ? [value.token.text.slice(1)] : []]
  }))
  const shown = tokens.map((token): Token => /^(?:string|comment)$/.test(token.kind) || mayBeText(token, system)
    ? { kind: token.kind, text: maskedLiteral(mask, token.text) }
    : token)
  const texts = shown.map(({ text }) => text)
  return {
    tokens,
    named,
    // The end of a statement that was cut may do so.
    mentionsSecret: statement.endsWith('…') || isCommand ||
      tokens.some((token) => token.kind === 'string'
        ? mask.mentions(token.text)
        : /^(?:word|name|placeholder)$/.test(token.kind) && mask.hides(columnName(token))),
    placed: new Set(tokens.map(({ position }) => position)),
    isInsert: /^\s*(?:insert|replace)\b/i.test(statement),
    hasNames: values.some(({ token }) => isNamed(token)),
    texts,
    statement: texts.join(''),
    shape: shapeOfTokens(shown),
    effect: effectOf(system, statement, tokens),
    words: significant(shown)
  }
}

/** A literal may be a statement itself, with doubled quotes. */
function maskedLiteral (mask: Mask, text: string): string {
  const plain = /^'[^]+''[^]*'$/.test(text) ? text.slice(1, -1).replaceAll("''", "'") : ''
  const shown = mask.text(plain)
  return shown === plain ? mask.text(text) : `'${shown.replaceAll("'", "''")}'`
}

type Statement = ReturnType<typeof readStatement>

/** No secret is kept in memory: only statements whose literals are none. */
function hasNoSecret ({ tokens, mentionsSecret, statement }: Statement, given: string): boolean {
  return statement === given && !tokens.some(({ kind, text }) =>
    kind === 'string' || (mentionsSecret && kind === 'number' && !isSmall(text)))
}

/** Whether a value is the name of a field with a secret name, or a path to it: `data ->> $1`. */
function isSecretName (mask: Mask, value: unknown): boolean {
  if (Array.isArray(value)) return value.some((item) => typeof item === 'string' && isSecretName(mask, item))
  // Names have few digits, unlike identifiers and dates.
  return typeof value === 'string' && value.length <= 128 && !/[=@]|(?:\d\D*){6}/.test(value) &&
    mask.mentions(value)
}

/** Whether a value is a path with a condition for a secret: `$.password ? (@ == "…")`, `//a[@password="…"]`. */
function isSecretPath (mask: Mask, value: unknown): boolean {
  return typeof value === 'string' && /^\s*(?:(?:(?:strict|lax)\s+)?\$[^]*[=<>~?]|\/[^[?]*\[[^\]]*[=(])/.test(value) &&
    mask.mentions(value)
}

function maskSql (mask: Mask, read: Statement, parameters: unknown): ReadQuery {
  const { tokens, placed, shape, effect, words, hasNames } = read
  const isNameOrPath = (value: unknown): boolean => isSecretName(mask, value) || isSecretPath(mask, value)
  const hasNameOrPath = (value: unknown): boolean =>
    isPlain(value) ? Object.values(value).some(isNameOrPath) : isNameOrPath(value)
  const isOpen = read.mentionsSecret ||
    (Array.isArray(parameters) ? parameters.some(hasNameOrPath) : hasNameOrPath(parameters))
  if (!isOpen) {
    const { statement, texts } = read
    const shown = (value: unknown): unknown => isPlain(value) ? maskedFields(mask, value) : maskedValue(mask, value)
    return { statement, texts, parameters: eachOf(parameters, shown), shape, effect, words }
  }
  const { secret, unsure } = secretTokens(mask, read, parameters)
  const placeholders = [...secret, ...unsure].filter(({ kind }) => kind === 'placeholder')
  const hidden = new Set(placeholders.map(({ position }) => position))
  const sure = new Set([...secret].map(({ position }) => position))
  const hiddenNames = new Set(placeholders.map((token) => token.text.slice(1)))
  const shown = (value: unknown, i?: number): unknown => {
    if (!isPlain(value)) {
      const isHidden = i !== undefined && (hidden.has(i) || (!placed.has(i) && !isSmall(value)))
      return isHidden ? masked(value) : maskedValue(mask, value)
    }
    // An object that is no certain secret has names of its own.
    if (i !== undefined && sure.has(i) && !hasNames) return masked(value)
    const isHidden = (name: unknown): boolean => hiddenNames.has(String(name).replace(/^[:@$]/, ''))
    // `{ name: '@token', value: '…' }`
    const isSecret = isHidden(value.name)
    return maskedFields(mask, Object.fromEntries(Object.entries(value).map(([name, item]) =>
      [name, isHidden(name) || (isSecret && name !== 'name') ? masked(item) : item])))
  }
  const texts = read.texts.map((text, i) => {
    const token = tokens[i] as Token
    if (token.kind === 'placeholder' || !(secret.has(token) || unsure.has(token))) return text
    // The quotes stay: a comparison with the statement as it was sent shows which texts are masked.
    const [open = ''] = /^(?:[\w&]*['"]|\$\w*\$)/.exec(text) ?? []
    const close = open.replace(/^[\w&]+/, '')
    return open + MASKED + (text.length > open.length && text.endsWith(close) ? close : '')
  })
  return { statement: texts.join(''), texts, parameters: eachOf(parameters, shown), shape, effect, words }
}

/** The parameters of a query with `shown` of each; it receives the positions of those of a list. */
function eachOf (parameters: unknown, shown: (value: unknown, i?: number) => unknown): unknown {
  if (Array.isArray(parameters)) return parameters.map((value: unknown, i) => shown(value, i))
  return parameters === undefined ? undefined : shown(parameters)
}

function maskedFields (mask: Mask, value: object): unknown {
  return mask.value(withoutComparands(mask, value))
}

/**
 * The values that are secrets, of a query with a secret name in its statement or parameters, and those that may be:
 * all that are not certainly assigned to a column.
 */
function secretTokens (mask: Mask, { named, isInsert }: Statement, parameters: unknown) {
  const given = named.map(({ token }) =>
    token.position === undefined ? unquoted(token.text) : parameterOf(token, parameters))
  const isValueField = valueFieldTest(named.map(({ column = '' }, i) => [column, given[i]] as const),
    (value) => typeof value === 'string' && value.length <= 128 && mask.hides(value))
  const [secret, unsure] = [new Set<Token>(), new Set<Token>()]
  for (const [i, { token, column, names }] of named.entries()) {
    const isSecret = names.some((name) => isValueField(name) || (mask.hides(name) && !isHarmless(name, given[i])))
    // mysql2 writes a list as several values: `values (?)`.
    const isRow = isInsert && token.text === '?' && Array.isArray(given[i])
    if (isSecret) secret.add(token)
    else if (!isSmall(given[i]) && (column === undefined || isRow)) unsure.add(token)
  }
  return { secret, unsure }
}

/** Whether a value has fewer than three digits: too few for a secret. */
function isSmall (value: unknown): boolean {
  return /^\d{0,2}$/.test(String(value))
}

/** Where the `position` of an error is in the statement that is shown: values before it may be masked. */
function shownPosition (
  system: string, statement: string, texts: readonly string[] | undefined, position: number
): number {
  const tokens = tokensOf(statement, system).map(({ text }, i) => ({ text: texts?.[i] ?? text, length: text.length }))
  const place = placeIn(tokens, placeOf(statement, position))
  return [...tokens.map(({ text }) => text).join('').slice(0, place)].length + 1
}

/** Fewer digits than the number of a card. */
const SMALL = 1e12

function maskedValue (mask: Mask, value: unknown): unknown {
  if (typeof value === 'number' && Math.abs(value) < SMALL) return value
  return mask.value(value)
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
  const parent = read(given, 'parent')
  // Of Sequelize: that of the database.
  const error = parent instanceof Error ? parent : given
  const shown = (text: string): string => mask.text(cut(text, 1_000))
  const sent = read(error, 'sql')
  // Sequelize has replaced names: the position is that in another text.
  const isOther = typeof sent === 'string' && sent !== statement
  const fields = ERROR_FIELDS.filter((name) => name !== 'position' || !isOther).flatMap((name) => {
    const value = read(error, name)
    return typeof value === 'number' ? [[name, value]] : typeof value === 'string' ? [[name, shown(value)]] : []
  })
  const position = isOther ? 0 : Number(read(error, 'position'))
  // Of Prisma: after an excerpt of the code.
  const message = flattenError(error)[0]?.message.replace(/^\s*Invalid `[^]*\n/, '') ?? ''
  return {
    message: mask.text(cut(message, 2_000)),
    ...Object.fromEntries(fields),
    ...position > 0 && { position: shownPosition(system, cut(statement, MAX_STATEMENT), texts, position) }
  }
}

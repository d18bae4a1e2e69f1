import { isHarmless, VALUE_FIELDS, valueFieldTest } from '../../mask/names.js'
import { MASKED, type Mask } from '../../mask/mask.js'
import { namedValues, unquoted, type NamedValue } from './columns.js'
import { maskCommand, type Shown } from './mask-command.js'
import { memo } from './memo.js'
import { shapeOf, shapeOfTokens } from './sql.js'
import { effectOf, type Effect } from './statement.js'
import { isSql, significant, tokensOf, type Token } from './tokens.js'

/** A query as it is shown, and what is the same each time that its statement is sent. */
export interface ReadQuery extends Shown {
  shape: string
  effect: Effect
  /** Of a statement of SQL, without space and comments. */
  words: readonly Token[]
}

type Reader = (system: string, statement: string, parameters: unknown) => ReadQuery

/** Returns a function that masks those values of a query that belong to a column or a field with a secret name. */
export function queryReader (mask: Mask): Reader {
  const statements = memo((system: string) => memo((statement: string) => readStatement(mask, system, statement)))
  return (system, statement, parameters) => {
    if (isSql(system)) return maskSql(mask, statements(system)(statement), parameters)
    const shown = system === 'redis'
      ? maskCommand(mask, statement, parameters)
      : { statement: mask.text(statement), parameters: mask.value(withoutComparands(mask, parameters, 0)) }
    const shape = shapeOf(system, shown.statement, shown.parameters)
    return { ...shown, shape, effect: effectOf(system, shown.statement, []), words: [] }
  }
}

/** Secret names of one value that are read: one that is no secret after all, as `max_tokens = 5`, is rare. */
const MAX_NAMES = 20
/** `set value = ? where name = 'password'` */
const VALUE_NAME = new RegExp(`(?:${VALUE_FIELDS})[\\]\\d_[]*$`, 'i')

/** What is the same each time that a statement of SQL is sent; without secrets that have a secret name. */
function readStatement (mask: Mask, system: string, statement: string) {
  const tokens = tokensOf(statement, system)
  const isDefinition = /^\s*(?:create|alter|drop|comment)\b/i.test(statement)
  const values = namedValues(tokens, mask.hides).filter(({ token }) => !(token.kind === 'number' && isDefinition))
  // Many values may have the same columns.
  const secretsOf = memo((names: readonly string[]) => [...new Set(names)]
    .filter((name) => mask.hides(name) || VALUE_NAME.test(name)).slice(0, MAX_NAMES))
  const named = values.map(({ token, names }) => {
    const own = /^[:@$][a-z_]/i.test(token.text) ? secretsOf([token.text.slice(1)]) : []
    return { token, last: names.at(-1) ?? '', secrets: [...secretsOf(names), ...own] }
  })
  const shown = tokens.map((token): Token => token.kind === 'string' || token.kind === 'comment'
    ? { kind: token.kind, text: mask.text(token.text) }
    : token)
  return {
    tokens,
    named,
    mayHide: named.some(({ secrets }) => secrets.length > 0),
    positions: positionsOf(values),
    shown,
    statement: shown.map(({ text }) => text).join(''),
    shape: shapeOfTokens(shown),
    effect: effectOf(system, statement, tokens),
    words: significant(shown)
  }
}

type Statement = ReturnType<typeof readStatement>

function maskSql (mask: Mask, read: Statement, parameters: unknown): ReadQuery {
  const { tokens, positions, shown, shape, effect, words } = read
  const secret = read.mayHide ? secretTokens(mask, read, parameters) : NONE
  const placeholders = [...secret].filter(({ kind }) => kind === 'placeholder')
  const hidden = new Set(placeholders.map((token) => positions.get(token)))
  const hiddenNames = new Set(placeholders.map((token) => token.text.slice(1)))
  const named = (value: unknown): unknown => isPlain(value)
    ? mask.value(Object.fromEntries(Object.entries(value).map(([name, item]) =>
      [name, hiddenNames.has(name.replace(/^[:@$]/, '')) ? masked(item) : item] as const)))
    : maskedValue(mask, value)
  const statement = secret.size === 0
    ? read.statement
    : tokens.map((token, i) => {
      if (!secret.has(token) || token.kind === 'placeholder') return shown[i]?.text
      return token.kind === 'number' ? MASKED : `'${MASKED}'`
    }).join('')
  return {
    statement,
    parameters: !Array.isArray(parameters)
      ? parameters === undefined ? undefined : named(parameters)
      : parameters.map((value: unknown, i) => hidden.has(i) ? masked(value) : named(value)),
    shape,
    effect,
    words
  }
}

const NONE: ReadonlySet<Token> = new Set()

/** The values of a query that are secrets. */
function secretTokens (mask: Mask, { named, positions }: Statement, parameters: unknown): ReadonlySet<Token> {
  const list = Array.isArray(parameters) ? parameters as unknown[] : []
  const given = named.map(({ token }) => {
    const position = positions.get(token)
    if (position === undefined) return unquoted(token.text)
    return position < list.length ? list[position] : namedValue(parameters, token)
  })
  const isValueField = valueFieldTest(named.map(({ last }, i) => [last, given[i]] as const),
    (value) => typeof value === 'string' && value.length <= 128 && mask.hides(value))
  return new Set(named.filter(({ secrets }, i) => given[i] !== '' && secrets.some((name) =>
    isValueField(name) || (mask.hides(name) && !isHarmless(name, given[i])))).map(({ token }) => token))
}

/** Fewer digits than the number of a card. */
const SMALL = 1e12

function maskedValue (mask: Mask, value: unknown): unknown {
  if (typeof value === 'number' && Math.abs(value) < SMALL) return value
  return mask.value(value)
}

function masked (value: unknown): unknown {
  return value === null || value === undefined || typeof value === 'boolean' ? value ?? null : MASKED
}

function isPlain (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null &&
    [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null)
}

function namedValue (parameters: unknown, { text }: Token): unknown {
  const objects = [parameters].flat().filter(isPlain)
  return objects.map((object) => object[text.slice(1)] ?? object[text]).find((value) => value !== undefined)
}

/** The positions of the parameters of placeholders: `$2`, `?`, and names, which SQLite numbers, too. */
function positionsOf (values: readonly NamedValue[]): Map<Token, number> {
  const positions = new Map<Token, number>()
  const names = new Map<string, number>()
  let last = -1
  for (const { token } of values) {
    if (token.kind !== 'placeholder') continue
    const number = /^\D(\d+)$/.exec(token.text)?.[1]
    const position: number = number !== undefined ? Number(number) - 1 : names.get(token.text) ?? last + 1
    if (token.text !== '?') names.set(token.text, position)
    last = Math.max(last, position)
    positions.set(token, position)
  }
  return positions
}

const MAX_DEPTH = 12

/** A copy of a document of MongoDB without values that are compared with a secret field: `{ $eq: ['$pin', 1] }`. */
function withoutComparands (mask: Mask, value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) return value
  if (Array.isArray(value)) {
    const isSecret = value.some((item) => typeof item === 'string' && /^\$\w/.test(item) && mask.hides(item))
    return value.map((item: unknown) => {
      const isReference = typeof item === 'string' && item.startsWith('$')
      return isSecret && !isReference && !isPlain(item) ? masked(item) : withoutComparands(mask, item, depth + 1)
    })
  }
  if (!isPlain(value)) return value
  return Object.fromEntries(Object.entries(value)
    .map(([name, item]) => [name, withoutComparands(mask, item, depth + 1)]))
}

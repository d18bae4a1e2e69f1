import { html, textOrJson, type HtmlValue } from '../../view/text.js'
import { isSql, KEYWORDS, parameterOf, placeIn, placeOf, tokensOf, type Token } from './tokens.js'

export interface Written { system: string, statement: string, parameters?: unknown }

/** A token as it is shown, with the length that it has in the statement. */
interface Shown extends Token { length: number, isValue: boolean }

function literal (value: unknown, system: string): string {
  if (value === null) return 'null'
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  if (Array.isArray(value) && system === 'postgresql') {
    if (value.length === 0) return "'{}'"
    return `array[${value.map((item) => literal(item, system)).join(', ')}]`
  }
  const text = textOrJson(value).replaceAll("'", "''")
  if (system === 'mysql' || system === 'mariadb') return `'${text.replaceAll('\\', '\\\\')}'`
  return `'${text}'`
}

/** The tokens of a statement; a placeholder with a value is its literal. */
function shownTokens ({ system, statement, parameters }: Written): Shown[] {
  return tokensOf(statement, system).map((token) => {
    const { kind, text, text: { length } } = token
    // In PostgreSQL a question mark is an operator.
    const isPlaceholder = kind === 'placeholder' && !(system === 'postgresql' && text.startsWith('?'))
    const value = isPlaceholder ? parameterOf(token, parameters) : undefined
    const isValue = value !== undefined
    return { kind, text: isValue ? literal(value, system) : text, length, isValue }
  })
}

/** The statement with its parameters as literals, to be run again; a command and its arguments of another system. */
export function runnableText (query: Written): string {
  const { system, statement, parameters } = query
  if (isSql(system)) return shownTokens(query).map(({ text }) => text).join('')
  if (system === 'redis' && Array.isArray(parameters)) return [statement, ...parameters.map(argument)].join(' ')
  const values = [parameters ?? {}].flat().map((value) => JSON.stringify(value))
  return `${statement}(${values.join(', ')})`
}

function argument (value: unknown): string {
  if (typeof value === 'string' && /^[^\s"'\\]+$/.test(value)) return value
  return JSON.stringify(value)
}

/** Where the `position` of an error is in the runnable statement. */
export function markOf (query: Written, position: unknown): number | undefined {
  const at = offsetOf(query, position)
  if (at === undefined) return undefined
  return placeIn(shownTokens(query), at)
}

function offsetOf ({ system, statement }: Written, position: unknown): number | undefined {
  if (isSql(system) && typeof position === 'number' && position > 0) return placeOf(statement, position)
  return undefined
}

/** The runnable statement as markup: kinds of tokens in colors, and a mark at the `position` of an error. */
export function highlightedText (query: Written, position?: unknown): HtmlValue {
  if (!isSql(query.system)) return runnableText(query)
  const at = offsetOf(query, position)
  let offset = 0
  const markup = shownTokens(query).map((token): HtmlValue => {
    const { text, length } = token
    const isMarked = at !== undefined && offset <= at && at < offset + length
    offset += length
    const name = colorOf(token)
    const shown = PLAIN.has(name) ? text : html`<span class="sql-${name}">${text}</span>`
    return isMarked ? html`<mark>${shown}</mark>` : shown
  })
  return [markup, at !== undefined && at >= offset && html`<mark> </mark>`]
}

/** The kinds of tokens that have no color. */
const PLAIN: ReadonlySet<string> = new Set(['space', 'sign', 'word', 'name'])

function colorOf ({ kind, text, isValue }: Shown): string {
  if (isValue) return 'value'
  if (kind === 'word' && KEYWORDS.has(text.toLowerCase())) return 'keyword'
  return kind
}

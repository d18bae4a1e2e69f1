import { INVISIBLE, unicodeEscape } from '../../view/json.js'
import { splitAtGaps, type Gap, type StoredRequest } from '../replay/stored-request.js'

const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** A text for a line of comment: it cannot end the line. */
export function commentText (text: string): string {
  return text.replace(INVISIBLE, ' ').slice(0, 300)
}

/** A JavaScript string literal, in single quotes. */
export function jsString (text: string): string {
  const escaped = text.replace(/[\\']/g, '\\$&')
  return `'${escaped.replace(INVISIBLE, (character) => ESCAPES[character] ?? unicodeEscape(character))}'`
}

/**
 * A JavaScript expression for a text with placeholders: `'Bearer ' + masked('HINDSIGHT_AUTHORIZATION')`. In a URL, the
 * masked values are percent-encoded.
 */
export function jsText (text: string, request: Pick<StoredRequest, 'mark'>, isUrl = false): string {
  const masked = (env: string): string => isUrl ? `encodeURIComponent(masked('${env}'))` : `masked('${env}')`
  const terms = splitAtGaps(text, request).map((part, i) => i % 2 === 1 ? masked(part) : jsString(part))
  return terms.filter((term) => term !== "''").join(' + ') || "''"
}

/** A JavaScript expression for parsed JSON with placeholders, over several lines. */
export function jsValue (value: unknown, request: Pick<StoredRequest, 'mark'>, indent = ''): string {
  if (typeof value === 'string') return jsText(value, request)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = `${indent}  `
  const lines = Array.isArray(value)
    ? value.map((item) => inner + jsValue(item, request, inner))
    : Object.entries(value).map(([name, item]) => `${inner}${jsName(name)}: ${jsValue(item, request, inner)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return lines.length === 0 ? open + close : `${open}\n${lines.join(',\n')}\n${indent}${close}`
}

/** The name of a property in an object literal. */
export function jsName (name: string): string {
  // Without the brackets, this one would set the prototype.
  if (name === '__proto__') return "['__proto__']"
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : jsString(name)
}

/** The body as a JavaScript expression. In JSON, the masked values are those before serialization. */
export function jsBody (body: string, request: StoredRequest, indent: string): string {
  if (request.body?.kind === 'json') return `JSON.stringify(${jsValue(JSON.parse(body), request, indent)})`
  return jsText(body, request, request.body?.kind === 'form')
}

/** Lines of JavaScript that define `masked`, the function that reads a masked value; none when nothing is masked. */
export function maskedFunction (gaps: readonly Gap[]): string[] {
  if (gaps.length === 0) return []
  return [
    '',
    '// The profile has these masked: set them in the environment.',
    ...gaps.map(({ env, where }) => `//   ${env}: ${commentText(where)}`),
    'function masked (name) {',
    '  const value = process.env[name]',
    "  if (value === undefined) throw new Error(name + ' is not set: the profile has it masked')",
    '  return value',
    '}'
  ]
}

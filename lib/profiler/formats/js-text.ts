import { Masked, type Gap } from '../resend/masked.js'
import type { Piece, Writing } from '../resend/pieces.js'

// What ends a line, hides or reorders what stands around it, in source too.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/gu
const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** A JavaScript string that is what it says, whatever it says. */
export function jsString (text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&').replace(UNSEEN, (character) => ESCAPES[character] ?? codes(character))}'`
}

/** JSON, or the text of any string in it, with what cannot be seen written as escapes. */
export function seen (json: string): string {
  return json.replace(UNSEEN, (character) => character === '\n' ? character : codes(character))
}

function codes (character: string): string {
  return Array.from({ length: character.length }, (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')
}

/** An expression for a text with gaps; `masked(name)` gives what stands in one. */
export function jsText (pieces: readonly Piece[]): string {
  if (pieces.length === 0) return "''"
  const terms = pieces.map((piece) => typeof piece === 'string' ? jsString(piece) : written(piece.gap, piece.as))
  // A text first, so that all is one.
  return terms.join(' + ')
}

function written ({ env }: Gap, as: Writing): string {
  return as === 'percent' ? `encodeURIComponent(masked('${env}'))` : `masked('${env}')`
}

/** An expression for a value that has been JSON, over several lines. */
export function jsValue (value: unknown, indent = ''): string {
  if (value instanceof Masked) return value.literals.map((literal, i) => [...i === 0 ? [] : [`masked('${value.gap.env}')`], ...literal === '' ? [] : [jsString(literal)]]).flat().join(' + ')
  if (typeof value === 'string') return jsString(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const inner = `${indent}  `
  const lines = Array.isArray(value)
    ? value.map((item) => inner + jsValue(item, inner))
    // As a plain name this one would not be a field.
    : Object.entries(value).map(([name, item]) => `${inner}${name === '__proto__' ? "['__proto__']" : jsName(name)}: ${jsValue(item, inner)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return lines.length === 0 ? open + close : `${open}\n${lines.join(',\n')}\n${indent}${close}`
}

/** The name of a property as it is written in an object. */
export function jsName (name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : jsString(name)
}

/** The function that reads what is masked from the environment, as lines of source; none where nothing is. */
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

/** A text that stays within its line of comment. */
export function commentText (text: string): string {
  return text.replace(UNSEEN, ' ').slice(0, 300)
}

import { splitAtPlaceholders, type MaskedValue, type StoredRequest } from '../replay/stored-request.js'
import { INVISIBLE, visibleJson } from '../../view/json.js'

/** A text for a line of comment: it cannot end the line. */
export function commentText (text: string): string {
  return text.replace(INVISIBLE, ' ').slice(0, 300)
}

/**
 * A JavaScript expression for a text with placeholders: `"Bearer " + masked("HINDSIGHT_AUTHORIZATION")`. In a URL, the
 * masked values are percent-encoded.
 */
export function jsText (text: string, isUrl = false): string {
  const masked = (env: string): string => isUrl ? `encodeURIComponent(masked("${env}"))` : `masked("${env}")`
  // JSON is JavaScript.
  const terms = splitAtPlaceholders(text).map((part, i) => i % 2 === 1 ? masked(part) : visibleJson(part))
  return terms.filter((term) => term !== '""').join(' + ') || '""'
}

/** A JavaScript expression for JSON data with placeholders, over several lines. */
export function jsValue (value: unknown, indent = ''): string {
  const json = visibleJson(value, 2)
    // Without the brackets, this name would set the prototype.
    .replace(/^( *)"__proto__":/gm, '$1["__proto__"]:')
    .replaceAll('\n', `\n${indent}`)
  const source = splitAtPlaceholders(json).map((part, i) => i % 2 === 1 ? `" + masked("${part}") + "` : part).join('')
  // Empty strings before and after a masked value. Within a string, quotes are escaped.
  return source.replace(/(?<!\\)"" \+ (?=masked\()|(?<=\)) \+ ""/g, '')
}

/** The body as a JavaScript expression. In JSON, the masked values are those before serialization. */
export function jsBody (body: string, request: Pick<StoredRequest, 'body'>, indent: string): string {
  if (request.body?.kind === 'json') return `JSON.stringify(${jsValue(JSON.parse(body), indent)})`
  return jsText(body, request.body?.kind === 'form')
}

/** Lines of JavaScript that define `masked`, the function that reads a masked value; none when nothing is masked. */
export function maskedFunction (values: readonly MaskedValue[]): string[] {
  if (values.length === 0) return []
  return [
    '',
    '// The profile has these masked: set them in the environment.',
    ...values.map(({ env }) => `//   ${env}`),
    'function masked (name) {',
    '  const value = process.env[name]',
    "  if (value === undefined) throw new Error(name + ' is not set: the profile has it masked')",
    '  return value',
    '}'
  ]
}

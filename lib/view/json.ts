import { inspect } from 'node:util'
import { attempt } from '../attempt.js'

/** Characters that end a line, or that hide or reorder the text around them. */
export const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/gu

/** An object of JSON. */
export type Data = Record<string, unknown>

export function isObject (value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** JSON of data in which invisible characters are escapes. */
export function visibleJson (value: unknown, indent = 0): string {
  // Line feeds stay: only the indentation has them.
  return JSON.stringify(value, null, indent).replace(INVISIBLE, (character) => character === '\n'
    ? character
    : character.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''))
}

/** JSON of any value. Values without a form in JSON become text; a value that cannot be serialized is inspected. */
export function safeJson (value: unknown, indent = 0): string {
  return attempt(() => JSON.stringify(value, replacer, indent) ?? inspected(value), () =>
    JSON.stringify(inspected(value)))
}

function replacer (_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'symbol' || typeof value === 'function') return inspected(value)
  if (value instanceof Error) return { ...value, name: value.name, message: value.message }
  if (value instanceof Map || value instanceof Set) return [...value]
  return value
}

/** Any value as bounded text. Strings stay as they are. */
export function inspected (value: unknown): string {
  if (typeof value === 'string') return value
  const limits = { depth: 3, maxArrayLength: 20, maxStringLength: 2_000, breakLength: 100 }
  return attempt(() => inspect(value, limits), () => '[a value that cannot be read]')
}

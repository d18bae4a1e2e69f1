import type { Mask } from '../../mask/mask.js'

const MAX_VALUE = 4_096

/** Headers as the profile keeps them: masked, and a value that nobody would read to its end cut, with a note of how much. */
export function shownHeaders (headers: Readonly<Record<string, unknown>>, mask: Mask): Record<string, string | string[]> {
  let shown: Readonly<Record<string, unknown>> = headers
  for (const name in headers) {
    const value = headers[name]
    if (typeof value === 'string' ? value.length <= MAX_VALUE : !Array.isArray(value)) continue
    // Only what has a long one, or a list, is copied for it.
    if (shown === headers) shown = { ...headers };
    (shown as Record<string, unknown>)[name] = Array.isArray(value) ? value.map(bounded) : bounded(value)
  }
  return mask.headers(shown)
}

function bounded (value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= MAX_VALUE) return value
  return `${value.slice(0, MAX_VALUE)}… (${Buffer.byteLength(value.slice(MAX_VALUE)).toLocaleString('en')} more bytes)`
}

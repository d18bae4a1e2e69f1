import { cut } from '../view/visible.js'

/** Characters of a text that a profile takes. */
export const MAX_STRING = 10_000
export const MAX_DEPTH = 24
/** Characters of the name of a field. */
export const MAX_NAME = 500

/** A copy of whatever it is given as JSON can hold it: a collector of the application may have left anything in its data. */
export function plain (value: unknown, maxString: number, ancestors: readonly object[] = []): unknown {
  if (typeof value === 'string') return cut(value, maxString)
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value === 'boolean' || value === null || value === undefined) return value ?? null
  if (typeof value !== 'object') return cut(String(value), maxString)
  if (ancestors.includes(value)) return '[circular]'
  if (ancestors.length >= MAX_DEPTH) return '[too deep]'
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
  const within = [...ancestors, value]
  if (Array.isArray(value)) return value.map(item => plain(item, maxString, within))
  return Object.fromEntries(Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([name, item]) => [cut(name, MAX_NAME), plain(item, maxString, within)]))
}

/** The bytes of a value as JSON. */
export function bytesOf (value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '')
}

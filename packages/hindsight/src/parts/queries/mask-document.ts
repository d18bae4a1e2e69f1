import { MASKED, type Mask } from '../../mask/mask.js'

const MAX_DEPTH = 12
/** Characters of a text that may be a name, or a path to one: longer ones are prose. */
const MAX_NAME = 128

/** Whether a text in a value has a secret name: `'$password'`, `{ path: ['pin'] }`, the key of `data ->> $1`. */
export function mentionsSecret (mask: Mask, value: unknown, depth = 0): boolean {
  if (typeof value === 'string') return value.length <= MAX_NAME && mask.mentions(value)
  if (depth > MAX_DEPTH || !(Array.isArray(value) || isPlain(value))) return false
  return Object.values(value).some((item) => mentionsSecret(mask, item, depth + 1))
}

/** A value without its texts and numbers; names of fields stay. */
export function withoutValues (value: unknown): unknown {
  if (value === null || value === undefined || typeof value === 'boolean' || isSmall(value)) return value
  if (Array.isArray(value)) return value.map(withoutValues)
  if (!isPlain(value)) return MASKED
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withoutValues(item)]))
}

/** Whether a value has fewer than three digits: too few for a secret. */
export function isSmall (value: unknown): boolean {
  return /^\d{0,2}$/.test(String(value))
}

export function isPlain (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null &&
    [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null)
}

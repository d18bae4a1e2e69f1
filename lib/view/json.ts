import { inspect } from 'node:util'

/** JSON of any value: what JSON has no form for is told as text, and what cannot be read at all is inspected. */
export function safeJson (value: unknown, indent = 0): string {
  try {
    return JSON.stringify(value, plain, indent) ?? inspected(value)
  } catch {
    return JSON.stringify(inspected(value))
  }
}

function plain (_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'symbol' || typeof value === 'function') return inspected(value)
  if (value instanceof Error) return { ...value, name: value.name, message: value.message }
  if (value instanceof Map || value instanceof Set) return [...value]
  return value
}

function inspected (value: unknown): string {
  try {
    return inspect(value, { depth: 4, maxArrayLength: 50, maxStringLength: 2000 })
  } catch {
    return '[a value that cannot be read]'
  }
}

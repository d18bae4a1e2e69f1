import { inspect, types } from 'node:util'

/** Reads a property of a value of which nothing is known: a getter or a proxy may throw. */
export function read (value: unknown, key: string): unknown {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return undefined
  try {
    return (value as Record<string, unknown>)[key]
  } catch {
    return undefined
  }
}

/** Whether a value has a stack that the runtime wrote, in whatever realm it was made. */
export function isError (value: unknown): boolean {
  try {
    return types.isNativeError(value) || value instanceof Error
  } catch {
    return false
  }
}

/** Shows any value as bounded text. */
export function inspected (value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return inspect(value, { depth: 3, maxArrayLength: 20, maxStringLength: 2_000, breakLength: 100 })
  } catch {
    return '[a value that cannot be read]'
  }
}

/** Names an error by its `name` or its class, and anything else by what was thrown, such as `Thrown string`. */
export function nameOf (value: unknown): string {
  const name = text(read(value, 'name'))
  const constructor = text(read(read(value, 'constructor'), 'name'))
  if (isError(value)) {
    // A subclass that sets no name of its own still says `Error`.
    const bare = name === undefined || name === 'Error'
    return (bare ? constructor : name) ?? name ?? 'Error'
  }
  if (isErrorLike(value) && name !== undefined) return name
  if (value === null) return 'Thrown null'
  return typeof value === 'object' && constructor !== undefined && constructor !== 'Object'
    ? `Thrown ${constructor}`
    : `Thrown ${typeof value}`
}

/** Says what an error or a thrown value says, as text. */
export function messageOf (value: unknown): string {
  const message = read(value, 'message')
  if (isError(value)) return message === undefined ? '' : inspected(message)
  if (isErrorLike(value)) return message as string
  return inspected(value)
}

function isErrorLike (value: unknown): boolean {
  return typeof value === 'object' && typeof read(value, 'message') === 'string'
}

function text (value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, 200) : undefined
}

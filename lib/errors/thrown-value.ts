import { types } from 'node:util'
import { inspected } from '../view/json.js'

/** Reads a property of any value; undefined where a getter or a proxy throws. */
export function read (value: unknown, key: string): unknown {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return undefined
  try {
    return (value as Record<string, unknown>)[key]
  } catch {
    return undefined
  }
}

/** Whether a value is an error, of this or of another realm. */
export function isError (value: unknown): boolean {
  try {
    return types.isNativeError(value) || value instanceof Error
  } catch {
    return false
  }
}

/** The name of an error, or its class; for other values what was thrown, such as `Thrown string`. */
export function nameOf (value: unknown): string {
  const name = shortText(read(value, 'name'))
  const constructor = shortText(read(read(value, 'constructor'), 'name'))
  // A subclass that sets no name inherits `Error`.
  if (isError(value)) return (name === undefined || name === 'Error' ? constructor : name) ?? name ?? 'Error'
  if (isErrorLike(value) && name !== undefined) return name
  if (value === null) return 'Thrown null'
  return typeof value === 'object' && constructor !== undefined && constructor !== 'Object'
    ? `Thrown ${constructor}`
    : `Thrown ${typeof value}`
}

/** The message of an error, or any other value as text. */
export function messageOf (value: unknown): string {
  const message = read(value, 'message')
  if (isError(value)) return message === undefined ? '' : inspected(message)
  return isErrorLike(value) ? message as string : inspected(value)
}

function isErrorLike (value: unknown): boolean {
  return typeof value === 'object' && typeof read(value, 'message') === 'string'
}

function shortText (value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, 200) : undefined
}

import { types } from 'node:util'
import { attemptCall } from '../call.js'
import { inspectValue } from '../view/text.js'

const BASES = new Set([Error, AggregateError, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]
  .map(({ name }) => name))
/**
 * Properties that are shown by themselves, the headers of the response, and the values of queries, which have no names
 * to recognize secrets by.
 */
const KNOWN = new Set([
  'name', 'message', 'stack', 'code', 'statusCode', 'status', 'cause', 'errors', 'validation', 'validationContext',
  'serialization', 'params', 'parameters', 'bindings', 'headers'
])
const MAX_FIELDS = 20
/** Of an object in a property. */
const MAX_ENTRIES = 200

/** Reads a property of any value; undefined where a getter or a proxy throws. */
export function readProperty (value: unknown, key: string): unknown {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return undefined
  try {
    return (value as Record<string, unknown>)[key]
  } catch {
    return undefined
  }
}

/** A copy of properties of any value, each read once; undefined where one throws. */
export function copyFields<K extends string> (value: unknown, names: readonly K[]): Partial<Record<K, unknown>> {
  return Object.fromEntries(names.map((name) => [name, readProperty(value, name)])) as Partial<Record<K, unknown>>
}

/** The name of the class of an object; empty where it has none. */
export function classOf (value: unknown): string {
  return attemptCall(() => shortText((Object.getPrototypeOf(value) as object).constructor.name)) ?? ''
}

/** Whether a value is an error, of this or of another realm. */
export function isError (value: unknown): boolean {
  return attemptCall(() => types.isNativeError(value) || value instanceof Error, () => false)
}

/** The class of an error, or the name that it was given; for other values what was thrown, such as `Thrown string`. */
export function nameOf (value: unknown): string {
  const { name: given, message } = copyFields(value, ['name', 'message'])
  const name = shortText(given)
  const constructor = classOf(value)
  // A subclass that sets no name inherits that of its base; an error of the package `pg` has the name `error`.
  const isGiven = name !== undefined && !BASES.has(name) && name !== 'error'
  if (isError(value)) return (isGiven ? name : constructor) || (name ?? 'Error')
  if (value === null) return 'Thrown null'
  if (typeof value === 'object' && typeof message === 'string' && name !== undefined) return name
  if (typeof value === 'object' && constructor !== '' && constructor !== 'Object') return `Thrown ${constructor}`
  return `Thrown ${typeof value}`
}

/** The message of an error, or any other value as text. */
export function messageOf (value: unknown): string {
  const message = readProperty(value, 'message')
  if (isError(value) && message === undefined) return ''
  if (isError(value)) return inspectValue(message)
  if (typeof value === 'object' && typeof message === 'string') return message
  return inspectValue(value)
}

/** The status of a thrown value, which is one of an error: from 400 to 599. Undefined where it has none. */
export function statusIn (value: unknown): number | undefined {
  const { statusCode, status } = copyFields(value, ['statusCode', 'status'])
  return errorStatus(statusCode) ?? errorStatus(status)
}

/** The status of the answer to a thrown value: its own, or that of the reply, if it is one of an error; or 500. */
export function statusOf (raised: unknown, replyStatus: number): number {
  return statusIn(raised) ?? errorStatus(replyStatus) ?? 500
}

// Fastify reads it from text, too.
function errorStatus (value: unknown): number | undefined {
  const status = typeof value === 'string' || typeof value === 'number' ? Number(value) : NaN
  if (status >= 400 && status <= 599) return Math.trunc(status)
  return undefined
}

/** The code of an error as text; empty where it has none. */
export function codeOf (error: unknown): string {
  const code = readProperty(error, 'code')
  if (typeof code === 'string' || typeof code === 'number') return String(code)
  return ''
}

/** The stack of an error: `Error.prepareStackTrace` of the application may return any value, and may throw. */
export function textOfStack (error: object): string {
  const stack = readProperty(error, 'stack')
  if (typeof stack === 'string') return stack
  return ''
}

function shortText (value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '') return value.slice(0, 200)
  return undefined
}

/** The own enumerable properties of an error that are not shown elsewhere; no getter is called. */
export function fieldsOf (error: object): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  if (types.isProxy(error)) return fields
  for (const name of Object.keys(error).filter((key) => !KNOWN.has(key)).slice(0, MAX_FIELDS)) {
    const value: unknown = Object.getOwnPropertyDescriptor(error, name)?.value
    if (typeof value === 'string' && value !== '') fields[name] = value
    else if (/^(?:number|boolean|bigint)$/.test(typeof value)) fields[name] = value
    else if (Array.isArray(value) && isData(value)) fields[name] = value
    else if (isData(value)) fields[name] = withoutInstances(value)
  }
  return fields
}

// Instances, such as the sockets and requests of clients, do not explain the error.
function isData (value: unknown): value is object {
  if (typeof value !== 'object' || value === null || types.isProxy(value)) return false
  if (Array.isArray(value)) return value.length > 0
  const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null)
  return isPlain && Object.keys(value).length > 0
}

/** `depth`: of objects in it; a stream or a cycle has many. */
function withoutInstances (value: object, depth = 2): unknown {
  const entries = Object.keys(value).slice(0, MAX_ENTRIES).flatMap((key): Array<[string, unknown]> => {
    const one: unknown = Object.getOwnPropertyDescriptor(value, key)?.value
    const isScalar = typeof one !== 'function' && (Object(one) !== one || types.isDate(one))
    if (isScalar || (Array.isArray(one) && isData(one))) return [[key, one]]
    return isData(one) && depth > 0 ? [[key, withoutInstances(one, depth - 1)]] : []
  })
  return Object.fromEntries(entries)
}

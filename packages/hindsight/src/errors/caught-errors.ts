import { types } from 'node:util'
import type { Mask } from '../mask/mask.js'
import { findProperty } from '../mask/read-object.js'
import type { Recording, ThrownError } from '../recording/recording.js'
import type { FlattenedException, NamedValue } from './exception.js'
import { maskCall } from './frame-values.js'
import { flattenError, maskExceptions } from './masked-exceptions.js'
import { positionOf } from './stack-frame.js'
import { inspectValue } from '../view/text.js'

/** Lines, and errors of a line, that are described. */
const MAX_LINES = 20
const MAX_OF_LINE = 3
/** How a sentence about an error begins that was caught without a word. */
export const CAUGHT = 'This error was caught:'
/** Characters of a message, and of a name. */
const MAX_MESSAGE = 500
const MAX_NAME = 100
/** Errors that are followed from those with which a request ended. */
const MAX_RELATED = 1_000
// Read once: an application may replace the class.
const DOM_PROTOTYPE: object = DOMException.prototype
const { name: DOM_NAME, message: DOM_MESSAGE } = Object.getOwnPropertyDescriptors(DOMException.prototype)
const RELATED = ['cause', 'errors', 'error', 'suppressed'] as const

/** An error that was caught, masked; `values` are the variables of the call when it was thrown. */
export interface CaughtError { name: string, message: string, code?: string, values: NamedValue[] }

/** A line of the application whose errors were caught, and the first of them. */
export interface CaughtLine {
  function: string
  /** `file:line:column`. */
  source: string
  count: number
  errors: CaughtError[]
}

/** The errors of a request that were caught: neither it nor the process has ended with them. */
export function caughtErrors (recording: Recording): ThrownError[] {
  const { thrown = [], failures = [], routeError, declined, otherErrors, sending: { state } } = recording
  if (thrown.length === 0) return []
  const others = 'error' in state ? [state.error] : []
  const related = relatedErrors([...failures, routeError, declined, ...otherErrors, ...others])
  return thrown.filter(({ error }) => !related.has(error))
}

/** Errors, their causes and members. */
function relatedErrors (errors: readonly unknown[]): Set<unknown> {
  const related = new Set(errors)
  for (const error of related) {
    if (related.size > MAX_RELATED) break
    for (const value of RELATED.map((name) => readData(error, name))) {
      const isList = Array.isArray(value) && !types.isProxy(value)
      for (const one of isList ? value as unknown[] : [value]) related.add(one)
    }
  }
  return related
}

function readData (value: unknown, name: string): unknown {
  return findProperty(value, name)?.value
}

/** The name or message of a DOMException, which Node.js has as accessors; undefined: it is none. */
function readDomException (error: unknown, accessor: PropertyDescriptor): string | undefined {
  if (!inheritsDomException(error)) return undefined
  try {
    return accessor.get?.call(error) as string
  } catch {
    // The accessor throws for an object that has only the prototype.
    return undefined
  }
}

/** Whether a value inherits from DOMException. Unlike for `instanceof`, no trap of a proxy runs. */
function inheritsDomException (value: unknown): boolean {
  let holder = value
  while (Object(holder) === holder && !types.isProxy(holder)) {
    if (holder === DOM_PROTOTYPE) return true
    holder = Object.getPrototypeOf(holder)
  }
  return false
}

/** Caught errors by their lines, masked. */
export function caughtLines (caught: readonly ThrownError[], mask: Mask): CaughtLine[] {
  const lines = new Map<string, CaughtLine>()
  for (const { error, call } of caught) {
    const source = positionOf({ ...call, own: true })
    const key = `${call.file}:${call.line}`
    const line = lines.get(key) ?? { function: mask.text(call.function), source, count: 0, errors: [] }
    line.count++
    if (line.errors.length < MAX_OF_LINE) line.errors.push(describeError(error, call, mask))
    if (lines.size < MAX_LINES) lines.set(key, line)
  }
  return [...lines.values()]
}

function describeError (error: unknown, call: ThrownError['call'], mask: Mask): CaughtError {
  const code = readData(error, 'code')
  const { variables } = maskCall(call, mask)
  return {
    name: mask.cut(nameWithoutCode(error), MAX_NAME),
    message: mask.cut(messageWithoutCode(error), MAX_MESSAGE),
    ...typeof code === 'string' && { code: mask.cut(code, MAX_NAME) },
    values: variables
  }
}

/** The class of an error, or the name that it was given; `Thrown` with the type of another value. */
function nameWithoutCode (error: unknown): string {
  const nameOfDom = readDomException(error, DOM_NAME)
  const isError = nameOfDom !== undefined || types.isNativeError(error)
  if (!isError) return `Thrown ${error === null ? 'null' : typeof error}`
  const name = readData(error, 'name')
  const constructor = readData(readData(error, 'constructor'), 'name')
  const [found = 'Error'] = [name, nameOfDom, constructor].filter((one) => typeof one === 'string' && one !== 'Error')
  return String(found)
}

function messageWithoutCode (error: unknown): string {
  const ofObject = readData(error, 'message') ?? readDomException(error, DOM_MESSAGE)
  const message = Object(error) === error ? ofObject : inspectValue(error)
  return typeof message === 'string' ? message : ''
}

/** The error that the application has logged, else the last one that was caught; undefined: none. */
export function silentError ({ log }: Recording, caught: readonly ThrownError[]): SilentError | undefined {
  if (log?.logged !== undefined) return log.logged
  const last = caught.at(-1)
  return last && { error: last.error, by: CAUGHT }
}

/** An error that the application has handled; `by` is the beginning of a sentence about that. */
export interface SilentError { error: unknown, by: string }

/** Its chain, masked. */
export function silentChain ({ error, by }: SilentError, mask: Mask): FlattenedException[] {
  return maskExceptions(flattenError(error), mask).map((exception) => ({ ...exception, logged: by }))
}

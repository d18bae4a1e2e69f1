import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers'

/** The result of a function, or, if it throws, that of the second one; undefined without one. */
export function attemptCall<T, O = undefined> (run: () => T, otherwise?: (error: unknown) => O): T | O {
  try {
    return synchronousResult(run())
  } catch (error) {
    return otherwise?.(error) as O
  }
}

/** The data of a text that may be JSON; undefined where it is not. */
export function parsedJson (text: string): unknown {
  return attemptCall((): unknown => JSON.parse(text))
}

/** The text of a file without white space at its end; empty where it cannot be read. */
export function textOfFile (path: string): string {
  return attemptCall(() => readFileSync(path, 'utf8').trimEnd(), () => '')
}

/** The result of a function of an application; throws for a promise. */
export function synchronousResult<T> (result: T): T {
  if (typeof (result as { then?: unknown } | null | undefined)?.then !== 'function') return result
  // Its rejection would end the process.
  Promise.resolve(result).catch(() => {})
  throw new Error('it returned a promise')
}

/** Whether a promise is fulfilled within `timeout` milliseconds; rejects where the promise does. */
export async function settlesWithin (promise: Promise<unknown>, timeout: number): Promise<boolean> {
  if (timeout === Infinity) return await promise.then(() => true)
  let timer: NodeJS.Timeout | undefined
  // The timers of `node:timers` also run where a test mocks the global ones.
  const over = new Promise<boolean>((resolve) => { timer = setTimeout(resolve, timeout, false) })
  try {
    return await Promise.race([promise.then(() => true), over])
  } finally {
    clearTimeout(timer)
  }
}

/** Makes errors whose stacks have so many calls: those without any take a third of the time of a 404 in production. */
export function withStackLimit<T> (limit: number, make: () => T): T {
  const { stackTraceLimit } = Error
  // `Error` may be frozen.
  Reflect.set(Error, 'stackTraceLimit', limit)
  try {
    return make()
  } finally {
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit)
  }
}

/** An error whose stack has the calls that led to a function, at most `limit`. */
export function callsBefore (called: (...args: never[]) => unknown, limit: number): Error {
  // Its own stack would be replaced, and takes as long.
  const calls = withStackLimit(0, () => new Error())
  withStackLimit(limit, () => { Error.captureStackTrace(calls, called) })
  return calls
}

/** Characters of all texts of a cache. */
const MAX_CACHED = 200_000

/**
 * The same function, with a cache of the results for which `isKept` holds: names of fields, values of headers and
 * statements repeat. Without it a profile costs a third more.
 */
export function cachedFunction<K, T> (
  run: (value: K) => T, isKept: (result: T, value: K) => boolean = () => true
): (value: K) => T {
  const results = new Map<K, T>()
  let size = 0
  return (value) => {
    const known = results.get(value)
    if (known !== undefined) return known
    const result = run(value)
    if (!isKept(result, value)) return result
    size += typeof value === 'string' ? value.length : 1
    if (size > MAX_CACHED) {
      results.clear()
      size = 0
    }
    results.set(value, result)
    return result
  }
}

/** The same function, with a cache of the results for as long as their arguments are in use. */
export function cachedByObject<K extends object, T> (run: (key: K) => T): (key: K) => T {
  const results = new WeakMap<K, T>()
  return (key) => {
    if (!results.has(key)) results.set(key, run(key))
    return results.get(key) as T
  }
}

/** Characters of all texts of a cache. */
const MAX_CACHED = 200_000

/**
 * The same function, with a cache of the results for which `isKept` holds: names of fields, values of headers and
 * statements repeat. Without it a profile costs a third more.
 */
export function cached<K, T> (
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

/** Characters of the texts that are kept with what was read of them. */
const MAX_KEPT = 200_000

/**
 * The same function, which runs once for each value: most queries of a request are sent again and again, and so are
 * requests: a query takes 1 µs less if its statement was read for an earlier one. What is kept is bounded.
 */
export function memo<T, R> (run: (value: T) => R): (value: T) => R {
  const results = new Map<T, R>()
  let kept = 0
  return (value) => {
    const known = results.get(value)
    if (known !== undefined) return known
    kept += typeof value === 'string' ? value.length : 1
    if (kept > MAX_KEPT) {
      results.clear()
      kept = 0
    }
    const result = run(value)
    results.set(value, result)
    return result
  }
}

/** The same function, which runs once for each value: most queries of a request are sent again and again. */
export function memo<T, R> (run: (value: T) => R): (value: T) => R {
  const results = new Map<T, R>()
  return (value) => {
    const known = results.get(value)
    if (known !== undefined) return known
    const result = run(value)
    results.set(value, result)
    return result
  }
}

/** The result of a function, or, if it throws, that of the second one; undefined without one. */
export function attempt<T, O = undefined> (run: () => T, otherwise?: (error: unknown) => O): T | O {
  try {
    return synchronous(run())
  } catch (error) {
    return otherwise?.(error) as O
  }
}

/** The result of a function of an application; throws for a promise. */
export function synchronous<T> (result: T): T {
  if (typeof (result as { then?: unknown } | null | undefined)?.then !== 'function') return result
  // Its rejection would end the process.
  Promise.resolve(result).catch(() => {})
  throw new Error('it returned a promise')
}

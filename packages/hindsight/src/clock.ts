const { performance: original } = globalThis

/** The clock of this thread: tests of an application may replace that of the global object. */
export const performance = { now: original.now.bind(original) }

/** Milliseconds with three decimals. */
export function roundTime (ms: number): number {
  return Math.round(ms * 1000) / 1000
}

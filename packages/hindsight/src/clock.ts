const { performance: original } = globalThis

/** The clock of this thread: tests of an application may replace that of the global object. */
export const performance = { now: original.now.bind(original) }

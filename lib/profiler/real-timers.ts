/** The timers as they are when this module is loaded: a test runner that mocks those of the process must not stop a store from being closed. */
export const { clearTimeout, setImmediate, setTimeout } = globalThis

/** Waits for a promise for so long (ms) at most, and says whether it has settled. */
export async function settlesWithin (promise: Promise<unknown>, timeout: number): Promise<boolean> {
  if (timeout === Infinity) return await promise.then(() => true)
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<boolean>((resolve) => { timer = setTimeout(resolve, timeout, false) })
  try {
    return await Promise.race([promise.then(() => true), over])
  } finally {
    clearTimeout(timer)
  }
}

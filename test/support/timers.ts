const { setTimeout: start, clearTimeout: stop } = globalThis

/** In place of `setTimeout`: the limits of so many milliseconds come, one after the other, when these moments do; all other timers are as they are. */
export function limitsAt (
  limit: number, moments: Array<Promise<unknown>>
): (call: (...args: unknown[]) => void, milliseconds?: number, ...args: unknown[]) => NodeJS.Timeout {
  return (call, milliseconds, ...args) => {
    const timer = start(call, milliseconds, ...args)
    if (milliseconds !== limit) return timer
    const moment = moments.shift()
    if (moment === undefined) throw new Error(`one limit of ${limit} ms more than was thought of`)
    moment.then(() => {
      stop(timer)
      call(...args)
    }, () => {})
    return timer
  }
}

/** What does not come within its limit's time. */
export const NEVER = new Promise<never>(() => {})

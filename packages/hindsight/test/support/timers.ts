import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers'
import type { Test } from 'tap'

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

/** Until the end of the test, no timer of `node:timers` that is set ends: not in a process that does not run for long either. */
export function holdTimers (t: Pick<Test, 'teardown'>): void {
  const hold = (call: () => void): NodeJS.Timeout => start(call, 2 ** 31 - 1).unref()
  replaceTimeout(t, hold)
}

function replaceTimeout (t: Pick<Test, 'teardown'>, replacement: unknown): void {
  const { setTimeout } = timers
  const replace = (replacement: unknown): void => {
    Object.assign(timers, { setTimeout: replacement })
    syncBuiltinESMExports()
  }
  t.teardown(() => { replace(setTimeout) })
  replace(replacement)
}

/**
 * Until the end of the test, limits of `node:timers` of at least so many milliseconds end with the next turn of the event
 * loop. Returns the list of those that were set.
 */
export function endLimits (t: Pick<Test, 'teardown'>, from: number): number[] {
  const { setTimeout } = timers
  const limits: number[] = []
  replaceTimeout(t, (call: (...args: unknown[]) => void, milliseconds: number, ...args: unknown[]): NodeJS.Timeout => {
    if (milliseconds < from) return setTimeout(call, milliseconds, ...args)
    limits.push(milliseconds)
    return setTimeout(call, 0, ...args)
  })
  return limits
}

import type { Profile } from '../../store/profile.js'
import type { StoringServices } from '../part.js'
import { listOf, type Data } from '../read.js'

/** That of this thread: tests of an application may replace the global one. */
const { setTimeout } = globalThis

/** Milliseconds until the profiles of called servers are stored: they end when the call does. */
const CALLED_DELAY = 1_000
/** Milliseconds by which the clocks of two machines may differ. */
const MAX_DIFFERENCE = 5_000

/**
 * Makes a profile the parent of those of its called servers, where these are in the same store. A profile of another
 * store may have the token of one in this store: it is another request.
 */
export function linkCalled (data: Data, profile: Profile, { profiler, warn }: StoringServices): void {
  const calls = listOf(data.calls).filter((call) => call.profile !== undefined)
  if (calls.length === 0) return
  const { token, time } = profile
  setTimeout(() => {
    for (const { profile: address, method, start } of calls) {
      const began = Date.parse(time) + Number(start)
      profiler.amend(String(address).slice(-token.length), (called) => {
        const isCalled = called.method === method && Math.abs(Date.parse(called.time) - began) <= MAX_DIFFERENCE
        return called.parent === undefined && called.token !== token && isCalled ? { ...called, parent: token } : called
      }, true).catch((reason: unknown) => warn('A profile was not linked', reason))
    }
  }, CALLED_DELAY).unref()
}

import type { FlattenedException } from './exception.js'
import type { Calls } from './stack-text.js'

interface Kept {
  calls: Calls
  /** The stack as it was read. */
  stack: string
  exception: FlattenedException
}

// A page, a mask and a store keep what they have made of each of them.
const MAX_KEPT = 64
const MAX_OF_CALLS = 4
const MAX_MESSAGE = 2_000

const ofCalls = new WeakMap<Calls, Kept[]>()
const all: Kept[] = []

/**
 * The exception that was read before from the same calls and says the same, in the place of one that was just read: what is
 * made of an exception can then be kept. Only of those without members, whose chain adds nothing to them.
 */
export function sameException (calls: Calls, stack: string, exception: FlattenedException): FlattenedException {
  const known = ofCalls.get(calls)
  const same = known?.find((kept) => kept.stack === stack && says(kept.exception, exception))
  if (same !== undefined) return same.exception
  if (exception.message.length > MAX_MESSAGE) return exception
  const kept = { calls, stack, exception }
  if (known === undefined) ofCalls.set(calls, [kept])
  else if (known.length < MAX_OF_CALLS) known.push(kept)
  else forget(known[0] as Kept, known).push(kept)
  all.push(kept)
  const [oldest] = all
  if (all.length > MAX_KEPT && oldest !== undefined) forget(oldest, ofCalls.get(oldest.calls) ?? [])
  return exception
}

function forget (kept: Kept, known: Kept[]): Kept[] {
  known.splice(known.indexOf(kept), 1)
  all.splice(all.indexOf(kept), 1)
  return known
}

function says (a: FlattenedException, b: FlattenedException): boolean {
  return a.frames === b.frames && a.name === b.name && a.message === b.message && a.code === b.code && a.statusCode === b.statusCode
}

import type { FlattenedException } from './exception.js'
import type { Calls, Written } from './stack-text.js'

interface Kept extends Written {
  root: string | undefined
  exception: FlattenedException
}

/** What an error says beside its stack. */
export type Said = Pick<FlattenedException, 'name' | 'message' | 'code' | 'statusCode'>

// A page, a mask and a store keep what they have made of each of them.
const MAX_KEPT = 64
const MAX_OF_CALLS = 4
const MAX_MESSAGE = 2_000

const ofCalls = new WeakMap<Calls, Kept[]>()
const all: Kept[] = []

/**
 * The exception that was made before of the same calls and says the same; null where there is none. What is made of it can be
 * kept with it, as long as its source is what it was.
 */
export function keptException ({ head, calls }: Written, root: string | undefined, said: Said): FlattenedException | null {
  return ofCalls.get(calls)?.find((kept) => kept.head === head && kept.root === root && saysSame(kept.exception, said))?.exception ?? null
}

/** Keeps one that has no members; in the place of what it was before its source has changed. */
export function keepException (written: Written, root: string | undefined, exception: FlattenedException): void {
  if (exception.message.length > MAX_MESSAGE || written.head.length > 2 * MAX_MESSAGE) return
  const known = ofCalls.get(written.calls) ?? []
  ofCalls.set(written.calls, known)
  const before = known.find((kept) => kept.head === written.head && kept.root === root && saysSame(kept.exception, exception)) ?? (known.length < MAX_OF_CALLS ? undefined : known[0])
  if (before !== undefined) forget(before, known)
  const kept = { ...written, root, exception }
  known.push(kept)
  all.push(kept)
  const [oldest] = all
  if (all.length > MAX_KEPT && oldest !== undefined) forget(oldest, ofCalls.get(oldest.calls) ?? [])
}

function forget (kept: Kept, known: Kept[]): void {
  known.splice(known.indexOf(kept), 1)
  all.splice(all.indexOf(kept), 1)
}

function saysSame (a: Said, b: Said): boolean {
  return a.name === b.name && a.message === b.message && a.code === b.code && a.statusCode === b.statusCode
}

import { diffArrays, diffWordsWithSpace } from 'diff'

/** A piece of two texts. */
export interface Change {
  text: string
  in: 'both' | 'a' | 'b'
}

// Texts that have less in common are told apart as a whole: to find the shortest way between them would cost too much.
const MAX_EDITS = 400
const MAX_TEXT = 10_000
const LEAST_TEXT = 12

/** The pieces of two texts; undefined where they are too short or too different for that to help. */
export function changesOf (a: string, b: string): Change[] | undefined {
  if (Math.min(a.length, b.length) < LEAST_TEXT || Math.max(a.length, b.length) > MAX_TEXT) return undefined
  const found = diffWordsWithSpace(a, b, { maxEditLength: MAX_EDITS })
  if (found === undefined || !found.some(({ added, removed, value }) => !added && !removed && value.trim() !== '')) return undefined
  return found.map(({ value, added, removed }) => ({ text: value, in: added ? 'b' : removed ? 'a' : 'both' }))
}

/** Two of a kind; undefined: the other list has none. */
export type Pair<T> = readonly [a: T | undefined, b: T | undefined]

/** Puts the items of two lists beside each other in their order: those with the same key, and between them what only one list has. */
export function aligned<T> (a: readonly T[], b: readonly T[], keyOf: (item: T, ofB: boolean) => string, looksLike: (a: T, b: T) => boolean = () => false): Array<Pair<T>> {
  const chunks = diffArrays(a.map((item) => keyOf(item, false)), b.map((item) => keyOf(item, true)), { maxEditLength: 5 * MAX_EDITS })
  if (chunks === undefined) return Array.from({ length: Math.max(a.length, b.length) }, (_, i) => [a[i], b[i]] as const)
  const pairs: Array<Pair<T>> = []
  let waiting: T[] = []
  let [atA, atB] = [0, 0]
  const settle = (): void => {
    for (const item of waiting) pairs.push([item, undefined])
    waiting = []
  }
  for (const { added, removed, count } of chunks) {
    if (removed) {
      waiting = a.slice(atA, atA += count)
      continue
    }
    for (const item of b.slice(atB, atB += count)) {
      if (!added) {
        settle()
        pairs.push([a[atA++], item])
      } else if (waiting[0] !== undefined && looksLike(waiting[0], item)) pairs.push([waiting.shift(), item])
      else pairs.push([undefined, item])
    }
    settle()
  }
  settle()
  return pairs
}

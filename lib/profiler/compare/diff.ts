import { diffArrays } from 'diff'

// The cost of a diff grows with the number of edits.
const MAX_EDITS = 2_000

/** An item of each list, or of one of them. */
type Pair<T> = readonly [a: T | undefined, b: T | undefined]

/**
 * Aligns two lists in their order: items with the same key are pairs. Of the items between them, those with the same
 * name that follow each other are pairs too.
 */
export function align<T> (
  a: readonly T[], b: readonly T[], nameOf: (item: T) => string, keyOf: (item: T, side: 'a' | 'b') => string = nameOf
): Array<Pair<T>> {
  const keys = [a.map((item) => keyOf(item, 'a')), b.map((item) => keyOf(item, 'b'))] as const
  const chunks = diffArrays(...keys, { maxEditLength: MAX_EDITS })
  if (chunks === undefined) return Array.from({ length: Math.max(a.length, b.length) }, (_, i) => [a[i], b[i]] as const)
  const pairs: Array<Pair<T>> = []
  const [restA, restB] = [[...a], [...b]]
  let gone: T[] = []
  for (const { added, removed, count } of chunks) {
    if (!added) pairs.push(...gone.splice(0).map((item) => [item, undefined] as const))
    if (removed) gone = restA.splice(0, count)
    for (const item of removed ? [] : restB.splice(0, count)) {
      const isReplacement = added && gone[0] !== undefined && nameOf(gone[0]) === nameOf(item)
      const replaced = isReplacement ? gone.shift() : undefined
      pairs.push([added ? replaced : restA.shift(), item])
    }
  }
  pairs.push(...gone.map((item) => [item, undefined] as const))
  return pairs
}

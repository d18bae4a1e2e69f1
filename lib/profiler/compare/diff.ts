import { diffArrays } from 'diff'

// The cost of a diff grows with the number of edits.
const MAX_EDITS = 2_000

/** An item of each list, or of one of them. */
export type Pair<T> = readonly [a: T | undefined, b: T | undefined]

/**
 * Aligns two lists in their order: items with the same key are pairs. Of the items between them, those that follow
 * each other in place (`isReplaced`) are pairs too.
 */
export function align<T> (
  a: readonly T[], b: readonly T[], keyOf: (item: T, side: 'a' | 'b') => string,
  isReplaced: (a: T, b: T) => boolean = () => false
): Array<Pair<T>> {
  const keys = [a.map((item) => keyOf(item, 'a')), b.map((item) => keyOf(item, 'b'))] as const
  const chunks = diffArrays(...keys, { maxEditLength: MAX_EDITS })
  if (chunks === undefined) return Array.from({ length: Math.max(a.length, b.length) }, (_, i) => [a[i], b[i]] as const)
  const pairs: Array<Pair<T>> = []
  const [restA, restB] = [[...a], [...b]]
  let removedItems: T[] = []
  const flush = (): void => { pairs.push(...removedItems.splice(0).map((item) => [item, undefined] as const)) }
  for (const { added, removed, count } of chunks) {
    if (removed) {
      removedItems = restA.splice(0, count)
      continue
    }
    for (const item of restB.splice(0, count)) {
      if (!added) {
        flush()
        pairs.push([restA.shift(), item])
      } else {
        const [first] = removedItems
        pairs.push([first !== undefined && isReplaced(first, item) ? removedItems.shift() : undefined, item])
      }
    }
    flush()
  }
  flush()
  return pairs
}

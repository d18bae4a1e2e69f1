/** The known name that was probably meant; undefined where none is similar. */
export function similarName (name: string, known: readonly string[]): string | undefined {
  const costs = known.map((one) => editDistance(name.toLowerCase(), one.toLowerCase()))
  const least = Math.min(...costs)
  return least <= Math.min(3, Math.max(1, name.length / 3)) ? known[costs.indexOf(least)] : undefined
}

/**
 * The least number of changes that make two texts equal: a character is added, removed or replaced, or two neighbors
 * are swapped (optimal string alignment).
 */
export function editDistance (a: string, b: string): number {
  let start = 0
  while (start < a.length && a[start] === b[start]) start++
  const [from, to] = [a.slice(start), b.slice(start)]
  let before: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, j) => j)
  for (let i = 0; i < from.length; i++) {
    const row = [i + 1]
    for (let j = 0; j < to.length; j++) {
      const isSwap = from[i] === to[j - 1] && from[i - 1] === to[j]
      const least = Math.min(last[j + 1] as number, row[j] as number, isSwap ? before[j - 1] as number : Infinity) + 1
      row.push(Math.min(least, (last[j] as number) + (from[i] === to[j] ? 0 : 1)))
    }
    [before, last] = [last, row]
  }
  return last[to.length] as number
}

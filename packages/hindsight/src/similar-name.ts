/** The known name that was probably meant; undefined where none is similar. */
export function similarName (name: string, known: readonly string[]): string | undefined {
  const costs = known.map((one) => editDistance(name.toLowerCase(), one.toLowerCase()))
  const least = Math.min(...costs)
  return least <= Math.min(3, Math.max(1, name.length / 3)) ? known[costs.indexOf(least)] : undefined
}

/**
 * The least number of changes that make two texts equal: a character is added, removed or replaced, or two neighbors
 * are swapped (optimal string alignment). Infinity where there are more than `most`: a 404 compares thousands of names.
 */
export function editDistance (a: string, b: string, most = Infinity): number {
  let start = 0
  let rows = a.length
  let columns = b.length
  while (start < rows && a[start] === b[start]) start++
  while (rows > start && columns > start && a[rows - 1] === b[columns - 1]) {
    rows--
    columns--
  }
  if (Math.abs(rows - columns) > most) return Infinity
  let missing = 0
  // Each character that the other text does not have is a change.
  for (let i = start; i < rows; i++) {
    if (!b.includes(a[i] as string) && ++missing > most) return Infinity
  }
  let before: number[] = []
  let last: number[] = []
  let row: number[] = []
  for (let j = 0; j <= columns - start; j++) last.push(j)
  for (let i = start; i < rows; i++) {
    let least = row[0] = i - start + 1
    for (let j = 0; j < columns - start; j++) {
      const from = a.charCodeAt(i)
      const to = b.charCodeAt(start + j)
      const diagonal = last[j] as number
      let cost = from === to ? diagonal : Math.min(last[j + 1] as number, row[j] as number, diagonal) + 1
      const isSwap = j > 0 && i > start && from === b.charCodeAt(start + j - 1) && a.charCodeAt(i - 1) === to
      if (isSwap) cost = Math.min(cost, before[j - 1] as number + 1)
      row[j + 1] = cost
      if (cost < least) least = cost
    }
    if (least > most) return Infinity
    const unused = before
    before = last
    last = row
    row = unused
  }
  const changes = last[columns - start] as number
  return changes > most ? Infinity : changes
}

/** The end of a message about an unknown name: the one that was probably meant. */
export function hintFor (name: string, known: readonly string[]): string {
  const similar = similarName(name, known)
  if (similar === undefined) return ''
  return ` Did you mean "${similar}"?`
}

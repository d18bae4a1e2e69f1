/** The word for so many: `1` takes the singular, everything else the plural, which is the singular with an s where it is not given. */
export function wordFor (number: number, one: string, many = `${one}s`): string {
  return number === 1 ? one : many
}

/** A number with its word, as in `1 failure` and `1,200 failures`. */
export function counted (number: number, one: string, many?: string): string {
  // A number that has no separators is the same in any case, and most are.
  return `${number < 1_000 ? number : number.toLocaleString('en')} ${wordFor(number, one, many)}`
}

/** The word for so many: `1` takes the singular, everything else the plural, which is the singular with an s where it is not given. */
export function wordFor (number: number, one: string, many = `${one}s`): string {
  return number === 1 ? one : many
}

/** A number with its word, as in `1 failure` and `1,200 failures`. */
export function counted (number: number, one: string, many?: string): string {
  // Most need no separators, and these cost more than all the rest.
  return `${number < 1_000 ? number : number.toLocaleString('en')} ${wordFor(number, one, many)}`
}

/** The singular for 1, otherwise the plural: by default the singular with an s. */
export function wordFor (number: number, one: string, many = `${one}s`): string {
  return number === 1 ? one : many
}

/** A number with its word, as in `1 failure` and `1,200 failures`. */
export function counted (number: number, one: string, many?: string): string {
  return `${grouped(number)} ${wordFor(number, one, many)}`
}

/** An integer with separators, as in `1,200`. */
export function grouped (integer: number): string {
  return integer.toLocaleString('en')
}

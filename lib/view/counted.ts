/** The word for so many: `1` takes the singular, everything else the plural, which is the singular with an s where it is not given. */
export function wordFor (number: number, one: string, many = `${one}s`): string {
  return number === 1 ? one : many
}

/** A number with its word, as in `1 failure` and `1,200 failures`. */
export function counted (number: number, one: string, many?: string): string {
  return `${grouped(number)} ${wordFor(number, one, many)}`
}

/** An integer with its separators, as in `1,200`: what `toLocaleString` makes of it, which is too dear for a thousand lines. */
export function grouped (integer: number): string {
  const digits = String(integer)
  return digits.length < 4 ? digits : digits.replace(/\B(?=(?:\d{3})+$)/g, ',')
}

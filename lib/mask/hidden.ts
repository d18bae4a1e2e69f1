/** A shorter secret is hidden only where it is a segment of a path: it may be a word like any other. */
const LEAST_DISTINCT = 6

/** Finds a value wherever it stands, percent-encoded in whatever way. */
export function inAnyEncoding (secret: string): RegExp {
  const source = [...secret].map(char => {
    const octets = [...Buffer.from(char)].map(octet => `%${octet.toString(16).padStart(2, '0').replace(/[a-f]/g, digit => `[${digit}${digit.toUpperCase()}]`)}`)
    return `(?:${char.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}|${octets.join('')})`
  }).join('')
  return new RegExp(secret.length >= LEAST_DISTINCT ? source : `(?<=(?:^|[^/])/)${source}(?=$|[/?#\\s"'<>)&])`, 'g')
}

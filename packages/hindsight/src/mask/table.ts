import { MASKED } from './names.js'

/** The names of a table of comma-separated values (RFC 4180), or of one with semicolons or tabs. */
const HEADER = /^"?[\w.-]{1,64}"?([,;\t])"?[\w.-]{1,64}"?(?:\1"?[\w.-]{1,64}"?)*$/
const QUOTED = /"(?:[^"]|"")*"?/y

/** Masks the columns with a secret name in the lines after their names, up to an empty line. */
export function maskTable (hides: (name: string) => boolean, text: string): string {
  let sign = ''
  let secret: boolean[] = []
  return text.split(/(\r?\n)/).map((line, i) => {
    if (i % 2 === 1) return line
    if (line === '') secret = []
    if (secret.includes(true)) return maskRow(line, sign, secret)
    sign = HEADER.exec(line)?.[1] ?? ''
    secret = []
    if (sign !== '') secret = line.split(sign).map((name) => hides(name.replaceAll('"', '')))
    return line
  }).join('')
}

function maskRow (line: string, sign: string, secret: readonly boolean[]): string {
  const fields: string[] = []
  for (let at = 0; at <= line.length;) {
    QUOTED.lastIndex = at
    const quoted = QUOTED.exec(line)?.[0].length ?? 0
    let end = line.indexOf(sign, at + quoted)
    if (end === -1) end = line.length
    const isSecret = secret[fields.length] === true && end > at
    fields.push(isSecret ? MASKED : line.slice(at, end))
    at = end + 1
  }
  return fields.join(sign)
}

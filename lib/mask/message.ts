import { isUrlHeader } from './header.js'
import { MASKED, type MaskParts } from './parts.js'

/** Makes what masks an HTTP/1.1 message as it came over the wire, however malformed. */
export function messageMask ({ hides, text, url, header }: MaskParts): (raw: string) => string {
  return raw => {
    const end = raw.search(/\r?\n\r?\n/)
    const [section, rest] = end === -1 ? [raw, ''] : [raw.slice(0, end), raw.slice(end)]
    let last = ''
    return section.split(/(\r?\n)/).map((line, i) => {
      if (i % 2 === 1 || line === '') return line
      if (i === 0) return text(line.replace(/^(\S+ )(.*?)( HTTP\/\S*)?$/, (_, method: string, target: string, version = '') => method + url(target) + version))
      // RFC 9112, section 5.2: a line that begins with white space goes on with the one before.
      if (/^[ \t]/.test(line) && last !== '') return hides(last) ? ` ${MASKED}` : text(line)
      const [, word = '', gap = '', value = ''] = /^([^:]*)(:[ \t]*)([^]*)$/.exec(line) ?? []
      last = plainName(word)
      if (gap !== '' && (hides(last) || isUrlHeader(last))) return word + gap + header(last, value)
      const [, first = '', space = ''] = /^([^\s:=]+)([\s:=]+)/.exec(line) ?? []
      if (first === '' || !hides(plainName(first))) return text(line)
      last = plainName(first)
      return first + space + MASKED
    }).join('') + text(rest)
  }
}

/** A header's name without what the parser may have refused in it. */
function plainName (name: string): string {
  return name.replace(/[^\w.-]/g, '')
}

import { MASKED } from './names.js'

const NAME = '[\\w\\u00c0-\\u1fff\\u3040-\\ud7ff.:-]{1,128}'
const ELEMENT = new RegExp(`(<(${NAME})(?:\\s[^<>]{0,1000})?>(?:<!\\[CDATA\\[)?)([^<]+)(?=</)`, 'g')
const TAG = /<[a-z][^<>]{1,2000}>/gi
const NAME_ATTRIBUTE = /\s(?:key|name|id)=(?:["']([^"']{1,128})["']|([^\s"'<>]{1,128}))/i
const VALUE_ATTRIBUTE = /(\s(?:value|content)=)(?:"[^"]*"|'[^']*'|[^\s"'<>]+)/gi

/** Masks `<password>…</password>` and `<input name="password" value="…">`. */
export function maskElements (hides: (name: string) => boolean, text: string): string {
  return text.replace(ELEMENT, (all, tag: string, name: string, content: string) => {
    if (content.trim() === '' || !(hides(name) || hides(nameAttribute(tag)))) return all
    return tag + MASKED
  }).replace(TAG, (tag) => {
    if (!hides(nameAttribute(tag))) return tag
    return tag.replace(VALUE_ATTRIBUTE, `$1"${MASKED}"`)
  })
}

function nameAttribute (tag: string): string {
  const [, quoted, bare] = NAME_ATTRIBUTE.exec(tag) ?? []
  return quoted ?? bare ?? ''
}

import { valueEnd } from './assignments.js'
import { MASKED } from './names.js'

const QUOTE = '(?:\\\\{0,7}["\'`]|&quot;)?'
const NAME = '([\\w\\u00c0-\\u1fff\\u3040-\\ud7ff.:[\\]-]{1,128})'
// The start tag, up to three start tags within it, and its text.
const ELEMENT = new RegExp(`(?<=<)${NAME}((?:\\s[^<>]{0,1000})?(?<!/)>)(?!\\s*</)` +
  '((?:\\s*<(?![/!])[^<>]{0,200}>){0,3})(?:\\s*<!\\[CDATA\\[(?:[^\\]]|\\](?!\\]>))*|[^<]+)', 'g')
const VOID_ELEMENT = /^(?:input|meta|link|param)$/i
const NAME_ATTRIBUTE = /\s(?:key|name)=["']([\w.-]{1,128})["']/
const INNER_NAME = /<([\w.:-]{1,128})/g
const LINE_END = '(?:\\r?\\n|\\\\r\\\\n|\\\\n)'
/** A name, what is kept after it, and the value. */
const NAMED: readonly RegExp[] = [
  // <key>password</key><string>…</string>
  new RegExp(`(?<=<(?:key|name)>)\\s*${NAME}(\\s*</(?:key|name)>(?:\\s*<(?!/)[^<>]{1,100}>){1,3})[^<]+`, 'g'),
  new RegExp(`(?<=&lt;)${NAME}(&gt;)[^<&]+`, 'g'),
  // A part of a multipart body (RFC 7578), as it is or with escaped line ends.
  new RegExp('(?<=\\bname=\\\\?"?)([\\w.[\\]-]{1,128})(\\\\?"?(?:;[^\\r\\n]{0,200})?' +
    `(?:${LINE_END}[\\w-]{1,40}:[^\\r\\n\\\\]{0,200}){0,5}${LINE_END}{2})(?:(?!${LINE_END}--)[^])+`, 'g')
]
// `name="password" value="…"`, `- name: PASSWORD`, `value: …`, `{ key: 'password', value: '…' }`
const NAMED_VALUE = new RegExp('(?<![\\w-])(?:name|key|id|field|header|type|label|property)' +
  `${QUOTE}\\s*[=:]\\s*${QUOTE}${NAME}${QUOTE}[\\s,;]{1,40}(?:(?:type|class|id)=["'][\\w -]{0,60}["']\\s{1,9})?` +
  `${QUOTE}(?:value|content)${QUOTE}\\s*[=:]\\s*`, 'gi')
const VALUE_NAMED = new RegExp('(?<=\\b(?:value=|entry |value ))(["\'])[^"\'<>\\n]{1,500}\\1' +
  '(?=(?:\\s+name=|[^"\'\\n]{1,60})["\']([\\w.[\\]-]{1,128})["\'])', 'gi')

/** Masks values whose names are in a tag, in an attribute or in the header of a part. */
export function maskMarkup (hides: (name: string) => boolean, text: string): string {
  let shown = text.includes('<') ? maskElements(hides, text) : text
  if (/name=|&lt;|<key>|<name>/.test(shown)) {
    for (const pattern of NAMED) {
      shown = shown.replace(pattern, (all, name: string, kept: string) => hides(name) ? name + kept + MASKED : all)
    }
  }
  if (!/value|content|entry/i.test(shown)) return shown
  return maskNamedValues(hides, shown).replace(VALUE_NAMED, (all, quote: string, name: string) =>
    hides(name) ? quote + MASKED + quote : all)
}

function maskElements (hides: (name: string) => boolean, text: string): string {
  return text.replace(ELEMENT, (all, name: string, rest: string, inner: string, offset: number) => {
    // `/profiles/<token>` is a placeholder: an element ends with a tag, or is cut off.
    const end = offset + all.length
    const isElement = /^(?:\]\]>)?<\//.test(text.slice(end, end + 5)) || (end >= text.length && text.includes('</'))
    if (!isElement) return all
    const names = [name, ...[...inner.matchAll(INNER_NAME)].map(([, one = '']) => one)]
    if (!VOID_ELEMENT.test(name)) names.push(NAME_ATTRIBUTE.exec(rest)?.[1] ?? '')
    return names.some(hides) ? name + rest + inner + MASKED : all
  })
}

function maskNamedValues (hides: (name: string) => boolean, text: string): string {
  let [shown, done] = ['', 0]
  for (const { index, 0: all, 1: name = '' } of text.matchAll(NAMED_VALUE)) {
    const start = index + all.length
    const end = index < done || !hides(name) ? -1 : valueEnd(text, start)
    if (end <= start) continue
    shown += `${text.slice(done, start)}"${MASKED}"`
    done = end
  }
  return shown + text.slice(done)
}

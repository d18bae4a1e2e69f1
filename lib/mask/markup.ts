import { valueEnd } from './assignments.js'
import { MASKED, type MaskParts } from './parts.js'

const QUOTE = '(?:\\\\{0,7}["\'`]|&quot;)?'
const NAME = '([\\w\\u00c0-\\u1fff\\u3040-\\ud7ff.:[\\]-]{1,128})'
// The start tag, up to three start tags within it, and its text.
const ELEMENT = new RegExp(`(?<=<)${NAME}((?:\\s[^<>]{0,1000})?(?<!/)>)(?!\\s*</)` +
  '((?:\\s*<(?![/!])[^<>]{0,200}>){0,3})' +
  '(?:\\s*<!\\[CDATA\\[(?:[^\\]]|\\](?!\\]>))*|[^<]+)', 'g')
const ESCAPED_ELEMENT = new RegExp(`(?<=&lt;)${NAME}(&gt;)[^<&]+`, 'g')
// <key>password</key><string>…</string>
const NAMED_ELEMENT = new RegExp(`(?<=<(?:key|name)>)\\s*${NAME}\\s*` +
  '(</(?:key|name)>(?:\\s*<(?!/)[^<>]{1,100}>){1,3})[^<]+', 'g')
const VOID_ELEMENT = /^(?:input|meta|link|param)$/i
const NAME_ATTRIBUTE = /\s(?:key|name)=["']([\w.-]{1,128})["']/
// `name="password" value="…"`, `- name: PASSWORD`, `value: …`, `{ key: 'password', value: '…' }`
const NAMED_VALUE = new RegExp('(?<![\\w-])(?:name|key|id|field|header|type|label|property)' +
  `${QUOTE}\\s*[=:]\\s*${QUOTE}${NAME}${QUOTE}[\\s,;]{1,40}(?:(?:type|class|id)=["'][\\w -]{0,60}["']\\s{1,9})?` +
  `${QUOTE}(?:value|content)${QUOTE}\\s*[=:]\\s*`, 'gi')
const VALUE_NAMED = new RegExp('(?<=\\b(?:value=|entry |value ))(["\'])[^"\'<>\\n]{1,500}\\1' +
  '(?=(?:\\s+name=|[^"\'\\n]{1,60})["\']([\\w.[\\]-]{1,128})["\'])', 'gi')
// A part of a multipart body (RFC 7578), as it is or with escaped line ends.
const LINE_END = '(?:\\r?\\n|\\\\r\\\\n|\\\\n)'
const PART = new RegExp('(?<=\\bname=\\\\?"?)([\\w.[\\]-]{1,128})(\\\\?"?(?:;[^\\r\\n]{0,200})?' +
  `(?:${LINE_END}[\\w-]{1,40}:[^\\r\\n\\\\]{0,200}){0,5}${LINE_END}{2})(?:(?!${LINE_END}--)[^])+`, 'g')

/** Returns what masks values whose names stand in a tag, an attribute or a header of a part. */
export function markupMask ({ hides }: MaskParts): (text: string) => string {
  function hidden (all: string, name: string, before: string): string {
    return hides(name) ? name + before + MASKED : all
  }

  function elements (given: string): string {
    const text = given.replace(NAMED_ELEMENT, hidden)
    return text.replace(ELEMENT, (all, name: string, rest: string, inner: string, offset: number) => {
      // `/profiles/<token>` is a placeholder: an element ends with a tag, or is cut off.
      const end = offset + all.length
      const isElement = /^(?:\]\]>)?<\//.test(text.slice(end, end + 5)) || (end >= text.length && text.includes('</'))
      const isSecret = hides(name) || innerHides(inner) || (!VOID_ELEMENT.test(name) && attributesHide(rest))
      return isElement && isSecret ? name + rest + inner + MASKED : all
    })
  }

  function innerHides (tags: string): boolean {
    return tags !== '' && [...tags.matchAll(/<([\w.:-]{1,128})/g)].some(([, name = '']) => hides(name))
  }

  function attributesHide (attributes: string): boolean {
    const name = NAME_ATTRIBUTE.exec(attributes)?.[1]
    return name !== undefined && hides(name)
  }

  function namedValues (text: string): string {
    let [shown, done] = ['', 0]
    for (const { index, 0: all, 1: name = '' } of text.matchAll(NAMED_VALUE)) {
      const start = index + all.length
      const end = index < done || !hides(name) ? -1 : valueEnd(text, start)
      if (end <= start) continue
      shown += text.slice(done, start) + `"${MASKED}"`
      done = end
    }
    return shown + text.slice(done)
  }

  return (text) => {
    let shown = text.includes('<') ? elements(text) : text
    if (text.includes('&lt;')) shown = shown.replace(ESCAPED_ELEMENT, hidden)
    if (/value|content/i.test(text)) shown = namedValues(shown)
    if (/value|entry/i.test(text)) {
      shown = shown.replace(VALUE_NAMED, (all, quote: string, name: string) =>
        hides(name) ? quote + MASKED + quote : all)
    }
    return text.includes('name=') ? shown.replace(PART, hidden) : shown
  }
}

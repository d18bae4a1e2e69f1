import { MASKED, NAME_FIELDS, RECEIVED, VALUE_FIELDS } from './names.js'
import { ARGUMENT } from './shapes.js'

const NAME = '[\\w\\u00c0-\\u1fff\\u3040-\\ud7ff.:[\\]-]{1,128}'
// A start tag and its text.
const TAG = new RegExp(`<(${NAME})(\\s[^<>]{0,1000})?>(\\s*<!\\[CDATA\\[(?:[^\\]]|\\](?!\\]>))*|[^<]*)`, 'g')
const NAME_ATTRIBUTE = /\s(?:key|name|id)=(?:["']([^"']{1,128})["']|([^\s"'<>]{1,128}))/
const VALUE_ATTRIBUTE = /(?<=\s(?:value|content)=)(?:(["'])[^<>]*?\1|[^\s"'<>]+)/g
const LINE_END = '(?:\\r?\\n|\\\\r\\\\n|\\\\n)'
// A part of a multipart body (RFC 7578), as it is or with escaped line ends.
const PART = new RegExp('(?<=\\bname=\\\\?"?)([\\w.[\\]-]{1,128})(\\\\?"?(?:;[^\\r\\n]{0,200})?' +
  `(?:${LINE_END}[\\w-]{1,40}:[^\\r\\n\\\\]{0,200}){0,5}${LINE_END}{2})(?:(?!${LINE_END}--)[^])+`, 'g')
// `- name: PASSWORD`, `value: …`; `{ key: 'password', value: '…' }`
const PAIR = new RegExp(`(?<![\\w-])((?:name|key|field|header)(["']?)\\s*[=:]\\s*(["']?)(${NAME})\\3[\\s,;]{1,40}` +
  '\\2value\\2\\s*[=:]\\s*)("(?:[^"\\\\]|\\\\[^])*"?|\'(?:[^\'\\\\]|\\\\[^])*\'?|[^\\s,;}\\]]+)', 'gi')

const QUOTE = String.raw`\\{0,7}["']`
/** The innermost objects of JSON or a similar notation. */
const OBJECT = /\{[^{}]{1,4000}/g
const NAME_MEMBER = new RegExp(String.raw`(?<![\w-])(?:${NAME_FIELDS})(?:${QUOTE})?\s*:\s*` +
  String.raw`(?:${QUOTE}([^"'\\]{1,128})|\[([^\]]{1,500})\])`, 'gi')
const VALUE_MEMBER = new RegExp(String.raw`(?<![\w-])((?:${VALUE_FIELDS})(?:${QUOTE})?\s*:\s*)` +
  String.raw`(?:(${QUOTE})(?:(?!\2)(?:\\[^]|[^]))*|(?!(?:true|false|null)\b)[\w.+-]+)`, 'gi')

/** Masks `{ value: '…', name: 'password' }`, and `{ path: ['user', 'password'], input: '…' }`. */
function maskObjects (hides: (name: string) => boolean, text: string): string {
  return text.replace(OBJECT, (object) => {
    const isNamed = [...object.matchAll(NAME_MEMBER)].some(([, name, path = '']) =>
      hides(name ?? /([^"',\s\\]{1,128})[^\w]*$/.exec(path)?.[1] ?? ''))
    if (!isNamed) return object
    return object.replace(VALUE_MEMBER, (_all, before: string, quote?: string) =>
      quote === undefined ? `${before}"${MASKED}"` : `${before}${quote}${MASKED}`)
      .replace(RECEIVED, MASKED)
  })
}

/** Masks values whose names are in a tag, in an attribute, in the header of a part or in another field. */
export function maskMarkup (hides: (name: string) => boolean, text: string): string {
  let shown = text.includes('{') ? maskObjects(hides, text) : text
  if (shown.includes('<')) {
    shown = shown.replace(TAG, (all, name: string, attributes = '', content = '', at: number) => {
      const [, quoted, plain] = NAME_ATTRIBUTE.exec(attributes) ?? []
      const named = quoted ?? plain ?? ''
      const tag = hides(named) ? attributes.replace(VALUE_ATTRIBUTE, `"${MASKED}"`) : attributes
      // `/profiles/<token>` is a placeholder: an element ends with a tag, or is cut off.
      const end = at + all.length
      const isElement = /^(?:\]\]>)?<\//.test(text.slice(end, end + 5)) || (end === text.length && text.includes('</'))
      const isSecret = isElement && content.trim() !== '' && (hides(name) || hides(named))
      return `<${name}${tag}>${isSecret ? MASKED : content}`
    })
  }
  if (shown.includes('name=')) {
    shown = shown.replace(PART, (all, name: string, kept: string) => hides(name) ? name + kept + MASKED : all)
  }
  if (!/value/i.test(shown)) return shown
  return shown.replace(PAIR, (all, kept: string, _quote, _quoteOfName, name: string) =>
    hides(name) ? `${kept}"${MASKED}"` : all)
}

const USER = String.raw`\s(?:-[a-zA-Z]{0,8}[uU]|--(?:proxy-)?user(?!-))[ =]?(?!["']?[a-z]{2,8}://)`
/** The options that take a password, by the commands that have them. */
const OPTIONS: ReadonlyArray<readonly [commands: string, option: string]> = [
  ['curl|wget', String.raw`(${USER}["'][^:"']{0,100}:)[^"']+`],
  ['curl|wget', String.raw`(${USER}[^\s:"']{0,100}:)[^\s"']+`],
  ['docker|podman|helm', String.raw`(\slogin\s[^\n]{0,200}?(?<=\s)-p ?)(?!-)${ARGUMENT}`],
  [String.raw`mysql\w*|mariadb\w*|mongo\w*|sshpass`, String.raw`(\s-p ?)(?!\d+:|-)${ARGUMENT}`],
  ['redis-cli|valkey-cli', String.raw`(\s-a ?)${ARGUMENT}`]
]
const COMPILED = OPTIONS.map(([commands, option]) =>
  [new RegExp(String.raw`(?<![\w.-])(?:${commands}) [^\n]{0,2000}`, 'g'), new RegExp(option, 'g')] as const)

/** Masks the passwords in the options of commands: `curl -u user:…`, `mysql -p…`. */
export function maskCommands (text: string): string {
  return COMPILED.reduce((shown, [command, option]) =>
    shown.replace(command, (all) => all.replace(option, `$1${MASKED}`)), text)
}

/** `(name, password) VALUES (`, and `(email, token)=(` of an error message. */
const COLUMNS = /\(([^()]{1,2000})\)(?:\s*VALUES\s*|=)(?=\()/gi
const ROWS = /[^\n]*(?:\n\s*\([^\n]*)*/y
const LITERAL = /'(?:[^'\\]|''|\\[^])*'?|"(?:[^"\\]|\\[^])*"?|(?<![\w$:])\d{4,}/g

/** A message of MySQL. */
const DUPLICATE = /(?<=Duplicate entry )'[^']*'(?= for key '([^']{1,128})')/g

/** Masks the literals of SQL statements that write a column with a secret name, and those of messages about one. */
export function maskRows (hides: (name: string) => boolean, statement: string): string {
  const text = statement.replace(DUPLICATE, (all, key: string) => hides(key) ? `'${MASKED}'` : all)
  let [shown, done] = ['', 0]
  for (const { index, 0: all, 1: columns = '' } of text.matchAll(COLUMNS)) {
    if (index < done || !columns.split(',').some((name) => hides(name.replace(/["'`[\]\s]/g, '')))) continue
    const start = ROWS.lastIndex = index + all.length
    const [rows = ''] = ROWS.exec(text) ?? []
    shown += text.slice(done, start)
    shown += all.endsWith('=') ? rows.replace(/\([^()]*/, `(${MASKED}`) : rows.replace(LITERAL, `'${MASKED}'`)
    done = start + rows.length
  }
  return shown + text.slice(done)
}

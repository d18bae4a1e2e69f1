import { MASKED } from './names.js'

export const MAX_SECRETS = 200
/** Characters of a text that are compared: messages may cut a longer one. */
const MAX_LENGTH = 200
const MAX_DEPTH = 12
/** A shorter text is masked only as a value in a message of a database. */
const MIN_LENGTH = 4
/** Names of fields, which are masked where they may be a value. */
const NAME = /^[$./]*(?:password|passwd|pwd|pass|token|secret|session|cookie|api_?key|auth|credentials?|code)$/i
/** A shorter part of a secret may be an ordinary word, or a sign. */
const MIN_PART = 3
/** What is before a value in messages of PostgreSQL, MySQL and SQLite. */
const BEFORE = String.raw`(?:for type [\w ]{1,40}: |\bsyntax error: |\$\d+ = |` +
  String.raw`\b(?:value:?|entry|near|contains|Token|option|schema) )`
const QUOTED = new RegExp([['""?', '"'], ["'", "'"], [String.raw`\(`, String.raw`\)`]]
  .map(([open, close]) => `(?<=${BEFORE}${open})[^${close}]+(?=${close})`).join('|'), 'g')
/** A part of what was sent, which may end within a secret: in messages of MySQL, and of PostgreSQL about JSON. */
const NEAR = /(?<=\bnear ')[^]{0,200}?(?=' at line \d)|(?<=\bJSON data, line \d{1,9}: ).*/g

/** The parts of a value that are masked in what is shown of it. */
export function maskedTexts (given: unknown, shown: unknown, depth = 0): string[] {
  if (depth > MAX_DEPTH || given === null || given === undefined) return []
  // The bytes of a buffer are no texts.
  if (ArrayBuffer.isView(given)) return []
  if (typeof given === 'object') {
    const parts = Object(shown) as Record<string, unknown>
    // Names may be masked, too.
    return Object.entries(given).flatMap(([name, value], i) =>
      maskedTexts(value, shown === MASKED ? MASKED : parts[name] ?? Object.values(parts)[i], depth + 1))
  }
  if (typeof given !== 'string' && shown === MASKED && typeof given !== 'boolean') return [String(given)]
  if (given === shown || typeof given !== 'string' || typeof shown !== 'string') return []
  const [first = '', ...others] = shown.split(MASKED)
  const texts: string[] = []
  let at = first.length
  for (const [i, part] of others.entries()) {
    const end = i === others.length - 1 ? given.length - part.length : given.indexOf(part, at)
    if (end < at || !given.startsWith(part, end)) break
    texts.push(given.slice(at, end))
    at = end + part.length
  }
  return texts.filter((text) => text !== '' && !NAME.test(text))
}

/** Returns a function that masks texts wherever they are, also escaped as in SQL, JSON and URLs. */
export function maskerOf (secrets: readonly string[]): (text: string) => string {
  const forms = [...new Set(secrets.flatMap(formsOf))].sort((a, b) => b.length - a.length)
  const patterns = forms.filter(({ length }) => length >= MIN_LENGTH).map((form) => [form, patternOf(form)] as const)
  const isSecret = (part: string): boolean =>
    forms.some((form) => form === part || (part.length >= MIN_PART && form.includes(part)))
  return (text) => {
    let shown = text
    for (const [form, pattern] of patterns) {
      if (shown.includes(form)) shown = shown.replace(pattern, MASKED)
    }
    return shown.replace(QUOTED, (part) => isSecret(part) ? MASKED : part).replace(NEAR, MASKED)
  }
}

function formsOf (secret: string): string[] {
  const text = secret.slice(0, MAX_LENGTH)
  // Also without the quotes of JSON and the wildcards of a pattern.
  const plain = [text, text.replaceAll("''", "'"), text.replace(/\\([^])/g, '$1')]
    .flatMap((form) => [form, form.replace(/^["%*]+|["%*]+$/g, '')]).filter((form) => form !== '')
  return plain.flatMap((form) => [
    form, form.replaceAll("'", "''"), form.replace(/['"\\]/g, '\\$&'), JSON.stringify(form).slice(1, -1),
    encodeURIComponent(form.toWellFormed())
  ])
}

function patternOf (form: string): RegExp {
  const source = form.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  let rest = ''
  if (form.length >= MAX_LENGTH) rest = String.raw`[^\s"'(),;]*`
  // Others may be words: a path or a name that has one of them stays.
  const isDistinct = form.length >= 12 || (form.length >= 6 && /\d/.test(form) && /[a-z]/i.test(form))
  if (isDistinct) return new RegExp(source + rest, 'g')
  return new RegExp(String.raw`(?<![\p{L}\p{N}_/-])${source}${rest}(?![\p{L}\p{N}_/-]|\.\w)`, 'gu')
}

/** A shorter value is masked only between the signs of a path: it may be an ordinary word. */
const MIN_DISTINCT = 6

const ENTITIES: ReadonlyMap<string, string> =
  new Map([['&', 'amp'], ['<', 'lt'], ['>', 'gt'], ['"', 'quot'], ["'", 'apos']])

/** Matches a value in every text: percent-encoded, also twice, or escaped in a form, in JSON or in HTML. */
export function inAnyEncoding (secret: string): RegExp {
  const source = [...secret].map((char) => {
    const hex = char.charCodeAt(0).toString(16)
    const forms = [
      /[\w\x80-\uffff]/.test(char) ? char : `\\\\{0,7}${char.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}`,
      [...Buffer.from(char)].map((octet) => `%(?:25)*${octet.toString(16).padStart(2, '0')}`).join('')
    ]
    if (char.length === 1) forms.push(`\\\\u${hex.padStart(4, '0')}`)
    if (ENTITIES.has(char)) forms.push(`&(?:${ENTITIES.get(char)}|#0?${char.charCodeAt(0)}|#x${hex});`)
    if (char === ' ') forms.push('\\+')
    return `(?:${forms.join('|')})`
  }).join('')
  if (secret.length >= MIN_DISTINCT) return new RegExp(source, 'gi')
  const before = String.raw`(?<=(?:^|[^/])/(?:[^/?#\s"'<>]{0,200}[^\w%/?#\s"'<>])?${source})`
  return new RegExp(String.raw`${source}${before}(?![\w%])`, 'gi')
}

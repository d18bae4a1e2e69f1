import { MASKED, NAME_FIELDS, RECEIVED, VALUE_FIELDS } from './names.js'

// A shell writes an apostrophe within apostrophes as `'\''`, SQL as `''`.
const ARGUMENT = String.raw`(?:"(?:[^"\\]|\\[^])*"?|'(?:[^']|'(?:\\')?')*'?|[^\s"']\S*)`

/**
 * The format of a secret. Every pattern starts at a literal or after a look-behind and is bounded where it may fail, so
 * that any text takes linear time.
 */
type Shape = readonly [
  /** A part of every text that the pattern matches: the test for it is faster than the pattern. */
  has: string | RegExp,
  pattern: RegExp,
  /** What replaces a match. Default: the mask alone. */
  by?: string,
  /** Whether a match is a secret, where the pattern cannot decide it. */
  isSecret?: (match: string) => boolean
]

const AFTER_FIRST = `$1${MASKED}`
const CREDENTIALS = `${MASKED}:${MASKED}@`

/** Prefixes that issuers put before the random part, and the formats of hashed passwords. */
const TOKEN_FORMATS = String.raw`
  gh[opsur]_\w{16,} github_pat_\w{16,} gl(?:pat|dt|rt|ptt|soat|imt|ft|agent|cbt|oas|ffct)-[\w-]{16,}
  GR1348941[\w-]{16,} npm_\w{20,} pypi-[\w-]{16,} [spr]k_(?:live|test)_\w{8,} whsec_[\w+/=]{8,} sk-[\w-]{20,}
  xox[abeprs][.-][\w.-]{8,} xapp-[\w-]{8,} A[KS]IA[0-9A-Z]{12,} AIza[\w-]{20,} ya29\.[\w-]{16,} GOCSPX-[\w-]{16,}
  SG\.[\w-]{8,}\.[\w-]{8,} key-[0-9a-f]{32} SK[0-9a-f]{32} dapi[0-9a-f]{32} hv[sbr]\.[\w-]{20,} \d{8,10}:AA[\w-]{30,}
  dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20,} sq0(?:atp|csp|idp)-[\w-]{20,}
  access_token(?:\$|%24)\w{4,12}?(?:\$|%24)[\w$%]{20,} \w{10,20}\.atlasv1\.[\w-]{20,} pul-[0-9a-f]{32,}
  NR(?:AK|JS|II|IQ|RA|SP|AL)-[\w-]{16,} pat\w{14}\.[0-9a-f]{40,} pat-[a-z]{2,4}\d-[0-9a-f-]{30,}
  AGE-SECRET-KEY-1[0-9A-Z]{20,} EZ[AT]K[\w]{20,} (?:xkeysib|xsmtpsib|shp(?:at|ca|pa|ss))[-_][\w-]{20,}
  hf_[A-Za-z]{30,} r8_\w{30,} gsk_\w{30,} pplx-\w{30,} xai-\w{30,} sl\.[\w-]{60,} [0-9a-f]{32}-us\d{1,2}
  dt0[a-z]\d\d\.\w{20,}\.\w{40,} HRKU-[\w-]{30,} CFPAT-[\w-]{30,} CCIPAT_\w{20,} FLWSECK(?:_TEST)?-[\w-]{12,}
  (?:access|public|link)-(?:sandbox|development|production)-[0-9a-f-]{36} fio-u-[\w-]{30,} LTAI\w{12,} AKID\w{28,}
  AQVN[\w-]{30,} 1(?://|%2F%2F)0[\w-]{30,} 4/0A[\w-]{30,} amzn\.mws\.[0-9a-f-]{36}
  (?:sdk|mob)-[0-9a-f]{8}-[0-9a-f-]{27} cio\w{32} oy2[a-z0-9]{43} snyk_uat\.[\w.-]{20,} nsec1[a-z0-9]{50,}
  [xyztuv]prv[1-9A-HJ-NP-Za-km-z]{80,} (?:fm\d|fo\d)_[\w+/=,-]{30,} IGQV[\w-]{30,} rubygems_[0-9a-f]{40,}
  rzp_(?:live|test)_\w{10,} glsa_\w{20,} sntry[su]_[\w=+/-]{20,} ops_eyJ[\w-]{20,}
  A3-[0-9A-Z]{6}-(?:[0-9A-Z]{5,11}-?){4,6} v1\.0-[0-9a-f]{24}-[0-9a-f]{40,} A(?:TATT|TCTT|TBB|KCp)\w[\w=-]{20,}
  EAA[A-Z]\w{30,} PMAK-[\w-]{40,} \w{3}\dQ~[\w.~-]{31,} [MNO][\w-]{22,28}\.[\w-]{6,7}\.[\w-]{25,}
  v[1-4]\.(?:local|public)\.[\w-]{20,}[\w.-]*
  (?:scrypt|pbkdf2|bcrypt|argon2|sha(?:1|256|512)|md5)[\w:-]{0,40}\$[^\s"',;]{16,}
  \$(?:[1567]|2[abxy]?|y|gy|apr1|md5|s0|scrypt|sha\d|argon2\w{1,2}|pbkdf2[\w-]{0,12}|bcrypt[\w-]{0,10})\$[^\s"']{16,}
  `.trim().split(/\s+/).join('|')

const WEBHOOKS = String.raw`hooks\.slack\.com/[a-z]{1,20}|discord(?:app)?\.com/api(?:/v\d{1,2})?/webhooks|` +
  String.raw`hooks\.zapier\.com/hooks/catch|[\w-]{1,63}\.webhook\.office\.com/webhookb2`

const SHAPES: readonly Shape[] = [
  // User information of URLs (RFC 3986, section 3.2.1). A token has no password, or one that marks it as a token.
  ['://', /(?<=:\/\/)[^\s/?#:@"<>]{1,256}:(?:|x|x-oauth-basic|x-token-auth|api)@/gi, CREDENTIALS],
  ['://', /(:\/\/[^\s/?#:@"<>]{0,256}:)(?:[^\s/?#"<>]*|(?!\d*[/?#])[^\s@"<>]{0,256})(?=@)/g, AFTER_FIRST],
  // A name may contain `@`, as those of Azure do.
  ['://', /(:\/\/[^\s/?#:"<>]{0,256}:)[^\s/?#"<>]*(?=@)/g, AFTER_FIRST],
  ['://', /(?<=:\/\/)(?=[^\d@]{0,256}\d)(?=[^a-z@]{0,256}[a-z])[\w.~%+-]{20,256}(?=@)/gi],
  // A port is a number: anything else after the colon is a password, of a URL that was cut off after it.
  ['://', /(:\/\/[^\s/?#:@"<>[\]]{0,256}:)(?!\d{0,5}(?:[^\w]|$))[^\s/?#@"<>]+(?=$|[\s"<>])/g, AFTER_FIRST],
  ['://', new RegExp(`(?<=//)((?:${WEBHOOKS})/)[^\\s"'<>?#]+`, 'g'), AFTER_FIRST],
  ['bot', /(?<=(?<![A-Za-z0-9])bot)\d{3,12}(?::|%3A)[\w-]{8,}/gi],
  // JSON in base64url (RFC 7515, RFC 7516), also cut off before its signature.
  ['eyJ', /(?<![\w-])eyJ[\w-]{5,}(?:\.[\w-]*)+/g],
  ['PRIVATE KEY', new RegExp('(-{4,5} ?BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?) ?-{4,5})' +
    '(?:(?!-{4,5} ?END)[^])*(?:-{4,5} ?END \\2 ?-{4,5})?', 'g'), AFTER_FIRST],
  ['', new RegExp(`(?<![A-Za-z0-9])(?:${TOKEN_FORMATS})`, 'g')],
  // Other issuers' prefixes: `lin_api_…`, `dop_v1_…`, `figd_…`, `tskey-auth-…`.
  [/[_-]/, new RegExp('(?<![\\w-])(?!sha\\d|nonce-)[A-Za-z][A-Za-z0-9]{1,9}(?:[_-][a-z0-9]{1,8})?' +
    '(?:[_-][A-Za-z0-9]{1,12})?[_-][A-Za-z0-9]{20,}(?:[_-][A-Za-z0-9]{4,})*', 'g'), MASKED, hasRandomPart],
  [/\d{4}/, new RegExp('(?<![\\w.-])(?:[2-6]\\d{13,15}|[2-6]\\d{3}([ -])\\d{4}\\1\\d{4}\\1\\d{4}|' +
    '3\\d{3}([ -])\\d{6}\\2\\d{4,5})(?![\\w-]|\\.\\d)', 'g'), MASKED, isCardNumber],
  [/bearer/i, new RegExp('(\\bBearer\\s+)(?!(?:realm|scope|error|charset)=|' +
    '(?:tokens?|scheme|auth\\w*)(?![\\w.~+/=-]))[\\w.~+/=-]+', 'gi'), AFTER_FIRST],
  [/basic/i, /(?<=\bBasic\s{1,9})[A-Za-z0-9+/]{4,}={0,2}/gi, MASKED, isBasicCredential],
  // Passwords in statements of SQL.
  [/identified/i, new RegExp('(\\bIDENTIFIED\\s+(?:WITH\\s+\\S{1,64}\\s+)?(?:BY|AS)\\s+(?:PASSWORD\\s+)?)' +
    ARGUMENT, 'gi'), `$1'${MASKED}'`]
]

/** Masks secrets with a known format, such as tokens and keys, whatever their names are. */
export function maskShapes (text: string): string {
  let shown = text
  for (const [has, pattern, by = MASKED, isSecret] of SHAPES) {
    if (typeof has === 'string' ? !shown.includes(has) : !has.test(shown)) continue
    shown = isSecret === undefined
      ? shown.replace(pattern, by)
      : shown.replace(pattern, (match) => isSecret(match) ? by : match)
  }
  return shown
}

/** Whether a part of a token mixes letters and digits as no word does. */
function hasRandomPart (token: string): boolean {
  return token.split(/(?=[_-])/).some((part) => part.length > 20 && (/^_[0-9a-f]{32,}$/.test(part) ||
    (/\d\D*\d\D*\d/.test(part) && /[A-Z]/.test(part) && /^.(?![0-9A-F]*$)/.test(part))))
}

const CARD_ISSUER = new RegExp('^(?:4\\d{15}|5[0-8]\\d{14}|2[2-7]\\d{14}|3[47]\\d{13}|' +
  '3(?:0[0-5]|[689]\\d)\\d{11}|35\\d{14}|6(?:011|[23567]\\d\\d|4[4-9]\\d)\\d{12})$')

/** Whether the digits pass the check of Luhn (ISO/IEC 7812-1, annex B) and begin as those of an issuer of cards do. */
function isCardNumber (text: string): boolean {
  const digits = text.replace(/\D/g, '')
  if (!CARD_ISSUER.test(digits)) return false
  const sum = [...digits].reverse().reduce((total, digit, i) => {
    const value = Number(digit) * (i % 2 + 1)
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return sum % 10 === 0
}

/** Whether base64 holds a name and a password (RFC 7617, section 2). */
function isBasicCredential (base64: string): boolean {
  return /^[^\p{Cc}]*:[^\p{Cc}]*$/u.test(Buffer.from(base64, 'base64').toString('utf8'))
}

const NAME = '[\\w\\u00c0-\\u1fff\\u3040-\\ud7ff.:[\\]-]{1,128}'
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

/** A message of PostgreSQL, whose values have no names. */
const FAILING_ROW = /(?<=\bFailing row contains )\((?:[^]*\)|[^]*)/g
/** A message of MySQL. */
const DUPLICATE = /(?<=Duplicate entry )'[^']*'(?= for key '([^']{1,128})')/g

/** Masks the literals of SQL statements that write a column with a secret name, and those of messages about one. */
export function maskRows (hides: (name: string) => boolean, statement: string): string {
  const text = statement.replace(FAILING_ROW, `(${MASKED})`)
    .replace(DUPLICATE, (all, key: string) => hides(key) ? `'${MASKED}'` : all)
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

import { percentDecoded } from './parts.js'

/** A name that hides its value: a string is the whole name in any case, an expression may match a part of it. */
export type MaskPattern = string | RegExp | ((name: string) => boolean)

/** Words that make a name secret wherever they are in it, also within a longer word: `dbpassword`, `XSRFTOKEN`. */
const ANYWHERE = new RegExp([
  'pass(?:wor[dt]|wd|phrase|code|key)', 'pwd', 'secret', 'token(?!i[sz])', 'credential', 'authorization', 'session',
  'sessid', '[cx]srf', 'signature', 'jwt', 'hmac', 'mnemonic', 'otp-?code', 'connection-?strings?(?![a-z])',
  'conn-?str(?![a-z])', 'saml-?(?:response|request|art)', '(?:seed|recovery|backup)-?(?:phrase|words)',
  'security-?answer', '(?:code|oauth)-?verifier', '(?:credit|debit|bank)-?card',
  '(?:card|cc|account|passport)-?(?:number|num|no)(?![a-z])', 'social-?security', 'tax-?id',
  '(?:mfa|[2t]fa|factor|recover|recovery|backup|verification|one-?time|sms|log-?in|auth|authorization|' +
    'reset|activation|invite|invitation|unlock|access|device|user|security|confirmation|email|phone)-?codes?(?![a-z])',
  '(?:api|app|access|account|private|encryption|signing|master|secret|auth|shared|storage|' +
    'licen[cs]e|consumer|admin)-?keys?(?![a-z])',
  '(?:granting|service)-?ticket', 'mot-?de-?passe', 'kennwort', 'contrasena', 'wachtwoord', 'losenord', 'salasana',
  'adgangskode', 'passord', 'geheim', 'парол', '密[码碼]', '口令', '暗[证証証]', 'ハスワート', '비밀번호', '암호', 'κωδικ', 'סיסמ',
  'رمز', 'كلمة'
].join('|'))

/** Words that are parts of others (`author`, `compass`): these count only where no letter is beside them. */
const AS_WORDS = new RegExp(`(?<![a-z])(?:${[
  'auth', 'pass', 'sig', 'sid', 'otp', 'totp', 'hotp', 'mfa', '2fa', 'tfa', 'pin', 'pincode', 'bearer', 'cookies?',
  'pw', 'pws', 'masterauth', 'pwhash', 'cvv', 'cvc', 'iban', 'ssn', 'sas', 'dsn', 'salt', 'creds?', 'psk', 'mdp',
  'senhas?', 'clave', 'parola', 'has[lł]o', 'heslo', 'sifre', 'jelszo'
].join('|')})(?![a-z])|(?<!com|by|tres|sur|over|under)pass(?![a-z])`)

/** What comes before `key` in names of keys that open nothing. */
const HARMLESS_KEYS = [
  'primary', 'foreign', 'public', 'publishable', 'site', 'unique', 'natural', 'surrogate', 'composite', 'candidate',
  'cache', 'sort', 'partition', 'shard', 'group', 'row', 'column', 'idempotency', 'index', 'map', 'object', 'record',
  'entity', 'item', 'list', 'array', 'json', 'field', 'form', 'query', 'param', 'parameter', 'message',
  'translation', 'i18n', 'locale', 'label', 'text', 'route', 'routing', 'event', 'search', 'lookup', 'join', 'ref',
  'reference', 'bucket', 's3', 'file', 'path', 'arrow', 'meta', 'ctrl', 'control', 'shift', 'alt', 'hot', 'shortcut',
  'modifier', 'registry', 'dedup', 'deduplication', 'correlation', 'ordering', 'order', 'topic', 'job', 'task',
  'queue', 'lock', 'limit', 'rate', 'context', 'state', 'prop', 'property', 'attribute', 'tag', 'metric', 'feature',
  'flag', 'config', 'setting', 'option', 'env', 'header', 'template', 'parent', 'child', 'first', 'last', 'next',
  'previous', 'current', 'duplicate', 'missing', 'unknown', 'required', 'invalid', 'any', 'all', 'same', 'other',
  'each', 'every', 'websocket', 'socket', 'project', 'issue', 'date', 'time', 'country', 'language', 'default',
  'symbol', 'own', 'extra', 'unexpected', 'unrecognized', 'the', 'a', 'of', 'by', 'on', 'no', 'err', 'dict', 'type',
  'name', 'string'
]
const LAST_WORD = new RegExp([
  `(?<!(?:^|-)(?:${HARMLESS_KEYS.join('|')}))-keys?(?:-(?:data|material|pem|base64|b64|value))?`,
  '(?:^|-)assertion', '(?:^|-)seeds?'
].map((word) => `(?:${word})(?:-\\d+)*$`).join('|'))

/** Last words of names that say something about a secret, and are none. */
const HARMLESS = new RegExp(`-(?:${[
  'counts?', 'counter', 'length', 'size', 'type', 'ttl', 'expir(?:es|y|ed|ation)(?:-(?:at|in|on|date|time))?', 'at',
  'enabled', 'disabled', 'required', 'valid', 'policy', 'limit', 'max', 'min', 'alg', 'algorithm', 'endpoint',
  'methods?', 'status', 'strength', 'fields?', 'errors?', 'exception', 'warning', 'timeout', 'lifetime', 'age',
  'provider', 'scopes?', 'attempts', 'rounds', 'iterations', 'version', 'format', 'regex', 'pattern', 'file', 'path',
  'dir', 'name', 'usage', 'budget'
].join('|')})$|^(?:[a-z]+-)?err-|^www-authenticate$`)

/** Whether the values of a name are secret, by the words of which the name consists. */
export function isSecretName (name: string): boolean {
  const words = wordsOf(name)
  return !HARMLESS.test(words) && (ANYWHERE.test(words) || AS_WORDS.test(words) || LAST_WORD.test(words))
}

/** The words of a name in lower case, without accents, joined by hyphens: `userOTPCode` becomes `user-otp-code`. */
function wordsOf (name: string): string {
  return name.normalize('NFD').replace(/[\u0300-\u036f\u3099\u309a]/g, '').normalize('NFC')
    .replace(/(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, '-')
    .replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '').toLowerCase()
}

/** The names whose values never reach a page or a store. */
export const DEFAULT_MASK_PATTERNS: readonly MaskPattern[] = ['_hash', '_profile', 'x-hindsight-profile', isSecretName]

// These say where a profile is, and whether credentials may be sent.
const NEVER_MASKED = /^(?:x-debug-token(?:-link)?$|access-control-)/i
const MAX_KNOWN = 2_000

/** Returns the test of names. Its results are kept: the same names come again and again. */
export function namesThatHide (patterns: readonly MaskPattern[]): (name: string) => boolean {
  const exact = new Set(patterns.filter((pattern) => typeof pattern === 'string').map((name) => name.toLowerCase()))
  const tests = patterns.filter((pattern) => typeof pattern === 'function')
  const expressions = patterns.filter((pattern) => pattern instanceof RegExp)
    // A sticky or global expression would start where it stopped before.
    .map(({ source, flags }) => new RegExp(source, flags.replace(/[gy]/g, '')))
  const known = new Map<string, boolean>()

  function isSecret (name: string): boolean {
    return exact.has(name.toLowerCase()) || tests.some((test) => test(name)) ||
      expressions.some((expression) => expression.test(name))
  }

  function judge (name: string): boolean {
    if (NEVER_MASKED.test(name)) return false
    if (isSecret(name)) return true
    const plain = name.includes('%') ? asciiDecoded(asciiDecoded(percentDecoded(name) ?? name)) : name
    if (plain !== name && isSecret(plain)) return true
    // Forms and queries write `user[pass]` for a member of something else.
    return /[[\]]/.test(plain) && plain.split(/[[\]]/).some((segment) => segment !== '' && isSecret(segment.trim()))
  }

  return (name) => {
    const result = known.get(name)
    if (result !== undefined) return result
    const hides = judge(name)
    if (known.size >= MAX_KNOWN) known.clear()
    // A copy: part of a text would keep the whole of it in memory.
    if (name.length <= 100) known.set(Buffer.from(name).toString(), hides)
    return hides
  }
}

/** Percent-decodes no more than ASCII, so that what else is in a name cannot make it fail. */
function asciiDecoded (name: string): string {
  return name.replace(/%([2-7][0-9a-f])/gi, (_, octet: string) => String.fromCharCode(parseInt(octet, 16)))
}

/**
 * Whether a value is an authorization code (RFC 6749, section 4.1.2) or the like: it stands under `code`, is long, and
 * has small letters and digits. `ENOENT`, `FST_ERR_NOT_FOUND`, `404` and `invalid_type` are none.
 */
export function isAuthorizationCode (name: string, value: unknown): boolean {
  return typeof value === 'string' && /^code$/i.test(name) && /^(?=\D*\d)(?=[^a-z]*[a-z])[\w~./+=%-]{8,}$/.test(value)
}

const PLACEHOLDER = new RegExp('^(?:\\$\\{?[A-Z_]+\\}?|%[sdoOj]|%\\(\\w{1,64}\\)s|\\{\\{.*|\\?|' +
  '(?:[$:]\\d{1,3}|@p\\d{1,3}|:[A-Za-z_]{1,64})(?:::\\w+)?)$')

/** Whether a text stands for a value: `?`, `$1`, `:name`, `@p1`, `%s`, `$PASSWORD`, `{{name}}`. */
export function isPlaceholder (text: string): boolean {
  return PLACEHOLDER.test(text)
}

/** Whether a value under a secret name is none: `max_tokens: 512`, `seed: 42`, `session: null`. */
export function isHarmless (name: string, value: unknown): boolean {
  if (/^(?:true|false|null|undefined|none|nil)$/i.test(String(value))) return true
  return /(?:tokens|seed)["'\]]*$/i.test(name) && /^\d{1,10}$/.test(String(value))
}

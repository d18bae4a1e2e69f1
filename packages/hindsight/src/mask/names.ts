import { cachedFunction } from '../call.js'
import { percentDecoded } from '../http/requests.js'

export const MASKED = '******'

/** A name whose values are masked: a string is the whole name in any case, an expression may match a part of it. */
export type MaskPattern = string | RegExp

/** The alternatives of an expression, written in columns for reading. */
export function anyOf (alternatives: string): string {
  return `(?:${alternatives.trim().split(/\s+/).join('|')})`
}

const WHOLE = /^(?:_hash|_profile|x-hindsight-profile)$/i

/** Words that make a name secret wherever they are in it, also within a longer word: `dbpassword`, `XSRFTOKEN`. */
const ANYWHERE = new RegExp(anyOf(String.raw`
  pass(?:wor[dt]|wd|phrase|code|key)(?!less) pwd secret(?!ar[iy]|ion|lint) token(?!i[sz]) credential authorization
  authentication-?info session(?!-?(?:storage|replay)) sessid [cx]srf signature
  jwt hmac mnemonic otp-?code (?:connection|authentication)-?strings?(?![a-z]) conn-?str(?![a-z])
  saml-?(?:response|request|art)
  (?:seed|recovery|backup)-?(?:phrase|words) security-?answer (?:code|oauth)-?verifier (?:credit|debit|bank)-?card
  (?:card|cc|account|passport)-?(?:number|num|no)(?![a-z]) social-?security tax-?id
  (?:mfa|[2t]fa|factor|recover|recovery|backup|verification|one-?time|sms|log-?in|auth|authorization)-?codes?(?![a-z])
  (?:reset|activation|invite|invitation|unlock|access|device|user|security|confirmation|email|phone)-?codes?(?![a-z])
  (?:api|app|access|account|private|encryption|signing|master|secret|auth|shared|storage)-?keys?(?![a-z])
  (?:licen[cs]e|consumer|admin)-?keys?(?![a-z]) (?:granting|service)-?ticket
  mot-?de-?passe palavra-?(?:passe|chave) kennwort geheim contrase(?:na|nya) contrasinal wachtwoord losenord salas[ao]na
  adgangskode kodeord passord lykilor[dð] lozink geslo(?![a-z]) slaptazod fjalekalim pasahitz zaporka kata-?sandi
  mat-?khau cle-?api лозинк पासवर्ड รหัสผ่าน گذرواژه
  парол 密[码碼] 口令 暗[证証証]
  ハスワート 비밀번호 암호 κωδικ סיסמ رمز كلمة`))

/** Words that occur within others (`author`, `compass`): only whole words make a name secret. */
const AS_WORDS = new RegExp(`(?<![a-z])${anyOf(`
  auth pass sig sid sess otp totp hotp mfa 2fa tfa pin pincode bearer cookies? pw pws masterauth pwhash cvv cvc iban ssn
  sas dsn salt creds? psk mdp passe senhas? clave parola has[lł]o heslo sifre jelszo`
)}(?![a-z])|(?<!com|by|tres|sur|over|under)pass(?![a-z])`)

/** Words before `key` in names that are no secrets: `primary key`, `cache key`. */
const HARMLESS_KEYS = anyOf(`
  primary foreign public publishable site unique natural surrogate composite candidate cache sort partition shard group
  row column idempotency index map object record entity item list array json field form query param parameter message
  translation i18n locale label text route routing event search lookup join ref reference bucket s3 file path arrow meta
  ctrl control shift alt hot shortcut modifier registry dedup deduplication correlation ordering order topic job task
  queue lock limit rate context state prop property attribute tag metric feature flag config setting option env header
  template parent child first last next previous current duplicate missing unknown required invalid any all same other
  each every websocket socket project issue date time country language default symbol own extra unexpected unrecognized
  the a of by on no err dict type name string`)
const LAST_WORD = new RegExp(`(?:(?<!(?:^|-)${HARMLESS_KEYS})-keys?(?:-(?:data|material|pem|base64|b64|value))?|` +
  String.raw`(?:^|-)assertion|(?:^|-)seeds?)(?:-\d+)*$`)

/** Last words of names that describe a secret without containing it. */
const HARMLESS = new RegExp(`-${anyOf(`
  counts? counter length size types? kinds? ttl expir(?:es|y|ed|ation)(?:-(?:at|in|on|date|time))? at enabled disabled
  required valid policy limit max min alg algorithm endpoint methods? status strength fields? errors? exception warning
  timeout lifetime age duration rate ratio percent(?:age)? provider scopes? attempts rounds iterations version format
  regex pattern file path dir names? usage budget domain host port issuer audience realm scheme strategy store label
  title placeholder rules? mode manager`
)}(?:-(?:m?s|m?secs?|(?:milli)?seconds?|mins?|minutes?|hours?|days?))?$|` +
  '(?:^|-)(?:o?auth|authorization|token)-ur[il]$|^(?:[a-z]+-)?err-|^www-authenticate$')

/** These headers contain a profile's token, or whether credentials may be sent. */
const NEVER_MASKED = /^(?:x-debug-token(?:-link)?$|access-control-)/i

/** The words of a name in lower case, without accents, joined by hyphens: `userOTPCode` becomes `user-otp-code`. */
function wordsOf (name: string): string {
  return name.normalize('NFD').replace(/[\u0300-\u036f\u3099\u309a]/g, '').normalize('NFC')
    .replace(/(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, '-')
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, '-').replace(/^-|-$/g, '').toLowerCase()
}

/** Returns the test of names: the built-in words, and the patterns of the option `mask`. */
export function nameTest (patterns: readonly MaskPattern[]): (name: string) => boolean {
  const added = patterns.map((pattern) => {
    if (typeof pattern === 'string') return { test: (name: string) => name.toLowerCase() === pattern.toLowerCase() }
    // A sticky or global expression would start where it stopped before.
    return new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''))
  })
  const isSecret = (name: string): boolean => {
    const words = wordsOf(name)
    return [WHOLE, ...added].some((secret) => secret.test(name)) ||
      (!HARMLESS.test(words) && [ANYWHERE, AS_WORDS, LAST_WORD].some((secret) => secret.test(words)))
  }
  return cachedFunction((name: string) => {
    if (NEVER_MASKED.test(name)) return false
    if (isSecret(name)) return true
    const plain = percentDecoded(name) ?? name
    if (plain !== name && isSecret(plain)) return true
    // Forms and queries write `user[pass]` for a member of something else.
    return /[[\]]/.test(plain) && plain.split(/[[\]]/).some((segment) => segment !== '' && isSecret(segment.trim()))
  }, (_isSecret, name) => name.length <= MAX_NAME)
}

/** Characters of a name whose result is kept. */
const MAX_NAME = 500

/**
 * Whether a value under the name `code` is an authorization code (RFC 6749, section 4.1.2) or the like: it is long, and
 * has small letters and digits, unlike `ENOENT`, `FST_ERR_NOT_FOUND`, `404`, `invalid_type` and `0x80070005`.
 */
export function isAuthorizationCode (name: string, value: unknown): boolean {
  return typeof value === 'string' && name.toLowerCase() === 'code' &&
    /^(?!0x)(?=\D*\d)(?=[^a-z]*[a-z])[\w~./+=%-]{8,}$/.test(value)
}

/** Whether a value under a secret name is no secret: `max_tokens: 512`, `seed: 42`, `session: null`. */
export function isHarmless (name: string, value: unknown): boolean {
  // A function may have a method toString of the application.
  if (typeof value === 'object' || typeof value === 'function') return value === null
  const text = String(value)
  // A copied variable has a character before words that are no texts.
  if (/^(?:true|false|null|undefined|none|nil|\0undefined(?:, or not known)?)$/i.test(text)) return true
  return HARMLESS_VALUES.some(([names, values]) => names.test(name) && values.test(text))
}

/** Numbers of things, results of tests, and words that seed a generator. */
const HARMLESS_VALUES: ReadonlyArray<readonly [names: RegExp, values: RegExp]> = [
  [/(?:tokens|sessions|secrets|passwords|cookies|credentials|seeds?)["'\]]*$/i, /^\d{1,10}$/],
  [/(?:^|[^a-z])pass(?:es)?["'\]]*$/i, /^\d{1,3}$/],
  [/^["'[]*seed["'\]]*$/i, /^[a-z]{1,12}$/i],
  // Whether `fetch` sends them.
  [/credentials["'\]]*$/i, /^(?:include|omit|same-origin)$/]
]

/** Names of fields that hold the name of another field, and of fields that hold its value. */
export const NAME_FIELD =
  /^(?:name|key|k|field|header|id|label|param|parameter|variable|property|path|instancePath|type)$/i
export const VALUE_FIELD = /^(?:values?|v|val|content|data|input|received|rejectedValue|default|defaultValue)$/i

/** Returns a test of the fields beside a secret name: whether one has its value: `{ name: 'pin', value: '…' }`. */
export function valueFieldTest (
  fields: ReadonlyArray<readonly [string, unknown]>, isSecret: (value: unknown) => boolean
): (name: string) => boolean {
  const isNamed = fields.some(([name, value]) => NAME_FIELD.test(name) && isSecret(value))
  return (name) => isNamed && VALUE_FIELD.test(name)
}

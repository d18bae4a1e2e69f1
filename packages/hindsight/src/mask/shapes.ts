import { anyOf, MASKED } from './names.js'

/**
 * The format of a secret. Every pattern starts at a literal or after a look-behind and is bounded where it may fail, so
 * that any text takes linear time.
 */
interface Shape {
  /** A part of every text that the pattern matches: the test for it is faster than the pattern. */
  has: string | RegExp
  pattern: RegExp
  /** What replaces a match. Default: the mask alone. */
  by?: string
  /** Whether a match is a secret, where the pattern cannot decide it. */
  isSecret?: (match: string) => boolean
}

const AFTER_FIRST = `$1${MASKED}`
const CREDENTIALS = `${MASKED}:${MASKED}@`

/** Prefixes that issuers put before at least 20 letters and digits. */
const PREFIXES = anyOf(String.raw`
  gh[opsur]_ npm_ hf_ api_org_ r8_ gsk_ pplx- xai- sk_ [spr]k_(?:live|test)_ lin_(?:api|oauth)_ ntn_ secret_
  do[opr]_v1_ nf[pcoub]_ rnd_ sbp_ napi_ vc[apirk]_ sq[pua]_ tfp_ rdme_ shippo_ pcsk_ csk- jina_ e2b_ ph[xc]_
  tr_(?:dev|prod)_ re_(?:\w{8}_)? dd(?:app|api|pat)_ rubygems_ pul- AGE-SECRET-KEY-1 EZ[AT]K CCIPAT_
`)

/** Prefixes that issuers put before at least 20 characters of base64url, which may have dots. */
const LONG_PREFIXES = anyOf(String.raw`
  github_pat_ gl(?:pat|dt|rt|ptt|soat|imt|ft|agent|cbt|oas|ffct|wt|sa)[-_] vercel_blob_rw_ tgp_v1_ duffel_ sgp_ polar_
  GR1348941 sk- AIza ya29\. GOCSPX- AQ\. hv[sbr]\. dp\.(?:pt|st|ct|sa|scim|audit)\. sq0(?:atp|csp|idp)- AQVN
  (?:xkeysib|xsmtpsib|shp(?:at|ca|pa|ss))[-_] HRKU- CFPAT- fio-u- snyk_uat\. IGQV ops_ PMAK- figd_ dckr_[po]at_
  tskey-[a-z]{2,10}- sb_secret_ nvapi- cf(?:at|ut)_ lsv2_[ps][tk]_ pscale_(?:tkn|pw|oauth)_ mdb_sa_sk_ CCIPRJ_
  A(?:T[ACS]TT|TBB|KCp) A21AA 1(?://|%2F%2F)0 4/0A tvly- \w{10,20}\.atlasv1\. v[1-4]\.(?:local|public)\. pat\w{14}\.
`)

/** Tokens of issuers with another form, and hashes of passwords. */
const FORMATS = anyOf(String.raw`
  A[KS]IA[0-9A-Z]{12,} npg_\w{12,} rzp_(?:live|test)_\w{10,} whsec_[\w+/=]{8,} xox[abeprs][.-][\w.-]{8,} xapp-[\w-]{8,}
  pypi-[\w-]{16,} NR(?:AK|JS|II|IQ|RA|SP|AL)-[\w-]{16,} SG\.[\w-]{8,}\.[\w-]{8,} (?:pub)?key-[0-9a-f]{32}
  [0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8} SK[0-9a-f]{32} dapi[0-9a-f]{32} \d{8,10}:AA[\w-]{30,}
  access_token(?:\$|%24)\w{4,12}?(?:\$|%24)[\w$%]{20,} pat-[a-z]{2,4}\d-[0-9a-f-]{30,} ABSK[\w+/]{30,}={0,2}
  AQE[\w+/=-]{50,}[^\s"',;]{0,24} v1\.[\w-]{40,} sl\.[\w-]{60,} [0-9a-f]{32}-us\d{1,2} pa-[\w-]{40,}
  dt0[a-z]\d\d\.\w{20,}\.\w{40,} FLWSECK(?:_TEST)?-[\w-]{12,} fc-[0-9a-f]{32} LTAI\w{12,} AKID\w{28,} cio\w{32}
  (?:access|public|link)-(?:sandbox|development|production)-[0-9a-f-]{36} amzn\.mws\.[0-9a-f-]{36} oy2[a-z0-9]{43}
  (?:sdk|mob|api)-[0-9a-f]{8}-[0-9a-f-]{27} nsec1[a-z0-9]{50,} [xyztuv]prv[1-9A-HJ-NP-Za-km-z]{80,}
  (?:fm\d|fo\d)_[\w+/=,-]{30,} A3-[0-9A-Z]{6}-(?:[0-9A-Z]{5,11}-?){4,6} v1\.0-[0-9a-f]{24}-[0-9a-f]{40,}
  EAA[A-Z][\w-]{30,} (?:glc|sntry[su])_[\w+/=-]{20,} \w{3}\dQ~[\w.~-]{31,} [MNO][\w-]{22,28}\.[\w-]{6,7}\.[\w-]{25,}
  (?:scrypt|pbkdf2|bcrypt|argon2|sha(?:1|256|512)|md5)[\w:-]{0,40}\$[^\s"',;]{16,}
  \$(?:[1567]|2[abxy]?|y|gy|apr1|md5|s0|scrypt|sha\d|argon2\w{1,2}|pbkdf2[\w-]{0,12}|bcrypt[\w-]{0,10})\$[^\s"']{16,}
`)

const WEBHOOKS = String.raw`hooks\.slack\.com/[a-z]{1,20}|discord(?:app)?\.com/api(?:/v\d{1,2})?/webhooks|` +
  String.raw`hooks\.zapier\.com/hooks/catch|[\w-]{1,63}\.webhook\.office\.com/webhookb2`

/** A private key (RFC 7468), also cut off before its end. */
export const PRIVATE_KEY =
  /(-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5})[^]*?(?:-{4,5} ?END [A-Z0-9 ]{1,60}-{4,5}|$)/g

const SHAPES: readonly Shape[] = [
  // User information of URLs (RFC 3986, section 3.2.1). A token has no password, or one that marks it as a token.
  {
    has: '://',
    pattern: /(?<=:\/\/)[^\s/?#:@"<>]{1,256}:(?:|x|x-oauth-basic|x-token-auth|api)@/gi,
    by: CREDENTIALS
  },
  {
    has: '://',
    pattern: /(:\/\/[^\s/?#:@"<>]{0,256}:)(?:[^\s/?#"<>]*|(?!\d*[/?#])[^\s@"<>]{0,256})(?=@)/g,
    by: AFTER_FIRST
  },
  // A name may contain `@`, as those of Azure do.
  { has: '://', pattern: /(:\/\/[^\s/?#:"<>]{0,256}:)[^\s/?#"<>]*(?=@)/g, by: AFTER_FIRST },
  { has: '://', pattern: /(?<=:\/\/)(?=[^\d@]{0,256}\d)(?=[^a-z@]{0,256}[a-z])[\w.~%+-]{20,256}(?=@)/gi },
  // A port is a number: anything else after the colon is a password, of a URL that was cut off after it.
  {
    has: '://',
    pattern: /(:\/\/[^\s/?#:@"<>[\]]{0,256}:)(?!\d{0,5}(?:[^\w]|$))[^\s/?#@"<>]+(?=$|[\s"<>])/g,
    by: AFTER_FIRST
  },
  { has: '://', pattern: new RegExp(`(?<=//)((?:${WEBHOOKS})/)[^\\s"'<>?#]+`, 'g'), by: AFTER_FIRST },
  { has: 'bot', pattern: /(?<=(?<![A-Za-z0-9])bot)\d{3,12}(?::|%3A)[\w-]{8,}/gi },
  // JSON in base64url (RFC 7515, RFC 7516), also cut off before its signature.
  { has: 'eyJ', pattern: /(?<![\w-])eyJ[\w-]{5,}(?:\.[\w-]*)+/g },
  { has: 'PRIVATE KEY', pattern: PRIVATE_KEY, by: AFTER_FIRST },
  {
    has: '',
    pattern: new RegExp(String.raw`(?<![A-Za-z0-9])(?:${FORMATS}|${PREFIXES}[A-Za-z0-9]{20,}[\w-]*|` +
      String.raw`${LONG_PREFIXES}(?:[\w-]|\.(?=[\w-])){20,})`, 'g')
  },
  // Other issuers' prefixes.
  {
    has: /[_-]/,
    pattern: new RegExp('(?<![\\w-])(?!sha\\d|nonce-)[A-Za-z][A-Za-z0-9]{1,9}(?:[_-][a-z0-9]{1,8})?' +
      '(?:[_-][A-Za-z0-9]{1,12})?[_-][A-Za-z0-9]{20,}(?:[_-][A-Za-z0-9]{4,})*', 'g'),
    isSecret: hasRandomPart
  },
  {
    has: /\d{4}/,
    pattern: new RegExp('(?<![\\w.-])(?:[2-6]\\d{13,15}|[2-6]\\d{3}([ -])\\d{4}\\1\\d{4}\\1\\d{4}|' +
      '3\\d{3}([ -])\\d{6}\\2\\d{4,5})(?!(?!n\\b)[\\w-]|\\.\\d)', 'g'),
    isSecret: isCardNumber
  },
  {
    has: /bearer/i,
    pattern: new RegExp('(\\bBearer\\s{1,20})(?!(?:realm|scope|error|charset)=|' +
      '(?:tokens?|scheme|auth\\w*)(?![\\w.~+/=-]))[\\w.~+/=-]+', 'gi'),
    by: AFTER_FIRST
  },
  { has: /basic/i, pattern: /(?<=\bBasic\s{1,9})[A-Za-z0-9+/]{4,}={0,2}/gi, isSecret: isBasicCredential }
]

/** Masks secrets with a known format, such as tokens and keys, whatever their names are. */
export function maskShapes (text: string): string {
  let shown = text
  for (const { has, pattern, by = MASKED, isSecret } of SHAPES) {
    if (typeof has === 'string' ? !shown.includes(has) : !has.test(shown)) continue
    if (isSecret === undefined) shown = shown.replace(pattern, by)
    else shown = shown.replace(pattern, (match) => isSecret(match) ? by : match)
  }
  return shown
}

/** Whether a part of a token mixes letters and digits as no word does. */
function hasRandomPart (token: string): boolean {
  return token.split(/[_-]/).some((part) => part.length >= 20 && (/^[0-9a-f]{32,}$/.test(part) ||
    (/\d/.test(part) && /[A-Z]/.test(part) && /[a-z]/.test(part))))
}

const CARD_ISSUER = new RegExp('^(?:4\\d{15}|5[0-8]\\d{14}|2[2-7]\\d{14}|3[47]\\d{13}|' +
  '3(?:0[0-5]|[689]\\d)\\d{11}|35\\d{14}|6(?:011|[23567]\\d\\d|4[4-9]\\d)\\d{12})$')

/** Whether the digits pass the check of Luhn (ISO/IEC 7812-1, annex B) and begin as those of an issuer of cards do. */
function isCardNumber (text: string): boolean {
  const digits = text.replace(/\D/g, '')
  if (!CARD_ISSUER.test(digits)) return false
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    let value = Number(digits[i])
    if ((digits.length - i) % 2 === 0) value *= 2
    if (value > 9) value -= 9
    sum += value
  }
  return sum % 10 === 0
}

/** Whether base64 holds a name and a password (RFC 7617, section 2). */
function isBasicCredential (base64: string): boolean {
  const text = Buffer.from(base64, 'base64').toString('utf8')
  return text.includes(':') && !/\p{Cc}/u.test(text)
}

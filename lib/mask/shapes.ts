import { MASKED } from './parts.js'

const LEAST = 10
// Prefixes that issuers put before the random part, so that it can be found.
const ISSUED = new RegExp(`(?<![A-Za-z0-9])(?:${[
  'gh[opsur]_\\w{16,}', 'github_pat_\\w{16,}', 'gl(?:pat|dt|rt|ptt|soat|imt|ft|agent|cbt|oas|ffct)-[\\w-]{16,}',
  'GR1348941[\\w-]{16,}', 'npm_\\w{20,}', 'pypi-[\\w-]{16,}', '[spr]k_(?:live|test)_\\w{8,}', 'whsec_[\\w+/=]{8,}',
  'sk-[\\w-]{20,}', 'xox[abeprs][.-][\\w.-]{8,}', 'xapp-[\\w-]{8,}', 'A[KS]IA[0-9A-Z]{12,}', 'AIza[\\w-]{20,}',
  'ya29\\.[\\w-]{16,}', 'GOCSPX-[\\w-]{16,}', '1//0[\\w-]{20,}', 'SG\\.[\\w-]{8,}\\.[\\w-]{8,}', 'key-[0-9a-f]{32}',
  'SK[0-9a-f]{32}', 'dapi[0-9a-f]{32}', 'hv[sbr]\\.[\\w-]{20,}', 's\\.(?=\\w{0,23}\\d)\\w{24}(?!\\w)',
  'A(?:TATT|TCTT|TBB|KCp)\\w[\\w=-]{20,}', 'EAA[A-Z]\\w{30,}', 'sl\\.[\\w-]{60,}', 'pat\\w{14}\\.[0-9a-f]{40,}',
  'amzn\\.mws\\.[0-9a-f-]{30,}', 'dp\\.[a-z]{2}\\.\\w{40,}', 'AGE-SECRET-KEY-1\\w{50,}', 'pul-[0-9a-f]{40}',
  'PMAK-[\\w-]{40,}', '\\w{3}\\dQ~[\\w.~-]{31,}', 'FlyV1 [\\w,+/=-]{20,}',
  // Telegram, Discord
  '\\d{8,10}:AA[\\w-]{30,}', '[MNO][\\w-]{22,28}\\.[\\w-]{6,7}\\.[\\w-]{25,}',
  // PASETO; hashes of passwords: crypt(3), PHC, Django, Werkzeug, PostgreSQL, LDAP
  'v[1-4]\\.(?:local|public)\\.[\\w-]{20,}[\\w.-]*',
  '(?:scrypt|pbkdf2|bcrypt|argon2|sha(?:1|256|512)|md5)[\\w:-]{0,40}\\$[^\\s"\',;]{16,}',
  'SCRAM-SHA-\\d{1,3}\\$[^\\s"\',;]{20,}',
  '\\$(?:[1567]|2[abxy]?|y|gy|apr1|md5|s0|scrypt|sha\\d|' +
    'argon2\\w{1,2}|pbkdf2[\\w-]{0,12}|bcrypt[\\w-]{0,10})\\$[^\\s"\']{16,}',
  '\\{S?(?:SHA|MD5)\\d{0,3}\\}[\\w+/=]{16,}',
  '\\*[0-9A-F]{40}(?![0-9A-Za-z])'
].join('|')})`, 'g')
// Such prefixes of other issuers: `lin_api_…`, `dop_v1_…`, `figd_…`, `tskey-auth-…`.
const PREFIXED = new RegExp('(?<![\\w-])(?!sha\\d|nonce-)[A-Za-z][A-Za-z0-9]{1,9}(?:[_-][a-z0-9]{1,8})?' +
  '(?:[_-][A-Za-z0-9]{1,12})?([_-][A-Za-z0-9]{20,})(?:[_-][A-Za-z0-9]{4,})*', 'g')
// The last parts of addresses that accept a message from everybody who has them.
const WEBHOOK = new RegExp('(?<=//)((?:' + [
  'hooks\\.slack\\.com/[a-z]{1,20}', 'discord(?:app)?\\.com/api(?:/v\\d{1,2})?/webhooks',
  '[\\w.-]{1,80}\\.office\\.com/webhookb2', 'hooks\\.zapier\\.com/hooks/catch'
].join('|') + ')/)[^\\s"\'<>?#]+', 'g')
const TELEGRAM = /(?<=\/bot)\d{3,12}:[\w-]{8,}/g
const PEM = new RegExp('(-{4,5} ?BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?) ?-{4,5})' +
  '(?:(?!-{4,5} ?END)[^])*(?:-{4,5} ?END \\2 ?-{4,5})?', 'g')
const PUTTY = /(?<=Private-Lines: \d{1,4}\r?\n)(?:[\w+/=]+\r?\n?)+/g
// The private members of a JSON Web Key (RFC 7518, section 6).
const JWK = /(?<=["'](?:d|p|q|dp|dq|qi|k)["']\s?:\s?["'])[\w+/=-]{8,}/g
// JSON in base64url; also one that was cut off before its signature.
const JWT = /(?<![\w-])eyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)*/g
const CARD = new RegExp('(?<![\\w.-])(?:[2-6]\\d{13,15}|' +
  '[2-6]\\d{3}([ -])\\d{4}\\1\\d{4}\\1\\d{4}|3\\d{3}([ -])\\d{6}\\2\\d{4,5})(?![\\w-]|\\.\\d)', 'g')
const CARD_ISSUER = new RegExp('^(?:4\\d{15}|5[0-8]\\d{14}|2[2-7]\\d{14}|3[47]\\d{13}|' +
  '3(?:0[0-5]|[689]\\d)\\d{11}|35\\d{14}|6(?:011|[23567]\\d\\d|4[4-9]\\d)\\d{12})$')
const IBAN = /(?<![\w-])[A-Z]{2}\d{2}(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?)(?![\w-])/g

/** Hides what is a secret by its very shape, whatever its name is. */
export function shapes (text: string): string {
  if (text.length < LEAST) return text
  let shown = text
  // To look for a word is much faster than to try an expression.
  if (text.includes('eyJ')) shown = shown.replace(JWT, MASKED)
  if (text.includes('PRIVATE KEY')) shown = shown.replace(PEM, `$1${MASKED}`)
  if (text.includes('Private-Lines')) shown = shown.replace(PUTTY, MASKED)
  if (text.includes('kty')) shown = shown.replace(JWK, MASKED)
  if (text.includes('://')) shown = shown.replace(WEBHOOK, `$1${MASKED}`).replace(TELEGRAM, MASKED)
  shown = shown.replace(ISSUED, MASKED).replace(PREFIXED, (all, random: string) => isRandom(random) ? MASKED : all)
  if (!/\d{4}/.test(text)) return shown
  return shown.replace(CARD, (all) => isCardNumber(all) ? MASKED : all)
    .replace(IBAN, (all) => isIban(all) ? MASKED : all)
}

/** Whether a text mixes letters and digits as no word does. */
function isRandom (text: string): boolean {
  if (/^_[0-9a-f]{32,}$/.test(text)) return true
  return /\d\D*\d\D*\d/.test(text) && /[A-Z]/.test(text) && /^.(?![0-9A-F]*$)/.test(text)
}

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

/** Whether the check digits are right (ISO 13616, ISO/IEC 7064 MOD 97-10). */
function isIban (text: string): boolean {
  const plain = text.replaceAll(' ', '')
  const digits = (plain.slice(4) + plain.slice(0, 4)).replace(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55))
  return [...digits].reduce((rest, digit) => (rest * 10 + Number(digit)) % 97, 0) === 1
}

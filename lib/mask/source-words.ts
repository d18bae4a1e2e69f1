import { anyOf } from './names.js'

function words (alternatives: string, flags = ''): RegExp {
  return new RegExp(`^${anyOf(alternatives)}$`, flags)
}

/** Methods that return a part or another form of their object. */
export const SAME_VALUE = words(String.raw`
  trim\w* to(?:String|LowerCase|UpperCase) slice substr\w* normalize valueOf at concat split`)
/** Functions whose result stands for their argument. */
export const WRAPPER = /^(?:String|expect|from|(?:en|de)code\w*|atob|btoa|\w*(?:hash|sha\d+|md5|digest)\w*)$/i
/** Functions that compare their arguments, or the object with them, and those that fill in a field. */
export const COMPARES =
  /equal|compare|^(?:is|isNot|not|same|strictSame|toBe|eql?|verify|sign|fill|type|setValue|hash(?:Sync)?)$/i
/** Functions of cryptography with a key or a password among their arguments, and of logging in. */
export const TAKES_KEY = words(`
  createHmac hmac create(?:Cipher|Decipher)iv createSecretKey encrypt decrypt (?:pbkdf2|scrypt|hkdf)(?:Sync)? sign
  log_?in sign_?in authenticate Sequelize`, 'i')
/** Functions whose arguments are no values: methods of strings, messages, rules of validators. */
export const TEXTS = words(`
  split join replace(?:All)? pad(?:Start|End) startsWith endsWith includes indexOf match toString digest slice hasOwn
  hasOwnProperty Symbol deprecate log info warn error debug trace fatal fail assert ok invariant test it describe min
  max regex refine message label on once off emit \\w*(?:Error|Exception)`)
/** Functions whose first argument is the name of something, and whose names begin so. */
export const LOOKUP = new RegExp(`[cC]ookie|[hH]eader|[iI]tem|^${anyOf(`
  get find fetch load read query use require import header env param config option prompt question ask input has
  resolve lookup inject where collection table model select delete remove clear db knex t locator authenticate log[iI]n
  sign[iI]n AuthGuard`)}(?![a-z])`)
/** Functions whose arguments are names. */
export const NAMES_ONLY = words(`
  select pick omit columns? fields? attributes returning orderBy groupBy only except exclude include hidden? redact
  unset delete remove del without pluck allow deny resolve`)
export const CHECKS = /^(?:validate|check|verify|is|has|require|assert|format|parse|describe|on|handle|render)(?![a-z])/
/** Functions that have a name among their arguments, and its value next. */
export const SETS = /^(?:set|defineProperty|put|stub\w*)$/
/** Fields of the description of a value: of a schema, a cookie, a form. */
export const DESCRIBES = words(String.raw`
  description in sameSite secure priority comment help hint message \$ref`)
/** Objects whose fields have the names of others, and texts about them. */
export const ABOUT_FIELDS = /(?:error|message|label|hint)s$/i
/** Libraries whose functions take passwords. */
export const HASHES_PASSWORDS = /^(?:bcrypt(?:js)?|argon2)$/

// No secrets: names of encodings, algorithms and schemes, and short punctuation.
export const HARMLESS = words(String.raw`
  [^\p{L}\p{N}]{0,3} hex utf-?(?:8|16le) base64(?:url)? ascii latin1 binary ucs-?2 sha-?\d[\d-]* md5 [HREP]S\d{3}
  EdDSA ed25519 rsa(?:-\w+)? aes-?\d+-?\w* pem der jwk scrypt argon2\w* bcrypt pbkdf2`, 'iu')
export const SCHEME = /^\s*(?:Bearer|Basic|Token|ApiKey|Digest|Bot)\s*$/i
export const NAME = /^[\p{L}\p{N}_$.[\]-]{1,64}$/u
export const OPAQUE = /^(?=\D*\d)(?=[^a-z]*[a-z])[^\s/]{6,}$/i
/** The name at the end of a text to which its value is appended: `'&token=' + 'x'`. */
export const NAME_AT_END = /([\p{L}\p{N}_$.-]{1,64})["']?\s{0,9}[=:]\s{0,9}["']?$/u

export const LITERAL = /^(?:StringLiteral|NoSubstitutionTemplate|Template(?:Head|Middle|Tail)|NumericLiteral)$/
export const COMPARISON = /^(?:[=!]==?|is|isnt)$/
/** What ends the right side of a comparison. */
export const LOWER = /^(?:&&|\|\||\?\??|:|and|or)$/
export const STATEMENT = words(`
  if for while switch catch with return typeof await throw new delete void in of case else do yield const let var
  extends default instanceof as satisfies try finally`)
/** A line that begins or ends so belongs to the statement before it or after it. */
export const CONTINUES = /^(?:[?:+|&.)\]]|\?\??\.?|\|\||&&|[=!]==?|=|as|satisfies|or|and)$/
export const ENDS = /^(?:[)\]};]|\+\+|--)$/

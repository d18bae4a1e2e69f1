import type { Token } from 'js-tokens'
import { anyOf } from './names.js'

/** A token, or a comment of another language. */
export interface Piece {
  type: Token['type'] | 'Comment'
  value: string
  /** Whether a line end, or white space, is before it. */
  isFirst?: boolean
  isSpaced?: boolean
}

const OPENING: ReadonlyMap<string, string> = new Map([[')', '('], [']', '['], ['}', '{']])

export function partsOf ({ type, value }: Piece): [opening: string, content: string, closing: string] {
  if (type === 'NumericLiteral') return ['', value, '']
  const opening = value.slice(0, 1)
  const rest = value.slice(1)
  const closing = type === 'TemplateHead' || type === 'TemplateMiddle'
    ? '${'
    : rest.endsWith(opening === '}' ? '`' : opening) && !/(?<!\\)(?:\\\\){0,99}\\.$/s.test(rest) ? rest.slice(-1) : ''
  return [opening, rest.slice(0, rest.length - closing.length), closing]
}

/** The tokens of a source without white space and comments, the brackets around them, and which names are secret. */
export class SourceTokens {
  readonly hides: (name: string) => boolean
  readonly tokens: Piece[] = []
  /** For each token, the index of the bracket around it, and of the other bracket of its pair; -1 if there is none. */
  readonly around: number[] = []
  readonly pair: number[] = []

  constructor (hides: (name: string) => boolean, pieces: readonly Piece[]) {
    this.hides = hides
    let [isFirst, isSpaced] = [true, true]
    for (const piece of pieces) {
      const isLineEnd = piece.type === 'LineTerminatorSequence'
      if (isLineEnd || piece.type === 'WhiteSpace' || piece.type.endsWith('Comment')) {
        isFirst ||= isLineEnd
        isSpaced = true
        continue
      }
      this.tokens.push(Object.assign(piece, { isFirst, isSpaced }))
      isFirst = isSpaced = false
    }
    this.#pairBrackets()
  }

  #pairBrackets (): void {
    const stack: number[] = []
    const open: Record<string, number> = {}
    const leave = (): number => {
      const i = stack.pop() as number
      open[this.bracket(i)] = (open[this.bracket(i)] as number) - 1
      return i
    }
    this.tokens.forEach(({ type, value }, i) => {
      const isType = stack.length > 0 && this.value(stack.at(-1) as number) === '<'
      let opening = OPENING.get(value)
      if (type === 'TemplateMiddle' || type === 'TemplateTail') opening = '`'
      if (isType && /^>+$/.test(value)) opening = '<'
      if (isType && /^(?:;|&&|\|\||\?\?|=|[=!]==?)$/.test(value)) leave()
      this.pair.push(-1)
      if (opening !== undefined && (open[opening] ?? 0) > 0) {
        let other = leave()
        while (this.bracket(other) !== opening) other = leave()
        // All parts of a template have the first one as their pair.
        const first = this.tokens[other]?.type === 'TemplateMiddle' ? this.pair[other] as number : other
        this.pair[i] = first
        this.pair[first] = i
      }
      this.around.push(stack.at(-1) ?? -1)
      const bracket = this.bracket(i)
      if (bracket === '') return
      stack.push(i)
      open[bracket] = (open[bracket] ?? 0) + 1
    })
  }

  /** The kind of an opening bracket, empty for another token. `<` opens the arguments of a generic type. */
  bracket (i: number): string {
    const { type, value } = this.tokens[i] as Piece
    if (type === 'TemplateHead' || type === 'TemplateMiddle') return '`'
    if (value === '<') {
      const isType = /^\p{Lu}(?:\p{Ll}|$)/u.test(this.value(i - 1))
      return isType && !this.#isSpaced(i) && !this.#isSpaced(i + 1) ? '<' : ''
    }
    return /^[([{]$/.test(value) ? value : ''
  }

  value (i: number): string {
    return this.tokens[i]?.value ?? ''
  }

  #isSpaced (i: number): boolean {
    return this.tokens[i]?.isSpaced ?? true
  }

  isLiteral (i: number): boolean {
    return LITERAL.test(this.tokens[i]?.type ?? '')
  }

  content (i: number): string {
    return this.isLiteral(i) ? partsOf(this.tokens[i] as Piece)[1] : this.value(i)
  }

  isMember (i: number): boolean {
    return /^\??\.$/.test(this.value(i - 1))
  }

  /** Whether a token is in the place of the name of a field. */
  isKey (i: number): boolean {
    const before = this.value(i - 1)
    return (this.tokens[i]?.isFirst === true && before !== '?') || /^[{,[]?$/.test(before) ||
      (before === '(' && this.value(i) !== ')') || this.value(i) === ']'
  }

  /** Whether an expression ends before a bracket, which is a call or an index then. */
  isAfterOperand (bracket: number): boolean {
    const { type, value } = this.tokens[bracket - 1] ?? { type: 'Invalid', value: '' }
    if (type === 'IdentifierName') return !STATEMENT.test(value) || this.isMember(bracket - 1)
    return type === 'PrivateIdentifier' || /^(?:[)\]>]|\?\.)$/.test(value) ||
      (this.value(bracket) === '[' && /String|Template(?!Head|Middle)/.test(type))
  }

  continues (i: number): boolean {
    const { type, value } = this.tokens[i] as Piece
    const before = this.tokens[i - 1]
    return CONTINUES.test(value) || /^Template(?:Middle|Tail)$/.test(type) || COMPARISON.test(this.value(i - 1)) ||
      (before?.type === 'Punctuator' && !ENDS.test(before.value))
  }

  secret (name: string): string | null {
    return name.length <= 128 && (this.hides(name) || HASHES_PASSWORDS.test(name)) ? name : null
  }

  /** The same for a literal: a sentence is no name. */
  literalName (i: number): string | null {
    return this.isLiteral(i) && NAME.test(this.content(i)) ? this.secret(this.content(i)) : null
  }
}

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
const HASHES_PASSWORDS = /^(?:bcrypt(?:js)?|argon2)$/

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
const CONTINUES = /^(?:[?:+|&.)\]]|\?\??\.?|\|\||&&|[=!]==?|=|as|satisfies|or|and)$/
const ENDS = /^(?:[)\]};]|\+\+|--)$/

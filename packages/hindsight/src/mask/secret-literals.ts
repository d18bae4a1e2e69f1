import type { Token } from 'js-tokens'
import { anyOf, isHarmless } from './names.js'

/** A token, or a comment of another language. */
export interface Piece {
  type: Token['type'] | 'Comment'
  value: string
}

/** A statement, or a field of an object. The body of a function is not in it, nor are other blocks of statements. */
interface Unit {
  readonly outer: Unit | null
  /** Its first token. */
  readonly first: number
  /** Secret names. */
  names: string[]
  /** How many there are, with literals that are secret names, also in the units around it. */
  count: number
  /** The name of a function whose results are secret. */
  result?: string
}

interface Frame {
  bracket: number
  /** A statement ends with its line or a semicolon, a field also with a comma. */
  contents: 'expressions' | 'statements' | 'fields'
  /** Around each of them. */
  outer: Unit | null
  unit: Unit
  result: string | undefined
}

const CLOSING: ReadonlyMap<string, RegExp> = new Map([[')', /\($/], [']', /\[$/], ['}', /^\{$/], ['`', /\$\{$/]])

export const LITERAL = /^(?:StringLiteral|NoSubstitutionTemplate|Template(?:Head|Middle|Tail)|NumericLiteral)$/
/** Before the brace of an object: other braces have statements. */
const BEFORE_OBJECT = words(String.raw`
  [(,=:[?] \?\?=? \|\|=? &&=? \.{3} [=!]==? return const let var yield default await throw of in`)
/** A line that begins or ends so belongs to the statement before it or after it. */
const CONTINUES = words(String.raw`
  [?:+|&.{] \?\??\.? \|\| && [=!]==? => (?:\?\?|\|\||&&|\+)?= as satisfies or and is`)
const BEGINS = /^[}([]/
const ENDS = words(String.raw`[)\]};,>] \+\+ --`)
const DECLARES = words('const let var export')
const DECLARES_TYPE = words('type interface enum')
const CONTROL = words('if for while switch else try catch return')
/** Functions whose results are no secrets. */
const CHECKS = /^(?:validate|check|verify|is|has|require|assert|authenticate|log[iI]n|sign[iI]n)(?![a-z])/
const KEYWORD = words('return typeof case in of await yield else new throw void delete const let var')
/** Functions whose arguments may be secrets: of cryptography, and of logging in. */
const TAKES_SECRET = words(`
  createHmac hmac create(?:Cipher|Decipher)iv createSecretKey encrypt decrypt (?:pbkdf2|scrypt|hkdf)(?:Sync)? sign
  log_?in sign_?in authenticate Sequelize`, 'i')
const HASHES_PASSWORDS = /^(?:bcrypt(?:js)?|argon2)$/
/** Functions whose first argument is a name, a path or a message. Names of functions may begin with these. */
const TAKES_NAME = new RegExp(`[cC]ookie|[hH]eader|[iI]tem|(?:Error|Exception)$|^${anyOf(`
  get find fetch load read query use require import env param config option prompt question ask input has resolve lookup
  inject where collection table model select delete remove clear db knex t locator authenticate log[iI]n sign[iI]n
  AuthGuard split join replace startsWith endsWith includes indexOf match log info warn error debug trace fatal fail
  test it describe message on once off emit`)}(?![a-z])`)
/** The same whose argument is a message, of which all parts of a template are. */
const TAKES_MESSAGE = /(?:Error|Exception)$|^(?:log|info|warn|error|debug|trace|fatal)$/
const TAKES_PATH = words('post put patch all route redirect head options')
// No secrets: types, encodings, algorithms and schemes, and short punctuation.
const HARMLESS = words(String.raw`
  [^\p{L}\p{N}]{0,3} string number boolean object function integer array hex utf-?(?:8|16le) base64(?:url)? ascii latin1
  binary ucs-?2 sha-?\d[\d-]* md5 [HREP]S\d{3} EdDSA ed25519 rsa(?:-\w+)? aes-?\d+-?\w* pem der jwk scrypt argon2\w*
  bcrypt pbkdf2 \s*(?:Bearer|Basic|Token|ApiKey|Digest|Bot)\s+`, 'iu')
const NAME = /^[\p{L}\p{N}_$.[\]#=-]{1,64}$/u
const MAX_NAMES = 9
const OPAQUE = /^(?=\D*\d)(?=[^a-z]*[a-z])[^\s/]{6,}$/i
/** The name at the end of a text to which its value is appended: `'&token=' + 'x'`. */
const NAME_AT_END = /([\p{L}\p{N}_$.-]{1,64})["']?\s{0,9}[=:]\s{0,9}["']?$/u

function words (alternatives: string, flags = ''): RegExp {
  return new RegExp(`^${anyOf(alternatives)}$`, flags)
}

export function partsOf ({ type, value }: Piece): [opening: string, content: string, closing: string] {
  if (type === 'NumericLiteral') return ['', value, '']
  const opening = value.slice(0, 1)
  const rest = value.slice(1)
  const closing = type === 'TemplateHead' || type === 'TemplateMiddle'
    ? '${'
    : rest.endsWith(opening === '}' ? '`' : opening) && !/(?<!\\)(?:\\\\){0,99}\\.$/s.test(rest) ? rest.slice(-1) : ''
  return [opening, rest.slice(0, rest.length - closing.length), closing]
}

/**
 * Finds the literals that may be values of secret names: all of a statement with such a name, or of a field of an
 * object. Shown are the names themselves, names of modules and of what is looked up, and words that are no secret.
 */
export class SecretLiterals {
  readonly #hides: (name: string) => boolean
  readonly #tokens: Piece[] = []
  /** The tokens that begin a line. */
  readonly #lines = new Set<number>([0])
  readonly #units: Unit[] = []
  readonly #unitOf: Unit[] = []
  /** By the later parts of templates, the first ones. */
  readonly #heads = new Map<number, number>()
  readonly #keys = new Set<number>()
  readonly #names = new Set<number>()

  constructor (hides: (name: string) => boolean, pieces: readonly Piece[]) {
    this.#hides = (name) => name.length <= 128 && hides(name)
    for (const piece of pieces) {
      if (piece.type === 'LineTerminatorSequence') this.#lines.add(this.#tokens.length)
      else if (piece.type !== 'WhiteSpace' && !piece.type.endsWith('Comment')) this.#tokens.push(piece)
    }
  }

  find (): Set<Piece> {
    this.#readUnits()
    for (const unit of this.#units) {
      unit.count += unit.names.length + (unit.outer?.count ?? 0)
      if (unit.names.length === 0) unit.names = unit.outer?.names ?? []
    }
    return new Set(this.#tokens.filter(({ type }, i) => LITERAL.test(type) && this.#isSecret(i)))
  }

  #readUnits (): void {
    const frames: Frame[] = [
      { bracket: -1, contents: 'statements', outer: null, unit: this.#addUnit(null, 0), result: undefined }
    ]
    let closed = -1
    for (const [i, { type, value }] of this.#tokens.entries()) {
      let frame = frames.at(-1) as Frame
      const isPart = /^Template(?:Middle|Tail)$/.test(type)
      if (CLOSING.get(isPart ? '`' : value)?.test(this.#value(frame.bracket))) {
        closed = frame.bracket
        if (isPart) this.#heads.set(i, this.#heads.get(closed) ?? closed)
        frames.pop()
        frame = frames.at(-1) as Frame
      } else if (this.#lines.has(i) && frame.contents !== 'expressions' && !this.#continues(i, frame.unit)) {
        frame.unit = this.#addUnit(frame.outer, i)
      }
      this.#unitOf.push(frame.unit)
      this.#readName(i, frame)
      if (/^[([]$/.test(value) || /^Template(?:Head|Middle)$/.test(type)) {
        frames.push({ ...frame, bracket: i, contents: 'expressions' })
      } else if (value === '{') {
        frames.push(this.#braces(i, frame, closed))
      } else if (frame.contents !== 'expressions' && (frame.contents === 'fields' ? /^[;,]$/ : /^;$/).test(value)) {
        frame.unit = this.#addUnit(frame.outer, i + 1)
      }
    }
  }

  #addUnit (outer: Unit | null, first: number): Unit {
    const unit: Unit = { outer, first, names: [], count: 0 }
    this.#units.push(unit)
    return unit
  }

  #braces (bracket: number, { unit, result }: Frame, closed: number): Frame {
    const isInTemplate = this.#tokens[bracket - 1]?.type.includes('Template')
    const returned = unit.result ?? result
    if (bracket === 0 || BEFORE_OBJECT.test(this.#value(bracket - 1)) || isInTemplate) {
      const outer = this.#addUnit(unit, bracket)
      return { bracket, contents: 'fields', outer, unit: this.#addUnit(outer, bracket + 1), result: returned }
    }
    const isSwitch = this.#value(bracket - 1) === ')' && this.#value(closed - 1) === 'switch'
    const outer = isSwitch ? unit : null
    return { bracket, contents: 'statements', outer, unit: this.#addUnit(outer, bracket + 1), result: returned }
  }

  #readName (i: number, frame: Frame): void {
    const { unit } = frame
    const { type, value } = this.#tokens[i] as Piece
    if (DECLARES_TYPE.test(this.#value(i - 1)) && !this.#lines.has(i)) return
    if (type === 'IdentifierName' || type === 'PrivateIdentifier') {
      const next = this.#value(i + 1)
      const takesSecret = next === '(' && TAKES_SECRET.test(value) && this.#value(i - 1) !== 'function'
      if (value === 'return' && frame.result !== undefined) unit.names.push(frame.result)
      if (!this.#hides(value) && !takesSecret && !HASHES_PASSWORDS.test(value)) return
      // In parentheses, a name with a type or a default is a parameter.
      const declares = (frame.contents === 'expressions' ? /^[(<]$/ : /^[(=:<]$/).test(next) &&
        !CONTROL.test(this.#value(unit.first)) && !CHECKS.test(value)
      if (declares && unit.names.length === 0) unit.result = value
      unit.names.push(value)
    } else if (LITERAL.test(type) && type !== 'NumericLiteral') {
      const content = this.#content(i)
      const isKey = this.#isKey(i)
      if (isKey) this.#keys.add(i)
      if (isKey && this.#hides(content)) unit.names.push(content)
      if (isKey || !this.#isName(content)) return
      // `{ name: 'password', value: '…' }`
      const named = frame.contents === 'fields' ? frame.outer as Unit : unit
      named.count++
      this.#names.add(i)
    }
  }

  #isName (content: string): boolean {
    return (NAME.test(content) && this.#hides(content)) ||
      this.#hides(NAME_AT_END.exec(content.slice(-99))?.[1] ?? '')
  }

  /** Whether a literal is the name of a field, or an index: `'x-api-key': …`, `headers['x-api-key']`. */
  #isKey (i: number): boolean {
    const [before, after] = [this.#value(i - 1), this.#value(i + 1)]
    if (/^(?::|=>?)$/.test(after)) return /^[{,[]?$/.test(before) || (this.#lines.has(i) && before !== '?')
    if (before !== '[' || after !== ']') return false
    if (/^[:=]$/.test(this.#value(i + 2))) return true
    const operand = this.#value(i - 2)
    return !this.#lines.has(i - 1) && /^(?:[\p{L}\p{N}_$)\]]|\?\.)/u.test(operand) && !KEYWORD.test(operand)
  }

  /** Whether a line continues the statement before it. A tag of markup ends with its bracket. */
  #continues (i: number, { first }: Unit): boolean {
    const before = this.#tokens[i - 1]
    if (this.#value(this.#value(first) === 'return' ? first + 1 : first) === '<' && before?.value !== '>') return true
    if (before?.value === ',' && DECLARES.test(this.#value(first))) return true
    return [this.#value(i), before?.value ?? ''].some((value) => CONTINUES.test(value)) ||
      BEGINS.test(this.#value(i)) || (before?.type === 'Punctuator' && !ENDS.test(before.value))
  }

  #isSecret (i: number): boolean {
    const { names, count } = this.#unitOf[i] as Unit
    const content = this.#content(i)
    const start = this.#heads.get(i) ?? i
    const [before, after] = [this.#value(start - 1), this.#value(i + 1)]
    if (count === 0 || this.#keys.has(i) || (count === 1 && this.#names.has(i)) || HARMLESS.test(content)) return false
    // `type Session = 'a' | 'b'`, `import '…'`
    if (/^(?:\||as|from|import)$/.test(before) || after === '|') return false
    if (names.length <= MAX_NAMES && names.length > 0 && names.every((name) => isHarmless(name, content))) return false
    if (this.#tokens[i]?.type === 'NumericLiteral') {
      // A calculation.
      if ([before, after].some((operator) => /^[*/%-]$/.test(operator))) return false
      return content.replace(/\D/g, '').length >= (names.some((name) => /cv[cv]/i.test(name)) ? 3 : 4)
    }
    if (names.slice(0, MAX_NAMES).some((name) => plain(name) === plain(content))) return false
    const callee = before === '(' ? this.#value(start - 2) : ''
    const takesText = start === i ? TAKES_NAME : TAKES_MESSAGE
    return !(takesText.test(callee) && !OPAQUE.test(content)) && !(TAKES_PATH.test(callee) && content.startsWith('/'))
  }

  #value (i: number): string {
    return this.#tokens[i]?.value ?? ''
  }

  #content (i: number): string {
    return partsOf(this.#tokens[i] as Piece)[1]
  }
}

function plain (name: string): string {
  return name.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase()
}

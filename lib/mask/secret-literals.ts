import type { Token } from 'js-tokens'
import { isHarmless } from './names.js'
import {
  ABOUT_FIELDS, ASSIGNMENT, CHECKS, COMPARES, COMPARISON, CONTINUES, DESCRIBES, ENDS, HARMLESS, HASHES_PASSWORDS,
  LITERAL, LOOKUP, LOWER, NAME, NAME_AT_END, NAME_FIELD, NAMES_ONLY, OPAQUE, SAME_VALUE, SCHEME, SETS, STATEMENT,
  TAKES_KEY, TEXTS, VALUE_FIELD, WRAPPER
} from './source-words.js'

/** A token, or a comment of another language. */
export interface Piece {
  type: Token['type'] | 'Comment'
  value: string
  /** Whether a line end, or white space, is before it. */
  isFirst?: boolean
  isSpaced?: boolean
}

/** What is between two brackets. */
interface Frame {
  opening: '(' | '[' | '{' | '<' | '`' | ''
  kind: 'block' | 'object' | 'array' | 'index' | 'call' | 'group' | 'type' | 'enum'
  /** The secret name of which each part is a value. */
  name: string | null
  /** The secret name of which the current part is a value, and the one with which its right side is compared. */
  current: string | null
  compared: string | null
  /** The secret name that ends before the current token, and the one before its last member. */
  operand: string | null
  object: string | null
  callee: string
  key: string
  /** The number of commas. */
  commas: number
  /** The keyword of the statement. */
  keyword: string
  /** The secret name of a `switch`, and of a function whose results are values. */
  cases: string | null
  results: string | null
  isTypeof: boolean
  isNamed: boolean
  /** Literals that a later token may make secret. */
  literals: Piece[]
}

/** The delimiters of a literal and its content. */
export function partsOf ({ type, value }: Piece): [opening: string, content: string, closing: string] {
  if (type === 'NumericLiteral') return ['', value, '']
  const opening = value.slice(0, 1)
  const rest = value.slice(1)
  const closing = type === 'TemplateHead' || type === 'TemplateMiddle'
    ? '${'
    : rest.endsWith(opening === '}' ? '`' : opening) && !/(?<!\\)(?:\\\\){0,99}\\.$/s.test(rest) ? rest.slice(-1) : ''
  return [opening, rest.slice(0, rest.length - closing.length), closing]
}

/** Finds the literals that are values of secret names, in one pass over the tokens. */
export class SecretLiterals {
  readonly #hides: (name: string) => boolean
  readonly #tokens: Piece[] = []
  readonly #found = new Set<Piece>()
  /** The literals of fields such as `value`, whose name is in another field. */
  readonly #fieldValues = new Set<Piece>()
  readonly #stack: Frame[] = [frameOf('', 'block', null)]
  readonly #open: Record<string, number> = {}

  constructor (hides: (name: string) => boolean, pieces: readonly Piece[]) {
    this.#hides = hides
    let [isFirst, isSpaced] = [true, true]
    for (const piece of pieces) {
      const isLineEnd = piece.type === 'LineTerminatorSequence'
      if (isLineEnd || piece.type === 'WhiteSpace' || piece.type.endsWith('Comment')) {
        isFirst ||= isLineEnd
        isSpaced = true
        continue
      }
      this.#tokens.push(Object.assign(piece, { isFirst, isSpaced }))
      isFirst = isSpaced = false
    }
  }

  find (): Set<Piece> {
    for (let i = 0; i < this.#tokens.length; i++) this.#read(i)
    return this.#found
  }

  get #frame (): Frame {
    return this.#stack.at(-1) as Frame
  }

  #value (i: number): string {
    return this.#tokens[i]?.value ?? ''
  }

  #secret (name: string): string | null {
    return name.length <= 128 && (this.#hides(name) || HASHES_PASSWORDS.test(name)) ? name : null
  }

  /** The same for a literal: a sentence is no name. */
  #secretName (content: string): string | null {
    return NAME.test(content) ? this.#secret(content) : null
  }

  #read (i: number): void {
    const { type, value, isFirst = false } = this.#tokens[i] as Piece
    const frame = this.#frame
    const isBlock = frame.kind === 'block' || frame.kind === 'object' || frame.kind === 'type' || frame.kind === 'enum'
    if (isFirst && isBlock && !this.#continues(i)) endPart(frame, false)
    if (LITERAL.test(type)) return this.#literal(i)
    const isMember = /^\??\.$/.test(this.#value(i - 1))
    if (type === 'PrivateIdentifier' || (type === 'IdentifierName' && (isMember || !this.#word(i)))) {
      frame.operand = isMember && SAME_VALUE.test(value) ? frame.object : this.#secret(value)
    } else if (type === 'Punctuator') {
      this.#punctuator(i)
    } else if (type !== 'IdentifierName') {
      frame.operand = null
    }
  }

  #continues (i: number): boolean {
    const { type, value } = this.#tokens[i] as Piece
    const before = this.#tokens[i - 1]
    return CONTINUES.test(value) || /^Template(?:Middle|Tail)$/.test(type) || COMPARISON.test(this.#value(i - 1)) ||
      (before?.type === 'Punctuator' && !ENDS.test(before.value))
  }

  /** Whether a token is a keyword, and none that is the name of a field. */
  #word (i: number): boolean {
    const frame = this.#frame
    const { value } = this.#tokens[i] as Piece
    const next = this.#value(i + 1)
    if (frame.operand !== null && (COMPARISON.test(value) || /^o[rf]$/.test(value))) this.#connect(i)
    else if (/^(?:interface|enum|class|function|type)$/.test(value) && this.#tokens[i + 1]?.type === 'IdentifierName') {
      const isType = value === 'type' && !/^[=<]$/.test(this.#value(i + 2))
      if (!isType) frame.keyword = value
    } else if (!STATEMENT.test(value) || /^[:=?]$/.test(next)) return false
    if (value === 'switch' || value === 'case') frame.keyword = value
    if (value === 'case') frame.compared = frame.cases
    if (value === 'return') [frame.current, frame.keyword] = [frame.results, value]
    if (value === 'typeof') frame.isTypeof = true
    if (!COMPARISON.test(value)) frame.operand = null
    return true
  }

  #connect (i: number): void {
    const frame = this.#frame
    const value = this.#value(i)
    if (COMPARISON.test(value)) frame.compared = frame.isTypeof ? null : frame.operand
    else if (frame.keyword !== 'type' && frame.kind !== 'type') frame.current = frame.operand ?? frame.current
    frame.isTypeof = false
    frame.operand = null
  }

  #punctuator (i: number): void {
    const frame = this.#frame
    const value = this.#value(i)
    switch (value) {
      case '.': case '?.':
        frame.object = frame.operand
        return
      case '(': case '[': case '{':
        return this.#push(i, value)
      case ')': case ']': case '}':
        return this.#pop(i, value === ')' ? '(' : value === ']' ? '[' : '{')
      case ',': case ';':
        if (frame.opening === '<' && value === ';') this.#stack.pop()
        frame.commas++
        return endPart(this.#frame, value === ',')
      case '<': case '>': case '>>': case '>>>':
        return this.#angle(i)
      case '!': case '?':
        if (/^(?:[:=.,[)]|[=!]==?|\?\.)$/.test(this.#value(i + 1)) && frame.operand !== null) return
    }
    if (frame.opening === '<' && /^(?:&&|\|\||\?\?|=|[=!]==?)$/.test(value)) {
      this.#stack.pop()
      return this.#punctuator(i)
    }
    if (LOWER.test(value)) frame.compared = null
    if (value === ':' && frame.keyword === 'case') {
      endPart(frame, false)
    } else if (ASSIGNMENT.test(value) || COMPARISON.test(value)) {
      // The next attribute of an element: `a={…} b='…'`.
      const isAttribute = value === '=' && (this.#value(i - 2) === '}' || this.#tokens[i - 2]?.type === 'StringLiteral')
      if (isAttribute) frame.current = null
      if (value === ':' && frame.kind === 'object' && this.#isKey(i - 1)) this.#key(i - 1)
      else this.#connect(i)
    } else if (value === '=>' && this.#tokens[i - 1]?.type === 'StringLiteral' && this.#isKey(i - 1)) {
      frame.current = this.#secret(this.#content(i - 1))
    } else if (value !== '=>') frame.isTypeof = false
    frame.operand = null
  }

  /** Whether a token is in the place of the name of a field. */
  #isKey (i: number): boolean {
    return this.#tokens[i]?.isFirst === true || /^[{,([]?$/.test(this.#value(i - 1)) || this.#value(i) === ']'
  }

  #key (i: number): void {
    const frame = this.#frame
    frame.key = this.#content(i)
    // The options of a function describe its result: `password: Type.String({ title: '…', default: '…' })`.
    const isPart = this.#stack.at(-2)?.kind === 'call' ? VALUE_FIELD.test(frame.key) : !DESCRIBES.test(frame.key)
    const inherits = frame.name !== null && isPart && this.#hides(`${frame.name}-${frame.key}`)
    frame.current = this.#value(i) === ']' ? frame.operand ?? frame.name : this.#secretName(frame.key)
    if (inherits) frame.current ??= frame.name
  }

  #content (i: number): string {
    const token = this.#tokens[i]
    return token === undefined ? '' : LITERAL.test(token.type) ? partsOf(token)[1] : token.value
  }

  #push (i: number, opening: '(' | '[' | '{'): void {
    const outer = this.#frame
    const frame = frameOf(opening, this.#kindOf(i, opening), outer.compared ?? outer.current)
    if (opening === '(') this.#arguments(i, frame)
    if (frame.kind === 'array') frame.key = this.#content(i - 2)
    if (frame.kind === 'enum') frame.name = this.#secret(this.#value(i - 1))
    if (frame.kind === 'block') {
      frame.results = outer.kind === 'call' ? null : outer.current ?? outer.results
      if (outer.keyword === 'switch' && outer.cases !== null) [frame.cases, outer.cases] = [outer.cases, null]
      if (frame.results !== null && (CHECKS.test(frame.results) || outer.keyword === 'class')) frame.results = null
      frame.name = null
    }
    if (frame.kind === 'group' && outer.isNamed && VALUE_FIELD.test(this.#value(i - 2))) frame.name = ''
    if (opening === '{') outer.keyword = ''
    if (frame.kind === 'index' || frame.kind === 'type') frame.name = null
    frame.current = frame.kind === 'object' ? null : frame.name
    this.#enter(frame)
  }

  #enter (frame: Frame): void {
    this.#stack.push(frame)
    this.#open[frame.opening] = (this.#open[frame.opening] ?? 0) + 1
  }

  #kindOf (i: number, opening: '(' | '[' | '{'): Frame['kind'] {
    const outer = this.#frame
    const before = this.#tokens[i - 1]
    const word = before?.type === 'IdentifierName' && (!STATEMENT.test(before.value) || this.#value(i - 2) === '.')
    if (outer.kind === 'type' || outer.keyword === 'type' || outer.keyword === 'interface') return 'type'
    if (opening === '{') {
      if (ABOUT_FIELDS.test(this.#value(i - 2))) return 'type'
      if (outer.keyword === 'enum') return 'enum'
      // An attribute of an element: `token={…}`.
      if (before?.value === '=' && !before.isSpaced && this.#tokens[i]?.isSpaced === false) return 'group'
      if (word || /^(?:[)>]|=>|else|try|finally|do)$/.test(before?.value ?? '')) return 'block'
      const isStart = /^[;{}]?$/.test(before?.value ?? '')
      return isStart && !/^[:,]$/.test(this.#value(i + 2)) && this.#value(i + 1) !== '[' ? 'block' : 'object'
    }
    const isAfterOperand = word || before?.type === 'PrivateIdentifier' || /^(?:[)\]>]|\?\.)$/.test(before?.value ?? '')
    if (opening === '[') {
      const isLiteral = /String|Template(?!Head|Middle)/.test(before?.type ?? '')
      return (isAfterOperand || isLiteral) && this.#tokens[i]?.isFirst === false ? 'index' : 'array'
    }
    return isAfterOperand && outer.keyword !== 'function' ? 'call' : 'group'
  }

  #arguments (i: number, frame: Frame): void {
    const outer = this.#frame
    const callee = this.#value(this.#value(i - 1) === '?.' ? i - 2 : i - 1)
    frame.callee = callee
    if (outer.keyword === 'function') {
      outer.keyword = ''
      outer.current = this.#secret(callee)
      frame.name = null
    }
    if (frame.kind !== 'call') return
    if (TEXTS.test(callee) || outer.keyword === 'return') frame.name = null
    if (TEXTS.test(callee)) return
    if (this.#secret(callee) !== null || TAKES_KEY.test(callee)) frame.name = callee
    else if (COMPARES.test(callee)) frame.name = outer.object ?? frame.name
    // `get token () {` is a method; its body is a block of its results.
    const isMethod = outer.kind === 'block' && this.#tokens[i - 1]?.isFirst === true && this.#secret(callee) !== null
    if (isMethod || this.#value(i - 2) === 'get') outer.results = this.#secret(callee)
  }

  #pop (i: number, opening: '(' | '[' | '{' | '`'): void {
    if ((this.#open[opening] ?? 0) === 0) return endPart(this.#frame, false)
    let closed: Frame
    do {
      closed = this.#stack.pop() as Frame
      this.#open[closed.opening] = (this.#open[closed.opening] as number) - 1
    } while (closed.opening !== opening)
    const frame = this.#frame
    const { kind, callee, operand, commas } = closed
    if (kind === 'index') frame.operand = operand
    else if (kind === 'group') {
      frame.operand = operand
      if (frame.keyword === 'switch') frame.cases = operand
    } else if (kind === 'call') {
      if (SAME_VALUE.test(callee) || callee === ')') frame.operand = frame.object
      else if (WRAPPER.test(callee) && commas === 0) frame.operand = operand
      else frame.operand = this.#isLookup(closed, i - 1) ? this.#secret(this.#content(i - 1)) : this.#secret(callee)
    } else {
      const isName = kind === 'array' && /^(?:[:=]|of)$/.test(this.#value(i + 1))
      frame.operand = isName ? this.#secret(this.#content(i - 1)) : null
    }
    // `['a'].includes(password)`, `new Set(['a']).has(password)`
    const method = this.#value(i + 1) === ')' ? i + 3 : i + 2
    const isSearch = kind === 'array' && /^(?:includes|indexOf|has)$/.test(this.#value(method))
    if (isSearch && this.#nameAt(method + 2) !== null) {
      for (const literal of closed.literals) this.#found.add(literal)
    }
  }

  // The arguments of a generic type: `Record<'a', string>`.
  #angle (i: number): void {
    const frame = this.#frame
    const before = this.#tokens[i - 1]
    frame.operand = null
    if (frame.kind !== 'object') frame.isNamed = false
    if (this.#value(i) !== '<') {
      for (let left = this.#value(i).length; left > 0 && this.#frame.opening === '<'; left--) this.#leaveAngle()
    } else if (before !== undefined && /^\p{Lu}(?:\p{Ll}|$)/u.test(before.value) &&
      this.#tokens[i]?.isSpaced === false && this.#tokens[i + 1]?.isSpaced === false) {
      this.#enter(frameOf('<', 'type', null))
    }
  }

  #leaveAngle (): void {
    this.#stack.pop()
    this.#open['<'] = (this.#open['<'] ?? 1) - 1
  }

  /** The secret name of the expression that begins at a token. */
  #nameAt (start: number): string | null {
    let name: string | null = null
    for (let i = start; i < start + 24; i++) {
      const { type, value } = this.#tokens[i] ?? { type: 'Invalid', value: '' }
      const isMember = /^\??\.$/.test(this.#value(i - 1))
      if (type === 'IdentifierName' || type === 'PrivateIdentifier') {
        if (value === 'typeof') return null
        if (!isMember && i > start && !/^(?:await|[(!])$/.test(this.#value(i - 1))) break
        if (!isMember || !SAME_VALUE.test(value)) name = this.#secret(value)
        if (this.#value(i + 1) === '(' && !WRAPPER.test(value) && !LOOKUP.test(value)) break
      } else if (this.#tokens[i + 1]?.type === 'StringLiteral' && /^(?:\[\]|\(\))$/.test(value + this.#value(i + 2))) {
        name = this.#secret(this.#content(i + 1))
        i += 2
      } else if (!/^(?:\??\.|[!()])$/.test(value)) break
    }
    return name
  }

  #literal (i: number): void {
    const token = this.#tokens[i] as Piece
    const { type } = token
    if (type === 'TemplateMiddle' || type === 'TemplateTail') this.#pop(i, '`')
    const frame = this.#frame
    const content = this.#content(i)
    frame.operand = null
    if (type === 'TemplateHead' || type === 'TemplateMiddle') {
      if (this.#isSecret(i, content)) this.#found.add(token)
      const name = this.#nameAtEnd(content) ?? frame.compared ?? frame.current
      const inner = frameOf('`', 'group', name)
      inner.current = inner.name
      return this.#enter(inner)
    }
    if (frame.kind === 'index') {
      frame.operand = type === 'NumericLiteral' ? (this.#stack.at(-2) as Frame).operand : this.#secret(content)
      return
    }
    if (type === 'StringLiteral' && /^[:=]$/.test(this.#value(i + 1)) && this.#isKey(i)) {
      frame.operand = this.#secretName(content)
      return
    }
    frame.literals.push(token)
    if (this.#isSecret(i, content)) this.#found.add(token)
    if (type !== 'NumericLiteral') this.#named(i, content)
  }

  // A literal that is the name of another one: an argument, the first of a pair, an option, a field.
  #named (i: number, content: string): void {
    const frame = this.#frame
    const token = this.#tokens[i] as Piece
    const isFirst = SETS.test(frame.callee) || (frame.commas === 0 && /^[([]$/.test(this.#value(i - 1)))
    const isName = (/^(?:fill|type)$/.test(frame.callee) ? this.#secret(content) : this.#secretName(content)) !== null
    const attribute = this.#value(i - 1) === '=' && this.#tokens[i]?.isSpaced === false ? this.#value(i - 2) : ''
    if (frame.isNamed && VALUE_FIELD.test(frame.kind === 'object' ? frame.key : attribute)) this.#found.add(token)
    if (isName && NAME_FIELD.test(attribute)) frame.isNamed = true
    if (!isName || frame.kind === 'block') return
    const isPair = frame.kind === 'array' && this.#stack.at(-2)?.kind === 'array'
    const isCall = frame.kind === 'call' && !NAMES_ONLY.test(frame.callee) && !TEXTS.test(frame.callee)
    if (isFirst && this.#value(i + 1) === ',' && (isPair || isCall)) frame.name = content
    else if (frame.kind === 'array') {
      if (content.startsWith('-') || /^raw-?headers$/i.test(frame.key)) frame.object = content
    } else if (frame.kind === 'object' && NAME_FIELD.test(frame.key)) {
      frame.isNamed = true
      for (const literal of frame.literals) if (this.#fieldValues.has(literal)) this.#found.add(literal)
      frame.literals = []
    }
  }

  #isSecret (i: number, content: string): boolean {
    const frame = this.#frame
    const token = this.#tokens[i] as Piece
    const [before, after] = [this.#value(i - 1), this.#value(i + 1)]
    if (frame.kind === 'object' && VALUE_FIELD.test(frame.key)) this.#fieldValues.add(token)
    if (frame.kind === 'type' || frame.keyword === 'type') return false
    if (/^(?:\||as|from)$/.test(before) || after === '|') return false
    if (HARMLESS.test(content)) return false
    if (before === '+' && LITERAL.test(this.#tokens[i - 2]?.type ?? '')) {
      if (this.#nameAtEnd(this.#content(i - 2)) !== null) return true
    }
    const name = this.#nameOf(i)
    if (name === null || isHarmless(name, content)) return false
    if (token.type === 'NumericLiteral') {
      // A calculation, or an argument of a function that is not about the name.
      if (/^[*/%-]/.test(before) || /^[*/%-]/.test(after) || /^(?:max|min)/i.test(name)) return false
      const isOther = frame.kind === 'call' && frame.name !== frame.callee
      if (isOther && !/^(?:Number|BigInt)$/.test(frame.callee)) return false
      return content.replace(/\D/g, '').length >= (/cv[cv]/i.test(name) ? 3 : 4)
    }
    if (SCHEME.test(content) && (token.type !== 'StringLiteral' || /^[+.,)]$/.test(after))) return false
    if (frame.kind === 'enum' && plain(content) === plain(this.#value(i - 2))) return false
    if ((frame.kind === 'call' || frame.kind === 'array') && plain(content) === plain(name)) return false
    return !this.#isLookup(frame, i) || OPAQUE.test(content)
  }

  /** Whether a literal is the name of what a function returns: `headers.get('x-api-key')`. */
  #isLookup ({ kind, callee, commas }: Frame, i: number): boolean {
    return kind === 'call' && commas === 0 && this.#value(i - 1) === '(' && LOOKUP.test(callee)
  }

  /** The secret name to which a literal belongs. */
  #nameOf (i: number): string | null {
    const { kind, name, compared, current } = this.#frame
    if (COMPARISON.test(this.#value(i + 1))) return this.#nameAt(i + 2)
    if (COMPARISON.test(this.#value(i - 1)) && compared === null) return null
    return compared ?? current ?? this.#comparedArgument(i) ??
      (kind === 'object' && this.#value(i - 1) === '{' ? name : null)
  }

  #nameAtEnd (content: string): string | null {
    return this.#secret(NAME_AT_END.exec(content.slice(-99))?.[1] ?? '')
  }

  // `equal(password, 'x')`, `compare('x', password)`
  #comparedArgument (i: number): string | null {
    const { kind, callee, object, commas } = this.#frame
    if (kind !== 'call' || !COMPARES.test(callee)) return null
    if (commas > 0) return object
    return this.#value(i + 1) === ',' ? this.#nameAt(i + 2) : null
  }
}

function frameOf (opening: Frame['opening'], kind: Frame['kind'], name: string | null): Frame {
  return {
    opening,
    kind,
    name,
    current: null,
    compared: null,
    operand: null,
    object: null,
    callee: '',
    key: '',
    commas: 0,
    keyword: '',
    cases: null,
    results: null,
    isTypeof: false,
    isNamed: false,
    literals: []
  }
}

function plain (name: string): string {
  return name.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase()
}

/** Ends an element, an argument, a field or a statement. */
function endPart (frame: Frame, isComma: boolean): void {
  const { kind, operand } = frame
  frame.current = kind === 'object' || kind === 'block' ? null : frame.name
  if (kind === 'array') [frame.current, frame.object] = [frame.object ?? frame.name, null]
  // The arguments of a comparison are compared with the first.
  if (kind === 'call' && isComma) frame.object = operand ?? frame.object
  if (kind === 'call' && isComma && COMPARES.test(frame.callee)) frame.current = frame.object ?? frame.name
  frame.compared = frame.operand = null
  frame.isTypeof = false
  if (!isComma) frame.keyword = ''
}

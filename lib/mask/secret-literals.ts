import { isHarmless, NAME_FIELD, VALUE_FIELD } from './names.js'
import {
  ABOUT_FIELDS, CHECKS, COMPARES, COMPARISON, DESCRIBES, HARMLESS, LITERAL, LOOKUP, LOWER, NAME_AT_END, NAMES_ONLY,
  OPAQUE, SAME_VALUE, SCHEME, SETS, SourceTokens, STATEMENT, TAKES_KEY, TEXTS, WRAPPER, type Piece
} from './source-tokens.js'

const MAX_STEPS = 400
const IN_EXPRESSION = /^(?:await|const|new|typeof|as|satisfies|void|yield|async|instanceof)$/

/** Finds the literals that are values of secret names: for each one, the tokens before it are read backwards. */
export class SecretLiterals extends SourceTokens {
  #steps = 0

  find (): Set<Piece> {
    return new Set(this.tokens.filter(({ type }, i) => {
      this.#steps = MAX_STEPS
      return LITERAL.test(type) && this.#isSecret(i)
    }))
  }

  #isSecret (i: number): boolean {
    const token = this.tokens[i] as Piece
    const content = this.content(i)
    const [before, after] = [this.value(i - 1), this.value(i + 1)]
    const around = this.around[i] as number
    if (HARMLESS.test(content) || /^(?:\||as|from)$/.test(before) || after === '|') return false
    if (this.#isInType(around)) return false
    if (token.type === 'StringLiteral' && /^[:=]$/.test(after) && this.isKey(i)) return false
    if (before === '+' && this.isLiteral(i - 2) && this.#nameAtEnd(i - 2) !== null) return true
    const start = /^Template(?:Middle|Tail)$/.test(token.type) ? this.pair[i] as number : i
    const name = COMPARISON.test(after) ? this.#nameAfter(i + 2) : start === -1 ? null : this.#nameOf(start)
    if (name === null || isHarmless(name, content)) return false
    const isCall = this.value(around) === '('
    const callee = isCall ? this.value(around - 1) : ''
    if (token.type === 'NumericLiteral') {
      // A calculation, or an argument of a function that is not about the name.
      if (/^[*/%-]/.test(before) || /^[*/%-]/.test(after) || /^(?:max|min)/i.test(name)) return false
      if (isCall && this.isAfterOperand(around) && name !== callee && !/^(?:Number|BigInt)$/.test(callee)) return false
      return content.replace(/\D/g, '').length >= (/cv[cv]/i.test(name) ? 3 : 4)
    }
    if (SCHEME.test(content) && (token.type !== 'StringLiteral' || /^[+.,)]$/.test(after))) return false
    if (plain(content) === plain(name)) return false
    return !(before === '(' && LOOKUP.test(callee)) || OPAQUE.test(content)
  }

  /** Whether a bracket is in a type, or in the texts about fields: `errors = { password: '…' }`. */
  #isInType (bracket: number): boolean {
    for (let i = bracket; i >= 0 && this.#steps-- > 0; i = this.around[i] as number) {
      if (this.bracket(i) === '<' || /^(?:interface|type)$/.test(this.value(i - 2))) return true
      if (this.value(i) !== '{') continue
      if (this.value(i - 1) === '|' || ABOUT_FIELDS.test(this.value(i - 2))) return true
      // `type Token = {`, `type Token<T> = {`
      const end = this.value(i - 2) === '>' ? (this.pair[i - 2] as number) - 1 : i - 2
      if (this.value(i - 1) === '=' && this.value(end - 1) === 'type') return true
    }
    return false
  }

  /** The secret name to which the expression that begins at a token belongs. */
  #nameOf (start: number, isArgument = false): string | null {
    const around = this.around[start] as number
    const isBlock = around === -1 || this.value(around) === '{'
    let isLower = false
    for (let i = start - 1; i > around && this.#steps-- > 0; i--) {
      if (isBlock && this.tokens[i + 1]?.isFirst === true && !this.continues(i + 1)) return null
      const value = this.value(i)
      const pair = this.pair[i] as number
      if (pair !== -1 && pair < i) i = pair
      else if (/^[;)\]}]$/.test(value)) return null
      else if (value === ',') return this.#nameOfPart(around, start)
      else if (COMPARISON.test(value)) {
        if (!isLower) return this.#nameBefore(i - 1)
      } else if (value === ':' && this.isKey(i - 1)) return this.#nameOfField(around, i - 1)
      else if (/^(?:\?\?|&&|\|\||\+)?=$/.test(value)) return this.#target(i)
      else if (value === 'of') return this.#nameBefore(i - 1)
      else if (value === 'case') return this.#nameBefore(around - 1)
      else if (value === 'return') return isArgument ? null : this.#nameOfFunction(around)
      else if (value === '=>' && this.isLiteral(i - 1)) return this.literalName(i - 1)
      else if (STATEMENT.test(value) && !IN_EXPRESSION.test(value) && !this.isMember(i)) return null
      else if (!isLower && /^(?:\?\?|\|\|)$/.test(value)) {
        const name = this.#nameBefore(i - 1)
        if (name !== null) return name
      }
      isLower ||= LOWER.test(value)
    }
    return around === -1 || this.#steps <= 0 ? null : this.#nameOfPart(around, start)
  }

  /** The secret name of the left side of an assignment, which may have a type: `const apiKey: string = …`. */
  #target (equals: number): string | null {
    const around = this.around[equals] as number
    const own = this.#nameBefore(equals - 1)
    if (VALUE_FIELD.test(this.value(equals - 1))) {
      let tag = equals - 1
      while (tag > around && this.#steps-- > 0 && !/^[<>]$/.test(this.value(tag))) tag--
      if (this.value(tag) === '<' && this.#hasNameField(tag)) return this.value(equals - 1)
    }
    for (let i = equals - 1; i > around && this.#steps-- > 0; i--) {
      const pair = this.pair[i] as number
      if (pair !== -1 && pair < i) i = pair
      else if (this.value(i) === ':') return this.#nameBefore(i - 1) ?? (this.isLiteral(equals - 1) ? null : own)
      else if (/^(?:[,;<]|const|let|var|return|\?\?|&&|\|\||=)$/.test(this.value(i))) break
      if (this.value(i) === 'type') return null
      if (this.tokens[i]?.isFirst === true) break
    }
    return own
  }

  /** The secret name of the expression that ends at a token. */
  #nameBefore (end: number): string | null {
    for (let i = end; i >= 0 && this.#steps-- > 0; i--) {
      const { type, value } = this.tokens[i] as Piece
      const pair = this.pair[i] as number
      if (value === ')' && pair !== -1) {
        const callee = this.value(pair - 1)
        if (!this.isAfterOperand(pair)) return this.#nameBefore(i - 1)
        if (!SAME_VALUE.test(callee)) {
          if (LOOKUP.test(callee) && this.isLiteral(pair + 1)) return this.secret(this.content(pair + 1))
          return WRAPPER.test(callee) ? this.#nameBefore(i - 1) : this.secret(callee)
        }
        i = pair - 2
      } else if (value === ']' && pair !== -1) {
        if (this.tokens[pair + 1]?.type !== 'NumericLiteral') {
          return this.isLiteral(pair + 1) ? this.secret(this.content(i - 1)) : this.#nameBefore(i - 1)
        }
        i = pair
      } else if (type === 'IdentifierName' || type === 'PrivateIdentifier') {
        if (!this.isMember(i) || !SAME_VALUE.test(value)) return this.#isTypeof(i) ? null : this.secret(value)
        i--
      } else if (!/^[!?]$/.test(value)) return this.literalName(i)
    }
    return null
  }

  #isTypeof (end: number): boolean {
    let i = end
    while (this.isMember(i)) i -= 2
    return this.value(i - 1) === 'typeof'
  }

  /** The secret name of the expression that begins at a token. */
  #nameAfter (start: number): string | null {
    let name: string | null = null
    for (let i = start; i < start + 24; i++) {
      const { type, value } = this.tokens[i] ?? { type: 'Invalid', value: '' }
      const isMember = this.isMember(i)
      if (type === 'IdentifierName' || type === 'PrivateIdentifier') {
        if (value === 'typeof') return null
        if (!isMember && i > start && !/^(?:await|[(!])$/.test(this.value(i - 1))) break
        if (!isMember || !SAME_VALUE.test(value)) name = this.secret(value)
        if (this.value(i + 1) === '(' && !WRAPPER.test(value) && !LOOKUP.test(value)) break
      } else if (/^[[(]$/.test(value) && this.isLiteral(i + 1) && this.pair[i] === i + 2) {
        name = this.secret(this.content(i + 1))
        i += 2
      } else if (!/^(?:\??\.|[!()])$/.test(value)) break
    }
    return name
  }

  /** The secret name of the value of a field, which may be in another field or around the object. */
  #nameOfField (object: number, key: number): string | null {
    const own = this.#nameBefore(key)
    if (own !== null || object === -1 || this.value(object) !== '{') return own
    const field = this.content(key)
    if (VALUE_FIELD.test(field) && this.#hasNameField(object)) return field
    const isArgument = this.value(this.around[object] as number) === '('
    if (isArgument ? !VALUE_FIELD.test(field) : DESCRIBES.test(field)) return null
    const name = this.#nameOf(object)
    return name !== null && this.hides(`${name}-${field}`) ? name : null
  }

  /** Whether an object has a field such as `name` with a secret name. */
  #hasNameField (object: number): boolean {
    const end = this.pair[object] === -1 ? this.tokens.length : this.pair[object] as number
    for (let i = object + 1; i < end && this.#steps-- > 0; i++) {
      const isField = /^[:=]$/.test(this.value(i + 1)) && NAME_FIELD.test(this.content(i))
      if (isField && this.literalName(i + 2) !== null) return true
    }
    return false
  }

  /** The secret name of a part of what is in brackets: an element, an argument, the value of a template. */
  #nameOfPart (bracket: number, part: number): string | null {
    if (bracket === -1) return null
    const kind = this.bracket(bracket)
    if (kind === '`') {
      const first = this.tokens[bracket]?.type === 'TemplateMiddle' ? this.pair[bracket] as number : bracket
      return this.#nameAtEnd(bracket) ?? this.#nameOf(first)
    }
    const isAfterOperand = this.isAfterOperand(bracket)
    if (kind === '[') {
      const isIndex = isAfterOperand && this.tokens[bracket]?.isFirst !== true
      return isIndex ? null : this.#nameOfElement(bracket, part)
    }
    // An attribute of an element: `token={…}`.
    if (kind === '{') return this.value(bracket - 1) === '=' ? this.#nameOf(bracket) : null
    if (kind !== '(') return null
    return isAfterOperand ? this.#nameOfArgument(bracket, part) : this.#nameOf(bracket)
  }

  #nameOfElement (list: number, part: number): string | null {
    const before = this.value(part - 1) === ',' ? part - 2 : -1
    const isPair = this.value(this.around[list] as number) === '[' && before === list + 1
    if (isPair || this.content(before).startsWith('-') || /^raw-?headers$/i.test(this.value(list - 2))) {
      const name = this.literalName(before)
      if (name !== null) return name
    }
    // `['a'].includes(password)`, `new Set(['a']).has(password)`
    const end = this.pair[list] as number
    const method = this.value(end + 1) === ')' ? end + 3 : end + 2
    if (/^(?:includes|indexOf|has)$/.test(this.value(method))) return this.#nameAfter(method + 2)
    return this.#nameOf(list)
  }

  #nameOfArgument (bracket: number, part: number): string | null {
    const callee = this.value(this.value(bracket - 1) === '?.' ? bracket - 2 : bracket - 1)
    if (TEXTS.test(callee)) return null
    if (this.secret(callee) !== null || TAKES_KEY.test(callee)) return callee
    const first = bracket + 1
    if (COMPARES.test(callee)) {
      const object = this.isMember(bracket - 1) ? this.#nameBefore(bracket - 3) : null
      const name = object ?? this.#nameAfter(part === first && this.value(part + 1) === ',' ? part + 2 : first)
      if (name !== null) return name
    }
    if (part > first && this.value(first + 1) === ',' && !NAMES_ONLY.test(callee)) {
      const isField = /^(?:fill|type)$/.test(callee) && this.isLiteral(first)
      const name = isField ? this.secret(this.content(first)) : this.literalName(first)
      if (name !== null) return name
    }
    const earlier = SETS.test(callee) && this.value(part - 1) === ',' ? this.literalName(part - 2) : null
    return earlier ?? this.#nameOf(bracket, true)
  }

  /** The secret name of the function whose body is in brackets: its results are values. */
  #nameOfFunction (body: number): string | null {
    for (let i = body; i >= 0 && this.#steps-- > 0; i = this.around[i] as number) {
      if (this.value(i) !== '{') return null
      let end = i - 1
      while (end > i - 9 && !/^(?:\)|=>|[{};])$/.test(this.value(end))) end--
      const isCallback = this.value(this.around[end] as number) === '('
      if (this.value(end) === '=>') return isCallback ? null : this.#nameOf(end)
      const callee = (this.pair[end] ?? -1) - 1
      if (callee < 0) return null
      if (this.value(callee) === 'function') return this.#nameOf(callee)
      if (STATEMENT.test(this.value(callee))) continue
      return CHECKS.test(this.value(callee)) ? null : this.secret(this.value(callee))
    }
    return null
  }

  #nameAtEnd (i: number): string | null {
    return this.secret(NAME_AT_END.exec(this.content(i).slice(-99))?.[1] ?? '')
  }
}

function plain (name: string): string {
  return name.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase()
}

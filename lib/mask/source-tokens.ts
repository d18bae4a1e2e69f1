import type { Token } from 'js-tokens'
import { COMPARISON, CONTINUES, ENDS, HASHES_PASSWORDS, LITERAL, NAME, STATEMENT } from './source-words.js'

/** A token, or a comment of another language. */
export interface Piece {
  type: Token['type'] | 'Comment'
  value: string
  /** Whether a line end, or white space, is before it. */
  isFirst?: boolean
  isSpaced?: boolean
}

const OPENING: ReadonlyMap<string, string> = new Map([[')', '('], [']', '['], ['}', '{']])

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

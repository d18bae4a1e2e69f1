import jsTokens from 'js-tokens'
import type { TextMask } from './assignments.js'
import { MASKED } from './names.js'
import { LITERAL, partsOf, SecretLiterals, type Piece } from './secret-literals.js'

const OPENS_TEMPLATE = /(?:[=([{,:?+|&>!]|return|sql|gql|html|css|graphql|raw|query)\s*$/i

const STAR_LINES = /^(?:[ \t]*\*(?:[ \t][^\n]*)?\n)*(?:[ \t]*\*\/|[ \t]*\*(?:[ \t][^\n]*)?$|[ \t]*\*[ \t][^\n]*\*\/)/
/** A line of a comment that may be code with a literal. Not those of prose: `isn't`, `a name`, RFC 9110. */
const CODE = /^(?!.*\w'\w)(?=.*[=({;]).*(?:['"]|(?:[=:?|+]|\w\() ?`|[=:(,[] ?\d{4})/
const COMMENT_END = /^[^'"`=()/]*\*\/[ \t]*(?:\n|$)/

type SourceMask = Pick<TextMask, 'hides' | 'text'>

/**
 * Masks the literals of JavaScript and TypeScript that belong to secret names, and texts in literals and comments. The
 * lines are a part of a file, which may begin within a comment or a template. Takes any text, in linear time.
 */
export function maskSource (mask: SourceMask, lines: readonly string[], isComment = false): string[] {
  const source = lines.join('\n')
  const before = STAR_LINES.test(source) || COMMENT_END.test(source) ? '/*' : ''
  const text = before + source
  let pieces = piecesOf(text)
  const start = beginsInTemplate(pieces) ? '`' : before
  if (start !== before) pieces = piecesOf(start + source)
  const secrets = new SecretLiterals(mask.hides, pieces).find()
  const shown = pieces.map((piece) => {
    if (piece.type.endsWith('Comment')) return maskComment(mask, piece.value, isComment)
    if (!LITERAL.test(piece.type)) return piece.value
    const [opening, content, closing] = partsOf(piece)
    const text = secrets.has(piece) ? MASKED : maskContent(mask, content, opening)
    return opening + withLines(content, text) + closing
  }).join('').slice(start.length)
  return shown.split('\n')
}

/** The tokens of a text, also of a language with comments after `#` or in markup. */
function piecesOf (text: string): Piece[] {
  const pieces: Piece[] = []
  for (let at = 0; at < text.length;) {
    for (const { type, value } of jsTokens(text.slice(at))) {
      const isMarkup = value === '<' && text.startsWith('<!--', at)
      if (isMarkup || (type === 'Invalid' && value === '#')) {
        const found = isMarkup ? text.indexOf('-->', at) : text.indexOf('\n', at)
        const comment = text.slice(at, found === -1 ? text.length : found)
        pieces.push({ type: 'Comment', value: comment })
        at += comment.length
        break
      }
      pieces.push({ type, value })
      at += value.length
    }
  }
  return pieces
}

/** Whether the first backtick closes a template: the number of them is odd, and an expression cannot follow. */
function beginsInTemplate (pieces: readonly Piece[]): boolean {
  const last = pieces.findLast(({ type }) => type.includes('Template'))
  if (last === undefined || (last.type !== 'TemplateHead' && partsOf(last)[2] !== '')) return false
  const first = pieces.findIndex(({ type }) => type === 'NoSubstitutionTemplate' || type === 'TemplateHead')
  if (first === -1) return false
  const before = pieces.slice(Math.max(0, first - 2), first).map(({ value }) => value).join('')
  const after = (pieces[first] as Piece).value.slice(1, 200)
  if (/^[ \t]*[;,.)\]}]/.test(after)) return true
  return /^[ \t]*(?:\n|$)/.test(after) && !OPENS_TEMPLATE.test(before)
}

// A text may end with a name of which the value is in the next literal: `'/x?token=' + …`.
function maskContent (mask: SourceMask, content: string, opening: string): string {
  const end = /[=:]\s{0,9}["']?$/.exec(content.slice(-12))?.[0] ?? ''
  const text = content.slice(0, content.length - end.length)
  // `https://${user}:password@host`
  return mask.text(opening === '}' ? text.replace(/^:[^\s/@]+(?=@)/, `:${MASKED}`) : text) + end
}

/** A text that replaces another one, with as many lines. */
function withLines (given: string, shown: string): string {
  if (given === shown || !given.includes('\n')) return shown
  return shown + '\n'.repeat(Math.max(0, given.split('\n').length - shown.split('\n').length))
}

function maskComment (mask: SourceMask, comment: string, isNested: boolean): string {
  const [, opening = '', body = '', closing = ''] = /^(\/[/*]+|#+!?|<!--)?([^]*?)(\*\/)?$/.exec(comment) ?? []
  const maskCode = (line: string): string => CODE.test(line) ? maskSource(mask, [line], true).join('') : line
  const text = isNested ? body : body.replace(/[^\s/*#].*/g, maskCode)
  return opening + withLines(body, mask.text(text)) + closing
}

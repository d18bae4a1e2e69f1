import { extname } from 'node:path'
import jsTokens, { type JSXToken, type Token } from 'js-tokens'
import { text } from '../../view/html.js'

const LANGUAGES: Readonly<Record<string, { jsx: boolean }>> = {
  '.js': { jsx: true },
  '.jsx': { jsx: true },
  '.mjs': { jsx: true },
  '.cjs': { jsx: true },
  '.ts': { jsx: false },
  '.mts': { jsx: false },
  '.cts': { jsx: false },
  '.tsx': { jsx: true }
}
const KEYWORDS = new Set(('as async await break case catch class const continue debugger default delete do else enum export extends false finally for from ' +
  'function if implements import in instanceof interface keyof let namespace new null of private protected public readonly return satisfies static ' +
  'super switch this throw true try type typeof undefined var void while with yield').split(' '))
const WORD = /[\p{ID_Continue}$]+|[^]/uy
const MAX_LENGTH = 20_000

/** A place within the lines: its line counted from 0, its column from 1. */
export interface Mark { line: number, column: number }

/**
 * The lines of an excerpt as markup: JavaScript and TypeScript in colour, by classes alone, whatever else as plain text.
 * What stands at the mark is set off. Takes any text and never throws: source is as hostile as what is in it.
 */
export function highlight (lines: readonly string[], file: string, mark: Mark | null): string[] {
  const language = LANGUAGES[extname(file).toLowerCase()]
  const source = lines.join('\n')
  try {
    if (language !== undefined && source.length <= MAX_LENGTH) return coloured(source, language.jsx, mark)
  } catch {
    // As plain text, then.
  }
  return lines.map((line, i) => mark?.line === i ? markedPlain(line, mark.column) : text(line))
}

function coloured (source: string, jsx: boolean, mark: Mark | null): string[] {
  // An excerpt may begin within a comment, which is seen at its end only.
  const inComment = /^(?:(?!\/\*)[^])*?\*\//.test(source) && /^\s*\*/m.test(source.slice(0, source.indexOf('*/') + 2))
  const shown: string[] = ['']
  let line = 0
  let column = 1
  let isMember = false
  for (const { type, value } of inComment ? withinComment(source, jsx) : jsTokens(source, { jsx } as { jsx: true })) {
    const name = isMember ? '' : classOf(type, value)
    isMember = value === '.' || value === '?.'
    value.split('\n').forEach((part, i) => {
      if (i > 0) {
        shown[++line] = ''
        column = 1
      }
      if (part === '') return
      const marked = mark !== null && mark.line === line && mark.column >= column && mark.column < column + part.length && type !== 'WhiteSpace'
      shown[line] += token(part, marked ? `${name} at`.trim() : name)
      column += part.length
    })
  }
  return shown
}

function * withinComment (source: string, jsx: boolean): Generator<Token | JSXToken> {
  const end = source.indexOf('*/') + 2
  yield { type: 'MultiLineComment', value: source.slice(0, end), closed: true }
  yield * jsTokens(source.slice(end), { jsx } as { jsx: true })
}

function classOf (type: (Token | JSXToken)['type'], value: string): string {
  switch (type) {
    case 'StringLiteral': case 'NoSubstitutionTemplate': case 'TemplateHead': case 'TemplateMiddle': case 'TemplateTail':
    case 'RegularExpressionLiteral': case 'JSXString': return 's'
    case 'MultiLineComment': case 'SingleLineComment': case 'HashbangComment': return 'c'
    case 'NumericLiteral': return 'n'
    case 'JSXIdentifier': return 't'
    case 'IdentifierName': return KEYWORDS.has(value) ? 'k' : /^\p{Lu}/u.test(value) ? 't' : ''
    default: return ''
  }
}

function token (part: string, name: string): string {
  return name === '' ? text(part) : `<i class="${name}">${text(part)}</i>`
}

function markedPlain (line: string, column: number): string {
  const at = column - 1
  if (at < 0 || at >= line.length) return text(line)
  WORD.lastIndex = at
  const match = WORD.exec(line)
  if (match === null || match[0].trim() === '') return text(line)
  // Within a pair of surrogates it begins ahead of the column.
  const [{ length }] = match
  return text(line.slice(0, match.index)) + token(match[0], 'at') + text(line.slice(match.index + length))
}

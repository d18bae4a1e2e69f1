import jsTokens, { type JSXToken, type Token } from 'js-tokens'
import type { CodeExcerpt, StackFrame } from '../errors/exception.js'
import { cachedByLines } from '../errors/source-cache.js'
import { text } from '../view/html.js'

/** The files that are highlighted; `<` begins an element in those that end in `x`. */
const SOURCE = /\.(?:[cm]?[jt]s|[jt]sx|json)$/i
const KEYWORDS = new Set([
  'as async await break case catch class const continue debugger default delete do else enum export extends false',
  'finally for from function if implements import in instanceof interface keyof let namespace new null of private',
  'protected public readonly return satisfies static super switch this throw true try type typeof undefined var void',
  'while with yield'
].join(' ').split(' '))

/** The source around a frame, at most `around` lines before and after, with its line marked; empty without source. */
export function render (frame: StackFrame, around = Infinity): string {
  const { excerpt, line, column } = frame
  if (excerpt === undefined) return ''
  return cachedByLines(excerpt, `${line}:${column}:${around}`, () => rowsOf(excerpt, frame, around))
}

function rowsOf (excerpt: CodeExcerpt, { file, line, column }: StackFrame, around: number): string {
  const start = Math.max(excerpt.start, line - around)
  const lines = excerpt.lines.slice(start - excerpt.start, line - excerpt.start + around + 1)
  const rows = highlight(lines, file, column > 0 ? { line: line - start, column } : null).map((source, i) => {
    const number = start + i
    const arrow = number === line ? '<span class="arrow">&rarr; </span>' : ''
    const cells = `<span class="number">${arrow}${number}</span><span class="source">${source}\n</span>`
    return number === line ? `<mark>${cells}</mark>` : `<span>${cells}</span>`
  })
  return `<pre class="excerpt"><code>${rows.join('')}</code></pre>`
}

/** A place in an excerpt: `line` is 0-based, `column` 1-based. */
export interface Mark { line: number, column: number }

/**
 * The lines of an excerpt as escaped markup: JavaScript and TypeScript are highlighted by classes, and the token at the
 * mark has the class `at`. Never throws: source is hostile, too.
 */
export function highlight (lines: readonly string[], file: string, mark: Mark | null): string[] {
  const source = lines.join('\n')
  if (!SOURCE.test(file)) return lines.map(text)
  try {
    // The types of the package have an overload for `true` only.
    return highlightTokens(jsTokens(source, { jsx: /x$/i.test(file) } as { jsx: true }), mark)
  } catch {
    return lines.map(text)
  }
}

type AnyToken = Token | JSXToken

function highlightTokens (tokens: Iterable<AnyToken>, mark: Mark | null): string[] {
  const shown: string[] = ['']
  let column = 1
  let isMember = false
  for (const { type, value } of tokens) {
    const name = isMember ? '' : classOf(type, value)
    isMember = value === '.' || value === '?.'
    for (const [i, part] of value.split('\n').entries()) {
      if (i > 0) {
        shown.push('')
        column = 1
      }
      const line = shown.length - 1
      const isMarked = mark?.line === line && mark.column >= column && mark.column < column + part.length
      const classes = isMarked && type !== 'WhiteSpace' ? `${name} at`.trim() : name
      shown[line] += classes === '' || part === '' ? text(part) : `<i class="${classes}">${text(part)}</i>`
      column += part.length
    }
  }
  return shown
}

function classOf (type: AnyToken['type'], value: string): string {
  if (type.endsWith('Comment')) return 'c'
  switch (type) {
    case 'StringLiteral': case 'NoSubstitutionTemplate': case 'TemplateHead': case 'TemplateMiddle':
    case 'TemplateTail': case 'RegularExpressionLiteral': case 'JSXString': return 's'
    case 'NumericLiteral': return 'n'
    case 'JSXIdentifier': return 't'
    case 'IdentifierName': return KEYWORDS.has(value) ? 'k' : /^\p{Lu}/u.test(value) ? 't' : ''
    default: return ''
  }
}

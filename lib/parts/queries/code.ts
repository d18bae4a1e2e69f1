import { excerptAt } from '../../errors/stack-frame.js'
import { queryPlace, type OwnFrame, type Traced } from './trace.js'

/** Lines that a loop may begin before a call in it. */
const MAX_BEFORE = 20
/** Lines of a call with a function as its argument. */
const MAX_CALL = 40

const TEXT = /'[^'\\\n]*'|"[^"\\\n]*"|`[^`$\\]*`|\/\/.*|\/\*[^]*?\*\//g

/**
 * The code from a call on to the line of another one in the same file and `more` lines, with blanks in place of texts
 * and comments; `end`: where the other one is in it, -1 if it is not.
 */
function codeBetween ({ file, line, column }: OwnFrame, to: OwnFrame, more = 0) {
  const count = file === to.file ? Math.max(0, to.line - line) : 0
  const lines = excerptAt(file, line, 0, count + more)?.lines ?? []
  const text = lines.join('\n')
  const code = text.replace(TEXT, (part) => ' '.repeat(part.length)).slice(column - 1)
  const end = [...lines.slice(0, count), ''].join('\n').length + to.column - column
  const isFound = file === to.file && to.line >= line && count < lines.length
  return { text, code, end: isFound ? Math.max(-1, end) : -1 }
}

/** A call with its arguments and what is chained to it, as far as it is in the next lines. */
function expressionOf (code: string): string {
  let depth = 0
  const end = code.split('').findIndex((char, i) => {
    if (/[([{]/.test(char)) depth++
    if (/[)\]}]/.test(char)) depth--
    return depth < 0 || (depth === 0 && /^(?:[;,]|\n\s*(?![\s.?]))/.test(code.slice(i, i + 80)))
  })
  return end === -1 ? code : code.slice(0, end)
}

/** The line of the innermost call that no other statement has: helpers that send any statement say nothing. */
export function callPlace (query: Traced, all: readonly Traced[]): string {
  const { shape, source, statement, caller: { frames } } = query
  const others = all.filter((other) => other.shape !== shape && other.source === source)
  const isHelper = ({ source }: OwnFrame, i: number): boolean =>
    others.some(({ caller: { frames } }) => frames[i]?.source === source)
  const calls = frames.slice(Math.max(0, frames.findIndex((frame, i) => !isHelper(frame, i))))
  const writer = calls.find((frame, i) => hasText(frame, statement, calls.slice(0, i)))
  return queryPlace(writer ?? calls[0] ?? query)
}

/** Characters of a statement that are written in one text: names of tables may be inserted into it. */
const MAX_TEXT = 10

/** Whether a statement is written in the lines of a call, and not in a function there that has made an inner call. */
function hasText (frame: OwnFrame, statement: string, inner: readonly OwnFrame[]): boolean {
  const { text, code } = codeBetween(frame, frame, MAX_CALL)
  const { length } = expressionOf(code)
  const plain = (part: string): string => part.replace(/\s+/g, ' ').trim()
  if (!plain(text.slice(0, frame.column - 1 + length)).includes(plain(statement).slice(0, MAX_TEXT))) return false
  return inner.every((call) => {
    const { end } = codeBetween(frame, call, MAX_CALL)
    return end === -1 || end > length
  })
}

const NAMED_ARGUMENT = /[(,]\s*(?:[\w$]+\.)*([\w$]+)(?!\s*[\w$(])/g

/** Whether a frame is in a function that is an argument of a call: `query(sql, (error, rows) => …)`, `.then(next)`. */
export function isCallback (frame: OwnFrame, call: OwnFrame): boolean {
  const { code, end } = codeBetween(call, frame, MAX_CALL)
  const expression = expressionOf(code)
  return (end > 0 && end < expression.length) ||
    [...expression.matchAll(NAMED_ARGUMENT)].some(([, name]) => name === frame.function.split(/[ .]/).at(-1))
}

/** What follows a call, such as `).rows` or `as Row[]`, and what may be before the next one. */
const END = String.raw`(?:[\s)]|\.\w+|\[\d+\]|\bas [\w.]+(?:\[\])?)*;?\s*`
const BEGINNING = String.raw`(?:(?:const|let|var)\b[^=()]*=|[\w.$]+\s*=|return\b)?\s*\(*(?:await\s+)?[\w.$]*`
const NEXT_STATEMENT = new RegExp(`^(?:await\\s+)?[\\w.$]+${END}${BEGINNING}$`)

/** Whether the source has no decision between two calls: the first result may decide whether the second one is sent. */
export function isStraight (from: OwnFrame, to: OwnFrame): boolean {
  const { code: all, end } = codeBetween(from, to)
  // The second statement may be made of the first result.
  if (end === -1 || all.slice(all.lastIndexOf('\n') + 1).includes('${')) return false
  let code = all.slice(0, end).replace(/<[^<>()]*>(?=\()/g, '')
  for (let shorter = ''; shorter !== code; code = shorter.replace(/\([^()]*\)/g, '')) shorter = code
  return NEXT_STATEMENT.test(code)
}

/** Whether the function of a frame has a loop before its call; null: its source is unknown. */
export function hasLoop ({ file, line, function: name }: OwnFrame): boolean | null {
  const { lines = [] } = excerptAt(file, line, MAX_BEFORE, 0) ?? {}
  const start = lines.findLastIndex((text) => text.includes(name.split(/[ .]/).at(-1) ?? ''))
  const body = lines.slice(Math.max(0, start)).join('\n')
  return body === '' ? null : /\b(?:for|while|do|forEach)\b|map/i.test(body)
}

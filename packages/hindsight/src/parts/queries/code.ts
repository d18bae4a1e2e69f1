import { cachedByObject } from '../../call.js'
import { excerptAt } from '../../errors/source-file.js'
import { queryPlace, type OwnFrame, type Traced } from './trace.js'

/** How many lines before a call its loop may begin. */
const MAX_BEFORE = 20
/** How many lines a call with a function as its argument may have. */
const MAX_CALL = 40

const TEXT = /'[^'\\\n]*'|"[^"\\\n]*"|`[^`$\\]*`|\/\/.*|\/\*[^]*?\*\//g
const NAMED_ARGUMENT = /[(,]\s*(?:[\w$]+\.)*([\w$]+)(?!\s*[\w$(])/g

/** The lines from that of a call on, and the code from the call on with blanks in place of texts and comments. */
function codeFrom ({ file, line, column }: OwnFrame, count: number): { text: string, code: string } {
  const text = excerptAt(file, line, 0, count)?.lines.join('\n') ?? ''
  return { text, code: text.replace(TEXT, (part) => ' '.repeat(part.length)).slice(column - 1) }
}

/** A call with its arguments and what is chained to it, as its source has it. */
interface WrittenCall {
  /** From the beginning of its line. */
  text: string
  /** The names that are arguments. */
  names: ReadonlySet<string | undefined>
  /** Whether another call is in it. */
  contains: (other: OwnFrame) => boolean
}

/** The frames of a line are the same in later requests: without a cache this is a twentieth of the time of a query. */
export const writtenCall: (call: OwnFrame) => WrittenCall = cachedByObject(readCall)

function readCall (call: OwnFrame): WrittenCall {
  const { text, code } = codeFrom(call, MAX_CALL)
  let depth = 0
  const length = code.split('').findIndex((char, i) => {
    if (/[([{]/.test(char)) depth++
    if (/[)\]}]/.test(char)) depth--
    return depth < 0 || (depth === 0 && /^(?:[;,]|\n\s*(?![\s.?]))/.test(code.slice(i, i + 80)))
  })
  const expression = length === -1 ? code : code.slice(0, length)
  const lines = expression.split('\n')
  const [line, column] = [call.line + lines.length - 1, lines.length === 1 ? call.column : 1]
  const placeOf = (at: { line: number, column: number }): number => at.line + at.column / 1e9
  const end = placeOf({ line, column: column + String(lines.at(-1)).length })
  return {
    text: text.slice(0, call.column - 1 + expression.length),
    names: new Set([...expression.matchAll(NAMED_ARGUMENT)].map(([, name]) => name)),
    contains: (other) => other.file === call.file && placeOf(other) > placeOf(call) && placeOf(other) < end
  }
}

/** Whether a frame is in a function that is an argument of a call: `query(sql, (error, rows) => …)`, `.then(next)`. */
export function isCallback (frame: OwnFrame, { contains, names }: WrittenCall): boolean {
  return contains(frame) || names.has(frame.function.split(/[ .]/).at(-1))
}

/** The line of the innermost call that no other statement has: helpers that send any statement say nothing. */
export function callPlace (query: Traced, all: readonly Traced[]): string {
  const { shape, source, statement, caller: { frames } } = query
  const others = all.filter((other) => other.shape !== shape && other.source === source)
  const isHelper = ({ source }: OwnFrame, i: number): boolean =>
    others.some(({ caller: { frames } }) => frames[i]?.source === source)
  const calls = frames.slice(Math.max(0, frames.findIndex((frame, i) => !isHelper(frame, i))))
  const plain = (text: string): string => text.replace(/\s+/g, ' ').trim()
  const writer = calls.find((frame, i) => {
    const { text, contains } = writtenCall(frame)
    // Not in a function there that has made an inner call.
    return plain(text).includes(plain(statement).slice(0, MAX_TEXT)) && !calls.slice(0, i).some(contains)
  })
  return queryPlace(writer ?? calls[0] ?? query)
}

/** Characters of a statement that are written in one text: names of tables may be inserted into it. */
const MAX_TEXT = 10

/** What follows a call, such as `).rows` or `as Row[]`, and what may be before the next one. */
const END = String.raw`(?:[\s)]|\.\w+|\[\d+\]|\bas [\w.]+(?:\[\])?)*;?\s*`
const BEGINNING = String.raw`(?:(?:const|let|var)\b[^=()]*=|[\w.$]+\s*=|return\b)?\s*\(*(?:await\s+)?[\w.$]*`
const NEXT_STATEMENT = new RegExp(`^(?:await\\s+)?[\\w.$]+${END}${BEGINNING}$`)

/** Whether the source has no decision between two calls: the first result may decide whether the second one is sent. */
export function isStraight (from: OwnFrame, to: OwnFrame): boolean {
  const count = to.line - from.line
  const length = to.column - (count === 0 ? from.column : 1)
  if (from.file !== to.file || count < 0 || length < 0) return false
  const lines = codeFrom(from, count).code.split('\n')
  // The second statement may be made of the first result.
  if (lines.length !== count + 1 || lines.at(-1)?.includes('${') === true) return false
  lines.push(String(lines.pop()).slice(0, length))
  let code = lines.join('\n').replace(/<[^<>()]*>(?=\()/g, '')
  for (let shorter = ''; shorter !== code; code = shorter.replace(/\([^()]*\)/g, '')) shorter = code
  return NEXT_STATEMENT.test(code)
}

/** Whether a function waits for a promise that was made elsewhere, by an unknown call: `await count`. */
export function isStored (frame: OwnFrame): boolean {
  return frame.function.startsWith('async ') && /^await\s+[\w$]+(?!\s*[\w$.([`?])/.test(codeFrom(frame, 1).code)
}

/** Whether the function of a frame has a loop before its call; null: its source is unknown. */
export function hasLoop ({ file, line, function: name }: OwnFrame): boolean | null {
  const { lines = [] } = excerptAt(file, line, MAX_BEFORE, 0) ?? {}
  const start = lines.findLastIndex((text) => text.includes(name.split(/[ .]/).at(-1) ?? ''))
  const body = lines.slice(Math.max(0, start)).join('\n')
  return body === '' ? null : /\b(?:for|while|do|forEach)\b|map/i.test(body)
}

import type { Mask } from '../mask/mask.js'
import type { CodeExcerpt, FlattenedException, StackFrame } from './exception.js'

/** The exception without the secrets in its texts. Excerpts lose literals and credentials of connections. */
export function maskException (exception: FlattenedException, mask: Mask): FlattenedException {
  const { name, message, stack, code, note, frames, errors } = exception
  return {
    ...exception,
    name: mask.text(name),
    message: mask.text(message),
    ...(code !== undefined && { code: mask.text(code) }),
    frames: frames.map((frame) => maskFrame(frame, mask)),
    stack: mask.text(stack),
    ...(note !== undefined && { note: mask.text(note) }),
    ...(errors !== undefined && { errors: errors.map((chain) => chain.map((member) => maskException(member, mask))) })
  }
}

function maskFrame (frame: StackFrame, mask: Mask): StackFrame {
  const { excerpt } = frame
  return {
    ...frame,
    function: mask.text(frame.function),
    ...(excerpt !== undefined && { excerpt: maskExcerpt(excerpt, mask) })
  }
}

const STRING = /(["'`])((?:(?!\1)[^\\]|\\.){1,500})\1/g
const ASSIGNMENT =
  /(?<![\w$.[\]-])((["']?)([\w$.[\]-]{1,128})\2(?:["']\])?\s*[=:]\s*)(["'`])(?:(?!\4)[^\\]|\\.){1,500}\4/g
// Code names secrets everywhere (`token = request.token`): only literals are masked.
const LITERAL = /["'`]/

function maskExcerpt (excerpt: CodeExcerpt, mask: Mask): CodeExcerpt {
  return { ...excerpt, lines: excerpt.lines.map((line) => LITERAL.test(line) ? maskLine(line, mask) : line) }
}

// What begins with a quote is a literal; a value of another kind is code and stays.
function maskLine (line: string, mask: Mask): string {
  const assigned = line.replace(ASSIGNMENT, (all, before: string, _quote: string, name: string, quote: string) =>
    mask.hides(name) ? `${before}${quote}******${quote}` : all)
  return assigned.replace(STRING, (_all, quote: string, text: string) => quote + mask.text(text) + quote)
}

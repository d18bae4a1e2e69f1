import type { Mask } from '../mask/mask.js'
import type { FlattenedException, StackFrame } from './exception.js'

const STRING = /(["'`])((?:(?!\1)[^\\]|\\.){1,500})\1/g
const ASSIGNMENT =
  /(?<![\w$.[\]-])((["']?)([\w$.[\]-]{1,128})\2(?:["']\])?\s*[=:]\s*)(["'`])(?:(?!\4)[^\\]|\\.){1,500}\4/g
// Code often names secrets (`token = request.token`): only literals are masked.
const LITERAL = /["'`]/

/** The exception with the secrets of its texts masked; in excerpts only literals are. */
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
  const masked = { ...frame, function: mask.text(frame.function) }
  if (excerpt === undefined) return masked
  const lines = excerpt.lines.map((line) => LITERAL.test(line) ? maskLine(line, mask) : line)
  return { ...masked, excerpt: { ...excerpt, lines } }
}

function maskLine (line: string, mask: Mask): string {
  const assigned = line.replace(ASSIGNMENT, (all, before: string, _quote: string, name: string, quote: string) =>
    mask.hides(name) ? `${before}${quote}******${quote}` : all)
  return assigned.replace(STRING, (_all, quote: string, text: string) => quote + mask.text(text) + quote)
}

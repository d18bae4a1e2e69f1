import { LimitedMap } from '../kernel/limited-map.js'
import type { Mask } from '../kernel/mask/mask.js'
import type { CodeExcerpt, FlattenedException, StackFrame } from './exception.js'

interface Known {
  frames: WeakMap<readonly StackFrame[], StackFrame[]>
  stacks: LimitedMap<string>
  exceptions: WeakMap<FlattenedException, FlattenedException>
}

// By the mask: what one of them shows, another may hide.
const known = new WeakMap<Mask, Known>()

/** The exception without the secrets that its texts may hold: in its excerpts only literals and credentials of connections. */
export function maskException (exception: FlattenedException, mask: Mask): FlattenedException {
  const { exceptions } = knownOf(mask)
  const before = exceptions.get(exception)
  if (before !== undefined) return before
  const masked = maskedOf(exception, mask)
  exceptions.set(exception, masked)
  return masked
}

function maskedOf (exception: FlattenedException, mask: Mask): FlattenedException {
  const { name, message, stack, code, note, frames, errors } = exception
  return {
    ...exception,
    name: mask.text(name),
    message: mask.text(message),
    ...(code !== undefined && { code: mask.text(code) }),
    frames: maskFrames(frames, mask),
    stack: maskStack(stack, mask),
    ...(note !== undefined && { note: mask.text(note) }),
    ...(errors !== undefined && { errors: errors.map((chain) => chain.map((member) => maskException(member, mask))) })
  }
}

function knownOf (mask: Mask): Known {
  const one = known.get(mask) ?? { frames: new WeakMap(), stacks: new LimitedMap(50, 500_000), exceptions: new WeakMap() }
  known.set(mask, one)
  return one
}

function maskFrames (frames: StackFrame[], mask: Mask): StackFrame[] {
  const { frames: seen } = knownOf(mask)
  const before = seen.get(frames)
  if (before !== undefined) return before
  const names = frames.map((frame) => mask.text(frame.function))
  const excerpts = frames.map(({ excerpt }) => excerpt && maskExcerpt(excerpt, mask))
  // Frames that hide nothing stay the same array: what is made of them can be kept.
  const masked = frames.every((frame, i) => names[i] === frame.function && excerpts[i] === frame.excerpt)
    ? frames
    : frames.map((frame, i) => ({ ...frame, function: names[i] as string, ...(excerpts[i] !== undefined && { excerpt: excerpts[i] }) }))
  seen.set(frames, masked)
  return masked
}

// Code names secrets everywhere (`token = request.token`): a line is masked only for a literal or a URL in it.
const LITERAL = /["'`]|:\/\//

function maskExcerpt (excerpt: CodeExcerpt, mask: Mask): CodeExcerpt {
  const lines = excerpt.lines.map((line) => LITERAL.test(line) ? maskLine(line, mask) : line)
  return lines.every((line, i) => line === excerpt.lines[i]) ? excerpt : { ...excerpt, lines }
}

// What begins with a quote is a literal; a value of another kind is code and stays.
function maskLine (line: string, mask: Mask): string {
  const assigned = line.replace(/(?<![\w$.[\]-])((["']?)([\w$.[\]-]{1,128})\2(?:["']\])?\s*[=:]\s*)(["'`])(?:(?!\4)[^\\]|\\.){1,500}\4/g,
    (all, before: string, _quote: string, name: string, quote: string) => mask.hides(name) ? `${before}${quote}******${quote}` : all)
  return assigned.replace(/(["'`])((?:(?!\1)[^\\]|\\.){1,500})\1/g, (_all, quote: string, text: string) => quote + mask.text(text) + quote)
}

function maskStack (stack: string, mask: Mask): string {
  const { stacks } = knownOf(mask)
  const before = stacks.get(stack)
  if (before !== undefined) return before
  const masked = mask.text(stack)
  stacks.set(stack, masked)
  return masked
}

import { LimitedMap } from '../kernel/limited-map.js'
import type { Mask } from '../kernel/mask/mask.js'
import type { FlattenedException, StackFrame } from './exception.js'

interface Known {
  frames: WeakMap<readonly StackFrame[], StackFrame[]>
  stacks: LimitedMap<string>
}

// By the mask: what one of them shows, another may hide.
const known = new WeakMap<Mask, Known>()

/** The exception without the secrets that its texts may hold; excerpts are the application's own source and stay as they are. */
export function maskException (exception: FlattenedException, mask: Mask): FlattenedException {
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
  const one = known.get(mask) ?? { frames: new WeakMap(), stacks: new LimitedMap(50, 500_000) }
  known.set(mask, one)
  return one
}

function maskFrames (frames: StackFrame[], mask: Mask): StackFrame[] {
  const { frames: seen } = knownOf(mask)
  const before = seen.get(frames)
  if (before !== undefined) return before
  const names = frames.map((frame) => mask.text(frame.function))
  // Frames that hide nothing stay the same array: what is made of them can be kept.
  const masked = names.every((name, i) => name === frames[i]?.function)
    ? frames
    : frames.map((frame, i) => ({ ...frame, function: names[i] as string }))
  seen.set(frames, masked)
  return masked
}

function maskStack (stack: string, mask: Mask): string {
  const { stacks } = knownOf(mask)
  const before = stacks.get(stack)
  if (before !== undefined) return before
  const masked = mask.text(stack)
  stacks.set(stack, masked)
  return masked
}

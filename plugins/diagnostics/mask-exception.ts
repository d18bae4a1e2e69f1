import type { Mask } from '../kernel/mask/mask.js'
import type { FlattenedException } from './exception.js'

/** The exception without the secrets that its texts may hold; excerpts are the application's own source and stay as they are. */
export function maskException (exception: FlattenedException, mask: Mask): FlattenedException {
  const { name, message, stack, code, note, frames, errors } = exception
  return {
    ...exception,
    name: mask.text(name),
    message: mask.text(message),
    ...(code !== undefined && { code: mask.text(code) }),
    frames: frames.map((frame) => ({ ...frame, function: mask.text(frame.function) })),
    stack: mask.text(stack),
    ...(note !== undefined && { note: mask.text(note) }),
    ...(errors !== undefined && { errors: errors.map((chain) => chain.map((member) => maskException(member, mask))) })
  }
}

import type { StackFrame } from './exception.js'
import { isInternal, packageOf, splitStack, stackFrames } from './stack-frame.js'
import { read } from './thrown-value.js'

/** Whose code a call came from, and where that is. */
export interface CallOrigin {
  by: 'application' | 'package' | 'fastify' | 'node' | 'hindsight'
  /** Of a dependency: its name. */
  package?: string
  function?: string
  /** `file:line`, in the coordinates of the source; of what a package did for the application, the application's. */
  source?: string
}

const MAX_SOURCE = 500
const FASTIFY = new Set(['fastify', 'light-my-request'])

/** Reads from the stack of an object, such as an error, where something was called from. */
export function originOfCall (site: { readonly stack?: string }): CallOrigin {
  const stack = read(site, 'stack')
  return typeof stack === 'string' ? originOfFrames(stackFrames(splitStack(stack, '').frames)) : { by: 'node' }
}

interface Owned {
  frame: StackFrame
  by: CallOrigin['by']
  name: string
}

/**
 * Reads it from frames, the innermost first. Only the calls up to the first one of Fastify or Node.js count:
 * what is further out has only led to the code that calls here.
 */
export function originOfFrames (frames: readonly StackFrame[]): CallOrigin {
  const owned = frames.map(ownerOf)
  const begin = owned.findIndex(({ by }) => by !== 'fastify' && by !== 'node')
  if (begin === -1) return { by: owned[0]?.by ?? 'node' }
  const end = owned.findIndex(({ by }, i) => i > begin && (by === 'fastify' || by === 'node'))
  const calls = owned.slice(begin, end === -1 ? undefined : end)
  const caller = calls.find(({ by }) => by !== 'hindsight')
  if (caller === undefined) return told(calls[0] as Owned)
  const own = calls.find(({ by }) => by === 'application')
  return { ...told(own ?? caller), ...(caller.by === 'package' && { by: 'package', package: caller.name }) }
}

function told ({ frame, by, name }: Owned): CallOrigin {
  const called = frame.function.replace(/^(?:async )?(?:Object\.)?/, '')
  return {
    by,
    ...(by === 'package' && { package: name }),
    ...(called !== '<anonymous>' && { function: called.slice(0, MAX_SOURCE) }),
    source: `${frame.file.slice(-MAX_SOURCE)}:${frame.line}`
  }
}

function ownerOf (frame: StackFrame): Owned {
  const { file } = frame
  if (file === '' || file.startsWith('node:')) return { frame, by: 'node', name: '' }
  if (isInternal(file)) return { frame, by: 'hindsight', name: '' }
  const name = packageOf(file)
  if (name === null) return { frame, by: 'application', name: '' }
  return { frame, by: FASTIFY.has(name) ? 'fastify' : 'package', name }
}

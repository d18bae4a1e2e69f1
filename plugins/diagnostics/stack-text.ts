import { LimitedMap } from '../kernel/limited-map.js'
import { read } from './thrown-value.js'

type Prepare = (error: Error, trace: NodeJS.CallSite[]) => unknown

// The name of what writes stacks where nobody has replaced it: of another one nothing is known, and nothing is kept.
const OWN_NAME = 'ErrorPrepareStackTrace'

// With source maps each frame is looked up in the map of its file, whenever a stack is written: most were written before.
const written = new LimitedMap<string>(200, 2_000_000)

/**
 * Reads the stack of a raised value, which is undefined where it has none. V8 writes a stack when it is first read;
 * what Node.js makes of the same calls is remembered, and so is what anybody reads later.
 */
export function stackOf (error: unknown): unknown {
  const prepare = Error.prepareStackTrace as Prepare | undefined
  if (typeof prepare !== 'function' || prepare.name !== OWN_NAME) return read(error, 'stack')
  Error.prepareStackTrace = (error, trace) => remembered(prepare, error, trace)
  try {
    return read(error, 'stack')
  } finally {
    Error.prepareStackTrace = prepare
  }
}

function remembered (prepare: Prepare, error: Error, trace: NodeJS.CallSite[]): unknown {
  const key = trace.join('\n')
  const head = prepare(error, [])
  const known = written.get(key)
  if (known !== undefined) return `${String(head)}${known}`
  const stack = prepare(error, trace)
  if (typeof stack === 'string' && typeof head === 'string' && stack.startsWith(head)) written.set(key, stack.slice(head.length))
  return stack
}

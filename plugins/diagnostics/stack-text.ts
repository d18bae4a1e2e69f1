import { LimitedMap } from '../kernel/limited-map.js'
import { read } from './thrown-value.js'

type Prepare = (error: Error, trace: NodeJS.CallSite[]) => unknown

/** The calls of a stack: those of another one that are the same are the same object. */
export interface Calls {
  /** As they stand in the stack. */
  readonly text: string
}

/** A stack that was just written: what stands ahead of its calls, and these. */
export interface Written {
  head: string
  calls: Calls
}

/** What an error says of where it was raised. */
export interface ReadStack {
  /** Anything, where the error is not what it should be; undefined where it has none. */
  stack: unknown
  /** Null where nothing is known of how the stack was written. */
  written: Written | null
}

// The name of what writes stacks where nobody has replaced it: of another one nothing is known, and nothing is kept.
const OWN_NAME = 'ErrorPrepareStackTrace'

// With source maps each call is looked up in the map of its file, whenever a stack is written: most were written before.
const knownCalls = new LimitedMap<Calls>(200, 2_000_000)

/**
 * Reads the stack of a raised value. V8 writes a stack when it is first read; what Node.js makes of the same calls is
 * remembered, and so is what anybody reads later.
 */
export function stackOf (error: unknown): ReadStack {
  const prepare = Error.prepareStackTrace as Prepare | undefined
  if (typeof prepare !== 'function' || prepare.name !== OWN_NAME) return { stack: read(error, 'stack'), written: null }
  const outer = reading
  reading = { prepare, error, written: null }
  Error.prepareStackTrace = prepareRemembered
  try {
    return { stack: read(error, 'stack'), written: reading.written }
  } finally {
    Error.prepareStackTrace = prepare
    reading = outer
  }
}

let reading: { prepare: Prepare, error: unknown, written: Written | null } | null = null

function prepareRemembered (raised: Error, trace: NodeJS.CallSite[]): unknown {
  // Without a reading it stands where only somebody else can have put it.
  if (reading === null) return `${String(raised)}${trace.map((call) => `\n    at ${String(call)}`).join('')}`
  const known = remembered(reading.prepare, raised, trace)
  if (raised === reading.error) reading.written = known.written
  return known.stack
}

function remembered (prepare: Prepare, error: Error, trace: NodeJS.CallSite[]): ReadStack {
  const key = trace.join('\n')
  const head = prepare(error, [])
  const known = knownCalls.get(key)
  if (known !== undefined && typeof head === 'string') return { stack: `${head}${known.text}`, written: { head, calls: known } }
  const stack = prepare(error, trace)
  if (typeof stack !== 'string' || typeof head !== 'string' || !stack.startsWith(head)) return { stack, written: null }
  const calls = { text: stack.slice(head.length) }
  knownCalls.set(key, calls)
  return { stack, written: { head, calls } }
}

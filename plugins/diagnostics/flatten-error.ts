import { cut } from '../view/visible.js'
import { counted, wordFor } from '../view/counted.js'
import { excerptReader, type ExcerptReader } from './code-excerpt.js'
import type { FlattenedException, StackFrame } from './exception.js'
import { splitStack, stackFrames } from './stack-frame.js'
import { inspected, isError, messageOf, nameOf, read } from './thrown-value.js'

const MAX_CAUSES = 20
const MAX_EXCEPTIONS = 100
const MAX_DEPTH = 5
const MAX_MEMBERS = 25
const MAX_FRAMES = 200
const MAX_EXCERPTS = 10
const MAX_MESSAGE = 20_000
const MAX_STACK = 40_000

/** What decides how an error is read. */
export interface FlattenOptions {
  /** The folder of the application's own code; by default where the process was started. */
  root?: string
  /** Lines of source on either side of a frame's own. */
  around?: number
}

interface Walk extends FlattenOptions {
  seen: Set<unknown>
  left: number
  read: ExcerptReader
}

/**
 * Turns whatever was raised into plain data: the chain of its causes from the root on, the raised error last.
 * Never throws, whatever it is given; everything that it returns is bounded.
 */
export function flattenError (raised: unknown, options: FlattenOptions = {}): FlattenedException[] {
  return chain(raised, { ...options, seen: new Set(), left: MAX_EXCEPTIONS, read: excerptReader() }, 0)
}

function chain (raised: unknown, walk: Walk, depth: number): FlattenedException[] {
  const listed: FlattenedException[] = []
  for (let error = raised; ; error = read(error, 'cause')) {
    const exception = safely(() => flatten(error, walk, depth), error)
    listed.unshift(exception)
    const cause = isObject(error) ? read(error, 'cause') : undefined
    if (cause === undefined || cause === null) return listed
    const end = endOfChain(cause, walk, listed.length)
    if (end === undefined) continue
    exception.note = exception.note === undefined ? end : `${exception.note} ${end}`
    return listed
  }
}

function endOfChain (cause: unknown, walk: Walk, length: number): string | undefined {
  if (walk.seen.has(cause)) return 'Its cause is an error that is listed here already.'
  if (length >= MAX_CAUSES || walk.left < 1) return 'Its further causes are left out.'
}

function flatten (error: unknown, walk: Walk, depth: number): FlattenedException {
  walk.left--
  if (isObject(error)) walk.seen.add(error)
  const message = cut(messageOf(error), MAX_MESSAGE)
  const exception: FlattenedException = { name: nameOf(error), message, frames: [], stack: '' }
  const code = read(error, 'code')
  if (typeof code === 'string' || typeof code === 'number') exception.code = String(code).slice(0, 200)
  const statusCode = statusOf(error)
  if (statusCode !== undefined) exception.statusCode = statusCode
  addStack(exception, isError(error) ? read(error, 'stack') : undefined, error, walk)
  addMembers(exception, membersOf(error), walk, depth)
  return exception
}

function addStack (exception: FlattenedException, stack: unknown, error: unknown, walk: Walk): void {
  const { head, frames } = typeof stack === 'string'
    ? splitStack(stack, messageOf(error))
    : { head: '', frames: '' }
  const title = exception.message === '' ? exception.name : `${exception.name}: ${exception.message}`
  exception.stack = [cut(head || title, MAX_MESSAGE + 500), cut(frames, MAX_STACK)].filter(Boolean).join('\n')
  const all = stackFrames(frames, walk.root)
  exception.frames = withExcerpts(all.slice(0, MAX_FRAMES), walk)
  if (all.length > MAX_FRAMES) exception.framesDropped = all.length - MAX_FRAMES
}

function withExcerpts (frames: readonly StackFrame[], { read, around }: Walk): StackFrame[] {
  const hasOwn = frames.some((frame) => frame.own)
  let left = MAX_EXCERPTS
  return frames.map((frame, i) => {
    const isShown = left > 0 && (hasOwn ? frame.own : i === 0)
    const excerpt = isShown ? read(frame.file, frame.line, around) : undefined
    if (excerpt === undefined) return frame
    left--
    return { ...frame, excerpt }
  })
}

function addMembers (exception: FlattenedException, members: readonly unknown[], walk: Walk, depth: number): void {
  if (members.length === 0) return
  const listed: FlattenedException[][] = []
  for (const member of members.slice(0, MAX_MEMBERS)) {
    if (depth >= MAX_DEPTH || walk.left < 1) break
    if (!walk.seen.has(member)) listed.push(chain(member, walk, depth + 1))
  }
  if (listed.length > 0) exception.errors = listed
  const out = members.length - listed.length
  if (out === 0) return
  const errors = counted(members.length, 'error')
  exception.note = `${out.toLocaleString('en')} of its ${errors} ${wordFor(out, 'is', 'are')} left out.`
}

function membersOf (error: unknown): unknown[] {
  const errors = read(error, 'errors')
  if (!isError(error) || !Array.isArray(errors)) return []
  // Other libraries keep messages or field names under `errors`.
  return nameOf(error) === 'AggregateError' || errors.some(isError) ? errors : []
}

function statusOf (error: unknown): number | undefined {
  return [read(error, 'statusCode'), read(error, 'status')]
    .find((status): status is number => Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599)
}

function isObject (value: unknown): boolean {
  return value !== null && (typeof value === 'object' || typeof value === 'function')
}

function safely (make: () => FlattenedException, error: unknown): FlattenedException {
  try {
    return make()
  } catch {
    const message = isObject(error) ? '[a value that cannot be read]' : inspected(error)
    return { name: 'Error', message, frames: [], stack: message }
  }
}

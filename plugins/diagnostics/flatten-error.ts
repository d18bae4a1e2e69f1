import { cut } from '../view/visible.js'
import { counted, wordFor } from '../view/counted.js'
import { excerptReader, type ExcerptReader } from './code-excerpt.js'
import type { CodeExcerpt, FlattenedException, StackFrame } from './exception.js'
import { keepException, keptException } from './kept-exceptions.js'
import { splitStack, stackFrames } from './stack-frame.js'
import { stackOf } from './stack-text.js'
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
    // The exception itself may be one that is listed elsewhere, too.
    listed[0] = { ...exception, note: exception.note === undefined ? end : `${exception.note} ${end}` }
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
  const exception: FlattenedException = { name: nameOf(error), message: cut(messageOf(error), MAX_MESSAGE), frames: [], stack: '' }
  const code = read(error, 'code')
  if (typeof code === 'string' || typeof code === 'number') exception.code = String(code).slice(0, 200)
  const statusCode = statusOf(error)
  if (statusCode !== undefined) exception.statusCode = statusCode
  const { stack, written } = isError(error) ? stackOf(error) : { stack: undefined, written: null }
  const members = membersOf(error)
  const keeps = written !== null && members.length === 0
  const before = keeps ? keptException(written, walk.root, exception) : null
  if (before !== null && isUpToDate(before.frames, walk)) return before
  addStack(exception, stack, error, walk)
  addMembers(exception, members, walk, depth)
  if (keeps) keepException(written, walk.root, exception)
  return exception
}

function addStack (exception: FlattenedException, stack: unknown, error: unknown, walk: Walk): void {
  const { head, frames } = typeof stack === 'string'
    ? splitStack(stack, messageOf(error))
    : { head: '', frames: '' }
  const title = exception.message === '' ? exception.name : `${exception.name}: ${exception.message}`
  exception.stack = [cut(head || title, MAX_MESSAGE + 500), cut(frames, MAX_STACK)].filter(Boolean).join('\n')
  const all = stackFrames(frames, walk.root)
  exception.frames = withExcerpts(all, walk)
  if (all.length > MAX_FRAMES) exception.framesDropped = all.length - MAX_FRAMES
}

// Where a stack comes again and its files are what they were, its frames are the very same: what is made of them can be kept.
const kept = new WeakMap<readonly StackFrame[], { excerpts: Array<CodeExcerpt | undefined>, frames: StackFrame[] }>()

function withExcerpts (all: readonly StackFrame[], { read, around }: Walk): StackFrame[] {
  const listed = all.length > MAX_FRAMES ? all.slice(0, MAX_FRAMES) : all
  const none = !listed.some((frame) => frame.own)
  let left = MAX_EXCERPTS
  const excerpts = listed.map((frame, i) => {
    const excerpt = left > 0 && (frame.own || (none && i === 0)) ? read(frame.file, frame.line, around) : undefined
    if (excerpt !== undefined) left--
    return excerpt
  })
  const known = kept.get(all)
  if (known !== undefined && known.excerpts.every((excerpt, i) => excerpt === excerpts[i])) return known.frames
  const frames = listed.map((frame, i) => {
    const excerpt = excerpts[i]
    return excerpt === undefined ? frame : { ...frame, excerpt }
  })
  kept.set(all, { excerpts, frames })
  madeOf.set(frames, all)
  return frames
}

const madeOf = new WeakMap<readonly StackFrame[], readonly StackFrame[]>()

function isUpToDate (frames: StackFrame[], walk: Walk): boolean {
  const all = madeOf.get(frames)
  return all !== undefined && withExcerpts(all, walk) === frames
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
  if (out > 0) exception.note = `${out.toLocaleString('en')} of its ${counted(members.length, 'error')} ${wordFor(out, 'is', 'are')} left out.`
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

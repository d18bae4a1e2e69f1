import { cut } from '../view/visible.js'
import { counted, wordFor } from '../view/counted.js'
import { excerptReader, type ExcerptReader } from './code-excerpt.js'
import type { FlattenedException, StackFrame } from './exception.js'
import { frameLines, splitStack, stackFrames } from './stack-frame.js'
import { inspected, isError, messageOf, nameOf, read } from './thrown-value.js'

const MAX_EXCEPTIONS = 100
const MAX_DEPTH = 5
/** Of one exception, and of all together; each has at least MIN_FRAMES of its frames. */
const MAX_FRAMES = 200
const MAX_ALL_FRAMES = 1_000
const MIN_FRAMES = 10
const MAX_EXCERPTS = 10
const MAX_ALL_EXCERPTS = 100
/** Characters. */
const MAX_MESSAGE = 20_000
const MAX_STACK = 40_000
const MAX_PARSED_STACK = 100_000
/** Exceptions are counted up to so many. */
const MAX_COUNTED = 1_100
/** Characters of the messages and stacks of an error that is logged as it is. */
const MAX_LOGGED = 500_000

/** What decides how an error is read. */
export interface FlattenOptions {
  /** The folder of the application's own code; by default where the process was started. */
  root?: string
  /** Lines of source on either side of a frame's own. */
  around?: number
}

interface Walk extends FlattenOptions {
  seen: Set<unknown>
  /** How many exceptions may still be listed. */
  left: number
  framesLeft: number
  excerptsLeft: number
  /** Whether exceptions were left out. */
  isCut: boolean
  read: ExcerptReader
}

/**
 * Turns whatever was raised into plain data: the chain of its causes from the root on, the raised error last.
 * Lists at most 100 exceptions, members of AggregateErrors included; the note of the raised error says how many more
 * there are. Never throws, whatever it is given; everything that it returns is bounded.
 */
export function flattenError (raised: unknown, options: FlattenOptions = {}): FlattenedException[] {
  const walk = walkOf(options)
  const listed = chain(raised, walk, 0)
  if (walk.isCut) addNote(listed.at(-1) as FlattenedException, leftOut(raised, MAX_EXCEPTIONS - walk.left))
  return listed
}

function walkOf (options: FlattenOptions = {}): Walk {
  return {
    ...options,
    seen: new Set(),
    left: MAX_EXCEPTIONS,
    framesLeft: MAX_ALL_FRAMES,
    excerptsLeft: MAX_ALL_EXCERPTS,
    isCut: false,
    read: excerptReader()
  }
}

/**
 * An error for the log: itself, or where it has more than 100 exceptions or very long texts, an error with the bounded
 * texts. The serializer of the logger has no bounds of its own.
 */
export function loggedError (raised: unknown): unknown {
  if (!isError(raised)) return raised
  const { visited, isComplete } = visitExceptions(raised, MAX_EXCEPTIONS)
  const length = (): number => visited
    .reduce((sum: number, error) => sum + textLength(read(error, 'message')) + textLength(read(error, 'stack')), 0)
  if (isComplete && length() <= MAX_LOGGED) return raised
  const { name, message, code, stack } = safely(() => flatten(raised, walkOf(), MAX_DEPTH), raised)
  const note = leftOut(raised, 1)
  return Object.assign(new Error(message), { name, stack, ...(code !== undefined && { code }), note })
}

function textLength (text: unknown): number {
  return typeof text === 'string' ? text.length : 0
}

function leftOut (raised: unknown, listed: number): string {
  const { visited, isComplete } = visitExceptions(raised, MAX_COUNTED)
  const out = isComplete ? Math.max(0, visited.length - listed) : MAX_COUNTED - MAX_EXCEPTIONS
  return `${isComplete ? '' : 'More than '}${counted(out, 'further exception')} ${wordFor(out, 'is', 'are')} left out.`
}

/** An error with its causes and members, each once; at most `limit`. */
function visitExceptions (raised: unknown, limit: number): { visited: unknown[], isComplete: boolean } {
  const seen = new Set<unknown>()
  const visited: unknown[] = []
  const waiting = [raised]
  for (let steps = 0; steps < limit && waiting.length > 0; steps++) {
    const error = waiting.pop()
    if (isObject(error) && seen.has(error)) continue
    seen.add(error)
    visited.push(error)
    const cause = read(error, 'cause')
    if (cause !== undefined && cause !== null) waiting.push(cause)
    // One more than the limit: what is cut off here is not complete.
    waiting.push(...membersOf(error, Math.max(0, limit + 1 - waiting.length)).members)
  }
  return { visited, isComplete: waiting.length === 0 }
}

function chain (raised: unknown, walk: Walk, depth: number): FlattenedException[] {
  const listed: FlattenedException[] = []
  for (let error = raised; ; error = read(error, 'cause')) {
    const exception = safely(() => flatten(error, walk, depth), error)
    listed.unshift(exception)
    const cause = isObject(error) ? read(error, 'cause') : undefined
    if (cause === undefined || cause === null) return listed
    const end = endOfChain(cause, walk)
    if (end === undefined) continue
    addNote(exception, end)
    return listed
  }
}

function endOfChain (cause: unknown, walk: Walk): string | undefined {
  if (walk.seen.has(cause)) return 'Its cause is an error that is listed here already.'
  if (walk.left >= 1) return undefined
  walk.isCut = true
  return 'Its further causes are left out.'
}

function addNote (exception: FlattenedException, note: string): void {
  exception.note = exception.note === undefined ? note : `${exception.note} ${note}`
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
  addMembers(exception, error, walk, depth)
  return exception
}

function addStack (exception: FlattenedException, stack: unknown, error: unknown, walk: Walk): void {
  const message = messageOf(error)
  const text = typeof stack === 'string' ? stack.slice(0, message.length + MAX_PARSED_STACK) : ''
  const { head, frames } = splitStack(text, message)
  const title = exception.message === '' ? exception.name : `${exception.name}: ${exception.message}`
  exception.stack = [cut(head || title, MAX_MESSAGE + 500), cut(frames, MAX_STACK)].filter(Boolean).join('\n')
  const lines = frameLines(frames)
  const shown = lines.slice(0, Math.min(MAX_FRAMES, Math.max(MIN_FRAMES, walk.framesLeft)))
  walk.framesLeft -= shown.length
  exception.frames = withExcerpts(stackFrames(shown.join('\n'), walk.root), walk)
  if (lines.length > shown.length) exception.framesDropped = lines.length - shown.length
  if (typeof stack === 'string' && text.length < stack.length) addNote(exception, 'The end of its stack is left out.')
}

function withExcerpts (frames: readonly StackFrame[], walk: Walk): StackFrame[] {
  const hasOwn = frames.some((frame) => frame.own)
  let left = Math.min(MAX_EXCERPTS, walk.excerptsLeft)
  return frames.map((frame, i) => {
    const isShown = left > 0 && (hasOwn ? frame.own : i === 0)
    const excerpt = isShown ? walk.read(frame.file, frame.line, walk.around) : undefined
    if (excerpt === undefined) return frame
    left--
    walk.excerptsLeft--
    return { ...frame, excerpt }
  })
}

function addMembers (exception: FlattenedException, error: unknown, walk: Walk, depth: number): void {
  const { members, total } = membersOf(error, MAX_EXCEPTIONS)
  if (total === 0) return
  const listed: FlattenedException[][] = []
  for (const member of members) {
    if (depth >= MAX_DEPTH || walk.left < 1) break
    if (!walk.seen.has(member)) listed.push(chain(member, walk, depth + 1))
  }
  if (listed.length > 0) exception.errors = listed
  const out = total - listed.length
  if (out === 0) return
  walk.isCut ||= depth >= MAX_DEPTH || walk.left < 1
  const errors = counted(total, 'error')
  addNote(exception, `${out.toLocaleString('en')} of its ${errors} ${wordFor(out, 'is', 'are')} left out.`)
}

/** The first members of an AggregateError, and how many it has. */
function membersOf (error: unknown, limit: number): { members: unknown[], total: number } {
  const none = { members: [], total: 0 }
  const errors = read(error, 'errors')
  if (!isError(error) || !Array.isArray(errors)) return none
  try {
    const members = errors.slice(0, limit)
    // Other libraries keep messages or field names under `errors`.
    return nameOf(error) === 'AggregateError' || members.some(isError) ? { members, total: errors.length } : none
  } catch {
    // A proxy of an array.
    return none
  }
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

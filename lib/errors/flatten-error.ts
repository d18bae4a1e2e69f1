import { isErrorStatus } from '../http/http-errors.js'
import { counted, cut, grouped, wordFor } from '../view/visible.js'
import { inspected } from '../view/json.js'
import type { CodeExcerpt, FlattenedException, StackFrame } from './exception.js'
import { excerptReader, type ExcerptReader } from './source-cache.js'
import { splitStack, stackFrames, syntaxFrame } from './stack-frame.js'
import { isError, messageOf, nameOf, read } from './thrown-value.js'

const MAX_EXCEPTIONS = 100
/** Levels of nested AggregateErrors. */
const MAX_DEPTH = 5
/** Of one exception. */
const MAX_FRAMES = 50
const MAX_EXCERPTS = 10
/** Of all exceptions together. */
const MAX_ALL_EXCERPTS = 100
/** Characters. */
const MAX_MESSAGE = 20_000
const MAX_STACK = 40_000
const MAX_PARSED_STACK = 100_000

/** The state of one call of `flattenError`: the remaining limits, and the errors that are listed already. */
interface Walk {
  seen: Set<unknown>
  exceptions: number
  excerpts: number
  excerptOf: ExcerptReader
}

/**
 * Turns any raised value into plain data: the chain of its causes, root cause first. Lists at most 100 exceptions,
 * members of AggregateErrors included; notes say what is left out. Never throws; everything returned is bounded.
 */
export function flattenError (raised: unknown): FlattenedException[] {
  const limits = { exceptions: MAX_EXCEPTIONS, excerpts: MAX_ALL_EXCERPTS }
  return flattenChain(raised, { ...limits, seen: new Set(), excerptOf: excerptReader() }, 0)
}

function flattenChain (raised: unknown, walk: Walk, depth: number): FlattenedException[] {
  const chain: FlattenedException[] = []
  for (let error = raised; ; error = read(error, 'cause')) {
    const exception = flattenSafely(error, walk, depth)
    chain.unshift(exception)
    const cause = read(error, 'cause')
    if (cause === undefined || cause === null) return chain
    if (walk.seen.has(cause)) addNote(exception, 'Its cause is an error that is listed here already.')
    else if (walk.exceptions < 1) addNote(exception, 'Its further causes are left out.')
    else continue
    return chain
  }
}

function addNote (exception: FlattenedException, note: string): void {
  exception.note = exception.note === undefined ? note : `${exception.note} ${note}`
}

function flattenSafely (error: unknown, walk: Walk, depth: number): FlattenedException {
  try {
    return flatten(error, walk, depth)
  } catch {
    const message = isObject(error) ? '[a value that cannot be read]' : inspected(error)
    return { name: 'Error', message, frames: [], stack: message }
  }
}

function flatten (error: unknown, walk: Walk, depth: number): FlattenedException {
  walk.exceptions--
  if (isObject(error)) walk.seen.add(error)
  const exception: FlattenedException = { name: nameOf(error), message: '', frames: [], stack: '' }
  const message = messageOf(error)
  exception.message = cut(message, MAX_MESSAGE)
  const code = read(error, 'code')
  if (typeof code === 'string' || typeof code === 'number') exception.code = String(code).slice(0, 200)
  const statusCode = [read(error, 'statusCode'), read(error, 'status')].find(isErrorStatus)
  if (statusCode !== undefined) exception.statusCode = statusCode
  const stack = isError(error) ? read(error, 'stack') : undefined
  addStack(exception, typeof stack === 'string' ? stack : '', message, walk)
  addMembers(exception, error, walk, depth)
  return exception
}

function addStack (exception: FlattenedException, stack: string, message: string, walk: Walk): void {
  const text = stack.slice(0, message.length + MAX_PARSED_STACK)
  const { head, frames } = splitStack(text, message)
  const title = exception.message === '' ? exception.name : `${exception.name}: ${exception.message}`
  exception.stack = [cut(head || title, MAX_MESSAGE + 500), cut(frames, MAX_STACK)].filter(Boolean).join('\n')
  const all = stackFrames(frames)
  const shown = all.slice(0, MAX_FRAMES)
  const syntax = syntaxFrame(text, message)
  exception.frames = syntax === null ? shown : [syntax, ...shown]
  addExcerpts(exception.frames, walk)
  const out = all.length - shown.length
  if (out > 0) addNote(exception, `${counted(out, 'more frame is', 'more frames are')} left out.`)
}

// Only the frames of the application have excerpts, and of frames at one line the first: a function may call itself.
function addExcerpts (frames: StackFrame[], walk: Walk): void {
  const shown = new Set<CodeExcerpt>()
  for (const frame of frames) {
    if (!frame.own || shown.size >= Math.min(MAX_EXCERPTS, walk.excerpts)) continue
    const excerpt = walk.excerptOf(frame.file, frame.line)
    if (excerpt === undefined || shown.has(excerpt)) continue
    frame.excerpt = excerpt
    shown.add(excerpt)
  }
  walk.excerpts -= shown.size
}

function addMembers (exception: FlattenedException, error: unknown, walk: Walk, depth: number): void {
  const { members, total } = membersOf(error)
  if (total === 0) return
  const listed: FlattenedException[][] = []
  for (const member of members) {
    if (depth >= MAX_DEPTH || walk.exceptions < 1) break
    if (!walk.seen.has(member)) listed.push(flattenChain(member, walk, depth + 1))
  }
  if (listed.length > 0) exception.errors = listed
  const out = total - listed.length
  const errors = counted(total, 'error')
  if (out > 0) addNote(exception, `${grouped(out)} of its ${errors} ${wordFor(out, 'is', 'are')} left out.`)
}

/** The first members of an AggregateError, and how many it has. */
function membersOf (error: unknown): { members: unknown[], total: number } {
  const none = { members: [], total: 0 }
  const errors = read(error, 'errors')
  if (!isError(error) || !Array.isArray(errors)) return none
  try {
    const members = errors.slice(0, MAX_EXCEPTIONS)
    // Other libraries keep messages or field names under `errors`.
    return nameOf(error) === 'AggregateError' || members.some(isError) ? { members, total: errors.length } : none
  } catch {
    // A proxy of an array.
    return none
  }
}

function isObject (value: unknown): boolean {
  return value !== null && (typeof value === 'object' || typeof value === 'function')
}

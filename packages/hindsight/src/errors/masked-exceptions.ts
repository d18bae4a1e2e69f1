import { types } from 'node:util'
import { attemptCall } from '../call.js'
import { RequestTrace, type WorkTrace } from '../recording/trace.js'
import type { Mask } from '../mask/mask.js'
import type { FlattenedException, StackFrame } from './exception.js'
import { cutBeforeWord, formatCount, formatInteger, inspectValue, wordFor } from '../view/text.js'
import { callsOf, maskCall } from './frame-values.js'
import { isTemplate, readMessage } from './message.js'
import { pipeMessages, rejectedInput } from './rejected-input.js'
import { excerptAt } from './source-file.js'
import { isInternal, markCallers, splitStack, stackFrames, syntaxFrame } from './stack-frame.js'
import {
  copyFields, fieldsOf, isError, messageOf, nameOf, readProperty, statusIn, textOfStack
} from './thrown-value.js'

/** The error that a response is about as a chain, root cause first, masked: the same on the page and in the profile. */
export function exceptionsOf (trace: WorkTrace): FlattenedException[] {
  const { recording, mask } = trace
  if (recording.exceptions !== undefined) return recording.exceptions
  const { declined, failure, raisedBy, routeError } = recording
  const chain = flattenError(failure === null ? routeError : failure.error)
  if (failure !== null) addValues(chain, trace, failure)
  recording.exceptions = maskExceptions(chain, mask)
  const rejected = trace instanceof RequestTrace ? rejectedInput(trace) : null
  const last = recording.exceptions.at(-1)
  if (rejected !== null && last !== undefined) last.rejected = rejected
  const [first, ...more] = pipeMessages(failure?.error)
  const { explanation = first && [first, ...more].join('; ') } = failure?.refused ?? {}
  if (explanation !== undefined && rejected === null && last !== undefined) last.explanation = mask.text(explanation)
  // Without a lifecycle nothing was raised for a request without a route, and the client received no code.
  if (failure === null && declined === undefined) {
    recording.exceptions = recording.exceptions.slice(-1)
      .map(({ code: _, ...error }) => ({ ...error, frames: [], stack: `${error.name}: ${error.message}` }))
  }
  // Where the router raised the error, frames of the application are those of its hooks.
  if (raisedBy?.listener === 'router') {
    for (const frame of recording.exceptions.flatMap(({ frames }) => frames)) delete frame.excerpt
  }
  return recording.exceptions
}

/** Adds the variables of a thrown value that is no object, or why those of an error may be missing. */
function addValues (
  chain: FlattenedException[], trace: WorkTrace, { error, unread }: { error: unknown, unread?: boolean }
): void {
  const last = chain.at(-1)
  const values = callsOf(error, trace)
  if (last !== undefined && values !== undefined) last.values = values
  const [call] = values ?? []
  // What is no error has no stack: the first call has thrown it.
  if (last?.frames.length === 0 && call !== undefined) {
    const { variables: _, ...place } = call
    const excerpt = excerptAt(place.file, place.line)
    last.frames = [{ ...place, own: true, ...excerpt && { excerpt } }]
  }
  const mayMiss = unread === true && chain.every(({ values }) => values === undefined)
  if (last !== undefined && mayMiss) addNote(last, 'For a time no variables were read: too many errors were thrown.')
}

/** Causes of an error that are not listed again as other errors. */
const MAX_CAUSES = 100

/** The exceptions of a response, and those of further errors of its request; both masked. */
export interface RequestErrors { exceptions: FlattenedException[], otherErrors: FlattenedException[][] }

/**
 * The error that the response of a request is about, and which of the `others` are not among its causes. A response
 * without an error shows the first of the others.
 */
export function errorsOf (trace: WorkTrace, others: readonly unknown[]): RequestErrors {
  const { mask, recording: { failure, routeError } } = trace
  const flattened = (error: unknown): FlattenedException[] => maskExceptions(flattenError(error), mask)
  if (failure !== null) {
    const causes = causesOf(failure.error)
    const unlisted = others.filter((other) => !causes.has(other))
    return { exceptions: exceptionsOf(trace), otherErrors: unlisted.map(flattened) }
  }
  if (routeError !== null) return { exceptions: exceptionsOf(trace), otherErrors: others.map(flattened) }
  const [exceptions = [], ...otherErrors] = others.map(flattened)
  return { exceptions, otherErrors }
}

/** An error and its causes, which its page lists. */
function causesOf (raised: unknown): ReadonlySet<unknown> {
  const causes = new Set<unknown>()
  for (let one = raised; !causes.has(one) && causes.size < MAX_CAUSES; one = readProperty(one, 'cause') ?? raised) {
    causes.add(one)
  }
  return causes
}

/** A chain with the secrets of its texts masked; in excerpts only literals are. */
export function maskExceptions (chain: readonly FlattenedException[], mask: Mask): FlattenedException[] {
  return chain.map((exception) => {
    const { name, message, stack, code, fields, note, frames, values, errors } = exception
    return {
      ...exception,
      name: mask.text(name),
      message: mask.text(message),
      ...(code !== undefined && { code: mask.text(code) }),
      ...(fields !== undefined && { fields: mask.value(fields, MAX_FIELD) as Record<string, unknown> }),
      frames: frames.map((frame) => maskFrame(frame, mask)),
      ...(values !== undefined && { values: values.map((call) => maskCall(call, mask)) }),
      stack: mask.text(stack),
      ...(note !== undefined && { note: mask.text(note) }),
      ...(errors !== undefined && { errors: errors.map((member) => maskExceptions(member, mask)) })
    }
  })
}

/** A frame, masked in the same way. */
export function maskFrame (frame: StackFrame, mask: Mask): StackFrame {
  const { excerpt } = frame
  const masked = { ...frame, function: mask.text(frame.function) }
  if (excerpt === undefined) return masked
  return { ...masked, excerpt: { ...excerpt, lines: mask.source(excerpt.lines) } }
}

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
const MAX_FIELD = 2_000
const MAX_STACK = 40_000
const MAX_PARSED_STACK = 100_000

const READ = ['name', 'code', 'cause', 'errors', 'suppressed', 'error'] as const

type ErrorCopy = Partial<Record<typeof READ[number], unknown>>

/** The state of one call of `flattenError`: the remaining limits, and the errors that are listed already. */
interface Walk {
  seen: Set<unknown>
  exceptions: number
  excerpts: number
}

/**
 * Turns any raised value into plain data: the chain of its causes, root cause first. Lists at most 100 exceptions,
 * members of AggregateErrors included; notes have the number of the others. Never throws; the result is bounded.
 */
export function flattenError (raised: unknown): FlattenedException[] {
  return flattenChain(raised, { exceptions: MAX_EXCEPTIONS, excerpts: MAX_ALL_EXCERPTS, seen: new Set() }, 0)
}

function flattenChain (raised: unknown, walk: Walk, depth: number): FlattenedException[] {
  const chain: FlattenedException[] = []
  let error = raised
  for (;;) {
    const copy = copyFields(error, READ)
    const exception = flattenSafely(error, copy, walk, depth)
    const [outer] = chain
    // Eta throws another error with the place.
    if (outer?.message === exception.message) exception.frames.unshift(...outer.frames.filter(isTemplate))
    chain.unshift(exception)
    error = copy.cause
    if (error === undefined || error === null) return chain
    if (walk.seen.has(error)) addNote(exception, 'Its cause is an error that is listed here already.')
    else if (walk.exceptions < 1) addNote(exception, 'Its further causes are left out.')
    else continue
    return chain
  }
}

function addNote (exception: FlattenedException, note: string): void {
  exception.note = [exception.note, note].filter(Boolean).join(' ')
}

function flattenSafely (error: unknown, copy: ErrorCopy, walk: Walk, depth: number): FlattenedException {
  return attemptCall(() => flatten(error, copy, walk, depth), () => {
    const message = Object(error) === error ? '[a value that cannot be read]' : inspectValue(error)
    return { name: 'Error', message, frames: [], stack: message }
  })
}

function flatten (error: unknown, copy: ErrorCopy, walk: Walk, depth: number): FlattenedException {
  walk.exceptions--
  if (Object(error) === error) walk.seen.add(error)
  const message = messageOf(error)
  const { text, frames } = readMessage(message)
  const exception: FlattenedException =
    { name: nameOf(error), message: cutBeforeWord(text, MAX_MESSAGE), frames, stack: '' }
  const { code } = copy
  // The numbers of DOMException are legacy: its name has the same meaning (Web IDL, section 2.8.1).
  const isLegacy = typeof code === 'number' && error instanceof DOMException
  if (typeof code === 'string' || (typeof code === 'number' && !isLegacy)) exception.code = String(code).slice(0, 200)
  const statusCode = statusIn(error)
  if (statusCode !== undefined) exception.statusCode = statusCode
  const fields = isError(error) ? fieldsOf(error as object) : {}
  // Template engines repeat the file.
  if (frames.some(({ file }) => file === fields.path)) delete fields.path
  if (Object.keys(fields).length > 0) exception.fields = fields
  addStack(exception, isError(error) ? textOfStack(error as object) : '', message, walk)
  const values = callsOf(error)
  if (values !== undefined) exception.values = values
  if (isError(error)) addMembers(exception, copy, walk, depth)
  return exception
}

function addStack (exception: FlattenedException, stack: string, message: string, walk: Walk): void {
  const text = stack.slice(0, message.length + MAX_PARSED_STACK)
  const { head, frames: lines } = splitStack(text, message)
  const calls = withoutInternals(lines)
  const frames = calls.map(({ line }) => line).join('\n')
  const title = [exception.name, exception.message].filter(Boolean).join(': ')
  const texts = [cutBeforeWord(head || title, MAX_MESSAGE + 500), cutBeforeWord(frames, MAX_STACK)]
  exception.stack = texts.filter(Boolean).join('\n')
  const all = calls.flatMap(({ frame }) => frame ?? [])
  exception.frames = [syntaxFrame(text, message) ?? exception.frames, all.slice(0, MAX_FRAMES)].flat()
  addExcerpts(exception.frames, walk)
  const out = all.length - MAX_FRAMES
  if (out > 0) addNote(exception, `${formatCount(out, 'more frame is', 'more frames are')} left out.`)
}

// Functions of Hindsight that have called others do not explain the error of those.
function withoutInternals (lines: string): Array<{ line: string, frame: StackFrame | undefined }> {
  let isCaller = false
  const calls = lines.split('\n').map((line) => ({ line, frame: stackFrames(line)[0] }))
  markCallers(calls.flatMap(({ frame }) => frame ?? []))
  return calls.filter(({ frame }) => {
    const isOfHindsight = frame !== undefined && isInternal(frame.file)
    isCaller ||= frame !== undefined && !isOfHindsight && !frame.file.startsWith('node:')
    return !isCaller || !isOfHindsight
  })
}

// Only the frames of the application have excerpts, and of frames at one line the first: a function may call itself.
function addExcerpts (frames: StackFrame[], walk: Walk): void {
  const lines = new Set<string>()
  let free = Math.min(MAX_EXCERPTS, walk.excerpts)
  for (const frame of frames) {
    const line = `${frame.file}:${frame.line}`
    if (!frame.own || free < 1 || lines.has(line)) continue
    lines.add(line)
    const excerpt = excerptAt(frame.file, frame.line)
    if (excerpt === undefined) continue
    frame.excerpt = excerpt
    free--
    walk.excerpts--
  }
}

function addMembers (exception: FlattenedException, copy: ErrorCopy, walk: Walk, depth: number): void {
  const { members, total } = membersOf(copy)
  if (total === 0) return
  const listed: FlattenedException[][] = []
  for (const member of members) {
    if (depth >= MAX_DEPTH || walk.exceptions < 1) break
    if (!walk.seen.has(member)) listed.push(flattenChain(member, walk, depth + 1))
  }
  if (listed.length > 0) exception.errors = listed
  const out = total - listed.length
  const errors = formatCount(total, 'error')
  if (out > 0) addNote(exception, `${formatInteger(out)} of its ${errors} ${wordFor(out, 'is', 'are')} left out.`)
}

/** The first members of an AggregateError, and how many it has; of a SuppressedError the errors of both functions. */
function membersOf ({ name, suppressed, error, errors }: ErrorCopy): { members: unknown[], total: number } {
  if (name === 'SuppressedError') return { members: [suppressed, error], total: 2 }
  const none = { members: [], total: 0 }
  // A proxy of an array may throw.
  if (types.isProxy(errors) || !Array.isArray(errors)) return none
  const members = errors.slice(0, MAX_EXCEPTIONS)
  // Other libraries keep messages or field names under `errors`.
  if (name === 'AggregateError' || members.some(isError)) return { members, total: errors.length }
  return none
}

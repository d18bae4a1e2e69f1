import { types } from 'node:util'
import jsTokens from 'js-tokens'
import { ValueCopier, WORD } from '../errors/copy-value.js'
import type { CallValues, NamedValue } from '../errors/exception.js'
import { callsOf, keepCalls } from '../errors/frame-values.js'
import { excerptAt, sourceCache } from '../errors/source-file.js'
import { originalPlace, sourceNames, toPath, type Place, type Position } from '../errors/source-map.js'
import { isAppFile, isInternal, positionOf, stackFrames } from '../errors/stack-frame.js'
import { findProperty } from '../mask/read-object.js'
import { addBlockedCalls, cpuTime } from '../recording/event-loop.js'
import { currentContext, type WorkTrace } from '../recording/trace.js'

/** Calls of the application whose variables are read, and variables of a call. */
const MAX_CALLS = 3
const MAX_VARIABLES = 20
/** Texts beside a property, and characters of each. */
const MAX_BESIDE = 50
const MAX_TEXT = 200
/**
 * `reads`: errors of which variables are read in a second; `time`: milliseconds for more than the first values of one.
 * `share` of the time that all pauses may take, and `burst`, the milliseconds after a time without any. Tests change
 * them before the thread starts.
 */
export const limits = { reads: 20, time: 5, share: 0.02, burst: 1_000 }
/** Lines before one that continues an expression. */
const MAX_LINES = 5
/** A line that continues the one before it. */
const CONTINUES = /^\s*(?:[.?:&|+*)\]]|$)/
/** Scopes with variables of the function itself. Of the code around it, only those are read that the line names. */
const LOCAL = new Set(['local', 'block', 'catch', 'eval'])
/** V8 gives undefined for variables that have no value yet or no longer; later releases throw. */
const HIDES_MISSING = Number.parseInt(process.versions.v8) < 12
const UNDEFINED = WORD + (HIDES_MISSING ? 'undefined, or not known' : 'undefined')
const ABSENT = Symbol('no value')

/** A call of a paused stack: positions are 0-based, those of the compiled file. */
export interface PausedCall extends Place {
  url: string
  function: string
  scopes: string[]
  /** Where the function begins and ends. */
  range?: [Position, Position]
}

const cachedPaths = sourceCache<NamesOfLine['paths']>(1_000)
const cachedRenames = sourceCache<ReadonlyMap<string, string>>(1_000)

/** What is certain of an error: whether the application catches it, and its stack where V8 has no call of that. */
interface ThrownDetails { isCaught: boolean, stack: string }

/** An error that the application may catch: `settleThrown` is called when that is certain. */
let unsettled: { trace: WorkTrace, error: unknown, call: CallValues } | undefined

/**
 * Keeps variables of the calls of the application for an error that is being thrown, if a request of debug mode is
 * handled; returns whether it has. The thread calls it while the application is paused. `objects` are of each call its
 * `this` and its scopes.
 */
export function inspectCalls (
  thrown: unknown, calls: readonly PausedCall[], details: ThrownDetails, ...objects: unknown[]
): boolean {
  unsettled = undefined
  try {
    return keepThrown(thrown, calls, details, objects)
  } catch {
    // The failure is shown without values.
    return false
  }
}

/** Records which call of the application blocks the event loop. The thread calls it while the application is paused. */
export function recordBlock (calls: readonly PausedCall[]): void {
  const frames = calls.map((call) => ({ ...sourcePlace(call), function: call.function }))
  const [first] = frames
  if (first === undefined || isInternal(first.file)) return
  const ofApp = frames.filter(({ file }) => isAppFile(file)).slice(0, MAX_CALLS)
  if (ofApp.length === 0) return
  addBlockedCalls(ofApp.map((frame) => ({ function: frame.function, source: positionOf({ ...frame, own: true }) })))
}

/** Records the error that was inspected last if one of the calls that may catch it is of the application. */
export function settleThrown (catching: readonly PausedCall[]): void {
  const { trace, error, call } = unsettled ?? {}
  unsettled = undefined
  if (trace === undefined || call === undefined || currentContext()?.trace !== trace) return
  if (catching.some((one) => isAppFile(sourcePlace(one).file))) trace.recording.addThrown(error, call)
}

function keepThrown (
  thrown: unknown, calls: readonly PausedCall[], { isCaught, stack }: ThrownDetails, objects: unknown[]
): boolean {
  const trace = currentContext()?.trace
  if (trace === undefined || !trace.services.debug || trace.services.settings.values === false) return false
  const known = callsOf(thrown, trace)
  const kept = known ?? keepVariables(trace, thrown, calls, objects)
  const [call = awaitingCall(stack)] = kept
  if (call === undefined || !trace.hasBegun) return false
  if (isCaught) trace.recording.addThrown(thrown, call)
  else unsettled = { trace, error: thrown, call }
  // An error with known variables is thrown again.
  return known === undefined && kept.length > 0
}

/** The call of the application that awaits a rejection of Node.js or of a package. */
function awaitingCall (stack: string): CallValues | undefined {
  const frame = stackFrames(stack).find(({ own }) => own)
  return frame && { ...frame, function: frame.function.replace(/^async (?:<anonymous>$)?/, ''), variables: [] }
}

function keepVariables (
  trace: WorkTrace, thrown: unknown, calls: readonly PausedCall[], objects: unknown[]
): CallValues[] {
  const copier = new ValueCopier(limits.time, cpuTime)
  const kept: CallValues[] = []
  let next = 0
  for (const [i, call] of calls.entries()) {
    const ofCall = objects.slice(next, next += call.scopes.length + 1)
    const place = sourcePlace(call)
    // An error of Hindsight, which it handles.
    if (i === 0 && isInternal(place.file)) return []
    if (!isAppFile(place.file) || copier.isOver) continue
    const { paths, lines } = namesAt(place)
    const renamed = renamesOf(call, place, lines)
    const name = renamed === undefined ? call.function : renamed.get(call.function) ?? ''
    kept.push({ ...place, function: name, variables: variablesIn(call, ofCall, { paths, renamed }, copier) })
    if (kept.length === MAX_CALLS) break
  }
  if (kept.length > 0) keepCalls(thrown, trace, kept)
  return kept
}

function sourcePlace ({ url, line, column }: PausedCall): Place {
  return originalPlace(url, line, column) ?? { file: toPath(url), line: line + 1, column: column + 1 }
}

/** The names of a line, and of those before it that it continues, in the order of the source. */
interface NamesOfLine { paths: ReadonlyArray<readonly string[]>, lines: [number, number] }

/** The names that a call has in its line, and those of the source by those of the compiled code, if they differ. */
interface CallNames { paths: NamesOfLine['paths'], renamed: ReadonlyMap<string, string> | undefined }

function namesAt ({ file, line }: Place): NamesOfLine {
  const { start = line, lines = [] } = excerptAt(file, line, MAX_LINES, 0) ?? {}
  const shown = lines.slice(0, line - start + 1)
  let first = shown.length - 1
  while (first > 0 && CONTINUES.test(shown[first] ?? '')) first--
  first = Math.max(0, first)
  const code = shown.slice(first).join('\n')
  return { paths: cachedPaths(code, () => pathsIn(code)), lines: [start + first, line] }
}

/** The names in the source of the variables of a call; undefined where those of the compiled code are the same. */
function renamesOf (call: PausedCall, { file }: Place, lines: [number, number]): CallNames['renamed'] {
  const { url, line, column, range } = call
  // A loader compiles the file in memory, and keeps its names.
  if (range === undefined || file === toPath(url)) return undefined
  try {
    return cachedRenames(`${url}:${line}:${column}`, () => sourceNames({ ...call, range }, lines))
  } catch {
    // The compiled file is only in memory.
    return undefined
  }
}

/** The variables of code, each with the names of the properties that are read of it; not with that of a method. */
function pathsIn (code: string): string[][] {
  const paths: string[][] = []
  let path: string[] | undefined
  let before = ''
  for (const { type, value } of jsTokens(code)) {
    if (/^(?:WhiteSpace|LineTerminator|\w*Comment)/.test(type)) continue
    const isMember = before === '.' || before === '?.'
    if (type === 'IdentifierName' && !isMember) paths.push(path = [value])
    else if (type === 'IdentifierName') path?.push(value)
    else if (value !== '.' && value !== '?.') {
      if (value === '(' && path !== undefined && path.length > 1) path.pop()
      path = undefined
    }
    before = value
  }
  return paths
}

/** The variables of a call: those that its line names, and then others of the function, the innermost first. */
function variablesIn (
  call: PausedCall, [receiver, ...scopes]: readonly unknown[], { paths, renamed }: CallNames, copier: ValueCopier
): NamedValue[] {
  const found = new Map<string, unknown>()
  const names = [...new Set(paths.map(([name = '']) => name))]
  const ofLine = renamed === undefined ? names : [...renamed].flatMap(([key, name]) => names.includes(name) ? key : [])
  for (const [i, type] of call.scopes.entries()) {
    const scope = scopes[i] as object
    const isLocal = LOCAL.has(type)
    for (const compiled of isLocal ? Object.keys(scope) : ofLine) {
      const name = renamed === undefined ? compiled : renamed.get(compiled)
      if (name === undefined || found.has(name)) continue
      const variable = readVariable(scope, compiled)
      if (variable === undefined) continue
      found.set(name, isShown(variable, isLocal, names.includes(name)) ? variable.value : ABSENT)
    }
  }
  found.set('this', receiver ?? ABSENT)
  const others = [...found.keys()].filter((name) => name !== 'this' && !names.includes(name))
  const variables = new Map<string, Omit<NamedValue, 'name'>>()
  for (const name of [...names, ...others]) {
    const value = found.has(name) ? found.get(name) : ABSENT
    if (value === ABSENT) continue
    for (const [key, part, holder] of [...membersOf(value, name, paths), [name, value, undefined] as const]) {
      if (variables.size === MAX_VARIABLES || copier.isOver) break
      const isUnknown = part === undefined && key === name
      const copied = { value: isUnknown ? UNDEFINED : copier.copy(part), beside: textsIn(holder) }
      if (!variables.has(key)) variables.set(key, copied)
    }
  }
  return [...variables].map(([name, copied]) => ({ name, ...copied }))
}

/** The texts in an object: `{ name: 'password', value }` says by a text that another one is a secret. */
function textsIn (holder: unknown): Record<string, string> {
  if (typeof holder !== 'object' || holder === null || types.isProxy(holder)) return {}
  return Object.fromEntries(Object.keys(holder).slice(0, MAX_BESIDE).flatMap((name): Array<[string, string]> => {
    const text: unknown = readVariable(holder, name)?.value
    return typeof text === 'string' ? [[name, text.slice(0, MAX_TEXT)]] : []
  }))
}

/** The properties that the line reads of a variable, with what they are in; no code of the application runs. */
function membersOf (variable: unknown, name: string, paths: NamesOfLine['paths']): Array<[string, unknown, unknown]> {
  return paths.filter(([first]) => first === name).flatMap((path) => {
    let [value, holder] = [variable, variable]
    let length = 1
    for (; length < path.length && Object(value) === value; length++) {
      const property = findProperty(value, path[length] as string)
      if (property === undefined) break
      holder = value
      value = property.value
    }
    return length === 1 ? [] : [[path.slice(0, length).join('.'), value, holder]]
  })
}

/** Undefined where the scope has no such variable, or V8 not its value. */
function readVariable (scope: object, name: string): PropertyDescriptor | undefined {
  try {
    return Object.getOwnPropertyDescriptor(scope, name)
  } catch {
    return undefined
  }
}

// A function explains a failure only where it is an argument or a local variable that is used.
function isShown ({ value, get }: PropertyDescriptor, isLocal: boolean, isNamed: boolean): boolean {
  if (get !== undefined) return false
  if (typeof value === 'function') return isLocal && isNamed
  return value !== undefined || isNamed || !HIDES_MISSING
}

import jsTokens from 'js-tokens'
import { performance } from '../clock.js'
import { ValueCopier, WORD } from '../errors/copy-value.js'
import type { CallValues, NamedValue } from '../errors/exception.js'
import { callsOf, keepCalls } from '../errors/frame-values.js'
import { excerptAt, sourceCache } from '../errors/source-file.js'
import { originalPlace, toPath, type Place } from '../errors/source-map.js'
import { isAppFile, isInternal, positionOf, stackFrames } from '../errors/stack-frame.js'
import { addBlockedCalls, doInternalWork } from '../recording/event-loop.js'
import { currentContext, type WorkTrace } from '../recording/trace.js'

/** Calls of the application whose variables are read, and variables of a call. */
const MAX_CALLS = 3
const MAX_VARIABLES = 20
/**
 * `reads`: errors of which variables are read in a second, each for `time` milliseconds. `share` of the time that all
 * pauses may take, and `burst`, the milliseconds after a time without any. Tests change them before the thread starts.
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
export interface PausedCall extends Place { url: string, function: string, scopes: string[] }

// Tests of an application may replace that of the process.
const { hrtime } = process
const cachedNames = sourceCache<readonly string[]>(1_000)

/** What is certain of an error: whether the application catches it, and its stack where V8 has no call of that. */
interface ThrownDetails { isCaught: boolean, stack: string }

/** An error that the application may catch: `settleThrown` is called when that is certain. */
let unsettled: { trace: WorkTrace, error: unknown, call: CallValues } | undefined

/**
 * Keeps variables of the calls of the application for an error that is being thrown, if a request of debug mode is
 * handled; returns whether it has. The thread calls it while the application is paused, since `paused`, a time of
 * `hrtime.bigint()`. `objects` are of each call its `this` and its scopes.
 */
export function inspectCalls (
  thrown: unknown, paused: number, calls: readonly PausedCall[], details: ThrownDetails, ...objects: unknown[]
): boolean {
  unsettled = undefined
  try {
    const start = performance.now() - (Number(hrtime.bigint()) - paused) / 1_000_000
    return doInternalWork(() => keepThrown(thrown, calls, details, objects), start)
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
  const copier = new ValueCopier(limits.time)
  const kept: CallValues[] = []
  let next = 0
  for (const [i, call] of calls.entries()) {
    const ofCall = objects.slice(next, next += call.scopes.length + 1)
    const place = sourcePlace(call)
    // An error of Hindsight, which it handles.
    if (i === 0 && isInternal(place.file)) return []
    if (!isAppFile(place.file) || copier.isOver) continue
    const names = namesAt(place)
    kept.push({ ...place, function: call.function, variables: variablesIn(call, ofCall, names, copier) })
    if (kept.length === MAX_CALLS) break
  }
  if (kept.length > 0) keepCalls(thrown, trace, kept)
  return kept
}

function sourcePlace ({ url, line, column }: PausedCall): Place {
  return originalPlace(url, line, column) ?? { file: toPath(url), line: line + 1, column: column + 1 }
}

/** The names in the line of a place, in the order of the source; of a line that continues others, theirs too. */
function namesAt ({ file, line }: Place): readonly string[] {
  const { start = 0, lines = [] } = excerptAt(file, line, MAX_LINES, 0) ?? {}
  const shown = lines.slice(0, line - start + 1)
  let first = shown.length - 1
  while (first > 0 && CONTINUES.test(shown[first] ?? '')) first--
  const code = shown.slice(Math.max(0, first)).join('\n')
  return cachedNames(code, () => namesIn(code))
}

function namesIn (code: string): string[] {
  const names = new Set<string>()
  let before = ''
  for (const { type, value } of jsTokens(code)) {
    if (/^(?:WhiteSpace|LineTerminator|\w*Comment)/.test(type)) continue
    if (type === 'IdentifierName' && before !== '.' && before !== '?.') names.add(value)
    before = value
  }
  return [...names]
}

/** The variables of a call: those that its line names, and then others of the function, the innermost first. */
function variablesIn (
  call: PausedCall, [receiver, ...scopes]: readonly unknown[], names: readonly string[], copier: ValueCopier
): NamedValue[] {
  const found = new Map<string, unknown>()
  for (const [i, type] of call.scopes.entries()) {
    const scope = scopes[i] as object
    const isLocal = LOCAL.has(type)
    for (const name of isLocal ? Object.keys(scope) : names) {
      if (found.has(name)) continue
      const variable = readVariable(scope, name)
      if (variable === undefined) continue
      found.set(name, isShown(variable, isLocal, names.includes(name)) ? variable.value : ABSENT)
    }
  }
  found.set('this', receiver ?? ABSENT)
  const others = [...found.keys()].filter((name) => name !== 'this' && !names.includes(name))
  const variables: NamedValue[] = []
  for (const name of [...names, ...others]) {
    const value = found.has(name) ? found.get(name) : ABSENT
    if (variables.length === MAX_VARIABLES || copier.isOver) break
    if (value !== ABSENT) variables.push({ name, value: value === undefined ? UNDEFINED : copier.copy(value) })
  }
  return variables
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

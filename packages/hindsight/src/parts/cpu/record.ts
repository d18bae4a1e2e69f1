import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import { formatNumber } from '../../view/text.js'

/** The request header that starts a CPU profile, with the value 1. The query parameter `_cpu` does the same. */
export const CPU_HEADER = 'x-hindsight-cpu'

/** The owners of code, as the legend shows them. */
export const CODE_KINDS = {
  own: 'your code',
  dependency: 'dependencies',
  hindsight: 'Hindsight',
  node: 'Node.js',
  engine: 'V8 or native code'
} as const

export type CodeKind = keyof typeof CODE_KINDS

export interface CpuFunction {
  name: string
  /** Relative to the working directory if it is below it; empty: no file. */
  file: string
  /** From 1; 0: unknown. */
  line: number
  column: number
  kind: CodeKind
  /** Of the application: its line that took longest, calls of native code included, and the microseconds. */
  hot?: [line: number, time: number]
}

/** The indexes of the function and of the caller (of the root: -1), and the time in itself. */
export type StoredCall = [called: number, caller: number, self: number]

/** The CPU profile of the process while one request was handled. Times are microseconds unless noted. */
export interface CpuRecord {
  /** Between two samples. */
  interval: number
  /** Milliseconds of the recording. */
  duration: number
  samples: number
  functions: CpuFunction[]
  /** The call tree, a caller before its calls. */
  calls: StoredCall[]
}

/** Returns stored data if they have the form of a record; otherwise null. */
export function readCpuRecord (data: unknown): CpuRecord | null {
  const { functions, calls } = (data ?? {}) as Partial<CpuRecord>
  if (!Array.isArray(functions) || !Array.isArray(calls) || calls.length === 0) return null
  const isTree = calls.every((call, i) => Array.isArray(call) && functions[call[0]] !== undefined && call[1] < i)
  return isTree ? data as CpuRecord : null
}

/** The reason that is stored in place of a record, if the request could not be recorded. */
export function cpuRefusal (data: unknown): string | undefined {
  const { refused } = (data ?? {}) as { refused?: unknown }
  return typeof refused === 'string' ? refused : undefined
}

/** One call of the tree. Times are microseconds. */
export interface Call {
  /** The position in the record; 0: the root. */
  index: number
  function: CpuFunction
  self: number
  /** With the calls that it made. */
  total: number
  caller?: Call | undefined
  /** The calls that it made, the longest first. */
  callees: Call[]
}

/** The times of one function. Recursive calls count once in the total. */
export type FunctionTime = Pick<Call, 'function' | 'self' | 'total'>

/**
 * What is derived from the calls of a record: they are in its order, the root first; the heaviest functions are those
 * with the longest time in themselves.
 */
export function callTreeOf ({ functions, calls: stored }: CpuRecord) {
  const calls = stored.map(([called, , self], index): Call =>
    ({ index, function: functions[called] as CpuFunction, self, total: self, callees: [] }))
  // From the leaves to the root, so that a total is complete when it is added to that of the caller.
  for (const call of calls.toReversed()) {
    call.caller = calls[stored[call.index]?.[1] ?? -1]
    call.caller?.callees.push(call)
    if (call.caller !== undefined) call.caller.total += call.total
  }
  const times = new Map<CpuFunction, FunctionTime>()
  for (const call of calls) {
    call.callees.sort((a, b) => b.total - a.total || a.index - b.index)
    const time = times.get(call.function) ?? { function: call.function, self: 0, total: 0 }
    times.set(call.function, time)
    time.self += call.self
    if (!isRecursive(call)) time.total += call.total
  }
  const heaviest = [...times.values()].filter((time) => time.self > 0 && !isIdle(time))
    .sort((a, b) => b.self - a.self || b.total - a.total)
  const idle = calls.filter(isIdle).reduce((sum, call) => sum + call.self, 0)
  const [root] = calls as [Call]
  return { root, calls, idle, busy: root.total - idle, heaviest }
}

/** The place of a function, `file:line`. */
export function functionSource ({ file, line }: Pick<CpuFunction, 'file' | 'line'>): string {
  return line === 0 ? file : `${file}:${line}`
}

/** The line of a function that took longest, if that is known; else where it begins. */
export function hotSource ({ file, line, hot: [hot] = [line, 0] }: CpuFunction): string {
  return functionSource({ file, line: hot })
}

/** The name of a function; of one without a name its place. */
export function functionName (called: CpuFunction): string {
  if (called.name === '(anonymous)' && called.file !== '') return functionSource(called)
  return called.name
}

/**
 * The function of the application that ran for more than half of the time, with what it called, but for Hindsight.
 * Null: there is none.
 */
export function busiestPlace (value: unknown): string | null {
  const record = readCpuRecord(value)
  if (record === null) return null
  const times = new Map<CpuFunction, number>()
  let whole = 0
  for (const call of callTreeOf(record).calls) {
    if (isIdle(call) || call.function.kind === 'hindsight') continue
    whole += call.self
    let caller: Call | undefined = call
    while (caller !== undefined && caller.function.kind !== 'own') caller = caller.caller
    if (caller !== undefined) times.set(caller.function, (times.get(caller.function) ?? 0) + call.self)
  }
  const [busiest] = [...times].sort(([, a], [, b]) => b - a)
  if (busiest === undefined || busiest[1] <= whole / 2) return null
  const [{ hot: [, time] = [0, 0], ...called }, all] = busiest
  // Else its calls took longer than that line.
  const place = time > all / 2 ? hotSource(busiest[0]) : functionSource(called)
  return `${called.name} (${place})`
}

function isRecursive (call: Call): boolean {
  for (let one = call.caller; one !== undefined; one = one.caller) if (one.function === call.function) return true
  return false
}

/** Whether the processor had nothing to do: V8 has a function for that. */
export function isIdle ({ function: { name, kind } }: Pick<Call, 'function'>): boolean {
  return kind === 'engine' && name === '(idle)'
}

/** A share of the whole in percent. */
export function percentOf (part: number, whole: number): string {
  const share = whole <= 0 ? 0 : part / whole
  return `${formatNumber(share * 100, Number(share < 0.1))} %`
}

/**
 * The record as a .cpuprofile file (Chrome DevTools Protocol, Profiler.Profile). The order in time is not stored: each
 * call has one sample, callers before the calls that they made.
 */
export function cpuProfileOf (record: CpuRecord): object {
  const { root, calls } = callTreeOf(record)
  return {
    nodes: calls.map(({ index, function: { name, file, line, column }, self, callees }) => ({
      id: index + 1,
      callFrame: {
        functionName: name === '(anonymous)' ? '' : name,
        scriptId: String(record.calls[index]?.[0]),
        url: isAbsolute(file) ? pathToFileURL(file).href : file,
        lineNumber: line - 1,
        columnNumber: column - 1
      },
      hitCount: Math.round(self / Math.max(1, record.interval)),
      children: callees.map((callee) => callee.index + 1)
    })),
    startTime: 0,
    endTime: root.total,
    samples: calls.map(({ index }) => index + 1),
    // Each delta is the time since the previous sample.
    timeDeltas: [0, ...calls.map(({ self }) => self)].slice(0, calls.length)
  }
}

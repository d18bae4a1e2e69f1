import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The request header that starts a CPU profile, with the value 1. */
export const CPU_HEADER = 'x-hindsight-cpu'
/** The query parameter that does the same. */
export const CPU_PARAMETER = '_cpu'

/** The owners of code, as the legend shows them. */
export const CODE_KINDS = {
  own: 'your code',
  dependency: 'dependencies',
  hindsight: 'Hindsight',
  node: 'Node.js',
  engine: 'V8'
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
}

/** The CPU profile of the process while one request was handled. Times are microseconds unless noted. */
export interface CpuRecord {
  /** Between two samples. */
  interval: number
  /** Milliseconds that the start of the recorder took. */
  startup: number
  /** Milliseconds of the recording. */
  duration: number
  samples: number
  /** The number of other requests of the process during the recording. */
  others: number
  /** Why the recording ended: the response, a closed connection, or its time limit. */
  end: 'response' | 'gone' | 'time'
  /** Calls with a shorter total are merged into "(left out)", to limit the size. */
  leftOut?: number
  functions: CpuFunction[]
  /** The call tree in columns of equal length; a parent precedes its calls, and the parent of the first is -1. */
  calls: { function: number[], parent: number[], self: number[] }
}

/** Stored in place of a record if the request could not be recorded. */
export interface CpuRefusal {
  refused: string
}

/** The name of V8's function for an idle processor. */
const IDLE = '(idle)'
const MAX_ENTRIES = 30_000

/** Returns stored data if they have the form of a record; otherwise null. */
export function readCpuRecord (data: unknown): CpuRecord | null {
  const { functions, calls } = (data ?? {}) as Partial<CpuRecord>
  const { function: called, parent, self } = calls ?? {}
  const isRecord = isList(functions, isFunction) && isList(self, isCount) && self.length > 0 &&
    isList(called, (index) => isCount(index) && index < functions.length) && called.length === self.length &&
    isList(parent, (above, i) => i === 0 ? above === -1 : isCount(above) && above < i) && parent.length === self.length
  return isRecord ? data as CpuRecord : null
}

/** The reason why there is no record, if one is stored. */
export function refusalOf (data: unknown): string | undefined {
  const { refused } = (data ?? {}) as Partial<CpuRefusal>
  return typeof refused === 'string' ? refused : undefined
}

function isFunction (value: CpuFunction | null): boolean {
  return value !== null && typeof value.name === 'string' && typeof value.file === 'string' && isCount(value.line) &&
    isCount(value.column) && Object.hasOwn(CODE_KINDS, String(value.kind))
}

function isList<T> (values: T[] | undefined, isItem: (value: T, index: number) => boolean): values is T[] {
  return Array.isArray(values) && values.length <= MAX_ENTRIES && values.every(isItem)
}

function isCount (value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** One call of the tree. Times are microseconds. */
export interface Call {
  /** The position in the columns of the record; 0: the root. */
  index: number
  function: CpuFunction
  self: number
  /** With the calls that it made. */
  total: number
  caller?: Call
  /** The calls that it made, the longest first. */
  callees: Call[]
}

/** The times of one function in microseconds. */
export interface FunctionTime {
  function: CpuFunction
  self: number
  /** With the calls that it made; recursive calls count once. */
  total: number
}

/** A record with what is derived from its columns. */
export interface CallTree {
  /** In the order of the columns. */
  calls: [root: Call, ...others: Call[]]
  idle: number
  busy: number
  /** The functions by the time in themselves, the longest first, without idle time. */
  heaviest: FunctionTime[]
}

export function callTreeOf ({ functions, calls: { function: called, parent, self } }: CpuRecord): CallTree {
  const calls = called.map((one, index): Call => {
    const own = self[index] as number
    return { index, function: functions[one] as CpuFunction, self: own, total: own, callees: [] }
  })
  // From the leaves to the root, so that a total is complete when it is added to that of the caller.
  for (const call of calls.toReversed()) {
    const caller = calls[parent[call.index] as number]
    if (caller === undefined) continue
    call.caller = caller
    caller.callees.push(call)
    caller.total += call.total
  }
  const times = new Map<CpuFunction, FunctionTime>()
  for (const call of calls) {
    call.callees.sort((a, b) => b.total - a.total || a.index - b.index)
    const time = times.get(call.function) ?? { function: call.function, self: 0, total: 0 }
    times.set(call.function, time)
    time.self += call.self
    if (!callersOf(call).some((caller) => caller.function === call.function)) time.total += call.total
  }
  const heaviest = [...times.values()].filter((time) => time.self > 0 && !isIdle(time))
    .sort((a, b) => b.self - a.self || b.total - a.total)
  const idle = calls.filter(isIdle).reduce((sum, call) => sum + call.self, 0)
  return { calls: calls as CallTree['calls'], idle, busy: (calls[0]?.total ?? 0) - idle, heaviest }
}

/** The callers of a call, from the root on. */
export function callersOf ({ caller }: Call): Call[] {
  const callers: Call[] = []
  for (let one = caller; one !== undefined; one = one.caller) callers.push(one)
  return callers.reverse()
}

/** Whether the processor had nothing to do. */
export function isIdle ({ function: { name, kind } }: Pick<Call, 'function'>): boolean {
  return kind === 'engine' && name === IDLE
}

/** A share of the whole in percent. */
export function percent (part: number, whole: number): string {
  const share = whole <= 0 ? 0 : part / whole
  return `${(share * 100).toLocaleString('en', { maximumFractionDigits: share < 0.1 ? 1 : 0 })} %`
}

/**
 * The record as a .cpuprofile file (Chrome DevTools Protocol, Profiler.Profile). The order in time is not stored: each
 * call has one sample, callers before the calls that they made.
 */
export function cpuProfileOf (record: CpuRecord): object {
  const { calls } = callTreeOf(record)
  const sampled = calls.filter(({ self }) => self > 0)
  return {
    nodes: calls.map(({ index, function: called, self, callees }) => ({
      id: index + 1,
      callFrame: callFrameOf(called, record.calls.function[index] as number),
      hitCount: Math.round(self / Math.max(1, record.interval)),
      children: callees.map((callee) => callee.index + 1)
    })),
    startTime: 0,
    endTime: calls[0].total,
    samples: sampled.map(({ index }) => index + 1),
    // Each delta is the time since the previous sample.
    timeDeltas: [0, ...sampled.map(({ self }) => self)].slice(0, sampled.length)
  }
}

function callFrameOf ({ name, file, line, column }: CpuFunction, index: number): object {
  return {
    functionName: name === '(anonymous)' ? '' : name,
    scriptId: String(index),
    url: isAbsolute(file) ? pathToFileURL(file).href : file,
    lineNumber: line - 1,
    columnNumber: column - 1
  }
}

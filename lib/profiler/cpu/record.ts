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
  if (!Array.isArray(functions) || functions.length > MAX_ENTRIES || !functions.every(isFunction)) return null
  const { function: called, parent, self } = calls ?? {}
  const isTree = isColumn(called, functions.length - 1) && called.length > 0 &&
    isColumn(self, Infinity, called.length) && Array.isArray(parent) && parent.length === called.length &&
    parent.every((above, i) => i === 0 ? above === -1 : isCount(above) && above < i)
  return isTree ? data as CpuRecord : null
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

function isColumn (values: unknown, max: number, length?: number): values is number[] {
  return Array.isArray(values) && values.length <= MAX_ENTRIES && values.length === (length ?? values.length) &&
    values.every((value) => isCount(value) && value <= max)
}

function isCount (value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** The times of one function in microseconds. */
export interface FunctionTime {
  function: CpuFunction
  self: number
  /** With the calls that it made; recursive calls count once. */
  total: number
}

/** A record with what is derived from its columns. Calls are indexes. */
export interface CallTree {
  functionOf: (call: number) => CpuFunction
  isIdle: (call: number) => boolean
  /** From the root to the caller. */
  callersOf: (call: number) => number[]
  /** The time of each call with the calls that it made. */
  totals: readonly number[]
  /** The calls that each call made, the longest first. */
  children: ReadonlyArray<readonly number[]>
  idle: number
  busy: number
  /** The functions by the time in themselves, the longest first, without idle time. */
  heaviest: FunctionTime[]
}

export function callTreeOf ({ functions, calls }: CpuRecord): CallTree {
  const functionOf = (call: number): CpuFunction => functions[calls.function[call] as number] as CpuFunction
  const isIdle = (call: number): boolean => isIdleFunction(functionOf(call))
  const callersOf = (call: number): number[] => {
    const callers: number[] = []
    for (let at = calls.parent[call] as number; at !== -1; at = calls.parent[at] as number) callers.push(at)
    return callers.reverse()
  }
  const totals = [...calls.self]
  const children = totals.map((): number[] => [])
  for (let i = totals.length - 1; i > 0; i--) {
    const parent = calls.parent[i] as number
    totals[parent] = (totals[parent] as number) + (totals[i] as number)
    children[parent]?.push(i)
  }
  for (const list of children) list.sort((a, b) => (totals[b] as number) - (totals[a] as number) || a - b)
  const times = functions.map((one): FunctionTime => ({ function: one, self: 0, total: 0 }))
  for (const [call, index] of calls.function.entries()) {
    const time = times[index] as FunctionTime
    time.self += calls.self[call] as number
    if (!callersOf(call).some((caller) => calls.function[caller] === index)) time.total += totals[call] as number
  }
  const heaviest = times.filter((time) => time.self > 0 && !isIdleFunction(time.function))
    .sort((a, b) => b.self - a.self || b.total - a.total)
  const idle = calls.self.reduce((sum, self, i) => isIdle(i) ? sum + self : sum, 0)
  return { functionOf, isIdle, callersOf, totals, children, idle, busy: (totals[0] as number) - idle, heaviest }
}

function isIdleFunction ({ name, kind }: CpuFunction): boolean {
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
  const { functions, calls, interval } = record
  const { children, totals } = callTreeOf(record)
  const order: number[] = []
  const stack = [0]
  for (let call = stack.pop(); call !== undefined; call = stack.pop()) {
    if (calls.self[call] !== 0) order.push(call)
    stack.push(...(children[call] as number[]).toReversed())
  }
  return {
    nodes: calls.function.map((index, i) => ({
      id: i + 1,
      callFrame: callFrameOf(functions[index] as CpuFunction, index),
      hitCount: Math.round((calls.self[i] as number) / Math.max(1, interval)),
      children: children[i]?.map((child) => child + 1)
    })),
    startTime: 0,
    endTime: totals[0],
    samples: order.map((call) => call + 1),
    // Each delta is the time since the previous sample.
    timeDeltas: order.map((_, i) => i === 0 ? 0 : calls.self[order[i - 1] as number])
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

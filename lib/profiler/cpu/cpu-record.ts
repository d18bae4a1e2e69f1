import { isObject, type Data } from '../panels/panel.js'

/** Whose code a function is; the legend names them in this order. */
export const CODE_KINDS = {
  own: 'your code',
  dependency: 'dependencies',
  hindsight: 'Hindsight',
  node: 'Node.js',
  engine: 'the engine'
} as const

export type CodeKind = keyof typeof CODE_KINDS

/** A function that was seen at work. */
export interface CpuFunction {
  name: string
  /** Relative to the working directory where it lies below it; empty where there is none. */
  file: string
  /** From 1; 0 where it is not known. */
  line: number
  column: number
  kind: CodeKind
}

/** What the processor did while one request was handled: a tree of calls and, bounded, when they were at work. Times are microseconds. */
export interface CpuRecord {
  /** From one sample to the next. */
  interval: number
  /** Milliseconds that starting the recorder took, ahead of what it recorded. */
  startup: number
  /** Milliseconds that were recorded. */
  duration: number
  samples: number
  /** How many other requests the process handled meanwhile. */
  others: number
  /** What ended it: the response, a client that had gone, or the time that it may take. */
  end: 'response' | 'gone' | 'time'
  /** Calls that took less in all stand together, as the profile would have been too large. */
  leftOut?: number
  /** The steps of the timeline, for the same reason. */
  step?: number
  functions: CpuFunction[]
  /** Columns of one length; the parent of a call stands before it, that of the first is -1. */
  calls: { function: number[], parent: number[], self: number[] }
  /** Columns too: what was at work, and for how long. */
  timeline: { call: number[], time: number[] }
}

/** In place of a record: why there is none. */
export interface CpuRefusal {
  refused: string
}

export const IDLE = '(idle)'
export const LEFT_OUT = '(left out)'
const MOST = 100_000

/** Reads what a store gave back: null where it is no record that can be shown. */
export function readCpuRecord (data: unknown): CpuRecord | null {
  if (!isObject(data) || !Array.isArray(data.functions) || !isObject(data.calls) || !isObject(data.timeline)) return null
  const { functions, calls, timeline } = data
  const known = functions.every((one) => isObject(one) && typeof one.name === 'string' && typeof one.file === 'string' && isCount(one.line) && isCount(one.column) && Object.hasOwn(CODE_KINDS, String(one.kind)))
  if (!known || functions.length > MOST || !areColumns(calls, ['function', 'parent', 'self']) || !areColumns(timeline, ['call', 'time'])) return null
  const record = data as unknown as CpuRecord
  const size = record.calls.function.length
  if (size === 0 || !record.calls.function.every((index) => index < functions.length) || !record.timeline.call.every((index) => index >= 0 && index < size)) return null
  return record.calls.parent.every((parent, i) => i === 0 ? parent === -1 : parent >= 0 && parent < i) ? record : null
}

/** Why there is no record, where the recorder says so. */
export function refusalOf (data: unknown): string | undefined {
  return isObject(data) && typeof data.refused === 'string' ? data.refused : undefined
}

function areColumns (data: Data, names: readonly string[]): boolean {
  const columns = names.map((name) => data[name])
  const length = Array.isArray(columns[0]) ? columns[0].length : -1
  return length <= MOST && columns.every((column, i) => Array.isArray(column) && column.length === length && column.every((value) => isCount(value) || (names[i] === 'parent' && value === -1)))
}

function isCount (value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

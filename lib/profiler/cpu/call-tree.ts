import { totalsOf } from './aggregate.js'
import { IDLE, type CpuFunction, type CpuRecord } from './cpu-record.js'

/** What one function took, in microseconds. */
export interface FunctionTime {
  index: number
  function: CpuFunction
  /** In itself. */
  self: number
  /** With what it called; a function that calls itself is counted once. */
  total: number
}

/** A record as a tree that can be walked. */
export class CallTree {
  readonly record: CpuRecord
  /** What each call took with all that it called. */
  readonly totals: readonly number[]
  readonly children: ReadonlyArray<readonly number[]>
  /** Microseconds in which the processor waited for something to do. */
  readonly idle: number

  constructor (record: CpuRecord) {
    this.record = record
    const { calls } = record
    this.totals = totalsOf(calls)
    const children = calls.parent.map((): number[] => [])
    calls.parent.forEach((parent, i) => { if (parent !== -1) children[parent]?.push(i) })
    for (const list of children) list.sort((a, b) => this.total(b) - this.total(a))
    this.children = children
    this.idle = calls.self.reduce((sum, self, i) => this.isIdle(i) ? sum + self : sum, 0)
  }

  /** Microseconds in which it had something to do. */
  get busy (): number {
    return this.total(0) - this.idle
  }

  total (call: number): number {
    return this.totals[call] ?? 0
  }

  functionOf (call: number): CpuFunction {
    return this.record.functions[this.record.calls.function[call] ?? -1] ?? { name: '', file: '', line: 0, column: 0, kind: 'engine' }
  }

  isIdle (call: number): boolean {
    const { name, kind } = this.functionOf(call)
    return kind === 'engine' && name === IDLE
  }

  /** From the root to the call, without itself. */
  ancestors (call: number): number[] {
    const { parent } = this.record.calls
    const above: number[] = []
    for (let at = parent[call] ?? -1; at !== -1; at = parent[at] ?? -1) above.unshift(at)
    return above
  }

  /** The functions that took the most in themselves; what waited is not among them. */
  heaviest (most: number): FunctionTime[] {
    const { functions, calls } = this.record
    const times = functions.map((one, index): FunctionTime => ({ index, function: one, self: 0, total: 0 }))
    const open = new Int32Array(functions.length)
    // Below zero stands where a call ends.
    const waiting = [0]
    while (waiting.length > 0) {
      const next = waiting.pop() as number
      const call = next < 0 ? ~next : next
      const index = calls.function[call] as number
      const level = open[index] as number
      open[index] = next < 0 ? level - 1 : level + 1
      if (next < 0) continue
      const time = times[index] as FunctionTime
      time.self += calls.self[call] as number
      if (level === 0) time.total += this.total(call)
      waiting.push(~call, ...this.children[call] as number[])
    }
    return times.filter(({ self, function: { name, kind } }) => self > 0 && !(kind === 'engine' && name === IDLE))
      .sort((a, b) => b.self - a.self || b.total - a.total).slice(0, most)
  }
}

import { performance as thread, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks'
import { performance } from '../clock.js'

/** Milliseconds on the clock of `performance.now()`. */
export interface Interval { start: number, end: number }

/** Work of Hindsight; `rate`: the share of its time in which the thread had the CPU, as far as it is known. */
export interface InternalWork extends Interval { rate?: number }

/** A time with the idle time of the event loop and the CPU time until then, in milliseconds. */
export interface Sample { at: number, idle: number, cpu: number }

/** A call of the application: `source` is its `file:line:column`. */
export interface BlockedCall { function: string, source: string }

/** Milliseconds of CPU time in it; `calls`: the innermost calls of the application at one time of it. */
export interface Block extends Interval { cpu: number, calls?: BlockedCall[] }

/** A pause of V8, which describes its stack before any code of Hindsight runs. */
export interface Pause {
  /** When the thread was notified, on the clock of `hrtime.bigint()`. */
  at: number
  /** How many calls the stack has. */
  calls: number
  /** Whether no other code has run since the pause before it. */
  isNext: boolean
}

/** Milliseconds of CPU time without a pause from which the event loop counts as blocked. */
const MIN_BLOCK = 50
/** Milliseconds from which work of Hindsight is kept. */
const MIN_WORK = 1
const CHECK_INTERVAL = 10
/** Milliseconds of CPU time in which V8 describes a call, at most: other threads may work meanwhile. */
const MAX_CALL_TIME = 0.3
/** Of the process. */
const MAX_INTERVALS = 200

// Tests of an application may replace them.
const { setInterval, clearInterval } = globalThis
const { hrtime } = process

/** Shared with the thread that asks which call blocks: the turns of the event loop, and whether requests are open. */
export const heartbeat = new Int32Array(new SharedArrayBuffer(8))
const TURNS = 0
const OPEN = 1

let begun = 0
let open = 0
let timer: NodeJS.Timeout | undefined
let observer: PerformanceObserver | undefined
let checked: Sample = { at: 0, idle: 0, cpu: 0 }
const blocks: Block[] = []
const blockedCalls: Array<Interval & { calls: BlockedCall[] }> = []
const collections: Interval[] = []
/** Long work of Hindsight: its first page loads modules, and the first profile lists the scripts of the process. */
const internalWork: InternalWork[] = []
/** Milliseconds of CPU time in which V8 describes a call: measured at each pause that directly follows another one. */
let callTime = 0.15
/** The CPU time at the end of the last pause. */
let pausedCpu = 0

// Node.js 20 has the CPU time of the process only, with its other threads: so JavaScript may be overstated there.
const { threadCpuUsage = process.cpuUsage } = process as { threadCpuUsage?: typeof process.cpuUsage }
const cpuUsage = threadCpuUsage.bind(process)

export function takeSample (at = performance.now()): Sample {
  return { at, idle: thread.nodeTiming.idleTime, cpu: cpuTime() }
}

/** Milliseconds of CPU time that the thread has had, or in Node.js 20 the process. */
export function cpuTime (): number {
  const { user, system } = cpuUsage()
  return (user + system) / 1000
}

/**
 * Observes blocks of the event loop and garbage collections while at least one request is open. `isShared`: whether
 * other work was open meanwhile; `end`: to be called once for this request.
 */
export function watchLoop (): { isShared: () => boolean, end: () => void } {
  const isAlone = open++ === 0
  const position = ++begun
  checkLoop()
  if (timer === undefined) {
    checked = takeSample()
    timer = setInterval(checkLoop, CHECK_INTERVAL).unref()
    observer ??= observeCollections()
    setOpen(1)
  }
  return {
    isShared: () => !isAlone || begun !== position,
    end () {
      checkLoop()
      if (--open > 0) return
      clearInterval(timer)
      timer = undefined
      setOpen(0)
    }
  }
}

/** The blocks of a time: no timer ran, and the thread had the CPU. What Hindsight did is no block. */
export function blocksIn (time: Interval): Block[] {
  return within(blocks, time).map((block) => {
    const work = internalWorkIn(block)
    const internal = work.reduce((sum, { start, end }) => sum + end - start, 0)
    const used = work.reduce((sum, { start, end, rate = 1 }) => sum + (end - start) * rate, 0)
    const cpu = Math.min(block.cpu - used, block.end - block.start - internal)
    const { calls } = within(blockedCalls, block).at(-1) ?? {}
    return { ...block, cpu, ...calls && { calls } }
  }).filter(({ cpu }) => cpu >= MIN_BLOCK)
}

/** Adds the calls that block the event loop now. */
export function addBlockedCalls (calls: BlockedCall[]): void {
  const now = performance.now()
  add(blockedCalls, { start: now, end: now + 1, calls })
}

function setOpen (isOpen: 0 | 1): void {
  Atomics.store(heartbeat, OPEN, isOpen)
  if (isOpen === 1) Atomics.notify(heartbeat, OPEN)
}

/** The long work of Hindsight in a time. */
export function internalWorkIn (time: Interval): InternalWork[] {
  return within(internalWork, time)
}

/** Does work of Hindsight, which is no block of the event loop by a request, and not its JavaScript. */
export function doInternalWork<T> (work: () => T): T {
  const position = internalWork.length
  const { at: start, cpu } = takeSample()
  try {
    return work()
  } finally {
    const end = performance.now()
    if (end - start >= MIN_WORK) {
      const rate = Math.min(1, (takeSample(end).cpu - cpu) / (end - start))
      // What it consists of is not counted twice.
      const within = internalWork.slice(position).findIndex((one) => one.start >= start)
      if (within >= 0) internalWork.length = position + within
      add(internalWork, { start, end, rate })
    }
  }
}

/** The same for work in a pause, of which V8's time is a part. */
export function doPauseWork<T> (work: () => T, { at, calls, isNext }: Pause): T {
  const before = takeSample()
  if (isNext) callTime = Math.min(MAX_CALL_TIME, (before.cpu - pausedCpu) / calls)
  const described = calls * callTime
  const start = before.at - described - (Number(hrtime.bigint()) - at) / 1_000_000
  try {
    return work()
  } finally {
    const after = takeSample()
    pausedCpu = after.cpu
    const rate = Math.min(1, (after.cpu - before.cpu + described) / (after.at - start))
    add(internalWork, { start, end: after.at, rate })
  }
}

/** Makes the CPU time until the returned function is called that of Hindsight: V8 works for it meanwhile. */
export function beginThreadWork (): () => void {
  const before = cpuTime()
  return () => {
    const { at, cpu } = takeSample()
    add(internalWork, { start: at - (cpu - before), end: at, rate: 1 })
  }
}

/** The same for work that waits for nothing but itself. */
export async function trackInternalWork<T> (work: () => Promise<T>): Promise<T> {
  const start = performance.now()
  try {
    return await work()
  } finally {
    add(internalWork, { start, end: performance.now() })
  }
}

/** Garbage collections of a time. They are known a turn of the event loop later, and published after another one. */
export function collectionsIn (time: Interval): Interval[] {
  addCollections(observer?.takeRecords() ?? [])
  return within(collections, time)
}

function within<T extends Interval> (intervals: readonly T[], time: Interval): T[] {
  // They are in the order of their ends: most have ended before the request.
  return intervals.slice(intervals.findLastIndex(({ end }) => end <= time.start) + 1)
    .filter(({ start }) => start < time.end)
    .map((one) => ({ ...one, start: Math.max(one.start, time.start), end: Math.min(one.end, time.end) }))
}

/** Ends a block, and begins another one: the CPU time before a request begins is not its own. */
export function checkLoop (): void {
  Atomics.add(heartbeat, TURNS, 1)
  if (timer === undefined) return
  const now = takeSample()
  const block = blockBetween(checked, now)
  if (block !== null) add(blocks, block)
  checked = now
}

/** The block between two samples that follow each other; null: there is none. */
export function blockBetween (before: Sample, after: Sample): Block | null {
  const busy = after.at - before.at - (after.idle - before.idle)
  const cpu = Math.min(busy, after.cpu - before.cpu)
  if (cpu < MIN_BLOCK) return null
  return { start: after.at - busy, end: after.at, cpu }
}

function observeCollections (): PerformanceObserver {
  const observer = new PerformanceObserver((list) => addCollections(list.getEntries()))
  observer.observe({ entryTypes: ['gc'] })
  return observer
}

function addCollections (entries: readonly PerformanceEntry[]): void {
  for (const { startTime, duration } of entries) add(collections, { start: startTime, end: startTime + duration })
}

function add<T extends Interval> (intervals: T[], interval: T): void {
  if (intervals.push(interval) > MAX_INTERVALS) intervals.shift()
}

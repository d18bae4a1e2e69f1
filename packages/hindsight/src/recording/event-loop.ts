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

/**
 * Milliseconds of CPU time in it; `internal`: milliseconds in which Hindsight worked; `calls`: the innermost calls of
 * the application at one time of it.
 */
export interface Block extends Interval { cpu: number, internal: number, calls?: BlockedCall[] }

/** Milliseconds of CPU time without a pause from which the event loop counts as blocked. */
const MIN_BLOCK = 50
/** Milliseconds from which work of Hindsight is kept. */
const MIN_WORK = 1
const CHECK_INTERVAL = 10
/** Of the process. */
const MAX_INTERVALS = 200

const { setInterval, clearInterval } = globalThis

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
 * Observes blocks of the event loop and garbage collections while at least one request is open. The returned function
 * ends it for this request, and returns whether other requests were open meanwhile.
 */
export function watchLoop (): () => boolean {
  const isAlone = open++ === 0
  const position = ++begun
  checkLoop()
  if (timer === undefined) {
    checked = takeSample()
    timer = setInterval(checkLoop, CHECK_INTERVAL).unref()
    observer ??= observeCollections()
    setOpen(1)
  }
  return () => {
    checkLoop()
    if (--open === 0) {
      clearInterval(timer)
      timer = undefined
      setOpen(0)
    }
    return !isAlone || begun !== position
  }
}

/** The blocks of a time: no timer ran, and the thread had the CPU. What Hindsight did is no block. */
export function blocksIn (time: Interval): Block[] {
  return within(blocks, time).map((block) => {
    const internal = internalWorkIn(block).reduce((sum, { start, end }) => sum + end - start, 0)
    const [{ calls } = {}] = within(blockedCalls, block)
    const cpu = Math.min(block.cpu, block.end - block.start - internal)
    return { ...block, internal, cpu, ...calls !== undefined && { calls } }
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
export function doInternalWork<T> (work: () => T, start = performance.now()): T {
  const position = internalWork.length
  const { cpu } = takeSample(start)
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

/** The same for work that waits for nothing but itself. */
export async function trackInternalWork (work: () => Promise<unknown>): Promise<void> {
  const start = performance.now()
  await work()
  add(internalWork, { start, end: performance.now() })
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
  return { start: after.at - busy, end: after.at, cpu, internal: 0 }
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

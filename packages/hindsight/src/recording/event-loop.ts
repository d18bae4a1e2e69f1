import { performance as thread, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks'
import { performance } from '../clock.js'

/** Milliseconds on the clock of `performance.now()`. */
export interface Interval { start: number, end: number }

/** Milliseconds without a pause from which the event loop counts as blocked. */
const MIN_BLOCK = 50
/** Milliseconds of work of Hindsight from which blocks are without it. */
const MIN_WORK = 5
const CHECK_INTERVAL = 10
/** Of the process. */
const MAX_INTERVALS = 200

const { setInterval, clearInterval } = globalThis

let begun = 0
let open = 0
let timer: NodeJS.Timeout | undefined
let observer: PerformanceObserver | undefined
let checked = { at: 0, idle: 0 }
const blocks: Interval[] = []
const collections: Interval[] = []
/** Long work of Hindsight: its first page loads modules, and the first profile lists the scripts of the process. */
const internalWork: Interval[] = []

/** Milliseconds for which the event loop of this thread had nothing to do, since the process began. */
export function idleTime (): number {
  return thread.nodeTiming.idleTime
}

/**
 * Observes blocks of the event loop and garbage collections while at least one request is open. The returned function
 * ends it for this request, and returns whether other requests were open meanwhile.
 */
export function watchLoop (): () => boolean {
  const isAlone = open++ === 0
  const position = ++begun
  if (timer === undefined) {
    checked = { at: performance.now(), idle: idleTime() }
    timer = setInterval(check, CHECK_INTERVAL).unref()
    observer ??= observeCollections()
  }
  return () => {
    check()
    if (--open === 0) {
      clearInterval(timer)
      timer = undefined
    }
    return !isAlone || begun !== position
  }
}

/** The parts of a time in which the event loop was blocked: no timer ran. `internal`: milliseconds of Hindsight. */
export function blocksIn (time: Interval): Array<Interval & { internal: number }> {
  return within(blocks, time)
    .map((block) => ({
      ...block, internal: within(internalWork, block).reduce((sum, { start, end }) => sum + end - start, 0)
    }))
    .filter(({ start, end, internal }) => end - start - internal >= MIN_BLOCK)
}

/** Does work of Hindsight, which is no block of the event loop by a request. */
export function doInternalWork<T> (work: () => T): T {
  const start = performance.now()
  try {
    return work()
  } finally {
    const end = performance.now()
    if (end - start >= MIN_WORK) add(internalWork, { start, end })
  }
}

/** Garbage collections of a time. They are known a turn of the event loop later, and published after another one. */
export function collectionsIn (time: Interval): Interval[] {
  addCollections(observer?.takeRecords() ?? [])
  return within(collections, time)
}

function within (intervals: readonly Interval[], time: Interval): Interval[] {
  // They are in the order of their ends: most have ended before the request.
  return intervals.slice(intervals.findLastIndex(({ end }) => end <= time.start) + 1)
    .filter(({ start }) => start < time.end)
    .map(({ start, end }) => ({ start: Math.max(start, time.start), end: Math.min(end, time.end) }))
}

function check (): void {
  const now = { at: performance.now(), idle: idleTime() }
  const busy = now.at - checked.at - (now.idle - checked.idle)
  if (busy >= MIN_BLOCK) add(blocks, { start: now.at - busy, end: now.at })
  checked = now
}

function observeCollections (): PerformanceObserver {
  const observer = new PerformanceObserver((list) => addCollections(list.getEntries()))
  observer.observe({ entryTypes: ['gc'] })
  return observer
}

function addCollections (entries: readonly PerformanceEntry[]): void {
  for (const { startTime, duration } of entries) add(collections, { start: startTime, end: startTime + duration })
}

function add (intervals: Interval[], interval: Interval): void {
  if (intervals.push(interval) > MAX_INTERVALS) intervals.shift()
}

import { performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'

/** What the process used while a request was handled: all of the process, other requests too. */
export interface ProcessUsage {
  /** Milliseconds of CPU time in user code. */
  cpuUser: number
  /** Milliseconds of CPU time in the kernel. */
  cpuSystem: number
  /** Bytes of the JavaScript heap in use when the request arrived. */
  heapBefore: number
  heapAfter: number
  /** The longest delay of a timer by the event loop, in milliseconds. */
  loopDelay: number
}

/** Measures the process from the arrival of a request to the end of its response. */
export class UsageMeter {
  readonly #startedAt: number
  readonly #cpu = process.cpuUsage()
  readonly #heap = getHeapStatistics().used_heap_size
  #usage: ProcessUsage | null = null

  /** `startedAt`: milliseconds on the clock of `performance.now()`. */
  constructor (startedAt: number) {
    this.#startedAt = startedAt
    watchLoop(startedAt)
  }

  /** The usage up to the first call. */
  stop (now: number): ProcessUsage {
    const { user, system } = process.cpuUsage(this.#cpu)
    return (this.#usage ??= {
      cpuUser: user / 1000,
      cpuSystem: system / 1000,
      heapBefore: this.#heap,
      heapAfter: getHeapStatistics().used_heap_size,
      loopDelay: Math.round(loopDelay(this.#startedAt, now) * 1000) / 1000
    })
  }
}

/** Milliseconds between the calls of the timer whose delay is measured. */
const INTERVAL = 20
/** The timer is stopped when no request has begun for so many milliseconds. */
const IDLE = 30_000
const MAX_DELAYS = 256

// One timer for the whole process, as there is one event loop.
let timer: NodeJS.Timeout | null = null
let due = 0
let lastRequest = 0
let delays: Array<{ at: number, delay: number }> = []

function watchLoop (now: number): void {
  lastRequest = now
  if (timer !== null) return
  due = now + INTERVAL
  timer = setInterval(tick, INTERVAL).unref()
}

function tick (): void {
  const now = performance.now()
  if (now - due > 1) delays = [...delays.slice(1 - MAX_DELAYS), { at: now, delay: now - due }]
  due = now + INTERVAL
  if (now - lastRequest < IDLE || timer === null) return
  clearInterval(timer)
  timer = null
}

function loopDelay (since: number, now: number): number {
  // The call of the timer that is due may be delayed at this moment.
  const current = timer === null ? 0 : now - due
  return Math.max(0, current, ...delays.filter(({ at }) => at >= since).map(({ delay }) => delay))
}

import { getHeapStatistics } from 'node:v8'
import { loopDelay, watchLoop } from './loop-delay.js'

/** What the process used while a request was handled: all of the process, other requests too. */
export interface ProcessUsage {
  /** Milliseconds of CPU time in user code. */
  cpuUser: number
  /** Milliseconds of CPU time in the kernel. */
  cpuSystem: number
  /** Bytes of the JavaScript heap in use when the request arrived. */
  heapBefore: number
  heapAfter: number
  /** The longest that the event loop kept its timers waiting, in milliseconds. */
  loopDelay: number
}

/** Takes the meters of the process when a request arrives. */
export class UsageMeter {
  readonly #startedAt: number
  readonly #cpu = process.cpuUsage()
  readonly #heap = getHeapStatistics().used_heap_size
  #usage: ProcessUsage | null = null

  constructor (startedAt: number) {
    this.#startedAt = startedAt
    watchLoop(startedAt)
  }

  /** Reads them again, once: when the response is over. */
  stop (now: number): ProcessUsage {
    if (this.#usage !== null) return this.#usage
    const { user, system } = process.cpuUsage(this.#cpu)
    this.#usage = {
      cpuUser: user / 1000,
      cpuSystem: system / 1000,
      heapBefore: this.#heap,
      heapAfter: getHeapStatistics().used_heap_size,
      loopDelay: Math.round(loopDelay(this.#startedAt, now) * 1000) / 1000
    }
    return this.#usage
  }
}

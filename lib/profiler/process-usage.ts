import { performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'

/** What the process used while a request was handled: all of the process, other requests too. */
export interface ProcessUsage {
  /** Bytes of the JavaScript heap in use when the request arrived. */
  heapBefore: number
  heapAfter: number
  /** The share of the time in which the event loop was busy, from 0 to 1. */
  loopUtilization: number
}

/** Measures the process from the arrival of a request to the end of its response. */
export class UsageMeter {
  readonly #loop = performance.eventLoopUtilization()
  readonly #heap = getHeapStatistics().used_heap_size
  #usage: ProcessUsage | null = null

  /** The usage up to the first call. */
  stop (): ProcessUsage {
    return (this.#usage ??= {
      heapBefore: this.#heap,
      heapAfter: getHeapStatistics().used_heap_size,
      loopUtilization: Math.round(performance.eventLoopUtilization(this.#loop).utilization * 1000) / 1000
    })
  }
}

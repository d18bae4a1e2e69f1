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

interface Reading {
  user: number
  system: number
  heap: number
}

/** So many readings a span are exact; where requests come faster they share the last one, for to read costs more than most of them. */
const EXACT = 2
/** Milliseconds. */
const SPAN = 10
let reading: Reading = { user: 0, system: 0, heap: 0 }
let spanStart = -Infinity
let readings = 0

function read (now: number): Reading {
  if (now - spanStart >= SPAN) {
    spanStart = now
    readings = 0
  }
  if (++readings > EXACT) return reading
  const { user, system } = process.cpuUsage()
  reading = { user, system, heap: getHeapStatistics().used_heap_size }
  return reading
}

/** Takes the meters of the process when a request arrives. */
export class UsageMeter {
  readonly #startedAt: number
  readonly #before: Reading
  #usage: ProcessUsage | null = null

  constructor (startedAt: number) {
    this.#startedAt = startedAt
    this.#before = read(startedAt)
    watchLoop(startedAt)
  }

  /** Reads them again, once: when the response is over. */
  stop (now: number): ProcessUsage {
    if (this.#usage !== null) return this.#usage
    const before = this.#before
    const { user, system, heap } = read(now)
    this.#usage = {
      cpuUser: (user - before.user) / 1000,
      cpuSystem: (system - before.system) / 1000,
      heapBefore: before.heap,
      heapAfter: heap,
      loopDelay: Math.round(loopDelay(this.#startedAt, now) * 1000) / 1000
    }
    return this.#usage
  }
}

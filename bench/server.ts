import { readFileSync } from 'node:fs'
import { PerformanceObserver } from 'node:perf_hooks'
import type { FastifyInstance } from 'fastify'

/** What the measuring process asks of a server: its figures, or its end. */
export type Question = 'usage' | 'waiting' | 'close'

/** What a server has used so far. */
export interface Usage {
  /** Microseconds of CPU time, user and system, of all threads. */
  cpu: number
  /** The same of the thread that answers requests; `NaN` where the system does not tell. */
  main: number
  /** Bytes. */
  resident: number
  /** Bytes of heap that are in use behind a collection; 0 where none could be forced. */
  heap: number
  /** Milliseconds in the garbage collector. */
  collecting: number
}

/** What profiles hold between their responses and their writes. */
export interface Held {
  /** Bytes of heap, each. */
  heap: number
  /** Bytes of buffers outside of it, each. */
  buffers: number
}

// One process, one server: what others load does not count.
const [, , name = '', options = '{}'] = process.argv
let collecting = 0
new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) collecting += duration }).observe({ entryTypes: ['gc'] })

const { variants } = await import(`./variants/${name.split(':', 1)[0] ?? ''}.ts`) as { variants: Record<string, (options: Record<string, number>) => Promise<FastifyInstance>> }
const make = variants[name]
if (make === undefined) throw new Error(`There is no variant "${name}"`)
const app = await make(JSON.parse(options) as Record<string, number>)
await app.listen({ host: '127.0.0.1', port: 0 })
const address = app.server.address()
process.send?.({ port: typeof address === 'object' ? address?.port : undefined })

process.on('message', (question: Question) => {
  if (question === 'close') app.close().then(() => process.exit(), () => process.exit(1))
  else (question === 'waiting' ? answerHeld() : answer()).catch((error: unknown) => process.send?.({ error: String(error) }))
})
process.on('disconnect', () => process.exit())

// What was put off belongs to the requests that it was put off by.
async function answer (): Promise<void> {
  if (app.hasDecorator('hindsight') && 'profiler' in app.hindsight) {
    await app.hindsight.profiler.flush()
    const { dropped, failed } = app.hindsight.profiler.counters
    // What was not done costs nothing.
    if (dropped + failed > 0) throw new Error(`${dropped + failed} profiles were not written`)
  }
  const { user, system } = process.cpuUsage()
  const resident = process.memoryUsage.rss()
  let heap = 0
  if (globalThis.gc !== undefined) {
    globalThis.gc()
    heap = process.memoryUsage().heapUsed
  }
  process.send?.({ cpu: user + system, main: mainThread(), resident, heap, collecting } satisfies Usage)
}

// Linux lists the threads of a process; the first one has its number. Nanoseconds on a processor.
function mainThread (): number {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1_000
  } catch {
    return NaN
  }
}

const WAITING = 50
const ROUNDS = 9

// Fewer than are written at once, and in less time than they wait.
async function answerHeld (): Promise<void> {
  if (globalThis.gc === undefined) throw new Error('The collector cannot be called without --expose-gc')
  const rounds: Held[] = []
  for (let round = 0; round < ROUNDS; round++) {
    // All at once: one after the other takes longer than the first of them waits.
    await Promise.all(Array.from({ length: WAITING }, async () => await app.inject('/')))
    for (let turn = 0; turn < WAITING; turn++) await new Promise((resolve) => { setImmediate(resolve) })
    globalThis.gc()
    const waiting = process.memoryUsage()
    await app.hindsight.profiler.flush()
    globalThis.gc()
    const written = process.memoryUsage()
    rounds.push({ heap: (waiting.heapUsed - written.heapUsed) / WAITING, buffers: (waiting.arrayBuffers - written.arrayBuffers) / WAITING })
  }
  const middle = (values: number[]): number => values.sort((a, b) => a - b)[ROUNDS >> 1] ?? NaN
  process.send?.({ heap: middle(rounds.map(({ heap }) => heap)), buffers: middle(rounds.map(({ buffers }) => buffers)) } satisfies Held)
}

import { readFileSync } from 'node:fs'
import type { Variants } from './variants/shared.js'

/** A message of the measuring process to a server: it returns its usage, or closes. */
export type Question = 'usage' | 'close'

/** What a server has used so far. */
export interface Usage {
  /** Microseconds of CPU time, user and system, of all threads. */
  cpu: number
  /** The same of the thread that answers requests; `NaN` where the system does not report it. */
  main: number
  /** Bytes that are resident, of the servers of products. */
  memory?: number
}

// A server has a process of its own: the modules of other variants are not loaded.
const [, , name = ''] = process.argv

const module = await import(`./variants/${name.split(':', 1)[0] ?? ''}.ts`) as { variants: Variants }
const make = module.variants[name]
if (make === undefined) throw new Error(`There is no variant "${name}"`)
const app = await make()
await app.listen({ host: '127.0.0.1', port: 0 })
const address = app.server.address()
process.send?.({ port: typeof address === 'object' ? address?.port : undefined })

process.on('message', (question: Question) => {
  if (question === 'close') app.close().then(() => process.exit(), () => process.exit(1))
  else answer().catch((error: unknown) => process.send?.({ error: String(error) }))
})
process.on('disconnect', () => process.exit())

// The writing of profiles is part of the cost of their requests.
async function answer (): Promise<void> {
  if (app.hasDecorator('hindsight') && app.hindsight.hasProfiles) {
    await app.hindsight.profiler.flush()
    const { dropped, failed } = app.hindsight.profiler.queue.counters
    // Profiles that were dropped would have cost nothing.
    if (dropped + failed > 0) throw new Error(`${dropped + failed} profiles were not written`)
  }
  const { user, system } = process.cpuUsage()
  process.send?.({ cpu: user + system, main: mainThread() } satisfies Usage)
}

// Linux lists the threads of a process; the first one has its number. Nanoseconds on a processor.
function mainThread (): number {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1_000
  } catch {
    return NaN
  }
}

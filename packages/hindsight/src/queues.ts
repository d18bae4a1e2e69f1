import { profileFrom } from './profile-job.js'
import { currentToken } from './recording/jobs.js'
import type { JobOptions } from './recording/trace.js'

type Arguments = unknown[]
type Callable = (...args: Arguments) => unknown

/** What this reads of a job of BullMQ. */
interface QueuedJob {
  name: string
  id?: string
  data: unknown
  timestamp: number
  attemptsMade: number
  /** Of a scheduler, which queues the next job with the options of the first one. */
  repeatJobKey?: string
  opts?: { delay?: number, telemetry?: { metadata?: string } }
}

/**
 * The exports of clients of queues and schedules, by their packages, and what makes their arguments so that jobs are
 * profiled. What is a file, which another process or thread runs, stays as it is.
 */
export const QUEUE_CLIENTS: Readonly<Record<string, Readonly<Record<string, (args: Arguments) => Arguments>>>> = {
  bullmq: { Worker: workerArguments, Queue: queueArguments },
  'node-cron': { schedule: taskArguments, createTask: taskArguments }
}

/** Of `new Worker(name, processor, options)`. */
function workerArguments ([queue, processor, ...others]: Arguments): Arguments {
  const describe = ([job]: Arguments) => jobOptions(queue, job as QueuedJob)
  return [queue, profiledFunction(processor, describe, movesJob), ...others]
}

const MOVES = ['DelayedError', 'WaitingError', 'WaitingChildrenError']

/** Whether BullMQ moves the job of a processor that throws this, as its worker decides: it has not failed then. */
function movesJob (error: unknown): boolean {
  const { name, message } = Object(error) as Partial<Error>
  return MOVES.includes(String(name)) || message === 'bullmq:rateLimitExceeded'
}

function jobOptions (queue: unknown, job: QueuedJob) {
  const { name, id, data, timestamp, attemptsMade, repeatJobKey, opts = {} } = job
  const options: JobOptions = { input: data, attempt: attemptsMade + 1 }
  if (repeatJobKey === undefined) options.parent = parentIn(opts.telemetry?.metadata)
  if (id !== undefined) options.id = id
  // A later attempt has waited for its backoff, too.
  if (attemptsMade === 0) options.queuedAt = timestamp + (opts.delay ?? 0)
  return { name: `${String(queue)} ${name}`, options }
}

/** Of `schedule(expression, task, options)` and `createTask`. */
function taskArguments ([expression, task, ...others]: Arguments): Arguments {
  const { name } = Object(others[0] ?? task) as { name?: string }
  const shown = name === undefined || name === '' ? String(expression) : `${name} (${String(expression)})`
  return [expression, profiledFunction(task, () => ({ name: shown, options: { kind: 'schedule' } })), ...others]
}

/**
 * A function whose calls are profiled; it has the name and the length of the original one. `isSignal`: whether what it
 * throws is no failure.
 */
function profiledFunction (
  original: unknown, describe: (args: Arguments) => { name: string, options: JobOptions },
  isSignal: (error: unknown) => boolean = () => false
) {
  if (typeof original !== 'function') return original
  const at = new Error('Given here')
  return new Proxy(original as Callable, {
    async apply (target, self, args: Arguments) {
      const { name, options } = describe(args)
      const signals: unknown[] = []
      const result = await profileFrom(at, name, options, async () => {
        try {
          return await Reflect.apply(target, self, args)
        } catch (error) {
          if (!isSignal(error)) throw error
          signals.push(error)
        }
      })
      for (const signal of signals) throw signal
      return result
    }
  })
}

const KEY = 'hindsight'

/** The token in the metadata of a job; those of another telemetry have none. */
function parentIn (metadata = ''): string | undefined {
  return new RegExp(`^{"${KEY}":"([0-9a-f]{6})"}$`).exec(metadata)?.[1]
}

/**
 * Of `new Queue(name, options)`. The interface `Telemetry` of BullMQ puts the token of the request that adds a job into
 * the options of that job. An application that has its own telemetry keeps it.
 */
function queueArguments ([name, options, ...others]: Arguments): Arguments {
  const given = Object(options) as { telemetry?: unknown }
  if (given.telemetry !== undefined) return [name, options, ...others]
  return [name, { ...given, telemetry: PARENT_TELEMETRY }, ...others]
}

const SPAN = {
  setSpanOnContext: (context: unknown) => context,
  setAttribute () {},
  setAttributes () {},
  addEvent () {},
  recordException () {},
  end () {}
}

/** A telemetry without spans, whose context is the token of the current request or job. */
const PARENT_TELEMETRY = {
  tracer: { startSpan: () => SPAN },
  contextManager: {
    with: (_context: unknown, call: () => unknown) => call(),
    active: currentToken,
    getMetadata: (token: string | undefined) => token === undefined ? '' : JSON.stringify({ [KEY]: token }),
    fromMetadata: (active: unknown) => active
  }
}

import type { Profiler, Session } from 'node:inspector'
import type { CpuRecord } from './cpu-record.js'

/** Microseconds from one sample to the next: most requests are over in a few milliseconds. */
export const INTERVAL = 250
/** Milliseconds that one recording may take. */
const MAX_DURATION = 30_000

/** The process has one processor time, so there is one recording at a time in it. */
let current: Recording | null = null

/** The recording that is going on, of whichever application. */
export function currentRecording (): Recording | null {
  return current
}

/** Records what the whole process does, for one request. */
export class Recording {
  readonly token: string
  /** On the clock of `performance.now()`; when it was asked for, until it has begun. */
  startedAt = performance.now()
  startup = 0
  others = 0
  end: CpuRecord['end'] = 'response'
  /** What the inspector said at the end; null before that, and where it has failed. */
  profile: Profiler.Profile | null = null
  /** Why there is no profile. */
  problem = ''
  #session: Session | null = null
  #timer: NodeJS.Timeout | undefined
  #over = false

  constructor (token: string) {
    this.token = token
    current = this
  }

  /** Loads the inspector and begins, unless it was stopped meanwhile; it never rejects. */
  async start (maxDuration = MAX_DURATION): Promise<void> {
    try {
      const inspector = await import('node:inspector')
      if (this.#over) return
      const asked = performance.now()
      this.#session = new inspector.Session()
      this.#session.connect()
      ask(this.#session, 'Profiler.enable')
      ask(this.#session, 'Profiler.setSamplingInterval', { interval: INTERVAL })
      forgetOptimized(this.#session)
      ask(this.#session, 'Profiler.start')
      this.startedAt = performance.now()
      this.startup = this.startedAt - asked
      this.#timer = setTimeout(() => this.stop('time'), maxDuration).unref()
    } catch (error) {
      this.#fail(error)
      this.stop('response')
    }
  }

  /** Ends it and lets go of the inspector, once, whatever happens; nothing is thrown. */
  stop (end: CpuRecord['end']): void {
    if (this.#over) return
    this.#over = true
    this.end = end
    clearTimeout(this.#timer)
    if (current === this) current = null
    const session = this.#session
    this.#session = null
    if (session === null) return
    try {
      if (this.problem === '') this.profile = (ask(session, 'Profiler.stop') as Profiler.StopReturnType).profile
    } catch (error) {
      this.#fail(error)
    } finally {
      session.disconnect()
    }
  }

  #fail (error: unknown): void {
    this.problem = error instanceof Error ? error.message : String(error)
  }
}

// Code that was optimized in the middle of a loop is unknown to a recorder that begins later, and its time would be told as that of its callers.
// Counting calls makes V8 drop all optimized code: what is hot is compiled again, and known. Whoever counts for a reason is not disturbed.
function forgetOptimized (session: Session): void {
  if (process.env.NODE_V8_COVERAGE !== undefined) return
  ask(session, 'Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  ask(session, 'Profiler.stopPreciseCoverage')
}

// In its own thread the inspector answers before `post` returns.
function ask (session: Session, method: string, params: object = {}): unknown {
  let answer: unknown
  session.post(method, params, (error, result) => {
    if (error !== null) throw new Error(`${method}: ${error.message}`)
    answer = result
  })
  return answer
}

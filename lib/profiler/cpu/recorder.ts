import type { Profiler, Session } from 'node:inspector'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { stateOf } from '../../lifecycle/request-state.js'
import { CPU_HEADER, CPU_PARAMETER, type CpuRecord, type CpuRefusal } from './record.js'

/** Microseconds between two samples. */
const INTERVAL = 250
/** Milliseconds that a recording lasts at most. */
const MAX_DURATION = 30_000
const MAX_BYTES = 192 * 1024

/** V8 profiles the whole process, so there is at most one recording, whichever application it belongs to. */
let current: Recording | null = null

export function currentRecording (): Recording | null {
  return current
}

/** Records the CPU profile of the process for one request. */
class Recording {
  readonly token: string
  /** By `performance.now()`; until the profiler has started, when it was requested. */
  startedAt = performance.now()
  /** Milliseconds. */
  startup = 0
  others = 0
  end: CpuRecord['end'] = 'response'
  /** Null before the end, and if the profiler failed. */
  profile: Profiler.Profile | null = null
  problem = 'the request was over before it began'
  #session: Session | null = null
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  constructor (token: string) {
    this.token = token
    current = this
  }

  /** Starts the profiler, unless `stop` was called before; never rejects. */
  async start (): Promise<void> {
    try {
      const inspector = await import('node:inspector')
      if (this.#isOver) return
      const requestedAt = performance.now()
      this.#session = new inspector.Session()
      this.#session.connect()
      post(this.#session, 'Profiler.enable')
      post(this.#session, 'Profiler.setSamplingInterval', { interval: INTERVAL })
      deoptimize(this.#session)
      post(this.#session, 'Profiler.start')
      this.startedAt = performance.now()
      this.startup = this.startedAt - requestedAt
      this.#timer = setTimeout(() => this.stop('time'), MAX_DURATION).unref()
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Ends the recording and disconnects from the inspector. Only the first call has an effect; never throws. */
  stop (end: CpuRecord['end']): void {
    if (this.#isOver) return
    this.#isOver = true
    this.end = end
    clearTimeout(this.#timer)
    if (current === this) current = null
    if (this.#session === null) return
    try {
      this.profile = (post(this.#session, 'Profiler.stop') as Profiler.StopReturnType).profile
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#session.disconnect()
    }
  }

  #fail (error: unknown): void {
    this.problem = error instanceof Error ? error.message : String(error)
    this.stop('response')
  }
}

// The profiler does not see functions that were optimized before it started, and adds their time to their callers.
// Precise coverage discards all optimized code; it must not end a coverage that the user runs.
function deoptimize (session: Session): void {
  if (process.env.NODE_V8_COVERAGE !== undefined) return
  post(session, 'Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  post(session, 'Profiler.stopPreciseCoverage')
}

// In its own thread the inspector calls back before `post` returns.
function post (session: Session, method: string, params: object = {}): unknown {
  let result: unknown
  session.post(method, params, (error, value) => {
    if (error !== null) throw new Error(`${method}: ${error.message}`)
    result = value
  })
  return result
}

/** The hooks that record CPU profiles of an application's requests. */
export interface CpuProfiles {
  /** Starts a recording if the request asks for one; called before the first listener. */
  begin: (request: FastifyRequest, reply: FastifyReply) => undefined | Promise<void>
  /** Counts a request that ran beside the recorded one; called after its response. */
  end: (request: FastifyRequest) => void
}

/**
 * Records CPU profiles in debug mode, of requests that have the header or the query parameter and come from clients
 * that may see the debug surface. `maxProfileBytes`, the limit of the whole profile, limits the size of a record.
 */
export function openCpuProfiles (app: FastifyInstance, maxProfileBytes = Infinity): CpuProfiles {
  const { mask } = app.hindsight
  const maxBytes = Math.min(MAX_BYTES, maxProfileBytes / 3)

  function begin (request: FastifyRequest, reply: FastifyReply): undefined | Promise<void> {
    const running = currentRecording()
    if (running !== null) running.others++
    if (!isRequested(request)) return
    const state = stateOf(request)
    // Keeps the profile whatever the options leave out.
    state.demanded = true
    const token = app.hindsight.profiles?.tokenOf(request) ?? null
    if (token === null) return
    if (running !== null) {
      const refused = `A CPU profile was being recorded for ${running.token}, and only one runs at a time. Try again.`
      state.collect('cpu', { refused } satisfies CpuRefusal)
      return
    }
    return record(new Recording(token), state, reply)
  }

  async function record (recording: Recording, state: ReturnType<typeof stateOf>, reply: FastifyReply): Promise<void> {
    // Before the listeners that build the profile.
    reply.raw.prependOnceListener('finish', () => recording.stop('response'))
    reply.raw.prependOnceListener('close', () => recording.stop('gone'))
    const { aggregate } = await import('./aggregate.js')
    state.collect('cpu', (): CpuRecord | CpuRefusal => {
      recording.stop('response')
      const { profile, problem, others, end } = recording
      if (profile === null) return { refused: `The CPU profile could not be recorded: ${mask.text(problem)}.` }
      const startup = Math.round(recording.startup * 1000) / 1000
      return aggregate(profile, { interval: INTERVAL, startup, others, end }, maxBytes, (text) => mask.text(text))
    })
    await recording.start()
    // The call tree of the request must not begin below the recorder.
    await nextTurn()
  }

  function end (request: FastifyRequest): void {
    const running = currentRecording()
    const { startedAt, token } = stateOf(request)
    // Requests that began later were counted by `begin`.
    if (running !== null && startedAt < running.startedAt && token !== running.token) running.others++
  }

  function isRequested (request: FastifyRequest): boolean {
    const { headers, query } = request
    const parameter = (query as Record<string, unknown> | undefined)?.[CPU_PARAMETER]
    if (headers[CPU_HEADER] !== '1' && parameter !== '1') return false
    const state = stateOf(request)
    if (!state.observed || !app.hindsight.maySeeDebug(request)) return false
    // Pages of other sites must not start recordings (Fetch Metadata, section 2.4).
    const site = headers['sec-fetch-site']
    return site === undefined || site === 'same-origin' || site === 'none'
  }

  return { begin, end }
}

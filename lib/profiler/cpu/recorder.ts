import type { Profiler, Session } from 'node:inspector'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { stateOf } from '../../lifecycle/request-state.js'
import { aggregate } from './aggregate.js'
import { CPU_HEADER, CPU_PARAMETER, type CpuRecord, type CpuRefusal } from './record.js'

/** Microseconds between two samples. */
const INTERVAL = 250
/** Milliseconds that a recording lasts at most. */
const MAX_DURATION = 30_000
const MAX_BYTES = 192 * 1024

/** V8 profiles the whole process, so there is at most one recording, whichever application it belongs to. */
let current: Recording | undefined

export function currentRecording (): Recording | undefined {
  return current
}

/** Records the CPU profile of the process for one request, from its construction on. */
class Recording {
  readonly token: string
  /** Set at the end, unless the profiler failed. */
  profile?: Profiler.Profile
  /** Why the profiler failed. */
  problem?: string
  #session?: Session
  readonly #timer = setTimeout(() => this.stop(), MAX_DURATION).unref()

  constructor (token: string) {
    this.token = token
    current = this
    try {
      // Node.js may be built without the inspector.
      const { Session } = process.getBuiltinModule('node:inspector')
      this.#session = new Session()
      this.#session.connect()
      post(this.#session, 'Profiler.enable')
      post(this.#session, 'Profiler.setSamplingInterval', { interval: INTERVAL })
      deoptimize(this.#session)
      post(this.#session, 'Profiler.start')
    } catch (error) {
      this.problem = String(error)
      this.stop()
    }
  }

  /** Ends the recording and disconnects from the inspector. Only the first call has an effect; never throws. */
  stop (): void {
    if (current !== this) return
    current = undefined
    clearTimeout(this.#timer)
    if (this.#session === undefined) return
    try {
      this.profile = (post(this.#session, 'Profiler.stop') as Profiler.StopReturnType).profile
    } catch (error) {
      this.problem ??= String(error)
    } finally {
      this.#session.disconnect()
    }
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

/**
 * Records CPU profiles in debug mode, of requests that have the header or the query parameter and come from clients
 * that may see the debug surface. `maxProfileBytes`, the limit of the whole profile, limits the size of a record.
 * The returned hook begins the recording; it is called before the first listener.
 */
export function recordCpuProfiles (
  app: FastifyInstance, maxProfileBytes = Infinity
): (request: FastifyRequest, reply: FastifyReply) => undefined | Promise<void> {
  const { mask } = app.hindsight
  const maxBytes = Math.min(MAX_BYTES, maxProfileBytes / 3)

  function begin (request: FastifyRequest, reply: FastifyReply): undefined | Promise<void> {
    if (!isRequested(request)) return
    const state = stateOf(request)
    // Keeps the profile whatever the options leave out.
    state.demanded = true
    const token = app.hindsight.profiles?.tokenOf(request)
    if (token === undefined || token === null) return
    if (current !== undefined) {
      const refused = `A CPU profile was being recorded for ${current.token}, and only one runs at a time. Try again.`
      state.collect('cpu', { refused } satisfies CpuRefusal)
      return
    }
    const recording = new Recording(token)
    // Before the listeners that build the profile.
    for (const event of ['finish', 'close']) reply.raw.prependOnceListener(event, () => recording.stop())
    state.collect('cpu', () => recordOf(recording))
    // The call tree of the request must not begin below the recorder.
    return nextTurn()
  }

  function recordOf (recording: Recording): CpuRecord | CpuRefusal {
    recording.stop()
    const { profile, problem = 'the recorder failed' } = recording
    if (profile === undefined) return { refused: `The CPU profile could not be recorded: ${mask.text(problem)}.` }
    return aggregate(profile, INTERVAL, maxBytes, (text) => mask.text(text))
  }

  function isRequested (request: FastifyRequest): boolean {
    const { headers, query } = request
    const parameter = (query as Record<string, unknown> | undefined)?.[CPU_PARAMETER]
    if (headers[CPU_HEADER] !== '1' && parameter !== '1') return false
    const state = stateOf(request)
    if (!state.observed || !app.hindsight.maySeeDebug(request)) return false
    // Pages of other sites must not start recordings (Fetch Metadata, section 2.4); a replay has the headers of then.
    const site = headers['sec-fetch-site']
    return state.replayOf !== undefined || site === undefined || site === 'same-origin' || site === 'none'
  }

  return begin
}

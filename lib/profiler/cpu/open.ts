import { setImmediate as turn } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { stateOf } from '../../lifecycle/request-state.js'
import type { aggregate } from './aggregate.js'
import type { CpuRecord, CpuRefusal } from './cpu-record.js'
import { CPU_HEADER, CPU_PARAMETER } from './demand.js'
import { currentRecording, INTERVAL, Recording } from './recording.js'

const MAX_BYTES = 192 * 1024

/** Records CPU profiles of an application's requests. */
export interface CpuProfiles {
  /** Begins to record a request that asks for it; to be called before its first listener. */
  begin: (request: FastifyRequest, reply: FastifyReply) => undefined | Promise<void>
  /** Counts a request that was handled beside the one that is recorded; to be called after its response. */
  end: (request: FastifyRequest) => void
}

/**
 * Records CPU profiles in debug mode, of requests that have the header or the query parameter and come from clients that may
 * see the debug surface. `maxProfileBytes` is the maximum of the whole profile.
 */
export function openCpuProfiles (app: FastifyInstance, maxProfileBytes = Infinity): CpuProfiles {
  const { mask } = app.hindsight
  const maxBytes = Math.min(MAX_BYTES, maxProfileBytes / 3)

  function recordCpu (request: FastifyRequest, reply: FastifyReply): undefined | Promise<void> {
    const going = currentRecording()
    if (going !== null) going.others++
    if (!isAsked(request)) return
    const state = stateOf(request)
    // Whoever asks for it is shown it, whatever else is left out.
    state.demanded = true
    const token = app.hindsight.profiles?.tokenOf(request) ?? null
    if (token === null) return
    if (going !== null) {
      state.collect('cpu', { refused: `The processor was being recorded for ${going.token}: one request at a time is. Ask again.` } satisfies CpuRefusal)
      return
    }
    const recording = new Recording(token)
    // Ahead of all that makes the profile.
    reply.raw.prependOnceListener('finish', () => recording.stop('response'))
    reply.raw.prependOnceListener('close', () => recording.stop('gone'))
    let made: CpuRecord | CpuRefusal | null = null
    // What makes the record of it is there before it begins.
    return import('./aggregate.js').then(({ aggregate }) => {
      state.collect('cpu', () => (made ??= recordOf(recording, aggregate, maxBytes, (text) => mask.text(text))))
      return recording.start()
    // From the loop on: what is seen below the request is not the recorder.
    }).then(() => turn())
  }
  function countOthers (request: FastifyRequest): void {
    const going = currentRecording()
    // Those that began later were counted then.
    if (going !== null && stateOf(request).startedAt < going.startedAt && stateOf(request).token !== going.token) going.others++
  }

  function isAsked (request: FastifyRequest): boolean {
    const { headers, query } = request
    if (headers[CPU_HEADER] !== '1' && (query as Record<string, unknown> | undefined)?.[CPU_PARAMETER] !== '1') return false
    const state = stateOf(request)
    if (!state.observed || !app.hindsight.maySeeDebug(request)) return false
    // A page elsewhere can make a browser ask, and what is slow is asked for by oneself (Fetch Metadata, section 2.4).
    const { 'sec-fetch-site': site } = headers
    return site === undefined || site === 'same-origin' || site === 'none'
  }

  return { begin: recordCpu, end: countOthers }
}

function recordOf (recording: Recording, toRecord: typeof aggregate, maxBytes: number, mask: (text: string) => string): CpuRecord | CpuRefusal {
  // What is raised behind the response may ask for its profile before that is over.
  recording.stop('response')
  const { profile, problem, others, end, startup } = recording
  if (profile === null) return { refused: `The processor could not be recorded: ${problem === '' ? 'the request was over before it began' : mask(problem)}.` }
  recording.profile = null
  return toRecord(profile, { interval: INTERVAL, startup: Math.round(startup * 1000) / 1000, others, end }, maxBytes, mask)
}

import { shownName } from './build-profile.js'
import { absoluteUrl } from '../http/origin.js'
import { targetOf } from '../http/requests.js'
import { isEndless, isUpgraded } from '../http/responses.js'
import type { JobTrace, RequestTrace, WorkTrace } from './trace.js'
import type { Part } from '../parts/part.js'
import type { ProfileSummary } from '../store/profile.js'

/** A request whose response has not ended, masked, with the data of parts about it; `duration` is that until now. */
export interface WaitingRequest
  extends Pick<ProfileSummary, 'token' | 'time' | 'method' | 'url' | 'route' | 'duration' | 'values'> {
  /** What it waits for, in words. */
  sentences: string[]
}

/** The requests of a process that have not ended, and whether what later ones wait for is traced. */
export interface WaitingView { waiting: WaitingRequest[], tracing: boolean, formToken: string }

interface OldRequest { token: string, trace: RequestTrace }

/** Milliseconds after which a request that has not ended is shown. */
const MIN_AGE = 1_000
const MAX_REQUESTS = 50

/** The old requests of a set. Event streams and other protocols are no requests that wait. */
export function oldRequests (
  open: Iterable<RequestTrace>, tokenOf: (trace: RequestTrace) => string | null
): OldRequest[] {
  const found: OldRequest[] = []
  for (const trace of open) {
    const { request, reply, recording } = trace
    // They are in the order of their arrival.
    if (recording.age < MIN_AGE || found.length >= MAX_REQUESTS) break
    if (isEndless(request, reply) || isUpgraded(request, reply)) continue
    const token = tokenOf(trace)
    if (token !== null) found.push({ token, trace })
  }
  return found
}

export function waitingRequest ({ token, trace }: OldRequest, parts: readonly Part[]): WaitingRequest {
  const { request, route, services } = trace
  return {
    token,
    method: request.method,
    url: trace.mask.url(absoluteUrl(services.originOf(request), targetOf(request))),
    route: route?.name ?? null,
    ...waitingData(trace, parts)
  }
}

export function isOldJob ({ recording }: JobTrace): boolean {
  return recording.age >= MIN_AGE
}

export function waitingJob (trace: JobTrace, parts: readonly Part[]): WaitingRequest {
  const { facts: { kind, name }, recording: { token = '' }, mask } = trace
  const values = { kind, outcome: 'running' }
  const url = shownName(mask, name)
  return { token, method: kind.toUpperCase(), url, route: null, values, ...waitingData(trace, parts) }
}

function waitingData (
  trace: WorkTrace, parts: readonly Part[]
): Pick<WaitingRequest, 'time' | 'duration' | 'sentences'> {
  const { recording } = trace
  const pending = parts.flatMap((part) => part.pending?.(trace, parts) ?? [])
  return {
    time: new Date(recording.timing.startedTime).toISOString(),
    duration: Math.round(recording.age),
    ...Object.assign({}, ...pending.map(({ data }) => data as object)) as object,
    sentences: pending.flatMap(({ sentences }) => sentences)
  }
}

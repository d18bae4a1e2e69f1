import type { FastifyReply, FastifyRequest } from 'fastify'
import { maskOf } from '../errors/masked-exceptions.js'
import { absoluteUrl } from '../http/origin.js'
import { targetOf } from '../http/requests.js'
import { isEndless, isUpgraded } from '../http/responses.js'
import { recordingOf, servicesOf, stateOf } from '../lifecycle/state.js'
import type { Part } from '../parts/part.js'
import type { ProfileSummary } from '../store/profile.js'

/** A request whose response has not ended, masked, with the data of parts about it; `duration` is that until now. */
export interface WaitingRequest
  extends Pick<ProfileSummary, 'token' | 'time' | 'method' | 'url' | 'route' | 'duration'> {
  /** What it waits for, in words. */
  sentences: string[]
}

interface OldRequest { token: string, request: FastifyRequest, reply: FastifyReply }

/** Milliseconds after which a request that has not ended is shown. */
const MIN_AGE = 1_000
const MAX_REQUESTS = 50

/** The old requests of a set. Event streams and other protocols are no requests that wait. */
export function oldRequests (
  open: Iterable<FastifyRequest>, tokenOf: (request: FastifyRequest) => string | null
): OldRequest[] {
  const found: OldRequest[] = []
  for (const request of open) {
    const recording = recordingOf(request)
    const { reply } = recording
    // They are in the order of their arrival.
    if (recording.age < MIN_AGE || found.length >= MAX_REQUESTS) break
    if (reply === null || isEndless(request, reply) || isUpgraded(request, reply)) continue
    const token = tokenOf(request)
    if (token !== null) found.push({ token, request, reply })
  }
  return found
}

export function waitingRequest ({ token, request, reply }: OldRequest, parts: readonly Part[]): WaitingRequest {
  const recording = recordingOf(request)
  const duration = Math.round(recording.age)
  const pending = parts.flatMap((part) => part.pending?.(request, reply) ?? [])
  return {
    token,
    time: new Date(recording.timing.startedTime).toISOString(),
    method: request.method,
    url: maskOf(request).url(absoluteUrl(servicesOf(request).originOf(request), targetOf(request))),
    route: stateOf(request).route?.name ?? null,
    duration,
    ...Object.assign({}, ...pending.map(({ data }) => data as object)) as object,
    sentences: pending.flatMap(({ sentences }) => sentences)
  }
}

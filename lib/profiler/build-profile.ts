import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FlattenedException } from '../errors/exception.js'
import { flattenError } from '../errors/flatten-error.js'
import { maskException } from '../errors/mask-exception.js'
import { withNotifications } from '../errors/records.js'
import type { Headers } from '../http/header-values.js'
import { isoTime } from '../logs/iso-time.js'
import { ClientGoneError } from '../http/http-errors.js'
import type { Mask } from '../mask/mask.js'
import { methodOf } from '../http/method-override.js'
import { absoluteUrl } from '../http/origin.js'
import { targetOf } from '../http/request-target.js'
import { stateOf, type RequestState } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services-of.js'
import { blockedBy } from './blocked/blocked.js'
import { outsideChanges } from './panels/headers-collector.js'
import { performanceRecord } from './panels/performance-collector.js'
import { profiledLogs } from './profiled-logs.js'
import { PROFILE_VERSION, type Profile, type ProfiledRoute } from './profile.js'

/** Makes the profile of a request whose response is over, which is to be of `maxBytes` at most: plain data, masked, off the response's way; `more` is for panels of its own. */
export function buildProfile (request: FastifyRequest, reply: FastifyReply, endedAt: number, maxBytes: number, more: Readonly<Record<string, unknown>>): Profile {
  const state = stateOf(request)
  const { mask: maskOfAll, originOf } = servicesOf(request)
  const mask = maskOfAll.hiding(state.sentParams ?? request.params)
  const origin = originOf(request)
  state.recorder?.leaveAll(reply)
  state.recorder?.finish((state.sentHeaders ?? reply.getHeaders()) as Headers)
  const events = state.recorder?.events(mask.header) ?? []
  // Collectors know the secrets of their own data, not those that this request's path brings.
  const collectors = mask === maskOfAll ? collectedBy(state) : redacted(collectedBy(state), mask) as Record<string, unknown>
  const { exceptions, others } = errorsOf(state)
  const status = state.clientGone ? 499 : state.upgraded ? 101 : state.sentStatus
  const blocked = servicesOf(request).debug ? blockedBy(request, reply, status, collectors) : []
  // Set one by one: spreading parts that hardly ever are there would be felt by each profile.
  Object.assign(collectors, more)
  collectors.performance = performanceRecord(state, events, endedAt)
  if (state.recorder !== null) collectors.headers = outsideChanges(state.recorder, mask)
  if (blocked.length > 0) collectors.blocked = blocked
  if (others.length > 0) collectors.otherErrors = others.map((other) => flattenError(other).map((exception) => maskException(exception, mask)))
  const { logs, leftOut } = profiledLogs(state.log, mask, maxBytes)
  const profile: Profile = {
    version: PROFILE_VERSION,
    token: state.token,
    time: isoTime(state.startedTime),
    duration: round(endedAt - state.startedAt),
    method: methodOf(request),
    url: mask.url(absoluteUrl(origin, targetOf(request))),
    ip: origin.ip,
    status,
    route: routeOf(collectors.router),
    exceptions: exceptions.map((exception) => maskException(exception, mask)),
    logs: withNotifications(logs, events, state.startedTime),
    events,
    collectors
  }
  if (leftOut > 0) profile.logsLeftOut = leftOut
  if (state.parent !== '') profile.parent = state.parent
  if (state.replayOf !== '') profile.replayOf = state.replayOf
  return profile
}

// The error that the response is about, and those beside it. Where it is about none, the first of the others is shown.
function errorsOf (state: RequestState): { exceptions: FlattenedException[], others: unknown[] } {
  const { clientGone, failed, raised, missed, others } = state
  if (failed) {
    const exceptions = state.exceptions as FlattenedException[] | null ?? flattenError(raised)
    return { exceptions, others: others.filter((other) => other !== raised) }
  }
  if (clientGone) {
    const gone = new ClientGoneError('The client closed the connection before the response was sent')
    return { exceptions: flattenError(gone), others }
  }
  if (missed !== null) return { exceptions: flattenError(missed), others }
  return { exceptions: others.length > 0 ? flattenError(others[0]) : [], others: others.slice(1) }
}

function collectedBy (state: RequestState): Record<string, unknown> {
  const collected: Record<string, unknown> = {}
  for (const name in state.collected) {
    const data = state.collected[name]
    try {
      collected[name] = typeof data === 'function' ? data() as unknown : data
    } catch (error) {
      collected[name] = { error: error instanceof Error ? error.message : String(error) }
    }
  }
  return collected
}

function redacted (value: unknown, mask: Mask, depth = 0): unknown {
  if (typeof value === 'string') return mask.redact(value)
  if (depth > 24) return '[too deep]'
  if (Array.isArray(value)) return value.map((item) => redacted(item, mask, depth + 1))
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, redacted(item, mask, depth + 1)]))
}

function routeOf (router: unknown): ProfiledRoute | null {
  return (router as { matched?: ProfiledRoute | null } | undefined)?.matched ?? null
}

function round (ms: number): number {
  return Math.round(ms * 1000) / 1000
}

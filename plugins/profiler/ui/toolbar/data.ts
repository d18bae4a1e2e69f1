import { isFailure, type Levelled } from '../../../logs/foremost.js'
import type { Profile } from '../../profile.js'

/** What the bar tells of a request. */
export interface ToolbarData {
  token: string
  /** Where the profile is. */
  url: string
  status: number
  method: string
  /** The name of the route; null where none matched. */
  route: string | null
  pattern: string | null
  /** Where the handler is defined; null where that is not known. */
  handler: string | null
  /** Milliseconds: so far, where the response is not over yet. */
  duration: number
  /** Milliseconds that the handler took; null where it did not run. */
  handlerDuration: number | null
  /** Milliseconds until the head of the response was written; null where it has not been yet. */
  firstByte: number | null
  /** Bytes of the JavaScript heap in use behind the request. */
  memory: number | null
  /** Lines of the log. */
  logs: number
  /** Those of them that tell an error. */
  errors: number
  warnings: number
  /** Null where no firewall was asked. */
  security: { firewall: string | null, user: string | null, authenticatedBy: string | null, roles: string[] } | null
  locale: { locale: string, source: string } | null
  /** What became of the preconditions; null where HTTP caching has nothing to do with it. */
  cache: string | null
  /** Requests that were sent to others. */
  calls: { count: number, failed: number }
}

/** The parts of a profile that the bar needs, as far as they are known; of its log only how severe each line is. */
export interface ToolbarSource extends Pick<Profile, 'token' | 'status' | 'method' | 'route' | 'duration' | 'collectors'> {
  logs: readonly Levelled[]
}

type Data = Readonly<Record<string, unknown>>

/** What the bar tells of a profile, whole or still being made. */
export function toolbarOf ({ token, status, method, route, duration, logs, collectors }: ToolbarSource, url: string): ToolbarData {
  const { handler, firstByte, process } = dataOf(collectors.performance)
  const { locale, source } = dataOf(collectors.locale)
  const { outcome } = dataOf(collectors.cache)
  return {
    token,
    url,
    status,
    method,
    route: route?.name ?? null,
    pattern: route?.pattern ?? null,
    handler: route?.handler ?? null,
    duration,
    handlerDuration: numberOf(handler),
    firstByte: numberOf(firstByte),
    memory: numberOf(dataOf(process).heapAfter),
    logs: logs.length,
    errors: logs.filter(isFailure).length,
    warnings: logs.filter(({ level }) => level === 'warn').length,
    security: collectors.security === undefined ? null : securityOf(dataOf(collectors.security)),
    locale: typeof locale === 'string' ? { locale, source: String(source) } : null,
    cache: typeof outcome === 'string' ? outcome : null,
    calls: callsOf(dataOf(collectors['http-client']))
  }
}

function securityOf ({ firewall, user, authenticatedBy, roles }: Data): ToolbarData['security'] {
  return {
    firewall: textOf(dataOf(firewall).name),
    user: textOf(dataOf(user).identifier),
    authenticatedBy: textOf(authenticatedBy),
    roles: Array.isArray(roles) ? roles.map(String) : []
  }
}

function callsOf ({ count, calls }: Data): ToolbarData['calls'] {
  const failed = (Array.isArray(calls) ? calls : []).map(dataOf).filter(({ status, error }) => error !== undefined || Number(status) >= 400).length
  return { count: numberOf(count) ?? 0, failed }
}

function dataOf (value: unknown): Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value as Data : {}
}

function numberOf (value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

function textOf (value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

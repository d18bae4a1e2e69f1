import { isErrorOrWorse, type Levelled } from '../../../logs/log-record.js'
import type { Profile } from '../../profile.js'

/** What the toolbar shows of a request. */
export interface ToolbarData {
  token: string
  /** The address of the profile. */
  url: string
  status: number
  method: string
  /** The name of the route; null if none matched. */
  route: string | null
  pattern: string | null
  /** Where the handler is defined; null if unknown. */
  handler: string | null
  /** Milliseconds; so far, if the response is not finished. */
  duration: number
  /** Milliseconds of the handler; null if it did not run. */
  handlerDuration: number | null
  /** Milliseconds until the head of the response was written; null before that. */
  firstByte: number | null
  /** Bytes of the JavaScript heap in use after the request; null if unknown. */
  memory: number | null
  /** Log lines. */
  logs: number
  /** Log lines of level error and above. */
  errors: number
  warnings: number
  /** Name and message of the error that the response is about, or that a framework caught; null if there is none. */
  exception: string | null
  /** Null without a firewall. */
  security: { firewall: string | null, user: string | null, authenticatedBy: string | null, roles: string[] } | null
  locale: { locale: string, source: string } | null
  /** The outcome of the preconditions; null without HTTP caching. */
  cache: string | null
  /** Requests to other servers. */
  calls: { count: number, failed: number }
}

type ProfileFields = 'token' | 'status' | 'method' | 'route' | 'duration' | 'collectors'

/** The parts of a profile that the toolbar needs, as far as they are known; of each log line only the level. */
export interface ToolbarSource extends Pick<Profile, ProfileFields> {
  logs: readonly Levelled[]
  exceptions: ReadonlyArray<{ name: string, message: string }>
}

type Data = Readonly<Record<string, unknown>>

/** The toolbar's data of a profile, stored or unfinished. */
export function toolbarOf (profile: ToolbarSource, url: string): ToolbarData {
  const { token, status, method, route, duration, logs, exceptions, collectors } = profile
  const error = exceptions.at(-1)
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
    errors: logs.filter(isErrorOrWorse).length,
    warnings: logs.filter(({ level }) => level === 'warn').length,
    exception: error === undefined ? null : `${error.name}: ${error.message}`,
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
  const all = (Array.isArray(calls) ? calls : []).map(dataOf)
  const failed = all.filter(({ status, error }) => error !== undefined || Number(status) >= 400)
  return { count: numberOf(count) ?? 0, failed: failed.length }
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

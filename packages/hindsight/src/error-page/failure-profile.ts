import type { FlattenedException, RejectedInput } from '../errors/exception.js'
import type { Raiser } from '../errors/declared-place.js'
import type { FailureSummary } from '../errors/failure-summary.js'
import type { Hint } from '../errors/hints.js'
import { STATUS_CODES } from '../http/node-http.js'
import type { LogRecord } from '../logs/log-record.js'
import type { Profile, UnfinishedProfile } from '../store/profile.js'

/** The profile of a failed request before its response is sent, and what its page shows besides; masked. */
export interface FailureProfile extends UnfinishedProfile, Pick<Profile, 'url' | 'ip'> {
  /** By time, with the notifications of listeners. */
  logs: LogRecord[]
  /** The number of lines that were left out: the oldest and least severe. */
  logsOmitted?: number
  hints: Hint[]
  /** Sentences of the parts about a slow request. */
  sentences: readonly string[]
  /** The listener that raised (`kernel.request`, `router`), where one did; of a hook its `file:line`. */
  raisedBy?: Raiser
  /** Whether the application is only observed: errors and codes of Hindsight are none of the application. */
  isObserved?: boolean
  /** Whether a success of the route is stored, with which the failure is compared. */
  hasSuccess?: boolean
  /** The URL of the stored profile; absent where none is stored. */
  profileUrl?: string
}

/** A request as the page of its failure shows it. */
interface FailedRequest {
  query?: object
  /** As the client sent it; undefined without one. */
  body: unknown
  headers: Array<[name: string, value: string]>
}

/** The reason phrase of a failure, such as `Not Found`. */
export function reasonOf ({ status }: Pick<Profile, 'status'>): string {
  return STATUS_CODES[status] ?? 'Error'
}

/** What a schema or the JSON parser rejected. */
export function rejectedIn ({ exceptions }: { exceptions: readonly FlattenedException[] }): RejectedInput | undefined {
  return exceptions.at(-1)?.rejected
}

/** Why a request failed; empty where no sentence is known. */
export function summaryIn ({ collectors }: Pick<Profile, 'collectors'>): Partial<FailureSummary> {
  return Object(collectors.exceptions) as Partial<FailureSummary>
}

export function requestIn ({ collectors }: Pick<Profile, 'collectors'>): FailedRequest {
  const { query, body, sentBody = body, headers = {} } = Object(collectors.request) as Record<string, unknown>
  return {
    ...query !== undefined && { query: query as object },
    body: sentBody ?? undefined,
    headers: Object.entries(headers as Record<string, string | string[]>)
      .flatMap(([name, values]) => [values].flat().map((value): [string, string] => [name, value]))
  }
}

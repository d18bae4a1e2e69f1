import type { FlattenedException } from '../diagnostics/exception.js'
import { withNotifications } from '../diagnostics/records.js'
import type { LogRecord } from '../logs/log-record.js'
import { EventColumns } from '../kernel/event-columns.js'
import type { ListenerEvent } from '../kernel/events.js'
import { isToken, TOKEN_HEADERS, unmarked } from '../kernel/token-mark.js'

export { EventColumns, eventOf, type EventLayout, type EventSignature } from '../kernel/event-columns.js'
export { sharedText } from '../kernel/shared-part.js'

export const PROFILE_VERSION = 1

/** The route that matched. */
export interface ProfiledRoute {
  name: string
  /** The pattern as declared, prefixes included. */
  pattern: string
  params: Record<string, unknown>
  methods: string[]
  /** Where the handler is defined, `file:line`, where known. */
  handler?: string
}

/** What one request left behind: plain data, versioned, bounded, masked. */
export interface Profile {
  version: typeof PROFILE_VERSION
  token: string
  /** ISO 8601, when the request arrived. */
  time: string
  /** Milliseconds from arrival to the end of the response. */
  duration: number
  method: string
  /** Absolute, with its query. */
  url: string
  ip: string
  status: number
  /** The token of the request that caused this one: a redirect that was followed, or a handler that injected it. */
  parent?: string
  /** The token of the profile whose request was sent again by this one. */
  replayOf?: string
  route: ProfiledRoute | null
  /** From the root cause to the error that the response was about; empty when nothing failed. */
  exceptions: FlattenedException[]
  logs: LogRecord[]
  /** Only on the way to a store and in it: the notifications of the lifecycle are not in the log, as they follow from the events. */
  notificationsLeftOut?: true
  /** Only on the way to a store: how many lines of the log were left out already, as there is no room for them. */
  logsLeftOut?: number
  /** Like the notifications: where the response tells the token there is a mark in its place. */
  tokenLeftOut?: true
  events: ListenerEvent[]
  collectors: Record<string, unknown>
}

/** A profile on its way to a store: its events are columns, and what it has in common with others may be shared parts. */
export interface ProfileDraft extends Omit<Profile, 'events'> {
  events: EventColumns
}

/** A profile as it is read: with all that was left out as it follows from the rest. */
export function wholeProfile ({ notificationsLeftOut, tokenLeftOut, ...draft }: Profile | ProfileDraft): Profile {
  const profile = { ...draft, events: draft.events instanceof EventColumns ? draft.events.list() : draft.events }
  if (tokenLeftOut === true) tellToken(profile)
  if (notificationsLeftOut !== true) return profile
  return { ...profile, logs: withNotifications(profile.logs, profile.events, Date.parse(profile.time)) }
}

// In the headers of the response, and in what the listeners changed that have told it there.
function tellToken (profile: Profile): void {
  const { token, collectors: { response } } = profile
  const headers = (response as { headers?: Record<string, unknown> } | undefined)?.headers
  if (typeof headers === 'object' && headers !== null && TOKEN_HEADERS.some((name) => headers[name] !== undefined)) {
    const told = { ...headers }
    for (const name of TOKEN_HEADERS) if (told[name] !== undefined) told[name] = unmarked(told[name], token)
    profile.collectors = { ...profile.collectors, response: { ...response as object, headers: told } }
  }
  profile.events = profile.events.map((event) => {
    const changed = event.changes?.headers
    if (changed?.some(isToken) !== true) return event
    return { ...event, changes: { ...event.changes, headers: changed.map((change) => isToken(change) ? { ...change, to: unmarked(change.to, token) } : change) } }
  })
}

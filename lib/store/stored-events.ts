import createError from '@fastify/error'
import type { ListenerEvent } from '../lifecycle/events.js'
import { withNotifications } from '../logs/log-record.js'
import type { Profile } from './profile.js'

/** The listener, its start and duration, and those of the other fields that have no default. */
type Row = [listener: string, start: number, duration: number, others?: Others]
type OtherField = Exclude<keyof ListenerEvent, 'stage' | 'pass' | 'listener' | 'start' | 'duration'>
type Others = { [Field in OtherField]?: ListenerEvent[Field] | undefined }
/** Events of one stage and pass that follow one another. */
type Group = [stage: ListenerEvent['stage'], pass: ListenerEvent['pass'], ...rows: Row[]]

/**
 * The JSON of a profile as it is stored: with rows for events, which are most of a profile. For a route without input
 * in debug mode it has 6.2 kB, and with objects 9.8 kB (`select length(json) from profiles`).
 */
export function storedJson (profile: Profile): string {
  // An import has them already.
  const isStored = Array.isArray(profile.events[0])
  return JSON.stringify(isStored ? profile : { ...profile, events: groupsOf(profile.events) })
}

/** A profile with its events as objects; `stored` may have them already. */
export function withEvents (stored: Profile): Profile {
  const events = (stored.events as Array<ListenerEvent | Group>).flatMap((entry) =>
    Array.isArray(entry) ? eventsOf(entry) : entry)
  return { ...stored, events }
}

const InvalidProfileError = createError('HINDSIGHT_INVALID_PROFILE',
  'The stored profile is not in the format of this version: "%s" must be %s.', 400)

const TYPES = {
  'a string': ['token', 'time', 'method', 'url', 'ip'],
  'a number': ['duration', 'status'],
  'an object': ['collectors'],
  'a list of objects': ['exceptions', 'logs']
} as const

/**
 * A profile as it was before it was stored: its events as objects, and a debug line for each listener that ran. Throws
 * for data that are no profile: a store of the application may hold anything.
 */
export function readProfile (stored: Profile): Profile {
  for (const [type, names] of Object.entries(TYPES)) {
    const invalid = names.find((name) => typeNameOf(stored[name]) !== type)
    if (invalid !== undefined) throw new InvalidProfileError(invalid, type)
  }
  makeConvertible(stored)
  try {
    const { events } = withEvents(stored)
    return { ...stored, events, logs: withNotifications(stored.logs, events, Date.parse(stored.time)) }
  } catch {
    return stored
  }
}

function typeNameOf (value: unknown): string {
  if (Array.isArray(value)) {
    return value.every((item) => typeNameOf(item) === 'an object') ? 'a list of objects' : 'a list'
  }
  return value === null ? 'null' : `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`
}

/** Without this, `String` throws for an object with a member `toString` or `valueOf`. */
function makeConvertible (value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (Object.hasOwn(value, 'toString') || Object.hasOwn(value, 'valueOf')) {
    Object.defineProperty(value, Symbol.toPrimitive, { value: () => JSON.stringify(value), configurable: true })
  }
  Object.values(value).forEach(makeConvertible)
}

function groupsOf (events: readonly ListenerEvent[]): Group[] {
  const groups: Group[] = []
  for (const event of events) {
    const { stage, pass } = event
    let group = groups.at(-1)
    if (group === undefined || group[0] !== stage || group[1] !== pass) groups.push(group = [stage, pass])
    group.push(rowOf(event))
  }
  return groups
}

function rowOf ({ listener, start, duration, outcome, reason, plugin, source, changes }: ListenerEvent): Row {
  const isDefault = outcome === defaultOutcome(reason)
  const hasOthers = [reason, plugin, source, changes].some((field) => field !== undefined)
  if (isDefault && !hasOthers) return [listener, start, duration]
  const others = { outcome: isDefault ? undefined : outcome, reason, plugin, source, changes }
  // JSON.stringify leaves out fields that are undefined.
  return [listener, start, duration, others satisfies Record<OtherField, unknown>]
}

function eventsOf ([stage, pass, ...rows]: Group): ListenerEvent[] {
  return rows.map(([listener, start, duration, others = {}]) =>
    ({ stage, listener, pass, outcome: defaultOutcome(others.reason), start, duration, ...others } as ListenerEvent))
}

/** Listeners and hooks that are skipped have a reason. */
function defaultOutcome (reason: string | undefined): 'ran' | 'skipped' {
  return reason === undefined ? 'ran' : 'skipped'
}

import type { FlattenedException } from '../errors/exception.js'
import type { LogRecord } from '../logs/log-record.js'
import { fittingLogs, noteOf } from './fitting-logs.js'
import { bytesOf, MAX_DEPTH, MAX_NAME, MAX_STRING, plain } from './plain.js'
import type { Profile } from './profile.js'

/** More than the JSON of one without its changes takes. */
const MAX_EVENT = 600

/** A profile that is plain JSON and no larger than `maxBytes`: itself where it is that, or a copy without what is bulkiest and least missed. */
export function boundProfile (profile: Profile, maxBytes: number): Profile {
  return profile.logsLeftOut === undefined && new Look(maxBytes).isFine(profile) ? profile : cutProfile(profile, maxBytes)
}

function cutProfile ({ logsLeftOut = 0, ...profile }: Profile, maxBytes: number): Profile {
  const bounded = plain(profile, MAX_STRING) as Profile
  const reason = `the profile was larger than ${maxBytes.toLocaleString('en')} bytes`
  const logs = Array.isArray(bounded.logs) ? bounded.logs : []
  const sizes = new Sizes(bounded)
  const keepLogs = (shown: LogRecord[]): void => {
    const dropped = logs.length - shown.length + logsLeftOut
    bounded.logs = dropped === 0 ? shown : [noteOf(dropped, (shown[0] ?? logs[0])?.time ?? profile.time, reason), ...shown]
  }
  const fitLogs = (least: number): void => {
    keepLogs(fittingLogs(logs, Math.max(least, maxBytes - sizes.total() + sizes.of('logs')), bytesOf))
  }
  keepLogs(logs)
  const steps: Array<[changed: string, step: () => void]> = [
    ['exceptions', () => bounded.exceptions.forEach(dropExcerpts)],
    ['logs', () => fitLogs(maxBytes / 8)],
    ['collectors', () => dropLargeCollectors(bounded, maxBytes / 8, reason)],
    ['logs', () => fitLogs(0)],
    ['', () => Object.assign(bounded, plain(bounded, 500))],
    ['collectors', () => dropLargeCollectors(bounded, 0, reason)],
    ['exceptions', () => { for (const exception of bounded.exceptions) exception.frames = exception.frames.slice(0, 10) }],
    ['exceptions', () => { bounded.exceptions = bounded.exceptions.slice(-10).map((exception) => withoutMembers(exception, reason)) }],
    ['events', () => { bounded.events = bounded.events.slice(0, 100) }]
  ]
  for (const [changed, step] of steps) {
    if (sizes.total() <= maxBytes) break
    step()
    sizes.forget(changed)
  }
  return bounded
}

/** Looks through a profile without copying it: most are small, and plain data already. */
class Look {
  #left: number

  constructor (maxBytes: number) {
    this.#left = maxBytes
  }

  isFine (profile: Profile): boolean {
    const { events } = profile
    // Only the recorder makes events: what varies in them are headers.
    this.#left -= events.length * MAX_EVENT
    for (const { changes } of events) {
      if (changes !== undefined && !this.#isPlain(changes, 2)) return false
    }
    for (const name in profile) if (name !== 'events' && !this.#isPlain((profile as unknown as Record<string, unknown>)[name], 1)) return false
    return this.#left >= 0
  }

  // A character is at most six bytes of JSON, a name or a value has signs around it.
  #isPlain (value: unknown, depth: number): boolean {
    switch (typeof value) {
      case 'string': return value.length <= MAX_STRING && (this.#left -= 6 * value.length + 3) >= 0
      case 'number': return Number.isFinite(value) && (this.#left -= 25) >= 0
      case 'boolean': return (this.#left -= 6) >= 0
      case 'object': return value === null || (depth < MAX_DEPTH && this.#isPlainObject(value, depth))
      default: return false
    }
  }

  #isPlainObject (value: object, depth: number): boolean {
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) if (!this.#isPlain(value[i], depth + 1)) return false
      return (this.#left -= value.length + 2) >= 0
    }
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== Object.prototype && prototype !== null) return false
    for (const name in value) {
      if (name === 'toJSON' || name.length > MAX_NAME || !this.#isPlain((value as Record<string, unknown>)[name], depth + 1)) return false
      this.#left -= 6 * name.length + 4
    }
    return this.#left >= 0
  }
}

/** The bytes of a profile's parts as JSON: each is measured once, and again only when it has been changed. */
class Sizes {
  readonly #parts: Record<string, unknown>
  #known: Record<string, number> = {}

  constructor (profile: Profile) {
    this.#parts = profile as unknown as Record<string, unknown>
  }

  total (): number {
    return Object.keys(this.#parts).reduce((sum, name) => sum + bytesOf(name) + 2 + this.of(name), 2)
  }

  of (name: string): number {
    return (this.#known[name] ??= bytesOf(this.#parts[name]))
  }

  /** One part, or with no name all of them. */
  forget (name: string): void {
    if (name === '') this.#known = {}
    else delete this.#known[name]
  }
}

function dropExcerpts (exception: FlattenedException): void {
  for (const frame of exception.frames) delete frame.excerpt
  exception.errors?.flat().forEach(dropExcerpts)
}

function withoutMembers ({ errors, ...exception }: FlattenedException, reason: string): FlattenedException {
  if (errors === undefined) return exception
  const members = `The errors that it holds are left out: ${reason}.`
  return { ...exception, note: exception.note === undefined ? members : `${exception.note} ${members}` }
}

function dropLargeCollectors (profile: Profile, maxBytes: number, reason: string): void {
  for (const [name, data] of Object.entries(profile.collectors)) {
    const bytes = bytesOf(data)
    if (bytes <= Math.max(maxBytes, 200)) continue
    profile.collectors[name] = { error: `${bytes.toLocaleString('en')} bytes were left out: ${reason}.` }
  }
}

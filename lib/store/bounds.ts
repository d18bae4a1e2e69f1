import type { FlattenedException } from '../errors/exception.js'
import { parts as ownParts } from '../parts/index.js'
import type { Part } from '../parts/part.js'
import { plainCopy } from '../parts/snapshot.js'
import { isWarningOrWorse, type LogRecord } from '../logs/log-record.js'
import { counted } from '../view/counted.js'
import { cut } from '../view/visible.js'
import type { Profile } from './profile.js'
import { recordWith, type ProfileRecord } from './summary.js'

/** Characters of a text in a profile that is too large. */
const MAX_STRING = 10_000
/** Characters of a text, if that is not enough. */
const MAX_SHORT_STRING = 500
/** The share of the space of a log that is left to its end, whatever the levels there are. */
const SHARE_OF_END = 1 / 4
const NOTE_BYTES = 350

/** The record of a profile; its JSON has at most `maxBytes`. */
export function boundedRecord (profile: Profile, maxBytes: number, parts: readonly Part[] = ownParts): ProfileRecord {
  try {
    const record = recordWith(parts, profile)
    if (Buffer.byteLength(record.json) <= maxBytes) return record
  } catch {
    // A value has no form in JSON: circular objects, BigInt.
  }
  return recordWith(parts, boundProfile(profile, maxBytes))
}

/** A copy of a profile that is plain JSON of at most `maxBytes`: the largest and least important parts are left out. */
export function boundProfile (profile: Profile, maxBytes: number): Profile {
  const bounded = plainCopy(profile, (text) => cut(text, MAX_STRING)) as Profile
  const reason = `the profile was larger than ${maxBytes.toLocaleString('en')} bytes`
  const fitLogs = (least: number): void => {
    const available = maxBytes - bytesOf({ ...bounded, logs: [] })
    bounded.logs = fittingLogs(bounded.logs, Math.max(least, available), reason)
  }
  const steps = [
    () => bounded.exceptions.forEach(dropExcerpts),
    () => fitLogs(maxBytes / 8),
    () => dropLargeCollectors(bounded, maxBytes / 8, reason),
    () => fitLogs(0),
    () => Object.assign(bounded, plainCopy(bounded, (text) => cut(text, MAX_SHORT_STRING))),
    () => dropLargeCollectors(bounded, 0, reason),
    () => {
      const last = bounded.exceptions.slice(-10)
      bounded.exceptions = last.map(({ errors: _errors, ...one }) => ({ ...one, frames: one.frames.slice(0, 10) }))
      bounded.events = bounded.events.slice(0, 100)
    }
  ]
  for (const step of steps) {
    if (bytesOf(bounded) <= maxBytes) break
    step()
  }
  return bounded
}

/** The lines of a log with at most `maxBytes` of JSON: warnings and errors first, then the newest, and a note. */
export function fittingLogs (lines: readonly LogRecord[], maxBytes: number, reason: string): LogRecord[] {
  // The log may have been shortened before.
  const countOf = ({ channel, context }: LogRecord): number =>
    channel === 'profiler' && Number.isSafeInteger(context.linesLeftOut) ? Number(context.linesLeftOut) : 0
  const own = lines.filter((line) => countOf(line) === 0)
  const kept = new Set<LogRecord>()
  let left = maxBytes - NOTE_BYTES
  const keep = (candidates: readonly LogRecord[], least: number): void => {
    for (const line of candidates.toReversed()) {
      const bytes = bytesOf(line) + 1
      if (kept.has(line) || left - bytes < least) continue
      kept.add(line)
      left -= bytes
    }
  }
  keep(own.filter(isWarningOrWorse), left * SHARE_OF_END)
  keep(own, 0)
  const shown = own.filter((line) => kept.has(line))
  const dropped = lines.reduce((sum, line) => sum + countOf(line), own.length - shown.length)
  if (dropped === 0) return shown
  const message = `${counted(dropped, 'line was', 'lines were')} left out, of the oldest and least severe: ${reason}.`
  const { time = '', offset = 0 } = shown[0] ?? lines[0] ?? {}
  const context = { linesLeftOut: dropped }
  return [{ time, offset, level: 'warn', channel: 'profiler', message, context }, ...shown]
}

function bytesOf (value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '')
}

function dropExcerpts (exception: FlattenedException): void {
  for (const frame of exception.frames) delete frame.excerpt
  exception.errors?.flat().forEach(dropExcerpts)
}

function dropLargeCollectors (profile: Profile, maxBytes: number, reason: string): void {
  for (const [name, data] of Object.entries(profile.collectors)) {
    const bytes = bytesOf(data)
    if (bytes <= Math.max(maxBytes, 200)) continue
    profile.collectors[name] = { error: `${bytes.toLocaleString('en')} bytes were left out: ${reason}.` }
  }
}

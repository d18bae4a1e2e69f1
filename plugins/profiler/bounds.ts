import type { FlattenedException } from '../diagnostics/exception.js'
import { cut } from '../view/visible.js'
import type { Profile } from './profile.js'

const MAX_STRING = 10_000
const MAX_DEPTH = 24
const numbers = new Intl.NumberFormat('en-US')

/** A copy of a profile that is plain JSON and no larger than `maxBytes`: what is bulkiest and least missed goes first. */
export function boundProfile (profile: Profile, maxBytes: number): Profile {
  const bounded = plain(profile, MAX_STRING) as Profile
  const reason = `the profile was larger than ${numbers.format(maxBytes)} bytes`
  const steps = [
    () => bounded.exceptions.forEach(dropExcerpts),
    () => dropLogs(bounded, 100, reason),
    () => dropLogs(bounded, 0, reason),
    () => dropLargeCollectors(bounded, maxBytes / 8, reason),
    () => Object.assign(bounded, plain(bounded, 500)),
    () => dropLargeCollectors(bounded, 0, reason),
    () => { for (const exception of bounded.exceptions) exception.frames = exception.frames.slice(0, 10) },
    () => { bounded.exceptions = bounded.exceptions.slice(-10).map(({ errors, ...exception }) => exception) },
    () => { bounded.events = bounded.events.slice(0, 100) }
  ]
  for (const step of steps) {
    if (bytesOf(bounded) <= maxBytes) break
    step()
  }
  return bounded
}

function bytesOf (value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '')
}

/** A collector of the application may have left anything in its data; a store takes only JSON. */
function plain (value: unknown, maxString: number, ancestors: readonly object[] = []): unknown {
  if (typeof value === 'string') return cut(value, maxString)
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value === 'boolean' || value === null || value === undefined) return value ?? null
  if (typeof value !== 'object') return cut(String(value), maxString)
  if (ancestors.includes(value)) return '[circular]'
  if (ancestors.length >= MAX_DEPTH) return '[too deep]'
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
  const within = [...ancestors, value]
  if (Array.isArray(value)) return value.map(item => plain(item, maxString, within))
  return Object.fromEntries(Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([name, item]) => [cut(name, 500), plain(item, maxString, within)]))
}

function dropExcerpts (exception: FlattenedException): void {
  for (const frame of exception.frames) delete frame.excerpt
  exception.errors?.flat().forEach(dropExcerpts)
}

function dropLogs (profile: Profile, keep: number, reason: string): void {
  const last = profile.logs.at(-1)
  const dropped = profile.logs.length - keep
  if (last === undefined || dropped <= 1) return
  // The end of a log is where the failure is told.
  profile.logs = keep === 0 ? [] : profile.logs.slice(-keep)
  profile.logs.unshift({
    time: last.time,
    level: 'warn',
    channel: 'profiler',
    message: `${numbers.format(dropped)} earlier lines were left out: ${reason}.`,
    context: {}
  })
}

function dropLargeCollectors (profile: Profile, maxBytes: number, reason: string): void {
  for (const [name, data] of Object.entries(profile.collectors)) {
    const bytes = bytesOf(data)
    if (bytes <= Math.max(maxBytes, 200)) continue
    profile.collectors[name] = { error: `${numbers.format(bytes)} bytes were left out: ${reason}.` }
  }
}

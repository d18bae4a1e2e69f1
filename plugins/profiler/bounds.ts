import type { FlattenedException } from '../diagnostics/exception.js'
import { cut } from '../view/visible.js'
import { boundLogs } from './bound-logs.js'
import type { Profile } from './profile.js'

const MAX_STRING = 10_000
const MAX_DEPTH = 24
const numbers = new Intl.NumberFormat('en-US')

/** A copy of a profile that is plain JSON and no larger than `maxBytes`: what is bulkiest and least missed goes first. */
export function boundProfile (profile: Profile, maxBytes: number): Profile {
  const bounded = plain(profile, MAX_STRING) as Profile
  const reason = `the profile was larger than ${numbers.format(maxBytes)} bytes`
  const { logs } = bounded
  const sizes = new Sizes(bounded)
  const fitLogs = (least: number): void => {
    bounded.logs = boundLogs(logs, Math.max(least, maxBytes - sizes.total() + sizes.of('logs')), reason)
  }
  const steps: Array<[changed: string, step: () => void]> = [
    ['exceptions', () => bounded.exceptions.forEach(dropExcerpts)],
    ['logs', () => fitLogs(maxBytes / 8)],
    ['collectors', () => dropLargeCollectors(bounded, maxBytes / 8, reason)],
    ['logs', () => fitLogs(0)],
    ['', () => Object.assign(bounded, plain(bounded, 500))],
    ['collectors', () => dropLargeCollectors(bounded, 0, reason)],
    ['exceptions', () => { for (const exception of bounded.exceptions) exception.frames = exception.frames.slice(0, 10) }],
    ['exceptions', () => { bounded.exceptions = bounded.exceptions.slice(-10).map(({ errors, ...exception }) => exception) }],
    ['events', () => { bounded.events = bounded.events.slice(0, 100) }]
  ]
  for (const [changed, step] of steps) {
    if (sizes.total() <= maxBytes) break
    step()
    sizes.forget(changed)
  }
  return bounded
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

function dropLargeCollectors (profile: Profile, maxBytes: number, reason: string): void {
  for (const [name, data] of Object.entries(profile.collectors)) {
    const bytes = bytesOf(data)
    if (bytes <= Math.max(maxBytes, 200)) continue
    profile.collectors[name] = { error: `${numbers.format(bytes)} bytes were left out: ${reason}.` }
  }
}

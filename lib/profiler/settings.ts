import type { Collector } from './collector.js'
import type { CollectOptions } from './collect-policy.js'
import type { OtlpSettings } from './otlp/settings.js'
import type { StorageSetting } from './storage/open.js'

/** Which requests are profiled, and where and how much of them is kept. */
export interface ProfilerSettings extends CollectOptions {
  /** Whether requests are profiled outside debug mode too; false by default. */
  production?: boolean
  /** Where profiles are kept: `sqlite` (the default), `memory`, `postgres://…`, or a store of the application. */
  storage?: StorageSetting
  /** The folder of the SQLite file. */
  dataDir?: string
  /** How many profiles are kept; 10,000 by default. */
  maxProfiles?: number
  /** How many bytes all profiles may take in the store; 256 MiB by default. */
  maxBytes?: number
  /** How many bytes one profile may take as JSON; 512 KiB by default. */
  maxProfileBytes?: number
  /** How many profiles may wait to be written; 4,000 by default. */
  maxQueue?: number
  /** Collectors of the application, each with a panel of its own: see `docs/collectors.md`. */
  collectors?: Collector[]
  /** Whether profiles go to an OpenTelemetry collector as traces: true, by the standard variables, or where to; false by default. */
  otlp?: boolean | OtlpSettings
  /** The role that the profiler's pages need outside debug mode, where without it there are none. */
  role?: string
}

/** The option `profiler`: false for none, `all`, `errors` (failures of the server only, in production too), or in detail. */
export type ProfilerOption = false | 'all' | 'errors' | ProfilerSettings

const NAMED: Readonly<Record<string, ProfilerSettings>> = { all: {}, errors: { onlyExceptions: true, minStatus: 500, production: true } }

/** What the option `profiler` means; null where nothing is profiled. Throws at a word that means nothing. */
export function profilerSettings (option: ProfilerOption = 'all'): ProfilerSettings | null {
  if (option === false) return null
  if (typeof option !== 'string') return option
  const settings = NAMED[option]
  if (settings === undefined) throw new Error(`profiler: "${option}" is neither all nor errors`)
  return settings
}

/** Whether the settings may profile a request from its beginning, or only requests that fail. */
export function isFromBeginning ({ collect = true, collectParameter, onlyExceptions = false, onDemand }: ProfilerSettings): boolean {
  return onDemand !== undefined || (!onlyExceptions && (collect || collectParameter !== undefined))
}

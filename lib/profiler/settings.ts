import type { FastifyRequest } from 'fastify'
import type { Collector } from './collector.js'
import type { StorageSetting } from './storage/open.js'

/** Which requests leave a profile. */
export interface CollectOptions {
  /** Whether requests are profiled unless another option decides; default: true. */
  collect?: boolean
  /** Whether failures are always profiled, whatever `collect`, `matcher` and `sampling` are; default: false. */
  errors?: boolean
  /** A query parameter that decides for its own request: `1` or `true` profiles it, `0` or `false` does not. */
  collectParameter?: string
  /** Whether only requests that failed are profiled; default: false. */
  onlyExceptions?: boolean
  /** A failure counts only if its response has this status or a higher one; default: 0. */
  minStatus?: number
  /** Only requests of a path (a prefix or an expression), or those that a function selects. */
  matcher?: string | RegExp | ((request: FastifyRequest) => boolean)
  /** The share of requests, from 0 to 1, drawn at random; failures are always profiled. Default: 1. */
  sampling?: number
}

/** Which requests are profiled, and where and how much of them is stored. */
export interface ProfilerSettings extends CollectOptions {
  /** Whether requests are profiled outside debug mode too; default: false. */
  production?: boolean
  /** Where profiles are stored: `sqlite` (the default), `memory`, `postgres://…`, or a store of the application. */
  storage?: StorageSetting
  /** The folder of the SQLite file. */
  dataDir?: string
  /** The number of profiles that are stored; default: 10,000. */
  maxProfiles?: number
  /** Bytes of all profiles in the store; default: 256 MiB. */
  maxBytes?: number
  /** Bytes of one profile as JSON; default: 512 KiB. */
  maxProfileBytes?: number
  /** The number of profiles that may wait to be written; default: 4,000. */
  maxQueue?: number
  /** Collectors of the application, each with a panel of its own: see `docs/how-to/collectors.md`. */
  collectors?: Collector[]
  /** Whether each profile also becomes spans of `@opentelemetry/api`; default: false. */
  openTelemetry?: boolean
  /** The role that the profiler's pages need outside debug mode; without it there are no pages outside debug mode. */
  role?: string
}

/** The option `profiler`: false, `all`, `errors` (failures of the server only, in production too), or in detail. */
export type ProfilerOption = false | 'all' | 'errors' | ProfilerSettings

const NAMED: Readonly<Record<string, ProfilerSettings>> = {
  all: {},
  errors: { onlyExceptions: true, minStatus: 500, production: true }
}

/** The settings of the option `profiler`; null: nothing is profiled. Throws at an unknown word. */
export function profilerSettings (option: ProfilerOption = 'all'): ProfilerSettings | null {
  if (option === false) return null
  if (typeof option !== 'string') return option
  const settings = NAMED[option]
  if (settings === undefined) throw new Error(`profiler: "${option}" is neither all nor errors`)
  return settings
}

/** Whether requests may be profiled from their beginning, not only once they have failed. */
export function isFromBeginning (settings: ProfilerSettings): boolean {
  const { collect = true, collectParameter, onlyExceptions = false } = settings
  return !onlyExceptions && (collect || collectParameter !== undefined)
}

import type { HindsightOptions, ProfilerSettings } from '../options.js'

/** The option `profiler`: false, `all`, `errors` (failures of the server only, in production too), or in detail. */
export type ProfilerOption = NonNullable<HindsightOptions['profiler']>

const ONLY_ERRORS: ProfilerSettings = { onlyExceptions: true, minStatus: 500, production: true }

/** The settings of the option `profiler`; null: nothing is profiled. */
export function profilerSettings (option: ProfilerOption = 'all'): ProfilerSettings | null {
  if (option === false) return null
  if (option === 'all') return {}
  return option === 'errors' ? ONLY_ERRORS : option
}

/** Whether requests may be profiled from their beginning, not only once they have failed. */
export function isFromBeginning (settings: ProfilerSettings): boolean {
  const { collect = true, collectParameter, onlyExceptions = false } = settings
  return !onlyExceptions && (collect || collectParameter !== undefined)
}

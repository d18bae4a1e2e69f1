import type { ApplicationSetup } from './recording/trace.js'
import { inspection } from './inspection/inspection.js'
import { partsWith } from './parts/index.js'
import type { Part } from './parts/part.js'
import { malformedProfile } from './recording/build-profile.js'
import { Recorder } from './recording/recorder.js'
import { ApplicationServices, prepareServices, type PreparedServices, type ResolvedOptions } from './services.js'
import { DEFAULT_DATA_DIR, openStorage, PRODUCTION_DATA_DIR } from './store/open.js'
import { Profiler } from './store/profiler.js'
import { checkCriteria } from './store/search-query.js'

/** Checks the values of options where requests are recorded. `ofLifecycle`: the parts of a lifecycle. */
export function prepareRecording (
  setup: ApplicationSetup, resolved: ResolvedOptions, ofLifecycle: readonly Part[] = []
): PreparedServices {
  const { collectors = [] } = resolved.settings ?? {}
  const parts = partsWith(collectors, ofLifecycle)
  checkCriteria(collectors)
  return prepareServices(setup, resolved, parts)
}

/**
 * Makes the services of an application. Opens the store of its profiles, which is closed with the application. In an
 * application that is only observed, without a store, only failures are recorded, for their pages.
 */
export async function openServices (
  setup: ApplicationSetup, prepared: PreparedServices
): Promise<ApplicationServices> {
  if (setup.debug && prepared.resolved.options.values !== false) inspection.start()
  const isProfiled = setup.lifecycle !== null || prepared.resolved.settings !== null
  const profiler = isProfiled && setup.recording !== 'none' ? await openProfiler(setup, prepared) : null
  const { mask, resolved: { options, settings } } = prepared
  return new ApplicationServices(setup, prepared, {
    profiler,
    makeRecorder: (services) => new Recorder(services, profiler, settings, options),
    onMalformed: setup.debug && profiler !== null
      ? (refused) => profiler.save(malformedProfile(refused, mask))
      : undefined
  })
}

async function openProfiler (
  { closing, debug, lifecycle, warn }: ApplicationSetup, { parts, resolved: { settings } }: PreparedServices
): Promise<Profiler> {
  const { maxQueue, maxProfileBytes, ...others } = settings ?? { storage: 'memory' }
  // An application that is only observed starts whether or not its profiles can be stored.
  const checkPlace = lifecycle !== null
  const dataDir = others.dataDir ?? (debug ? DEFAULT_DATA_DIR : PRODUCTION_DATA_DIR)
  const storage = await openStorage({ ...others, dataDir, checkPlace, warn })
  const profiler = new Profiler({ storage, parts, warn, maxQueue, maxProfileBytes })
  closing.push(() => profiler.close())
  return profiler
}

import { warnOnce, type ApplicationSetup } from './recording/trace.js'
import { inspection } from './inspection/inspection.js'
import { partsWith } from './parts/index.js'
import type { Part } from './parts/part.js'
import { captureLines } from './logs/log-capture.js'
import { createMask } from './mask/mask.js'
import type { ProfilerSettings } from './options.js'
import { malformedProfile } from './recording/build-profile.js'
import { JobRecorder } from './recording/jobs.js'
import './recording/process-events.js'
import { applicationData, watchExit } from './recording/profiles.js'
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

/**
 * Opens the recorder of jobs of a process in which no application runs, until it exits: with the store that an
 * application with the same options has.
 */
export async function openJobRecorder (
  options: ResolvedOptions['options'], settings: ProfilerSettings, recordsAll: boolean
): Promise<JobRecorder> {
  const processServices = servicesOfProcess(options, settings)
  const { debug, parts } = processServices
  const profiler = await openProfiler(processServices, { parts, resolved: { options, settings } })
  const services = { ...processServices, profiler }
  if (debug && options.values !== false) inspection.start()
  if (recordsAll) for (const { start } of parts) start?.({ hindsight: services })
  captureLines()
  const jobs = new JobRecorder({ services, settings, recordsAll, ofApplication: applicationData(services, options) })
  watchExit(profiler, (code) => jobs.exit(code))
  return jobs
}

/** The services of a process without an application, before its store is opened. */
export function servicesOfProcess (options: ResolvedOptions['options'], settings: ProfilerSettings) {
  return {
    debug: options.debug,
    lifecycle: null,
    warn: warnOnce,
    closing: [],
    settings: { ...settings, queries: options.queries !== false, values: options.values !== false },
    mask: createMask(options.mask ?? []),
    parts: partsWith(settings.collectors ?? [])
  }
}

async function openProfiler (
  { closing, debug, lifecycle, warn }: Pick<ApplicationSetup, 'debug' | 'lifecycle' | 'warn'> & { closing: unknown[] },
  { parts, resolved: { settings } }: Pick<PreparedServices, 'parts' | 'resolved'>
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

import type { FastifyInstance } from 'fastify'
import { debugAccess } from './http/debug-access.js'
import { originResolver } from './http/origin.js'
import { mayInject, replayContext, type Services } from './lifecycle/state.js'
import { createMask } from './mask/mask.js'
import { partsWith } from './parts/index.js'
import type { Part } from './parts/part.js'
import { malformedProfile } from './recording/build-profile.js'
import { createRecorder, type Recorder } from './recording/recorder.js'
import { Profiler } from './store/profiler.js'
import { checkCriteria } from './store/search-query.js'
import { DEFAULT_DATA_DIR, openStorage, PRODUCTION_DATA_DIR } from './store/open.js'
import type { HindsightOptions, ProfilerSettings } from './options.js'
import { editorLink } from './view/editor.js'

/** The options of an application, checked and completed. */
export interface ResolvedOptions {
  options: HindsightOptions & { debug: boolean }
  /** Null where the option `profiler` is false. */
  settings: ProfilerSettings | null
}

const isReplay = (): boolean => replayContext.getStore()?.replayOf !== undefined

/**
 * Checks the values of options and completes `app.hindsight`. Throws an error with the option's name.
 * `ofLifecycle`: the parts of a lifecycle.
 */
export function completeServices (
  app: FastifyInstance, { options, settings }: ResolvedOptions, ofLifecycle: readonly Part[] = []
): void {
  const { collectors = [] } = settings ?? {}
  const { lifecycle } = app.hindsight
  const parts = partsWith(collectors, ofLifecycle)
  checkCriteria(collectors)
  const originOf = originResolver({ ...options, trustedHosts: lifecycle?.trustedHosts ?? [] })
  Object.assign(app.hindsight, {
    parts,
    mask: createMask(options.mask ?? []),
    settings: settings ?? {},
    originOf,
    // The environment of the service sets it to `undefined` where its variable is missing.
    editor: editorLink({ ...options, editor: options.editor ?? (app.hindsight.debug ? 'vscode' : '') }),
    ...debugAccess(app, app.hindsight.debug, originOf, { isReplay, mayInject }, options)
  })
}

/**
 * Opens the store of an application's profiles, which is closed with the application, and its recorder. In an
 * application that is only observed, without a store, only failures are recorded, for their pages.
 */
export async function openRecorder (app: FastifyInstance, resolved: ResolvedOptions): Promise<Recorder> {
  const { options, settings } = resolved
  const { debug, lifecycle, mask } = app.hindsight
  if (lifecycle !== null || settings !== null) {
    const profiler = await openProfiler(app, resolved)
    const onMalformed: Services['onMalformed'] = (refused) => { profiler.save(malformedProfile(refused, mask)) }
    Object.assign(app.hindsight, { profiler, ...debug && { onMalformed } })
  }
  const recorder = createRecorder(app, settings, options)
  Object.assign(app.hindsight, { recorder })
  return recorder
}

async function openProfiler (app: FastifyInstance, { options, settings }: ResolvedOptions): Promise<Profiler> {
  const { warn, parts } = app.hindsight
  const { debug } = options
  const { maxQueue, maxProfileBytes, ...others } = settings ?? { storage: 'memory' }
  // An application that is only observed starts whether or not its profiles can be stored.
  const checkPlace = app.hindsight.lifecycle !== null
  const dataDir = others.dataDir ?? (debug ? DEFAULT_DATA_DIR : PRODUCTION_DATA_DIR)
  const storage = await openStorage({ ...others, dataDir, checkPlace, warn })
  const profiler = new Profiler({ storage, parts, warn, maxQueue, maxProfileBytes })
  app.hindsight.closing.push(() => profiler.close())
  return profiler
}

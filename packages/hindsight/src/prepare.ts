import type { FastifyRequest } from 'fastify'
import { debugAccess, type DebugAccess } from './http/debug-access.js'
import { originResolver, type Origin } from './http/origin.js'
import { ApplicationSetup, mayInject, replayContext, type Services } from './recording/trace.js'
import { createMask, type Mask } from './mask/mask.js'
import { partsWith } from './parts/index.js'
import type { Part } from './parts/part.js'
import { malformedProfile } from './recording/build-profile.js'
import { Recorder } from './recording/recorder.js'
import { Profiler } from './store/profiler.js'
import { checkCriteria } from './store/search-query.js'
import { DEFAULT_DATA_DIR, openStorage, PRODUCTION_DATA_DIR } from './store/open.js'
import type { HindsightOptions, ProfilerSettings } from './options.js'
import { editorLink, type EditorLink } from './view/editor.js'

/** The options of an application, checked and completed. */
export interface ResolvedOptions {
  options: HindsightOptions & { debug: boolean }
  /** Null where the option `profiler` is false. */
  settings: ProfilerSettings | null
}

/** What is made of the options before the store is opened. */
export interface PreparedServices extends DebugAccess {
  parts: readonly Part[]
  mask: Mask
  originOf: (request: FastifyRequest) => Origin
  editor: EditorLink | null
  resolved: ResolvedOptions
}

declare module 'fastify' {
  interface FastifyInstance {
    hindsight: ApplicationServices
  }
}

/** The services of one application, as `app.hindsight`. */
export class ApplicationServices extends ApplicationSetup implements Services {
  override readonly hasProfiles: boolean
  readonly parts: readonly Part[]
  readonly mask: Mask
  readonly originOf: Services['originOf']
  readonly isDebugClient: DebugAccess['isDebugClient']
  readonly mayReceiveDetails: DebugAccess['mayReceiveDetails']
  readonly mayReceiveReason: DebugAccess['mayReceiveReason']
  readonly editor: Services['editor']
  readonly settings: Services['settings']
  readonly onMalformed: Services['onMalformed']
  /** Records requests; null where none is recorded. */
  readonly recorder: Recorder | null
  readonly #profiler: Profiler | null

  /** `profiler`: null where no request is profiled. */
  constructor (setup: ApplicationSetup, prepared: PreparedServices, profiler: Profiler | null) {
    super(setup)
    const { resolved: { options, settings }, parts, mask } = prepared
    this.hasProfiles = profiler !== null
    this.#profiler = profiler
    this.parts = parts
    this.mask = mask
    this.originOf = prepared.originOf
    this.isDebugClient = prepared.isDebugClient
    this.mayReceiveDetails = prepared.mayReceiveDetails
    this.mayReceiveReason = prepared.mayReceiveReason
    this.editor = prepared.editor
    this.settings = { ...settings, queries: options.queries !== false }
    if (this.debug && profiler !== null) this.onMalformed = (refused) => profiler.save(malformedProfile(refused, mask))
    this.recorder = this.recording === 'none' ? null : new Recorder(this, profiler, settings, options)
  }

  /** The stored profiles. Throws where no request is profiled. */
  get profiler (): Profiler {
    if (this.#profiler === null) throw new Error('No request of this application is profiled')
    return this.#profiler
  }
}

const isReplay = (): boolean => replayContext.getStore()?.replayOf !== undefined

/** Checks the values of options. Throws an error with the option's name. `ofLifecycle`: the parts of a lifecycle. */
export function prepareServices (
  { app, debug, lifecycle }: ApplicationSetup, resolved: ResolvedOptions, ofLifecycle: readonly Part[] = []
): PreparedServices {
  const { options, settings } = resolved
  const { collectors = [] } = settings ?? {}
  const parts = partsWith(collectors, ofLifecycle)
  checkCriteria(collectors)
  const originOf = originResolver({ ...options, trustedHosts: lifecycle?.trustedHosts ?? [] })
  const access = debugAccess(app, debug, originOf, { isReplay, mayInject }, options)
  // The environment of the service sets it to `undefined` where its variable is missing.
  const editor = editorLink({ ...options, editor: options.editor ?? (debug ? 'vscode' : '') })
  return { resolved, parts, mask: createMask(options.mask ?? []), originOf, editor, ...access }
}

/**
 * Makes the services of an application. Opens the store of its profiles, which is closed with the application. In an
 * application that is only observed, without a store, only failures are recorded, for their pages.
 */
export async function openServices (
  setup: ApplicationSetup, prepared: PreparedServices
): Promise<ApplicationServices> {
  const isProfiled = setup.lifecycle !== null || prepared.resolved.settings !== null
  const profiler = isProfiled && setup.recording !== 'none' ? await openProfiler(setup, prepared) : null
  return new ApplicationServices(setup, prepared, profiler)
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

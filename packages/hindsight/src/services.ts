import type { FastifyRequest } from 'fastify'
import { debugAccess, type DebugAccess } from './http/debug-access.js'
import { originResolver, type Origin } from './http/origin.js'
import { ApplicationSetup, mayInject, replayContext, type Services } from './recording/trace.js'
import { createMask, type Mask } from './mask/mask.js'
import type { HindsightOptions, ProfilerSettings } from './options.js'
import type { Part } from './parts/part.js'
import type { Recorder } from './recording/recorder.js'
import type { Profiler } from './store/profiler.js'
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

/** What records requests: it is loaded only where some are recorded. */
interface RecordingServices {
  /** Null where no request is profiled. */
  profiler: Profiler | null
  makeRecorder: (services: ApplicationServices) => Recorder
  onMalformed: Services['onMalformed']
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
  readonly isPageAllowed: DebugAccess['isPageAllowed']
  readonly mayReceiveDetails: DebugAccess['mayReceiveDetails']
  readonly mayReceiveReason: DebugAccess['mayReceiveReason']
  readonly editor: Services['editor']
  readonly settings: Services['settings']
  readonly onMalformed: Services['onMalformed']
  /** Records requests; null where none is recorded. */
  readonly recorder: Recorder | null
  readonly #profiler: Profiler | null

  /** `recording`: null where no request is recorded. */
  constructor (setup: ApplicationSetup, prepared: PreparedServices, recording: RecordingServices | null = null) {
    super(setup)
    const { profiler = null } = recording ?? {}
    const { mask, parts, resolved: { options, settings } } = prepared
    this.hasProfiles = profiler !== null
    this.#profiler = profiler
    this.parts = parts
    this.mask = mask
    this.originOf = prepared.originOf
    this.isDebugClient = prepared.isDebugClient
    this.isPageAllowed = prepared.isPageAllowed
    this.mayReceiveDetails = prepared.mayReceiveDetails
    this.mayReceiveReason = prepared.mayReceiveReason
    this.editor = prepared.editor
    this.settings = { ...settings, queries: options.queries !== false, values: options.values !== false }
    this.onMalformed = recording?.onMalformed
    this.recorder = recording?.makeRecorder(this) ?? null
  }

  /** The stored profiles. Throws where no request is profiled. */
  get profiler (): Profiler {
    if (this.#profiler === null) throw new Error('No request of this application is profiled')
    return this.#profiler
  }
}

const isReplay = (): boolean => replayContext.getStore()?.replayOf !== undefined

/** Checks the values of options. Throws an error with the option's name. `parts`: those of profiles. */
export function prepareServices (
  { app, debug, lifecycle }: ApplicationSetup, resolved: ResolvedOptions, parts: readonly Part[] = []
): PreparedServices {
  const { options } = resolved
  const originOf = originResolver({ ...options, trustedHosts: lifecycle?.trustedHosts ?? [] })
  const access = debugAccess(app, debug, originOf, { isReplay, mayInject }, options)
  // The environment of the service sets it to `undefined` where its variable is missing.
  const editor = editorLink({ ...options, editor: options.editor ?? (debug ? 'vscode' : '') })
  return { resolved, parts, mask: createMask(options.mask ?? []), originOf, editor, ...access }
}

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { cachedByObject } from '../cache.js'
import type { Slot } from './events.js'
import type { Recording } from '../recording/recording.js'
import { recordingOf, requestContext, stateOf, type RequestContext } from './request-state.js'

/** `observe` shows what an application does and changes nothing; `full` runs the documented lifecycle. */
export type Mode = 'observe' | 'full'

/**
 * The services of one application, as `app.hindsight`. This interface has those of the lifecycle; each feature declares
 * its own by declaration merging. `app/hindsight.ts` and `app/prepare.ts` set them before the first request.
 */
export interface Services {
  /** The application: the pages of the profiler may be answered by another instance. */
  readonly app: FastifyInstance
  readonly mode: Mode
  /** The order of listeners as it was registered. */
  readonly lifecycle: { readonly slots: Slot[] }
  readonly debug: boolean
  /** The prefix of the application, without a slash at the end: the paths of the profiler begin with it. */
  readonly base: string
  /** Which requests are recorded: none, those that fail, or all that the options select, from their beginning. */
  readonly recording: 'none' | 'on-failure' | 'always'
  /** The listeners that are left to the application. */
  readonly leave: ReadonlySet<string>
  /** Called for each request of `/readyz`; one that throws or rejects makes the application unready. */
  readonly readinessChecks: Array<() => unknown>
  /**
   * Reports problems to operators: to the application's log in `full` mode, as a warning of the process, once, in
   * `observe` mode.
   */
  readonly warn: (message: string, error?: unknown) => void
  /** Functions that are called when the application is closed: the last one first, one after the other. */
  readonly closing: Array<() => unknown>
  /** Whether the application has begun to close: it is not ready for more requests. */
  readonly isClosing: boolean
  /** To be called when the application begins to close. */
  readonly beginClosing: () => void
  /** The address of the profiler, with a slash at the end; null where the server does not listen on a port. */
  readonly profilerUrl: string | null
}

declare module 'fastify' {
  interface FastifyInstance {
    hindsight: Services
  }
}

/**
 * The services of the application that a request came to: after `reply.callNotFound()` its `server` may be an instance
 * around it that has none.
 */
export function servicesOf (request: FastifyRequest): Services {
  return (stateOf(request).scope ?? request.server).hindsight
}

declare module './request-state.js' {
  interface RequestContext {
    /** Records what happens after the response; absent before its profile is made, and where it has none. */
    late?: LateRecorder
  }
}

/** Adds to a stored profile what happens after the response. There is no recording when it is too late. */
interface LateRecorder {
  readonly services: Services
  openRecording: () => Recording | undefined
  addError: (error: unknown) => void
}

/** The recording of an asynchronous context, and the services of its application. */
export interface ContextRecording { recording: Recording, services: Services }

/**
 * The recording of an asynchronous context, by default of the current one; undefined: nothing is recorded. After the
 * response it is another recording, which completes the profile.
 */
export function recordingIn (
  context: RequestContext | undefined = requestContext.getStore()
): ContextRecording | undefined {
  const { request, ofRequest: { late } = {} } = context ?? {}
  const recording = late === undefined ? request && recordingOf(request) : late.openRecording()
  const services = late?.services ?? (request && servicesOf(request))
  return recording === undefined || services === undefined ? undefined : { recording, services }
}

const referenceTo = cachedByObject((recording: Recording) => new WeakRef(recording))

/**
 * Makes the function that is called when work has ended. Where the profile was made before, `add` adds the work to what
 * completes it. Work that never ends does not keep its request in memory.
 */
export function onWorkEnd (
  context: RequestContext | undefined, recording: Recording, add: (later: ContextRecording) => void
): () => void {
  const begun = referenceTo(recording)
  const { work } = recording
  return () => {
    work?.sample()
    const later = recordingIn(context)
    if (later !== undefined && later.recording !== begun.deref()) add(later)
  }
}

const warned = new Set<string>()

export function warnOnce (message: string, error?: unknown): void {
  if (warned.has(message)) return
  warned.add(message)
  const reason = error === undefined ? '' : `: ${error instanceof Error ? error.message : String(error)}`
  process.emitWarning(`${message}${reason}`, 'HindsightWarning')
}

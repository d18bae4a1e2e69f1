import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Mask } from '../mask/mask.js'
import type { DebugAccess, DebugAccessOptions } from '../http/debug-access.js'
import type { EditorLink, EditorOptions } from './editor.js'
import type { Lifecycle } from './lifecycle.js'
import type { OriginOptions } from '../http/origin.js'
import type { MalformedMessage } from '../http/refused-message.js'
import type { Origin } from '../http/request-origin.js'

export interface KernelOptions extends OriginOptions, DebugAccessOptions, EditorOptions {
  /** `observe` (the default): nothing of the application is changed; `full`: it runs the documented lifecycle. */
  lifecycle?: Mode
  /** Whether failures are explained to clients that may see it. */
  debug?: boolean
  /** Names of listeners that are left to the application: they have their places, and do nothing. */
  leave?: string[]
  /** Names of headers and fields whose values are masked, beside the built-in ones. */
  mask?: Array<string | RegExp>
}

/** What the session's cookie is told to be, as far as it decides when browsers send it. */
export interface SessionCookie {
  name: string
  sameSite: boolean | string | undefined
  path: string | undefined
  secure: boolean | string | undefined
}

/** `observe` shows what an application does and changes nothing; `full` runs the documented lifecycle. */
export type Mode = 'observe' | 'full'

/** What the listeners of one application share. */
export interface Services extends DebugAccess {
  /** The application: the pages of the profiler may be answered by another instance. */
  readonly app: FastifyInstance
  readonly mode: Mode
  /** The listeners in their order. */
  readonly lifecycle: Lifecycle
  readonly debug: boolean
  /** The path below which the application was given its prefix, without a slash at the end: the profiler's pages begin there. */
  readonly base: string
  /** Whether requests may be observed, all of them or some. */
  readonly observed: boolean
  /** Whether some of them may be so from their beginning. */
  readonly fromBeginning: boolean
  /** Whether a request is observed from its beginning; others are when they fail. */
  isObserved: (request: FastifyRequest) => boolean
  readonly mask: Mask
  originOf: (request: FastifyRequest) => Origin
  /** Writes links that open source in the editor; null where none was named. */
  readonly editor: EditorLink | null
  /** The cookies that a request brought, whoever has parsed them. */
  cookiesOf: (request: FastifyRequest) => Readonly<Record<string, string | undefined>>
  /** The listeners that are left to the application. */
  readonly leave: ReadonlySet<string>
  /** Opens the diagnostic context of a request that never comes to the first listener. */
  openDiagnostics: ((request: FastifyRequest, reply: FastifyReply) => void) | null
  /** Records what came in with a request, once; null where that is a listener's job. */
  collectRequest: ((request: FastifyRequest) => void) | null
  /** Follows a request that is observed to the end of its response. */
  follow: ((request: FastifyRequest, reply: FastifyReply) => void) | null
  /** The log of a request, as far as it was kept. */
  logOf: ((request: FastifyRequest) => unknown) | null
  /** Where something was declared, by a stack that was taken there: the first call that is neither ours nor Fastify's, and whose package that is. Null where nobody is observed. */
  placeOf: ((declaredAt: Error) => { source: string, package: string | null } | null) | null
  /** Where the profile of a request will be found, or null where none is kept. */
  profileOf: ((request: FastifyRequest) => { token: string, url: string } | null) | null
  /** The token of a request's profile, drawn at once: for those that it causes. Null where it will leave none. */
  tokenOf: ((request: FastifyRequest) => string | null) | null
  /** Keeps the profile of a request about which something came to light behind its response. */
  keepLate: ((request: FastifyRequest, reply: FastifyReply) => void) | null
  /** Where the page that a response is reports violations of its policies; null where it shall not, or nobody would take them. */
  reportUriOf: ((request: FastifyRequest) => string | null) | null
  /** Stores the profile of a message that was refused before it became a request; null where none is kept. */
  recordMalformed: ((refused: MalformedMessage) => void) | null
  /** What decides when browsers send the session's cookie; null without sessions. */
  sessionCookie: SessionCookie | null
  /** What must answer for the application to be ready, each asked by a call. */
  readonly needs: Array<() => unknown>
  /** Reports what operators should know: to the application's log in `full` mode, as a warning of the process, once, in `observe` mode. */
  readonly warn: (message: string, error?: unknown) => void
  /** What is to be done when the application is closed: the last one first, one after the other. */
  readonly closing: Array<() => unknown>
  /** Whether the application was told to end: it is not ready for more. */
  isClosing: boolean
}

declare module 'fastify' {
  interface FastifyInstance {
    hindsight: Services
  }
}

/**
 * Decorates an application with the services that its listeners share. Those of requests are added before the first request; a process that observes none
 * does not load them.
 */
export function openServices (app: FastifyInstance, options: KernelOptions & { mode?: Mode }, observed: boolean, fromBeginning = observed): void {
  const { debug = false, leave = [], mode = 'full' } = options
  app.decorate('hindsight', {
    app,
    mode,
    lifecycle: { slots: [] },
    debug,
    base: app.prefix.replace(/\/$/, ''),
    observed,
    fromBeginning,
    isObserved: () => true,
    cookiesOf: (request: FastifyRequest) => (request as { cookies?: Record<string, string> }).cookies ?? {},
    leave: new Set(leave),
    openDiagnostics: null,
    collectRequest: null,
    follow: null,
    logOf: null,
    placeOf: null,
    profileOf: null,
    tokenOf: null,
    keepLate: null,
    reportUriOf: null,
    recordMalformed: null,
    sessionCookie: null,
    needs: [],
    warn: mode === 'full'
      ? (message: string, error?: unknown) => { app.log.warn({ ...(error !== undefined && { err: error }), channel: 'profiler' }, message) }
      : warnOnce,
    closing: [],
    isClosing: false
  } as unknown as Services)
  app.addHook('onClose', async function closeHindsight () {
    const { closing } = app.hindsight
    // What is awaited may add more.
    while (closing.length > 0) await closing.pop()?.()
  })
}

const warned = new Set<string>()

function warnOnce (message: string, error?: unknown): void {
  if (warned.has(message)) return
  warned.add(message)
  const reason = error === undefined ? '' : `: ${error instanceof Error ? error.message : String(error)}`
  process.emitWarning(`${message}${reason}`, 'HindsightWarning')
}

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { traceOf, type PassName, type RequestTrace, type RouteMatch } from 'fastify-hindsight/recorder'
import type { Link } from './link.js'
import type { RouteAttributes } from './options.js'
import type { Security } from './security/compile.js'
import type { SecurityContext } from './security/context.js'
import type { ListenerSlot } from './stages.js'

/** How the preconditions of a request were evaluated; the profile shows it. */
export interface CacheRecord {
  outcome: CacheOutcome
  validators: Validators | null
  /** Whether the handler was reached, or replaced by a 304: the attribute does not apply to other answers. */
  isReached: boolean
  /** Why the response is for its client alone. */
  private: string | null
}

/** The validators of the current representation of a resource (RFC 9110, section 8.8), as they are sent. */
export interface Validators {
  etag: string | null
  lastModified: string | null
}

/** The result of the preconditions: `fresh` is answered with 304. */
export type CacheOutcome = 'unconditional' | 'stale' | 'fresh'

/** The page that a query requests. */
export interface Pagination {
  /** From 1. */
  page: number
  /** Items on a page. */
  limit: number
  /** Items before the page. */
  offset: number
  /** The field to sort by: one that the route allows, or null. */
  sort: string | null
  direction: 'asc' | 'desc'
}

/** The state of one request of the service: what its listeners share. */
export class RequestState {
  /** What the package records of the request. */
  readonly trace: RequestTrace
  /** Whether `request.route` is null again: the listener that publishes the route has released it. */
  isRouteReleased = false
  /** The attributes of the route, after the listener of the controller. */
  attributes: RouteAttributes | undefined
  /** The locale, as a BCP 47 tag. */
  locale: string | undefined
  localeSource: 'route' | 'accept-language' | undefined
  /** Whether `Accept-Language` was read, so that caches must distinguish it. */
  languageRead = false
  /** The services for a locale that is not among the enabled ones. */
  localeServices: object | undefined
  /** The session; null after it was destroyed. */
  session: object | null | undefined
  /** Why the session of the request could not be read. */
  sessionError: unknown
  /** The user of the request and how it was recognized; undefined before the firewall and after the response. */
  security: SecurityContext | undefined
  /** Whether a user was recognized by credentials of any kind: the response is for this client alone. */
  credentialsUsed = false
  /** The page that the query names. */
  pagination: Pagination | null | undefined
  /** The links of the response besides those of the route. */
  links: Link[] | undefined
  /** How the preconditions of the request were evaluated. */
  cache: CacheRecord | undefined
  /** Whether `Cache-Control` has the default for responses without one. */
  defaultCacheControl = false
  /** The files of the front end that the response uses. */
  assets: Set<string> | undefined

  constructor (trace: RequestTrace) {
    this.trace = trace
  }

  /** Whether something was raised while the request was handled. */
  get failed (): boolean {
    return this.trace.failed
  }

  get isRecording (): boolean {
    return this.trace.isRecording
  }

  get recording (): RequestTrace['recording'] {
    return this.trace.recording
  }

  /** The path parameters as they were sent, where a converter has replaced them. */
  get sentParams (): Record<string, unknown> | undefined {
    return this.trace.sentParams
  }

  set sentParams (params: Record<string, unknown> | undefined) {
    this.trace.sentParams = params
  }

  /** Whether the response depends on the session. */
  get sessionUsed (): boolean {
    return this.trace.sessionUsed
  }

  set sessionUsed (isUsed: boolean) {
    this.trace.sessionUsed = isUsed
  }

  get pass (): PassName {
    return this.trace.pass
  }

  set pass (pass: PassName) {
    this.trace.pass = pass
  }

  get route (): RouteMatch | null {
    return this.trace.route
  }

  set route (route: RouteMatch | null) {
    this.trace.route = route
  }
}

const kState = Symbol('service.state')

/** The state of a request; made with the first call. */
export function stateOf (request: FastifyRequest): RequestState {
  const holder = request as { [kState]?: RequestState }
  return (holder[kState] ??= new RequestState(traceOf(request)))
}

/** What the listeners of one application share, as `app.service`. */
export interface ServiceState {
  /** The listeners in the order of their registration. */
  readonly slots: ListenerSlot[]
  /** The names of the listeners that are left to the application. */
  readonly leave: ReadonlySet<string>
  /** Called for each request of `/readyz`; one that throws or rejects makes the application unready. */
  readonly readinessChecks: Array<() => unknown>
  /** The name of the cookie of the session; undefined without the option `session`. */
  readonly sessionCookie: string | undefined
  /** Undefined without the option `security`, and before it was compiled. */
  security: Security | undefined
}

declare module 'fastify' {
  interface FastifyInstance {
    service: ServiceState
  }
}

/** The state of the service that a request came to. */
export function serviceOf (request: FastifyRequest): ServiceState {
  const scope: FastifyInstance = traceOf(request).scope ?? request.server
  return scope.service
}

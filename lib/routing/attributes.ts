import { parse } from '@lukeed/ms'
import type { FastifyParamConverters, FastifyRequest } from 'fastify'
import type { Link } from '../http/link.js'
import { Skip } from '../lifecycle/listener.js'
import { stateOf } from '../lifecycle/request-state.js'

/** A span of time: whole seconds, or words such as `10 minutes`, `1 hour`, `2d` (as @lukeed/ms reads them). */
export type Duration = number | string

/** The built-in converters, and the types of their values. */
export interface BuiltInConverters {
  /** A whole number that JavaScript can hold exactly. */
  int: number
  /** A date or a date and time of RFC 3339; a date alone is its midnight in UTC. */
  date: Date
  /** A UUID (RFC 9562, section 4), in lower case. */
  uuid: string
}

/** The names of all converters, with those of the application. */
export type ConverterName = keyof (BuiltInConverters & FastifyParamConverters)

/** How one path parameter is converted. */
export type ParamAttribute =
  | ConverterName
  | { readonly enum: ReadonlyArray<string | number> }

/**
 * How the responses of a route may be cached (RFC 9111, section 5.2.2), and what identifies its representation.
 * Functions are methods here, so that their requests may have a more specific type.
 */
export interface CacheAttribute {
  /** For shared caches; a response that used a session or an `Authorization` header is private nevertheless. */
  readonly public?: boolean
  /** Only for the cache of the client. */
  readonly private?: boolean
  /** `max-age`. */
  readonly maxAge?: Duration
  /** `s-maxage`, for shared caches; makes the response public. */
  readonly sMaxAge?: Duration
  /** `stale-while-revalidate` (RFC 5861, section 3). */
  readonly staleWhileRevalidate?: Duration
  /** `stale-if-error` (RFC 5861, section 4). */
  readonly staleIfError?: Duration
  readonly mustRevalidate?: boolean
  readonly noStore?: boolean
  /** `immutable` (RFC 8246). */
  readonly immutable?: boolean
  /** `Expires`: a time after the response, or a date. */
  readonly expires?: Duration | Date
  /** Header names that are added to `Vary`. */
  readonly vary?: readonly string[]
  /** When the resource was changed; nothing where that is unknown. */
  lastModified?(request: FastifyRequest): Date | null | undefined | Promise<Date | null | undefined>
  /** What identifies the representation: any text, from which an entity tag is made; or nothing. */
  etag?(request: FastifyRequest): string | null | undefined | Promise<string | null | undefined>
  /** Whether the entity tag is a weak one (RFC 9110, section 8.8.1). */
  readonly weak?: boolean
}

/** A role or attribute that the user must be granted; with a subject: the name of a parameter, or a function. */
export type IsGrantedAttribute = string | {
  readonly attribute: string
  readonly subject?: string | ((request: FastifyRequest) => unknown)
}

/** What a route may declare in its `config` for the listeners. */
export interface RouteAttributes {
  /** The template with which a plain object is rendered that the handler returns. */
  readonly template?: string
  readonly cache?: CacheAttribute
  /** How the path parameters are converted, by their names. */
  readonly params?: Readonly<Record<string, ParamAttribute>>
  /**
   * An expression in the Common Expression Language that must be true for the handler to run, over
   * `user` (null for an anonymous one), `roles`, `params` and `request` (method, path, ip, host, scheme, headers,
   * query).
   */
  readonly security?: string
  /** The role or attribute that must be granted for the handler to run; of several, each. */
  readonly isGranted?: IsGrantedAttribute | readonly IsGrantedAttribute[]
  /** Links of every response of the route (RFC 8288). */
  readonly links?: readonly Link[]
}

type Converters = BuiltInConverters & FastifyParamConverters

type Converted<Attribute> =
  Attribute extends keyof Converters
    ? Converters[Attribute]
    : Attribute extends { readonly enum: ReadonlyArray<infer Member> } ? Member : never

/** The type of `request.params` after the converters that a `config` declares. */
export type ConvertedParams<Config extends { readonly params: Readonly<Record<string, ParamAttribute>> }> = {
  -readonly [Name in keyof Config['params']]: Converted<Config['params'][Name]>
}

declare module 'fastify' {
  // An application merges its own converters into this: their names, and the types of their values.
  interface FastifyParamConverters {}
  interface FastifyContextConfig extends RouteAttributes {}
}

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** The attributes of the route, after the controller-attributes listener. */
    attributes?: RouteAttributes
    /** The path parameters as they were sent, where a converter has replaced them. */
    sentParams?: Record<string, unknown>
  }
}

export const notDeclared = new Skip('not configured')
export const ofDiagnosticHandler = new Skip('the diagnostic handler declares no attributes')

/** The attributes of a request's route; null before the listener controller-attributes, and where there are none. */
export function attributesOf (request: FastifyRequest): RouteAttributes | null {
  return stateOf(request).attributes ?? null
}

/** The whole seconds of a duration; null where it is invalid or negative. */
export function secondsOf (duration: unknown): number | null {
  const seconds = typeof duration === 'string' ? Math.floor((parse(duration) ?? NaN) / 1000) : duration
  return typeof seconds === 'number' && Number.isSafeInteger(seconds) && seconds >= 0 ? seconds : null
}

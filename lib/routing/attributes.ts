import type { FastifyParamConverters, FastifyRequest } from 'fastify'
import type { Duration } from './duration.js'
import type { Link } from '../http/link.js'
import { Skip } from '../lifecycle/listener.js'
import { stateOf } from '../lifecycle/request-state.js'

/** The converters that every application has, and what they make of a path parameter. */
export interface BuiltInConverters {
  /** A whole number that JavaScript can hold exactly. */
  int: number
  /** A date or a date and time of RFC 3339; a date alone is its midnight in UTC. */
  date: Date
  /** A UUID (RFC 9562, section 4), in lower case. */
  uuid: string
}

/** The names of all converters, the application's own among them. */
export type ConverterName = keyof (BuiltInConverters & FastifyParamConverters)

/** How one path parameter is converted. */
export type ParamAttribute =
  | ConverterName
  | { readonly enum: ReadonlyArray<string | number> }
  | { readonly converter: ConverterName, readonly options?: unknown }

/**
 * How the responses of a route may be cached (RFC 9111, section 5.2.2), and what identifies its representation.
 * Functions are methods here so that they may say more about the request's type than every request has.
 */
export interface CacheAttribute {
  /** For everybody; what was made with a session or an `Authorization` header is private all the same. */
  readonly public?: boolean
  /** For the client alone. */
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
  /** `Expires`: from the response on, or a date. */
  readonly expires?: Duration | Date
  /** Header names that are added to `Vary`. */
  readonly vary?: readonly string[]
  /** When the resource was changed; nothing where there is none, or nobody knows. */
  lastModified?(request: FastifyRequest): Date | null | undefined | Promise<Date | null | undefined>
  /** What identifies the representation: any text, made an entity tag; nothing where there is none. */
  etag?(request: FastifyRequest): string | null | undefined | Promise<string | null | undefined>
  /** Whether the entity tag is a weak one (RFC 9110, section 8.8.1). */
  readonly weak?: boolean
}

/** A role or attribute that the user must be granted, of a subject where one is meant: a parameter's name, or what finds it. */
export type IsGrantedAttribute = string | {
  readonly attribute: string
  readonly subject?: string | ((request: FastifyRequest) => unknown)
}

/** What a route may declare in its `config` for the listeners around its handler. */
export interface RouteAttributes {
  /** The template that a plain object from the handler is rendered with. */
  readonly template?: string
  readonly cache?: CacheAttribute
  /** How the path parameters are converted, by their names. */
  readonly params?: Readonly<Record<string, ParamAttribute>>
  /**
   * An expression in the Common Expression Language that must be true for the handler to run, over
   * `user` (null for nobody), `roles`, `params` and `request` (method, path, ip, host, scheme, headers, query).
   */
  readonly security?: string
  /** A role or attribute that must be granted for the handler to run, with a subject where it is about one; of several, each. */
  readonly isGranted?: IsGrantedAttribute | readonly IsGrantedAttribute[]
  /** Links of every response of the route (RFC 8288). */
  readonly links?: readonly Link[]
}

type Converters = BuiltInConverters & FastifyParamConverters

type Converted<Attribute> =
  Attribute extends keyof Converters
    ? Converters[Attribute]
    : Attribute extends { readonly enum: ReadonlyArray<infer Member> }
      ? Member
      : Attribute extends { readonly converter: infer Name extends keyof Converters } ? Converters[Name] : never

/** The type of `request.params` behind the converters that a `config` declares. */
export type ConvertedParams<Config extends { readonly params: Readonly<Record<string, ParamAttribute>> }> = {
  -readonly [Name in keyof Config['params']]: Converted<Config['params'][Name]>
}

declare module 'fastify' {
  // What an application merges its own converters into: a name, and the type of what it gives.
  interface FastifyParamConverters {}
  interface FastifyContextConfig extends RouteAttributes {}
}

/** Where the attributes of a route stand in its `config`, once they are read. */
export const kDeclared = Symbol('hindsight.routeAttributes')

/** What a route declares, of its `config`; undefined where that is nothing. */
export function declaredIn (config: object | undefined): RouteAttributes | undefined {
  return (config as { [kDeclared]?: RouteAttributes } | undefined)?.[kDeclared]
}

/** Whether a route declares anything. */
export function declares (config: object | undefined): boolean {
  return declaredIn(config) !== undefined
}

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** What the route declares, after the controller-attributes listener. */
    attributes?: RouteAttributes
    /** The path parameters as they were sent, where a converter has replaced them. */
    sentParams?: Record<string, unknown>
  }
}

/** Why a listener of attributes has nothing to do on a route that declares none for it. */
export const notDeclared = new Skip('not configured')
/** Why it has nothing to do in an error pass, whatever the route declares. */
export const ofDiagnosticHandler = new Skip('the diagnostic handler declares no attributes')

/** The attributes that the controller-attributes listener has read for a request; null ahead of it, and where there are none. */
export function attributesOf (request: FastifyRequest): RouteAttributes | null {
  return stateOf(request).attributes ?? null
}

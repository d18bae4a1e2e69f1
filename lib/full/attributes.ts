import type { FastifyParamConverters, FastifyRequest } from 'fastify'
import { checkOptions, ROUTE_ATTRIBUTES, similarName } from '../check-options.js'
import { Skip } from './listener.js'
import type { RouteAttributes } from '../options.js'

const NAMES = Object.keys(ROUTE_ATTRIBUTES)

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

/** Returns the validator of a resource; its parameter may have a more specific type of request. */
export type Validator<T> = {
  validate (request: FastifyRequest): T | null | undefined | Promise<T | null | undefined>
}['validate']

/** A role or attribute that the user must be granted; with a subject: the name of a parameter, or a function. */
export type IsGrantedAttribute = string | {
  readonly attribute: string
  readonly subject?: string | ((request: FastifyRequest) => unknown)
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

/** Checks what a route declares in its `config`. Throws an error that names the route and the attribute. */
export function checkAttributes (route: string, config: Readonly<Record<string, unknown>>): void {
  // Other plugins have keys of their own: only a key that is similar to one of ours is a mistake.
  for (const key of Object.keys(config).filter((key) => !NAMES.includes(key))) {
    const similar = similarName(key, NAMES)
    if (similar !== undefined) {
      throw new Error(`Route "${route}": config.${key} is unknown; did you mean config.${similar}?`)
    }
  }
  try {
    checkOptions(attributesIn(config) ?? {}, ROUTE_ATTRIBUTES, 'config.')
  } catch (error) {
    throw new Error(`Route "${route}": ${(error as Error).message}`)
  }
}

/** The attributes that a `config` declares; null where it declares none. */
export function attributesIn (config: Readonly<Record<string, unknown>> | undefined): RouteAttributes | null {
  const declared = NAMES.filter((name) => config?.[name] !== undefined)
  return declared.length === 0 ? null : Object.fromEntries(declared.map((name) => [name, config?.[name]]))
}

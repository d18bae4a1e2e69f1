import type { FastifyParamConverters, FastifyRequest } from 'fastify'

/** The built-in converters, and the types of their values. */
interface BuiltInConverters {
  /** A whole number that JavaScript can hold exactly. */
  int: number
  /** A date or a date and time of RFC 3339; a date alone is its midnight in UTC. */
  date: Date
  /** A UUID (RFC 9562, section 4), in lower case. */
  uuid: string
}

/** The names of all converters, with those of the application. */
type ConverterName = keyof (BuiltInConverters & FastifyParamConverters)

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

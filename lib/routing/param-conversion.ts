import { fullFormats } from 'ajv-formats/dist/formats.js'
import { closest, distance } from 'fastest-levenshtein'
import FindMyWay from 'find-my-way'
import type { FastifyParamConverters, FastifyRequest } from 'fastify'
import { ParamConversionError } from '../http/http-errors.js'
import type { ParamAttribute } from './attributes.js'

/**
 * Turns the text of a path parameter into a value. What it throws is the reason why there is none, and so is nothing
 * at all (null or undefined); an error with a status of its own other than 404, and one of the system, stay what they are.
 */
export type ParamConverter<Value = unknown> =
  (value: string, request: FastifyRequest, options: unknown) => Value | null | undefined | Promise<Value | null | undefined>

/** The application's own converters, by name; their values have the types that `FastifyParamConverters` gives them. */
export type OwnConverters = { [Name in keyof FastifyParamConverters]?: ParamConverter<FastifyParamConverters[Name]> } & Record<string, ParamConverter>

/** How one parameter of a route is converted. */
export interface ParamConversion {
  param: string
  /** The converter's name. */
  converter: string
  convert: (value: string, request: FastifyRequest) => unknown
}

const BUILT_IN: Readonly<Record<string, (value: string) => unknown>> = {
  int (value) {
    const number = /^-?\d+$/.test(value) ? Number(value) : NaN
    if (!Number.isSafeInteger(number)) throw new ParamConversionError(`"${value}" is not an integer`)
    // There is no negative zero among the integers.
    return number + 0
  },
  date (value) {
    const isDate = conforms('date', value) || conforms('date-time', value)
    const date = new Date(isDate ? value : NaN)
    if (Number.isNaN(date.getTime())) throw new ParamConversionError(`"${value}" is not a date`)
    return date
  },
  uuid (value) {
    if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value)) throw new ParamConversionError(`"${value}" is not a UUID`)
    return value.toLowerCase()
  }
}

/** Stops the start at a converter of the application that cannot be one. */
export function checkConverters (converters: Readonly<Record<string, unknown>>): void {
  for (const [name, converter] of Object.entries(converters)) {
    if (name in BUILT_IN) throw new Error(`converters.${name}: "${name}" is built in; give the application's own converter another name`)
    if (typeof converter !== 'function') throw new Error(`converters.${name} is ${typeof converter}; it has to be a function of value, request and options`)
  }
}

/** Makes the conversions that a route declares; throws with its name at an unknown converter, and at a parameter that its pattern does not have. */
export function paramConversions (
  route: string, pattern: string, params: Readonly<Record<string, ParamAttribute>>, converters: Readonly<Record<string, ParamConverter>>
): ParamConversion[] {
  const inPattern = paramsOf(pattern)
  return Object.entries(params).map(([param, attribute]) => {
    if (!inPattern.includes(param)) {
      const has = inPattern.length === 0 ? 'no parameters' : inPattern.map((name) => `"${name}"`).join(', ')
      throw new Error(`Route "${route}": config.params.${param} is no parameter of the pattern "${pattern}", which has ${has}`)
    }
    if (typeof attribute === 'object' && 'enum' in attribute) return { param, converter: 'enum', convert: enumeration(attribute.enum) }
    const { converter, options } = typeof attribute === 'object' ? attribute : { converter: attribute as string, options: undefined }
    return { param, converter, convert: found(route, param, converter, converters, options) }
  })
}

function found (
  route: string, param: string, name: string, converters: Readonly<Record<string, ParamConverter>>, options: unknown
): ParamConversion['convert'] {
  if (Object.hasOwn(BUILT_IN, name)) return BUILT_IN[name] as ParamConversion['convert']
  if (Object.hasOwn(converters, name)) return (value, request) => (converters[name] as ParamConverter)(value, request, options)
  const known = [...Object.keys(BUILT_IN), ...Object.keys(converters)]
  const near = closest(name, known)
  const hint = distance(name, near) <= Math.ceil(near.length / 3) ? `did you mean "${near}"? ` : ''
  throw new Error(`Route "${route}": config.params.${param} names the converter "${name}", which is unknown; ${hint}known are ${known.join(', ')}`)
}

function enumeration (members: ReadonlyArray<string | number>): ParamConversion['convert'] {
  const values = new Map(members.map((member) => [String(member), member]))
  return (value) => {
    if (!values.has(value)) throw new ParamConversionError(`"${value}" is none of ${members.map((member) => `"${member}"`).join(', ')}`)
    return values.get(value)
  }
}

function conforms (format: 'date' | 'date-time', value: string): boolean {
  return (fullFormats[format] as { validate: (text: string) => boolean }).validate(value)
}

// The router itself knows how a pattern is read.
function paramsOf (pattern: string): string[] {
  const router = FindMyWay()
  router.on('GET', pattern, () => {})
  return (router as unknown as { routes: Array<{ params: string[] }> }).routes.flatMap(({ params }) => params)
}

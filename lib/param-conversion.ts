import { fullFormats } from 'ajv-formats/dist/formats.js'
import type { FastifyParamConverters, FastifyRequest } from 'fastify'
import FindMyWay from 'find-my-way'
import { ParamConversionError } from 'fastify-hindsight/recorder'
import type { ParamAttribute } from './attributes.js'

/** Converts the text of a path parameter. Null, undefined and errors without another status are a 404. */
type ParamConverter<Value = unknown> =
  (value: string, request: FastifyRequest) => Found<Value> | Promise<Found<Value>>

type Found<Value> = Value | null | undefined

/** The application's own converters, by name; `FastifyParamConverters` has the types of their values. */
export type AppConverters = Record<string, ParamConverter> &
  { [Name in keyof FastifyParamConverters]?: ParamConverter<FastifyParamConverters[Name]> }

type Converters = Readonly<Record<string, ParamConverter>>

/** How one parameter of a route is converted. */
export interface ParamConversion {
  param: string
  /** The converter's name. */
  converter: string
  convert: (value: string, request: FastifyRequest) => unknown
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const BUILT_IN: Converters = {
  int (value) {
    const number = /^-?\d+$/.test(value) ? Number(value) : NaN
    if (!Number.isSafeInteger(number)) throw new ParamConversionError(`"${value}" is not an integer`)
    // -0 becomes 0.
    return number + 0
  },
  date (value) {
    const isDate = conforms('date', value) || conforms('date-time', value)
    const date = new Date(isDate ? value : NaN)
    if (Number.isNaN(date.getTime())) throw new ParamConversionError(`"${value}" is not a date`)
    return date
  },
  uuid (value) {
    if (!UUID.test(value)) throw new ParamConversionError(`"${value}" is not a UUID`)
    return value.toLowerCase()
  }
}

/** Throws where a converter of the application has the name of a built-in one. */
export function checkConverters (converters: Converters): void {
  const name = Object.keys(converters).find((name) => name in BUILT_IN)
  if (name === undefined) return
  throw new Error(`converters.${name}: "${name}" is built in; give the application's own converter another name`)
}

/** The conversions that a route declares. Throws for an unknown converter or parameter. */
export function paramConversions (
  route: string, pattern: string, params: Readonly<Record<string, ParamAttribute>>, converters: Converters
): ParamConversion[] {
  const inPattern = paramsOf(pattern)
  const all = { ...BUILT_IN, ...converters }
  return Object.entries(params).map(([param, attribute]) => {
    const where = `Route "${route}": config.params.${param}`
    if (!inPattern.includes(param)) {
      const has = inPattern.length === 0 ? 'no parameters' : inPattern.map((name) => `"${name}"`).join(', ')
      throw new Error(`${where} is not a parameter of the pattern "${pattern}", which has ${has}`)
    }
    if (typeof attribute === 'object') {
      return { param, converter: 'enum', convert: (value) => memberOf(attribute.enum, value) }
    }
    const convert = Object.hasOwn(all, attribute) ? all[attribute] : undefined
    if (convert !== undefined) return { param, converter: attribute, convert }
    const known = Object.keys(all).join(', ')
    throw new Error(`${where} names the converter "${attribute}", which is unknown; use one of ${known}`)
  })
}

function memberOf (members: ReadonlyArray<string | number>, value: string): string | number {
  const found = members.find((member) => String(member) === value)
  if (found === undefined) {
    throw new ParamConversionError(`"${value}" is none of ${members.map((member) => `"${member}"`).join(', ')}`)
  }
  return found
}

function conforms (format: 'date' | 'date-time', value: string): boolean {
  return (fullFormats[format] as { validate: (text: string) => boolean }).validate(value)
}

/** The names of the parameters in a pattern, as the router parses it. */
export function paramsOf (pattern: string): string[] {
  const router = FindMyWay()
  router.on('GET', pattern, () => {})
  return (router as unknown as { routes: Array<{ params: string[] }> }).routes.flatMap(({ params }) => params)
}

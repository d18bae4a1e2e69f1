import { secondsOf } from './duration.js'
import { readText } from './require.js'
import { similarName } from './similar-name.js'

/** A schema of `options.schema.json`: JSON Schema with the keywords that the file's comment describes. */
export interface OptionSchema {
  types: readonly OptionType[]
  /** The name of the interface in `packages/hindsight/src/options.ts`, which is generated. */
  title?: string
  /** The type there, where the other keywords do not define it. */
  tsType?: string
  description?: string | undefined
  default?: boolean | number | string
  without?: string
  env?: string
  enum?: readonly string[]
  minimum?: number
  maximum?: number
  /** A regular expression that a string must match. */
  pattern?: string
  /** A description of valid values, for error messages. */
  valid?: string
  /** The properties that an object needs, and those that have to be functions. */
  required?: readonly string[]
  methods?: readonly string[]
  properties?: OptionSchemas
  additionalProperties?: OptionSchema
  items?: OptionSchema
}

export type OptionSchemas = Readonly<Record<string, OptionSchema>>

type OptionType = keyof typeof TYPES

/** Groups of options by name, as a file of schemas has them. */
type SchemaFile = Readonly<Record<string, { readonly properties: OptionSchemas }>>

/** Reads a file of schemas that is beside a module (`base` is its `import.meta.url`). */
export function readSchemas (base: string, name: string): SchemaFile {
  // `import` of JSON prints a warning on Node.js 20.
  return JSON.parse(readText(base, name)) as SchemaFile
}

const { plugin, route } = JSON.parse(readText(import.meta.url, './options.schema.json')) as SchemaFile

export const OPTIONS: OptionSchemas = plugin?.properties ?? {}
/** What a route may declare in its `config` for the package. */
export const ROUTE_OPTIONS: OptionSchemas = route?.properties ?? {}

/** Throws an error that names the first option that is unknown, or whose value is not valid. */
export function checkOptions (options: object, schemas: OptionSchemas = OPTIONS, path = ''): void {
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(schemas, name)) throw new Error(unknownOption(path, name, Object.keys(schemas)))
    if (value !== undefined) checkValue(value, schemas[name] as OptionSchema, path + name)
  }
}

/** Whether a value is valid; its items and properties are not checked. */
export function isValid (schema: OptionSchema, value: unknown): boolean {
  const { types, enum: known, minimum = -Infinity, maximum = Infinity, pattern = '' } = schema
  if (!types.some((type) => TYPES[type].accepts(value))) return false
  if (typeof value === 'number') return value >= minimum && value <= maximum
  if (typeof value !== 'string') return true
  return known?.includes(value) ?? new RegExp(pattern, 'u').test(value)
}

/** A description of valid values, for error messages. */
export function expectedValues ({ types, enum: known, minimum, maximum, valid }: OptionSchema): string {
  if (valid !== undefined) return valid
  const list = new Intl.ListFormat('en-GB', { type: 'disjunction' })
  if (known !== undefined) {
    const others = types.filter((type) => type !== 'string')
      .flatMap((type) => type === 'boolean' ? ['true', 'false'] : TYPES[type].noun)
    return list.format([...known.map((value) => `"${value}"`), ...others])
  }
  const range = `${minimum === undefined ? '' : ` from ${minimum}`}${maximum === undefined ? '' : ` to ${maximum}`}`
  return list.format(types.map((type) => TYPES[type].noun)) + range
}

function checkValue (value: unknown, schema: OptionSchema, path: string): void {
  if (!isValid(schema, value)) {
    throw new Error(`Option "${path}" must be ${expectedValues(schema)}, not ${shown(value, schema)}`)
  }
  const { items, properties, additionalProperties: others, required = [], methods = [] } = schema
  const members = Object(value) as Record<string, unknown>
  const noMethod = typeof value !== 'string' && methods.find((name) => typeof members[name] !== 'function')
  if (noMethod) throw new Error(`Option "${path}.${noMethod}" must be a function`)
  if (Array.isArray(value)) {
    // `Array.from` fills holes, which are no valid items either.
    if (items !== undefined) Array.from(value).forEach((item, i) => checkValue(item, items, `${path}[${i}]`))
  } else if (TYPES.object.accepts(value)) {
    if (properties !== undefined) checkOptions(value as object, properties, `${path}.`)
    const missing = required.find((name) => members[name] === undefined)
    if (missing !== undefined) throw new Error(`Option "${path}.${missing}" is missing`)
    if (others === undefined) return
    for (const [name, one] of Object.entries(value as object)) checkValue(one, others, `${path}.${name}`)
  }
}

function unknownOption (path: string, name: string, known: string[]): string {
  const similar = similarName(name, known)
  const hint = similar === undefined ? `use one of ${known.join(', ')}` : `did you mean "${similar}"?`
  return `Unknown option "${path}${name}"; ${hint}`
}

// The value if its type is valid, otherwise only its type.
function shown (value: unknown, { types, enum: known, pattern }: OptionSchema): string {
  const isNumeric = types.includes('number') || types.includes('integer')
  if (value === null || Number.isNaN(value) || (typeof value === 'number' && isNumeric)) return String(value)
  if (typeof value === 'string' && known !== undefined) return JSON.stringify(value)
  // The value may be a secret in the wrong place.
  if (typeof value === 'string' && pattern !== undefined) return 'another string'
  return Object.values(TYPES).find(({ accepts }) => accepts(value))?.noun ?? `a ${typeof value}`
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null

const TYPES = {
  boolean: { noun: 'a boolean', accepts: (value: unknown) => typeof value === 'boolean' },
  number: { noun: 'a number', accepts: (value: unknown) => typeof value === 'number' && !Number.isNaN(value) },
  integer: { noun: 'a whole number', accepts: (value: unknown) => Number.isSafeInteger(value) },
  string: { noun: 'a string', accepts: (value: unknown) => typeof value === 'string' },
  array: { noun: 'an array', accepts: (value: unknown) => Array.isArray(value) },
  RegExp: { noun: 'a RegExp', accepts: (value: unknown) => value instanceof RegExp },
  object: {
    noun: 'an object',
    accepts: (value: unknown) => isObject(value) && !Array.isArray(value) && !(value instanceof RegExp)
  },
  function: { noun: 'a function', accepts: (value: unknown) => typeof value === 'function' },
  Date: { noun: 'a valid Date', accepts: (value: unknown) => value instanceof Date && !Number.isNaN(value.getTime()) },
  duration: {
    noun: 'whole seconds, 0 or more, or a duration such as "1 hour"',
    accepts: (value: unknown) => secondsOf(value) !== null
  },
  false: { noun: 'false', accepts: (value: unknown) => value === false },
  true: { noun: 'true', accepts: (value: unknown) => value === true },
  null: { noun: 'null', accepts: (value: unknown) => value === null }
}

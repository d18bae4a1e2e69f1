import { createRequire } from 'node:module'
import type { HindsightOptions } from './options.js'

type OptionType = 'boolean' | 'number' | 'integer' | 'string' | 'array' | 'object' | 'function' | 'RegExp' | 'false'

/** A schema of `options.schema.json`: JSON Schema with the keywords that the file's comment describes. */
export interface OptionSchema {
  types: readonly OptionType[]
  description?: string
  default?: boolean | number | string
  without?: string
  env?: string
  enum?: readonly string[]
  minimum?: number
  maximum?: number
  /** A regular expression that a string must match. */
  pattern?: string
  /** What a valid value is, as an error message has it. */
  valid?: string
  /** The properties that an object needs. */
  required?: readonly string[]
  listeners?: readonly string[]
  properties?: OptionSchemas
  additionalProperties?: OptionSchema
  items?: OptionSchema
}

export type OptionSchemas = Readonly<Record<string, OptionSchema>>

type Schemas = Record<'plugin' | 'server' | 'process', { readonly properties: OptionSchemas }> &
  { readonly removed: Readonly<Record<string, string>> }

const require = createRequire(import.meta.url)
// `import` of JSON prints a warning on Node.js 20.
const { plugin, server, process: ofProcess, removed } = require('./options.schema.json') as Schemas

/** The options of the plugin. */
export const OPTIONS: OptionSchemas = plugin.properties
/** The options of the server that are limits, and how it reads messages. */
export const SERVER_OPTIONS: OptionSchemas = server.properties
/** What `npm start` takes from the environment besides. */
export const PROCESS_OPTIONS: OptionSchemas = ofProcess.properties
/** The replacements of removed options and environment variables, by name. */
export const REMOVED = removed

/** Throws an error that names the first option that is unknown, or whose value is not valid. */
export function checkOptions (options: object, schemas: OptionSchemas = OPTIONS, path = ''): void {
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(schemas, name)) throw new Error(unknownOption(path, name, Object.keys(schemas)))
    if (value !== undefined) checkValue(value, schemas[name] as OptionSchema, path + name)
  }
}

/** The names of the listeners that the given options switch on in `observe` mode. */
export function listenersOf (options: HindsightOptions): ReadonlySet<string> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined && value !== false)
  return new Set(given.flatMap(([name]) => OPTIONS[name]?.listeners ?? []))
}

/** Whether a value is valid, its items and properties apart. */
export function isValid (schema: OptionSchema, value: unknown): boolean {
  const { types, enum: known, minimum = -Infinity, maximum = Infinity, pattern = '' } = schema
  if (!types.some((type) => isOf(type, value))) return false
  if (typeof value === 'number') return value >= minimum && value <= maximum
  if (typeof value !== 'string') return true
  return known?.includes(value) ?? new RegExp(pattern, 'u').test(value)
}

/** What a valid value is, as an error message has it. */
export function expected ({ types, enum: known, minimum, maximum, valid }: OptionSchema): string {
  if (valid !== undefined) return valid
  const list = new Intl.ListFormat('en-GB', { type: 'disjunction' })
  if (known !== undefined) return list.format(known.map((value) => `"${value}"`))
  const range = `${minimum === undefined ? '' : ` from ${minimum}`}${maximum === undefined ? '' : ` to ${maximum}`}`
  return list.format(types.map((type) => WORDS[type])) + range
}

function checkValue (value: unknown, schema: OptionSchema, path: string): void {
  if (!isValid(schema, value)) {
    throw new Error(`Option "${path}" must be ${expected(schema)}, not ${shown(value, schema)}`)
  }
  const { items, properties, additionalProperties: others, required = [] } = schema
  if (Array.isArray(value)) {
    // `Array.from` fills holes, which are no valid items either.
    if (items !== undefined) Array.from(value).forEach((item, i) => checkValue(item, items, `${path}[${i}]`))
  } else if (isOf('object', value)) {
    if (properties !== undefined) checkOptions(value as object, properties, `${path}.`)
    const missing = required.find((name) => (value as Record<string, unknown>)[name] === undefined)
    if (missing !== undefined) throw new Error(`Option "${path}.${missing}" is missing`)
    if (others === undefined) return
    for (const [name, one] of Object.entries(value as object)) checkValue(one, others, `${path}.${name}`)
  }
}

function unknownOption (path: string, name: string, known: string[]): string {
  if (Object.hasOwn(REMOVED, path + name)) return `Option "${path}${name}" was removed. ${REMOVED[path + name]}`
  // Loaded only for an error, as it would take a tenth of the time in which the plugin registers in production.
  const { closest, distance } = require('fastest-levenshtein') as typeof import('fastest-levenshtein')
  const nearest = closest(name, known)
  const isNear = distance(name.toLowerCase(), nearest.toLowerCase()) <= Math.min(3, Math.max(1, name.length / 3))
  return `Unknown option "${path}${name}"${isNear ? `; did you mean "${nearest}"?` : `; known are ${known.join(', ')}`}`
}

function isOf (type: OptionType, value: unknown): boolean {
  switch (type) {
    case 'false': return value === false
    case 'array': return Array.isArray(value)
    case 'RegExp': return value instanceof RegExp
    case 'object': return isObject(value) && !Array.isArray(value) && !(value instanceof RegExp)
    case 'number': return typeof value === 'number' && !Number.isNaN(value)
    case 'integer': return Number.isSafeInteger(value)
    case 'boolean': return typeof value === 'boolean'
    case 'string': return typeof value === 'string'
    case 'function': return typeof value === 'function'
  }
}

function isObject (value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

// The value where the type is right.
function shown (value: unknown, { types, enum: known, pattern }: OptionSchema): string {
  if (typeof value === 'number' && types.some((type) => type === 'number' || type === 'integer')) return String(value)
  if (typeof value === 'string' && known !== undefined) return JSON.stringify(value)
  // The value may be a secret in the wrong place.
  if (typeof value === 'string' && pattern !== undefined) return 'another string'
  if (value === null || Number.isNaN(value)) return String(value)
  if (Array.isArray(value)) return WORDS.array
  return value instanceof RegExp ? WORDS.RegExp : typeof value === 'object' ? WORDS.object : `a ${typeof value}`
}

const WORDS: Readonly<Record<OptionType, string>> = {
  boolean: 'a boolean',
  number: 'a number',
  integer: 'a whole number',
  string: 'a string',
  array: 'an array',
  object: 'an object',
  function: 'a function',
  RegExp: 'a RegExp',
  false: 'false'
}

import { expectedValues, isValid, OPTIONS, type OptionSchema, type OptionSchemas } from './check-options.js'
import { originResolver } from './http/origin.js'
import type { HindsightOptions, ProfilerSettings } from './options.js'

/** The variables of a process, as in `process.env`. */
export type Variables = Readonly<Record<string, string | undefined>>

/** The options of the plugin that need no code besides their schemas. */
const READ_BY_SCHEMA = Object.fromEntries(
  Object.entries(OPTIONS).filter(([name, { env }]) => env !== undefined && name !== 'debug' && name !== 'profiler')
)
const PROFILER: OptionSchema = { types: ['string'], enum: ['all', 'errors', 'off'], env: 'PROFILER' }

/** The options of the package that the environment has; throws an error that names the variable that is not valid. */
export function readPackageOptions (source: Variables = process.env): HindsightOptions {
  const options: HindsightOptions = readVariables(READ_BY_SCHEMA, source)
  // Throws an error with the variable's name at an invalid address; Fastify's own error has none.
  originResolver({ trustedProxies: options.trustedProxies ?? [] })
  return { ...options, debug: !isProduction(source), profiler: profilerOf(source) }
}

/** Whether `NODE_ENV` says that this is production. */
export function isProduction ({ NODE_ENV }: Variables): boolean {
  return NODE_ENV === 'production'
}

// In production nothing is profiled unless a variable is set.
function profilerOf (source: Variables): false | ProfilerSettings {
  const which = readVariable(PROFILER, source)
  if (which === 'off') return false
  return {
    production: which !== undefined,
    ...(which === 'errors' && { onlyExceptions: true, minStatus: 500 }),
    ...(isProduction(source) && which === undefined && { collect: false }),
    storage: source.STORAGE_URL || 'sqlite',
    ...(source.DATA_DIR && { dataDir: source.DATA_DIR })
  }
}

/** Reads the options whose schemas name a variable. */
export function readVariables (schemas: OptionSchemas, source: Variables): object {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, readVariable(schema, source)]))
}

// An empty variable is the same as none.
function readVariable (schema: OptionSchema, { [schema.env ?? '']: text = '' }: Variables): unknown {
  const [type] = schema.types
  if (type === 'array') {
    const { items = schema, env } = schema
    const values = list(text)
    const invalid = values.find((value) => items !== schema && !isValid(items, value))
    if (invalid === undefined) return values
    throw new Error(`Environment: each item of ${env} must be ${expectedValues(items)}, not "${invalid}"`)
  }
  if (type === 'object') return Object.fromEntries(list(text).map(pair))
  if (text === '') return schema.default
  if (type === 'boolean' && (text === 'on' || text === 'off')) return text === 'on'
  const value = type === 'integer' && /^\d{1,15}$/.test(text) ? Number(text) : text
  if (isValid(schema, value)) return value
  const valid = type === 'boolean' ? 'on or off' : expectedValues(schema)
  throw new Error(`Environment: ${schema.env} must be ${valid}, not "${text}"`)
}

// A text without an equals sign is refused with the option's name, where the pairs are used.
function pair (text: string): [from: string, to: string] {
  const [from = '', ...to] = text.split('=')
  return [from.trim(), to.join('=').trim()]
}

function list (text: string): string[] {
  return text.split(',').map((part) => part.trim()).filter((part) => part !== '')
}

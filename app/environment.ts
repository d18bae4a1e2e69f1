import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DEFAULT_DATA_DIR } from '../packages/hindsight/src/store/open.js'
import { attempt } from '../packages/hindsight/src/call.js'
import { originResolver } from '../packages/hindsight/src/http/origin.js'
import {
  expected, isValid, OPTIONS, PROCESS_OPTIONS, SERVER_OPTIONS, type OptionSchema, type OptionSchemas
} from '../packages/hindsight/src/check-options.js'
import type { HindsightOptions, ProcessSettings, ProfilerSettings, ServerSettings } from '../packages/hindsight/src/options.js'

/** The settings of the service that the environment has, checked. */
export interface Environment extends ProcessSettings {
  options: HindsightOptions
}

/** Characters of a session secret. */
const MIN_LENGTH = 32

type Variables = Readonly<Record<string, string | undefined>>

/** The options of the plugin that need no code besides their schemas. */
const READ_BY_SCHEMA = Object.fromEntries(
  Object.entries(OPTIONS).filter(([name, { env }]) => env !== undefined && name !== 'debug' && name !== 'profiler')
)
const PROFILER: OptionSchema = { types: ['string'], enum: ['all', 'errors', 'off'], env: 'PROFILER' }

/** Reads the environment; throws an error that names the variable whose value is not valid. */
export function readEnvironment (source: Variables = process.env): Environment {
  const settings = readOptions(PROCESS_OPTIONS, source) as unknown as ProcessSettings
  const options = readPluginOptions(source)
  readServerOptions(source)
  const production = isProduction(source)
  const secret = sessionSecret(source.SESSION_SECRET ?? '', production, source.DATA_DIR || DEFAULT_DATA_DIR)
  return { ...settings, options: { ...options, session: { secret } } }
}

/** The options of the server that the environment has. */
export function readServerOptions (source: Variables = process.env): ServerSettings {
  return readOptions(SERVER_OPTIONS, source) as unknown as ServerSettings
}

/** The options of the preload: those for profiles and the debug surface. They switch no listener on. */
export function preloadOptions (source: Variables = process.env): HindsightOptions {
  const { trustedHosts: _hosts, health: _health, profiler, ...options } = readPluginOptions(source)
  if (typeof profiler !== 'object') return { ...options, profiler: false }
  // A role needs the option security.
  const { role: _role, ...settings } = profiler
  return { ...options, profiler: settings }
}

// The options of any application: none of the server, and no session.
function readPluginOptions (source: Variables): HindsightOptions {
  const options: HindsightOptions = readOptions(READ_BY_SCHEMA, source)
  // Throws an error with the variable's name at an invalid address; Fastify's own error has none.
  originResolver({ trustedProxies: options.trustedProxies ?? [] })
  const debug = !isProduction(source)
  return { ...options, debug, profiler: profilerOf(source) }
}

function isProduction ({ NODE_ENV }: Variables): boolean {
  return NODE_ENV === 'production'
}

// In production nothing is profiled unless a variable is set.
function profilerOf (source: Variables): false | ProfilerSettings {
  const which = read(PROFILER, source)
  if (which === 'off') return false
  const { PROFILER_ROLE: role = '' } = source
  return {
    production: which !== undefined,
    ...(which === 'errors' && { onlyExceptions: true, minStatus: 500 }),
    ...(isProduction(source) && which === undefined && { collect: false }),
    ...(role !== '' && { role }),
    storage: source.STORAGE_URL || 'sqlite',
    ...(source.DATA_DIR && { dataDir: source.DATA_DIR })
  }
}

function readOptions (schemas: OptionSchemas, source: Variables): object {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, read(schema, source)]))
}

// An empty variable is the same as none.
function read (schema: OptionSchema, { [schema.env ?? '']: text = '' }: Variables): unknown {
  const [type] = schema.types
  if (type === 'array') {
    const { items = schema, env } = schema
    const values = list(text)
    const invalid = values.find((value) => items !== schema && !isValid(items, value))
    if (invalid === undefined) return values
    throw new Error(`Environment: each item of ${env} must be ${expected(items)}, not "${invalid}"`)
  }
  if (type === 'object') return Object.fromEntries(list(text).map(pair))
  if (text === '') return schema.default
  if (type === 'boolean' && (text === 'on' || text === 'off')) return text === 'on'
  const value = type === 'integer' && /^\d{1,15}$/.test(text) ? Number(text) : text
  if (isValid(schema, value)) return value
  const valid = type === 'boolean' ? 'on or off' : expected(schema)
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

/** The secret that signs session cookies: the given one; in development otherwise one that the data directory keeps. */
export function sessionSecret (given: string, production: boolean, dataDir: string): string {
  if (given !== '' && given.length < MIN_LENGTH) {
    throw new Error(`SESSION_SECRET is too short: ${given.length} characters, at least ${MIN_LENGTH} are needed`)
  }
  if (given !== '') return given
  if (production) {
    throw new Error(`SESSION_SECRET is not set: production needs one of at least ${MIN_LENGTH} characters`)
  }
  const file = join(dataDir, 'session-secret')
  const kept = attempt(() => readFileSync(file, 'utf8').trim()) ?? ''
  if (kept.length >= MIN_LENGTH) return kept
  const secret = randomBytes(32).toString('hex')
  try {
    mkdirSync(dataDir, { recursive: true })
    writeFileSync(file, `${secret}\n`, { mode: 0o600 })
  } catch (error) {
    throw new Error(`DATA_DIR: a development session secret cannot be kept in ${file} (${(error as Error).message}); ` +
      'set SESSION_SECRET or another DATA_DIR', { cause: error })
  }
  return secret
}

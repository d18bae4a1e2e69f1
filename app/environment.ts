import { Ajv } from 'ajv'
import type { ProfilerOption } from '../lib/profiler/settings.js'
import { DEFAULT_DATA_DIR } from '../lib/profiler/storage/open.js'
import { originResolver } from '../lib/http/origin.js'
import { readLimits, readMethodOverride, SERVER_LIMITS } from './server-limits.js'
import { sessionSecret } from './session-secret.js'
import type { HindsightOptions } from './options.js'

/** What the environment says, read once and checked. */
export interface Environment {
  host: string
  port: number
  production: boolean
  logLevel: string
  /** How the process ends, in milliseconds. */
  closeDelay: number
  closeTimeout: number
  options: HindsightOptions
}

interface Variables {
  HOST: string
  PORT: number
  NODE_ENV: string
  LOG_LEVEL: string
  SESSION_SECRET: string
  DATA_DIR: string
  TRUSTED_PROXIES: string
  TRUSTED_HOSTS: string
  DEBUG_CLIENTS: string
  DEBUG_HOSTS: string
  EDITOR_URL: string
  EDITOR_PATHS: string
  STORAGE_URL: string
  PROFILER: '' | 'all' | 'errors' | 'off'
  PROFILER_ROLE: string
  HEALTH: string
  CLOSE_DELAY: number
  CLOSE_TIMEOUT: number
}

const text = { type: 'string', default: '' } as const

const schema = {
  type: 'object',
  properties: {
    HOST: { type: 'string', default: '127.0.0.1' },
    PORT: { type: 'integer', minimum: 0, maximum: 65535, default: 3000 },
    NODE_ENV: { type: 'string', default: 'development' },
    LOG_LEVEL: { type: 'string', enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], default: 'info' },
    SESSION_SECRET: text,
    DATA_DIR: { type: 'string', default: DEFAULT_DATA_DIR },
    TRUSTED_PROXIES: text,
    TRUSTED_HOSTS: text,
    DEBUG_CLIENTS: text,
    DEBUG_HOSTS: text,
    EDITOR_URL: text,
    EDITOR_PATHS: text,
    STORAGE_URL: text,
    PROFILER: { type: 'string', enum: ['', 'all', 'errors', 'off'], default: '' },
    PROFILER_ROLE: text,
    HEALTH: text,
    CLOSE_DELAY: { type: 'integer', minimum: 0, maximum: 600_000, default: 0 },
    CLOSE_TIMEOUT: { type: 'integer', minimum: 0, maximum: 600_000, default: 10_000 }
  }
} as const

/** The variables that the service knows, beside those of Node.js and of its libraries. */
export const environmentNames: readonly string[] = [
  ...Object.keys(schema.properties), 'METHOD_OVERRIDE', ...Object.values(SERVER_LIMITS).map(({ env }) => env)
]

/** Reads the environment; throws with the variable's name where a value is none that it can have. */
export function readEnvironment (source: NodeJS.ProcessEnv = process.env): Environment {
  const variables = readVariables(source)
  const production = variables.NODE_ENV === 'production'
  const options = optionsOf(variables)
  readLimits(source)
  readMethodOverride(source)
  const secret = sessionSecret(variables.SESSION_SECRET, production, variables.DATA_DIR)
  return {
    host: variables.HOST,
    port: variables.PORT,
    production,
    logLevel: variables.LOG_LEVEL,
    closeDelay: variables.CLOSE_DELAY,
    closeTimeout: variables.CLOSE_TIMEOUT,
    options: { ...options, session: { secret } }
  }
}

/** What the environment says to the lifecycle of any application: nothing of the server, and no session. */
export function optionsOfEnvironment (source: NodeJS.ProcessEnv = process.env): HindsightOptions {
  return optionsOf(readVariables(source))
}

function readVariables (source: NodeJS.ProcessEnv): Variables {
  if ((source.PROFILER_SECRET ?? '') !== '') {
    throw new Error('Environment: PROFILER_SECRET was removed, as signed requests for a profile are gone; use PROFILER')
  }
  // The schema is no input: to compile the schema of schemas as well would make each start wait.
  const ajv = new Ajv({ allErrors: true, useDefaults: true, coerceTypes: true, meta: false, validateSchema: false })
  // An empty variable is one that was not set.
  const variables = Object.fromEntries(Object.keys(schema.properties).filter((name) => source[name] !== undefined && source[name] !== '').map((name) => [name, source[name]]))
  if (!ajv.validate<Variables>(schema, variables)) {
    const problems = (ajv.errors ?? []).map(({ instancePath, message = 'is not right', params }) =>
      `${instancePath.slice(1)} ${message}${Array.isArray(params.allowedValues) ? `: ${params.allowedValues.filter((value) => value !== '').join(', ')}` : ''}`)
    throw new Error(`Environment: ${problems.join(', ')}`)
  }
  return variables
}

function optionsOf (variables: Variables): HindsightOptions {
  const production = variables.NODE_ENV === 'production'
  const trustedProxies = list(variables.TRUSTED_PROXIES)
  // Refuses bad ones by the variable's name, ahead of Fastify, which would not say it.
  originResolver({ trustedProxies })
  return {
    debug: !production,
    trustedProxies,
    trustedHosts: list(variables.TRUSTED_HOSTS),
    debugClients: list(variables.DEBUG_CLIENTS),
    debugHosts: list(variables.DEBUG_HOSTS),
    editor: variables.EDITOR_URL,
    editorPaths: Object.fromEntries(list(variables.EDITOR_PATHS).map(pair)),
    profiler: profilerOf(variables, production),
    health: healthOf(variables)
  }
}

// Named in production, the profiler is wanted there.
function profilerOf ({ PROFILER, STORAGE_URL, DATA_DIR, PROFILER_ROLE }: Variables, production: boolean): ProfilerOption {
  if (PROFILER === 'off') return false
  return {
    production: PROFILER !== '',
    ...(PROFILER === 'errors' && { onlyExceptions: true, minStatus: 500 }),
    ...(production && PROFILER === '' && { collect: false }),
    ...(PROFILER_ROLE !== '' && { role: PROFILER_ROLE }),
    storage: STORAGE_URL === '' ? 'sqlite' : STORAGE_URL,
    dataDir: DATA_DIR
  }
}

function healthOf ({ HEALTH }: Variables): NonNullable<HindsightOptions['health']> {
  if (HEALTH === '' || HEALTH === 'off') return false
  if (HEALTH === 'on') return true
  const [live = '', ready = '', ...more] = list(HEALTH)
  if (ready === '' || more.length > 0) throw new Error(`Environment: HEALTH must be on, off, or two paths as in "/livez,/readyz", not "${HEALTH}"`)
  return { live, ready }
}

// What has no sign of equality is refused with the option's name, where the pairs are read.
function pair (value: string): [from: string, to: string] {
  const at = value.indexOf('=')
  return at === -1 ? [value, ''] : [value.slice(0, at).trim(), value.slice(at + 1).trim()]
}

function list (value: string): string[] {
  return value.split(',').map((part) => part.trim()).filter((part) => part !== '')
}

import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  attemptCall, DEFAULT_DATA_DIR, isProduction, readPackageOptions, readVariables, type Variables
} from 'fastify-hindsight/recorder'
import { LIFECYCLE_OPTIONS, PROCESS_OPTIONS, SERVER_OPTIONS } from '../lib/check-options.js'
import '../lib/folders.js'
import type { ProcessSettings, ServerSettings, ServiceOptions } from '../lib/options.js'

/** The settings of the service that the environment has, checked. */
export interface Environment extends ProcessSettings {
  options: ServiceOptions
}

/** Characters of a session secret. */
const MIN_LENGTH = 32

/** The options of the listeners that have a variable. */
const READ_BY_SCHEMA = Object.fromEntries(
  Object.entries(LIFECYCLE_OPTIONS).filter(([, { env }]) => env !== undefined)
)

/** Reads the environment; throws an error that names the variable whose value is not valid. */
export function readEnvironment (source: Variables = process.env): Environment {
  const settings = readVariables(PROCESS_OPTIONS, source) as unknown as ProcessSettings
  const options = { ...readPackageOptions(source), ...readVariables(READ_BY_SCHEMA, source) }
  readServerOptions(source)
  const secret = sessionSecret(
    source.SESSION_SECRET ?? '', isProduction(source), source.DATA_DIR || DEFAULT_DATA_DIR
  )
  return { ...settings, options: { ...options, session: { secret } } }
}

/** The options of the server that the environment has. */
export function readServerOptions (source: Variables = process.env): ServerSettings {
  return readVariables(SERVER_OPTIONS, source) as unknown as ServerSettings
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
  const kept = attemptCall(() => readFileSync(file, 'utf8').trim()) ?? ''
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

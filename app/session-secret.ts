import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const LEAST = 32

/**
 * The secret that signs session cookies: the operator's; in development one that is made once and kept in the data
 * directory, so that sessions survive a restart. Production without one does not start.
 */
export function sessionSecret (given: string, production: boolean, dataDir: string): string {
  if (given !== '') {
    if (given.length < LEAST) throw new Error(`SESSION_SECRET is too short: ${given.length} characters, at least ${LEAST} are needed`)
    return given
  }
  if (production) throw new Error(`SESSION_SECRET is not set: production needs one of at least ${LEAST} characters`)
  return keptSecret(dataDir)
}

function keptSecret (dataDir: string): string {
  const file = join(dataDir, 'session-secret')
  try {
    const kept = readFileSync(file, 'utf8').trim()
    if (kept.length >= LEAST) return kept
  } catch {
    // Not made yet.
  }
  const secret = randomBytes(32).toString('hex')
  try {
    mkdirSync(dataDir, { recursive: true })
    writeFileSync(file, `${secret}\n`, { mode: 0o600 })
  } catch (error) {
    throw new Error(`DATA_DIR: a development session secret cannot be kept in ${file} (${(error as Error).message}); set SESSION_SECRET or another DATA_DIR`, { cause: error })
  }
  return secret
}

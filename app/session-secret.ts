import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const MIN_LENGTH = 32

/**
 * The secret that signs session cookies: `SESSION_SECRET`; in development otherwise one that is generated once and kept
 * in the data directory, so that sessions survive a restart. Throws in production without one.
 */
export function sessionSecret (given: string, production: boolean, dataDir: string): string {
  if (given !== '' && given.length < MIN_LENGTH) {
    throw new Error(`SESSION_SECRET is too short: ${given.length} characters, at least ${MIN_LENGTH} are needed`)
  }
  if (given !== '') return given
  if (production) {
    throw new Error(`SESSION_SECRET is not set: production needs one of at least ${MIN_LENGTH} characters`)
  }
  const file = join(dataDir, 'session-secret')
  try {
    const kept = readFileSync(file, 'utf8').trim()
    if (kept.length >= MIN_LENGTH) return kept
  } catch {
    // It does not exist yet.
  }
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

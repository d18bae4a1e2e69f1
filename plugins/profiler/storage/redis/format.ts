import { DEFAULT_BOUNDS, type StorageBounds } from '../storage.js'
import type { RedisConnection, Reply } from './connection.js'
import { RedisRefusedError } from './errors.js'
import { FORMAT } from './lua.js'
import { ALL } from './scripts.js'

/**
 * Called whenever Redis was reached: loads the scripts, tells of a setting that does harm, and of profiles that another version has left.
 * Those have keys of their own, so both versions may run side by side.
 */
export async function checkFormat (connection: RedisConnection, prefix: string, warn: (message: string) => void): Promise<void> {
  try {
    const [format, policy] = await Promise.allSettled([
      connection.send('GET', `${prefix}format`),
      connection.send('INFO', 'memory'),
      // Who may not load scripts may still run them.
      ...ALL.map((script) => connection.send('SCRIPT', 'LOAD', script.source))
    ])
    const [, evicting] = /^maxmemory_policy:(allkeys-\w+)/m.exec(policy.status === 'fulfilled' ? String(policy.value) : '') ?? []
    if (evicting !== undefined) warn(`Redis drops any key when it is full (maxmemory-policy ${evicting}), profiles too: a list may then show some that are gone. With "noeviction" or one of "volatile-…" they stay.`)
    if (format.status === 'rejected') throw format.reason
    const found = format.value
    if (found !== null && String(found) !== String(FORMAT)) {
      warn(`The profiles in Redis under "${prefix}${String(found)}:" are of format ${String(found)}; this version keeps format ${FORMAT} and leaves them alone: they are not shown, and may be deleted.`)
    }
    if (found === null || Number(found) < FORMAT) await connection.send('SET', `${prefix}format`, String(FORMAT))
  } catch (error) {
    // One that is away tells that itself.
    if (error instanceof RedisRefusedError) warn(error.message)
  }
}

/** The bounds that hold: those that are given, which are kept for others; or those that others have kept. */
export async function agreeOnBounds (connection: RedisConnection, meta: string, given: Partial<StorageBounds>): Promise<StorageBounds> {
  try {
    return await agreed(connection, meta, given)
  } catch (error) {
    // What is said of the key by somebody else is said again when it is written to.
    if (error instanceof RedisRefusedError) return { ...DEFAULT_BOUNDS, ...given }
    throw error
  }
}

async function agreed (connection: RedisConnection, meta: string, given: Partial<StorageBounds>): Promise<StorageBounds> {
  const [maxProfiles, maxBytes] = (await connection.send('HMGET', meta, 'maxProfiles', 'maxBytes') as Reply[]).map((value) => Number(value))
  const bounds = { ...DEFAULT_BOUNDS, ...(maxProfiles && { maxProfiles }), ...(maxBytes && { maxBytes }), ...given }
  if (Object.keys(given).length > 0 && (bounds.maxProfiles !== maxProfiles || bounds.maxBytes !== maxBytes)) {
    await connection.send('HSET', meta, 'maxProfiles', String(bounds.maxProfiles), 'maxBytes', String(bounds.maxBytes))
  }
  return bounds
}

import type { RedisConnection } from './connection.js'
import { RedisRefusedError } from './errors.js'
import { FORMAT } from './lua.js'
import { ALL } from './scripts.js'

/**
 * Called whenever Redis was reached: loads the scripts, and tells of profiles that another version has left.
 * Those have keys of their own, so both versions may run side by side.
 */
export async function checkFormat (connection: RedisConnection, prefix: string, warn: (message: string) => void): Promise<void> {
  try {
    const loaded = ALL.map((script) => connection.send('SCRIPT', 'LOAD', script.source))
    const answer = connection.send('GET', `${prefix}format`)
    await Promise.allSettled(loaded)
    const found = await answer
    if (found !== null && String(found) !== String(FORMAT)) {
      warn(`The profiles in Redis under "${prefix}${String(found)}:" are of format ${String(found)}; this version keeps format ${FORMAT} and leaves them alone: they are not shown, and may be deleted.`)
    }
    if (found === null || Number(found) < FORMAT) await connection.send('SET', `${prefix}format`, String(FORMAT))
  } catch (error) {
    // One that is away tells that itself.
    if (error instanceof RedisRefusedError) warn(error.message)
  }
}

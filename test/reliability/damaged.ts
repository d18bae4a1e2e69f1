import { isDeepStrictEqual } from 'node:util'
import { openEmbeddedStorage, type EmbeddedStorage } from '../../plugins/profiler/storage/embedded.js'
import { profile, tokens } from '../profiler/fixture.js'

/** How a store fared that was damaged. */
export interface Outcome {
  /** Whether it was set aside, and a new one begun. */
  setAside: boolean
  /** Why it could not be opened; empty where it was. */
  refused: string
  listed: number
  read: number
  /** Profiles that were given out and are not what was put. */
  wrong: string[]
  /** What verbs rejected with. */
  errors: string[]
  /** How many of the profiles that were put into the damaged store can be read again. */
  kept: number
}

/** How many profiles a store has that is to be damaged. */
export const STORED = 1_200
/** How many are put behind the damage. */
export const ADDED = 60

/** What is put under a token. */
export function expected (token: string): ReturnType<typeof profile> {
  return profile(token, { url: `http://h/${token}`, collectors: { text: token.repeat(20 + parseInt(token, 16) % 400) } })
}

// Uses one damaged store after the other as an application does, until one ends the process.
process.on('message', (path: string) => {
  use(path).then((outcome) => process.send?.({ outcome }), (error: unknown) => process.send?.({ broken: String((error as Error).stack) }))
})
process.on('disconnect', () => process.exit())
process.send?.('ready')

async function use (path: string): Promise<Outcome> {
  const outcome: Outcome = { setAside: false, refused: '', listed: 0, read: 0, wrong: [], errors: [], kept: 0 }
  let storage: EmbeddedStorage
  try {
    storage = await openEmbeddedStorage({ path, maxProfiles: 1_240, warn: () => { outcome.setAside = true } })
  } catch (error) {
    outcome.refused = String(error)
    return outcome
  }
  const attempt = async (name: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      outcome.errors.push(`${name}: ${String(error)}`)
    }
  }
  await attempt('search', async () => { outcome.listed = (await storage.search({ limit: 5_000 })).profiles.length })
  await attempt('search', async () => { await storage.search({ limit: 50, criteria: { url: '/0000' } }) })
  for (const token of tokens(1, STORED)) {
    await attempt('get', async () => {
      const found = await storage.get(token)
      if (found === undefined) return
      outcome.read++
      if (!isDeepStrictEqual(found, expected(token))) outcome.wrong.push(token)
    })
  }
  const added = tokens(2_001, 2_000 + ADDED)
  for (let at = 0; at < added.length; at += 10) await attempt('put', async () => { await storage.put(added.slice(at, at + 10).map(expected)) })
  for (const token of added) await attempt('get', async () => { if (isDeepStrictEqual(await storage.get(token), expected(token))) outcome.kept++ })
  await attempt('stats', async () => { await storage.stats() })
  await attempt('purge', async () => { await storage.purge({ url: '/0001' }) })
  await attempt('close', async () => { await storage.close() })
  return outcome
}

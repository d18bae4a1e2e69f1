import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { SqliteStorage } from '../../../packages/hindsight/src/store/sqlite.js'
import { recordOf } from '../../../packages/hindsight/src/store/summary.js'
import { profile, tokens } from '../../../packages/hindsight/test/parts/fixture.js'

/** A damaged store that is to be used. */
export interface Order {
  path: string
  /** What to write over a file of the store after it was opened: the file, and the file that has its new content. */
  overwrite: { file: string, content: string } | null
}

/** How the use of a damaged store went. */
export interface Outcome {
  /** How often it was set aside, and a new one begun. */
  setAside: number
  listed: number
  read: number
  /** Profiles that were returned and are not what was put. */
  wrong: string[]
  /** What calls rejected with, and other warnings. */
  errors: string[]
  /** Profiles that were put after the damage and are not there, although no store was set aside after that. */
  lost: number
  /** Profiles that are not there because the damage was found after they were put. */
  lostLate: number
}

/** How many profiles are put into a store before it is damaged. */
export const STORED = 1_200
/** How many are put after that. */
export const ADDED = 60

/** What is put under a token. */
export function expected (token: string): ReturnType<typeof profile> {
  const text = token.repeat(20 + parseInt(token, 16) % 400)
  return profile(token, { url: `http://h/${token}`, collectors: { text } })
}

// Uses one damaged store after the other as an application does, until one ends the process.
if (process.argv[1] === import.meta.filename) {
  process.on('message', (order: Order) => {
    use(order).then(
      (outcome) => process.send?.({ outcome }),
      (error: unknown) => process.send?.({ broken: String((error as Error).stack) })
    )
  })
  process.on('disconnect', () => process.exit())
  process.send?.('ready')
}

async function use ({ path, overwrite }: Order): Promise<Outcome> {
  const outcome: Outcome = { setAside: 0, listed: 0, read: 0, wrong: [], errors: [], lost: 0, lostLate: 0 }
  const warn = (message: string): void => {
    if (message.includes('It was set aside as')) outcome.setAside++
    else outcome.errors.push(message)
  }
  const attempt = async (name: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      outcome.errors.push(`${name}: ${String(error)}`)
    }
  }
  const storage = new SqliteStorage({ path, maxProfiles: 1_240, warn })
  if (overwrite !== null) {
    await attempt('stats', async () => { await storage.stats() })
    replaceContent(overwrite.file, readFileSync(overwrite.content))
  }
  await attempt('search', async () => {
    outcome.listed = (await storage.search({ limit: 5_000 })).profiles.length
  })
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
  const setAsideAtPut = new Map<string, number>()
  for (let at = 0; at < added.length; at += 10) {
    const batch = added.slice(at, at + 10)
    await attempt('put', async () => { await storage.put(batch.map((token) => recordOf(expected(token)))) })
    for (const token of batch) setAsideAtPut.set(token, outcome.setAside)
  }
  for (const token of added) {
    await attempt('get', async () => {
      if (isDeepStrictEqual(await storage.get(token), expected(token))) return
      if (outcome.setAside > (setAsideAtPut.get(token) ?? 0)) outcome.lostLate++
      else outcome.lost++
    })
  }
  await attempt('stats', async () => { await storage.stats() })
  await attempt('purge', async () => { await storage.purge({ url: '/0001' }) })
  await attempt('close', async () => { await storage.close() })
  return outcome
}

/** Within the same file, which others have open. */
function replaceContent (file: string, content: Buffer): void {
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, content, 0, content.length, 0)
  ftruncateSync(descriptor, content.length)
  closeSync(descriptor)
}

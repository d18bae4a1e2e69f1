import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqlStorage } from '../packages/hindsight/src/store/sql.js'
import { SqliteDatabase } from '../packages/hindsight/src/store/sqlite/database.js'
import type { SearchOptions } from '../packages/hindsight/src/store/storage.js'
import { recordOf } from '../packages/hindsight/src/store/summary.js'
import { quartiles } from './pair.js'

/** Milliseconds of CPU that a search among a million profiles takes of the thread of the store, at most. */
export const SEARCH_GOAL = 20

const ROUNDS = 9
const PAGE = { limit: 50 }
const SEARCHES: Array<[name: string, options: SearchOptions]> = [
  ['newest', PAGE],
  ['failures', { ...PAGE, criteria: { error: true } }],
  ['slow ones', { ...PAGE, criteria: { minDuration: 1_000 } }],
  ['slowest', { ...PAGE, sort: '-duration' }]
]
/** One of 200 has failed, one of 300 took more than a second. */
const PROFILES = `insert into profiles
  (token, time, duration, method, url, status, ip, exceptions, warnings, error, bytes, json)
  with recursive numbers (i) as (select 1 union all select i + 1 from numbers where i < 1000000)
  select printf('%06x', i), strftime('%Y-%m-%dT%H:%M:%fZ', 1767225600 + i, 'unixepoch'),
    case when i % 300 = 0 then 1000 else 0 end + i % 97, 'GET', 'http://localhost/items/' || i,
    case when i % 200 = 0 then 500 else 200 end, '127.0.0.1', '', 0, i % 200 = 0, 200, printf('%.200c', 'x')
  from numbers`

/** The search with the highest median of CPU time (ms), and that time. A profile is stored before each search. */
export async function slowestSearch (): Promise<{ name: string, cpu: number }> {
  const folder = mkdtempSync(join(process.env.BENCH_FOLDER ?? tmpdir(), 'hindsight-bench-'))
  const path = join(folder, 'profiles.db')
  const database = new SqliteDatabase(path, true, (message) => { throw new Error(message) })
  const storage = new SqlStorage(database, { maxProfiles: 2_000_000, maxBytes: 2 ** 40 })
  try {
    await storage.stats()
    await database.write(async (query) => await query(PROFILES))
    const request = { method: 'GET', url: 'http://localhost/', ip: '127.0.0.1', status: 200, route: null }
    const collected = { exceptions: [], logs: [], events: [], collectors: {} }
    const time = new Date().toISOString()
    const written = recordOf({ version: 1, token: 'ffffff', time, duration: 1, ...request, ...collected })
    const results: Array<{ name: string, cpu: number }> = []
    for (const [name, options] of SEARCHES) {
      const { next } = await storage.search(options)
      const pages: typeof SEARCHES = [[name, options]]
      if (next !== null) pages.push([`${name}, further page`, { ...options, cursor: '500000' }])
      for (const [page, search] of pages) {
        const times: number[] = []
        for (let round = 0; round < ROUNDS; round++) {
          await storage.put([written])
          const since = process.cpuUsage()
          await storage.search(search)
          const { user, system } = process.cpuUsage(since)
          times.push((user + system) / 1_000)
        }
        results.push({ name: page, cpu: quartiles(times).median })
      }
    }
    return results.reduce((slowest, result) => result.cpu > slowest.cpu ? result : slowest)
  } finally {
    await storage.close()
    rmSync(folder, { recursive: true })
  }
}

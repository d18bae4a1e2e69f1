import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqlStorage } from '../packages/hindsight/src/store/sql.js'
import { SqliteDatabase } from '../packages/hindsight/src/store/sqlite/database.js'
import type { SearchOptions } from '../packages/hindsight/src/store/storage.js'
import { recordOf } from '../packages/hindsight/src/store/summary.js'
import { quartiles } from './pair.js'

/** Milliseconds of CPU time that a search among a million profiles takes of the thread of the store, at most. */
export const SEARCH_GOAL = 20

const ROUNDS = 9
const SEARCHES: Array<[name: string, options: Omit<SearchOptions, 'limit'>]> = [
  ['the newest', {}],
  ['the newest, a further page', { cursor: '500000' }],
  ['failures', { criteria: { error: true } }],
  ['failures, a further page', { criteria: { error: true }, cursor: '500000' }],
  ['a class of statuses', { criteria: { status: '5xx' } }],
  ['slow ones', { criteria: { minDuration: 1_000 } }],
  ['slow ones, a further page', { criteria: { minDuration: 1_000 }, cursor: '500000' }],
  ['the slowest', { sort: '-duration' }]
]
/** One of 200 has failed, one of 300 took more than a second. */
const PROFILES = `insert into profiles
  (token, time, duration, method, url, status, ip, exceptions, warnings, error, bytes, json)
  with recursive numbers (i) as (select 1 union all select i + 1 from numbers where i < 1000000)
  select printf('%06x', i), strftime('%Y-%m-%dT%H:%M:%fZ', 1767225600 + i, 'unixepoch'),
    case when i % 300 = 0 then 1000 else 0 end + i % 97, 'GET', 'http://localhost/items/' || i,
    case when i % 200 = 0 then 500 else 200 end, '127.0.0.1', '', 0, i % 200 = 0, 1000, printf('%.1000c', 'x')
  from numbers`

/** The search with the highest median of CPU time (ms), and that time. A profile is stored before each search. */
export async function slowestSearch (): Promise<{ name: string, cpu: number }> {
  const folder = mkdtempSync(join(process.env.BENCH_FOLDER ?? tmpdir(), 'hindsight-bench-'))
  const path = join(folder, 'profiles.db')
  const database = new SqliteDatabase(path, true, (message) => { throw new Error(message) })
  const storage = new SqlStorage(database, { maxProfiles: 1_000_000, maxBytes: 2 ** 40 })
  const request = { method: 'GET', url: 'http://localhost/', ip: '127.0.0.1', status: 200, route: null }
  const collected = { exceptions: [], logs: [], events: [], collectors: {} }
  let written = 0
  let slowest = { name: '', cpu: 0 }
  try {
    await database.write(async (query) => await query(PROFILES))
    for (const [name, options] of SEARCHES) {
      const times: number[] = []
      for (let round = 0; round < ROUNDS; round++) {
        const token = (0xffffff - ++written).toString(16)
        const time = new Date().toISOString()
        await storage.put([recordOf({ version: 1, token, time, duration: 1, ...request, ...collected })])
        const since = process.cpuUsage()
        await storage.search({ limit: 50, ...options })
        const { user, system } = process.cpuUsage(since)
        times.push((user + system) / 1_000)
      }
      const { median: cpu } = quartiles(times)
      if (cpu > slowest.cpu) slowest = { name, cpu }
    }
    return slowest
  } finally {
    await storage.close()
    rmSync(folder, { recursive: true })
  }
}

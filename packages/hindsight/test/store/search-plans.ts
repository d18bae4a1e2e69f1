import { SqlStorage, type SqlDatabase, type SqlQuery } from '../../src/store/sql.js'
import type { SearchOptions } from '../../src/store/storage.js'

/** Searches among 1,000 profiles of which ten have failed and took long, and what each of them reads. */
export const SEARCHES: Array<[name: string, options: Partial<SearchOptions>, reads: string]> = [
  ['the newest', {}, 'profiles'],
  ['a further page', { cursor: '500' }, 'profiles'],
  ['failures', { criteria: { error: true } }, 'profiles_by_error'],
  ['a further page of failures', { criteria: { error: true }, cursor: '500' }, 'profiles_by_error'],
  ['successes', { criteria: { error: false } }, 'profiles_by_error'],
  ['slow ones', { criteria: { minDuration: 900 } }, 'profiles_by_duration'],
  ['a further page of slow ones', { criteria: { minDuration: 900 }, cursor: '500' }, 'profiles_by_duration'],
  ['the slowest', { sort: '-duration' }, 'profiles_by_duration'],
  ['the quickest', { sort: 'duration' }, 'profiles_by_duration'],
  ['the slowest of many', { sort: '-duration', criteria: { error: false, status: '2xx' } }, 'profiles_by_duration'],
  ['the slowest failures', { sort: '-duration', criteria: { error: true } }, 'profiles_by_error'],
  ['a rare status', { criteria: { status: '500' } }, 'profiles_by_status'],
  ['a rare class', { criteria: { status: '5xx' } }, 'profiles_by_status'],
  ['the highest status', { sort: '-status' }, 'profiles_by_status'],
  ['few since a time', { criteria: { from: timeOf(995) } }, 'profiles_by_time'],
  ['few until a time', { criteria: { until: timeOf(5) } }, 'profiles_by_time'],
  ['many until a time', { criteria: { until: timeOf(500) } }, 'profiles_by_time'],
  ['many since a time, the oldest first', { sort: 'time', criteria: { from: timeOf(500) } }, 'profiles_by_time'],
  ['what most profiles match', { criteria: { status: '2xx', minDuration: 1, from: timeOf(2) } }, 'profiles'],
  ['a text', { criteria: { url: 'nowhere' } }, 'profiles']
]

export function timeOf (place: number): number {
  return Date.parse('2026-01-02T00:00:00Z') + place * 1_000
}

/** Runs a search, and returns the plans of its statements, as the database explains them. */
export async function plansOf (database: SqlDatabase, explain: string, options: Partial<SearchOptions>): Promise<string[]> {
  const plans: string[] = []
  const read: SqlDatabase['read'] = async (work) => await database.read(async (query) => {
    const explained: SqlQuery = async (sql, values) => {
      plans.push((await query(`${explain} ${sql}`, values)).map((row) => row.detail ?? row['QUERY PLAN']).join('\n'))
      return await query(sql, values)
    }
    return await work(explained)
  })
  const { engine, place, schema, like, numberIn, hasStatistics, rowsPerInsert } = database
  const parts = { engine, place, schema, like, numberIn, hasStatistics, rowsPerInsert }
  const write: SqlDatabase['write'] = async (work) => await database.write(work)
  const storage = new SqlStorage({ ...parts, read, write, close: async () => {} }, {})
  await storage.search({ limit: 5, ...options })
  return plans
}

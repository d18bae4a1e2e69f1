import { SqlStorage, type SqlDatabase, type SqlQuery } from '../../src/store/sql.js'
import type { SearchOptions } from '../../src/store/storage.js'

/** Searches, and the index that each of them reads; null: profiles in their order. */
export const SEARCHES: Array<[name: string, options: Partial<SearchOptions>, index: string | null]> = [
  ['the newest', {}, null],
  ['a further page', { cursor: '500' }, null],
  ['a class that most profiles have', { criteria: { status: '2xx' } }, null],
  ['a duration that most profiles have', { criteria: { minDuration: 1 } }, null],
  ['a text', { criteria: { url: 'nowhere' } }, null],
  ['failures', { criteria: { error: true } }, 'profiles_by_error'],
  ['a further page of failures', { criteria: { error: true }, cursor: '500' }, 'profiles_by_error'],
  ['successes', { criteria: { error: false } }, 'profiles_by_error'],
  ['a status', { criteria: { status: '404' } }, 'profiles_by_status'],
  ['the least status of the index', { criteria: { status: '300' } }, 'profiles_by_status'],
  ['a class', { criteria: { status: '5xx' }, cursor: '500' }, 'profiles_by_status'],
  ['the highest status', { sort: '-status' }, 'profiles_by_status'],
  ['slow ones', { criteria: { minDuration: 900 } }, 'profiles_by_duration'],
  ['the least duration of the index', { criteria: { minDuration: 100 }, cursor: '500' }, 'profiles_by_duration'],
  ['the slowest', { sort: '-duration' }, 'profiles_by_duration'],
  ['since a time', { criteria: { from: timeOf(995) } }, 'profiles_by_time'],
  ['until a time', { criteria: { until: timeOf(5) } }, 'profiles_by_time'],
  ['a text until a time', { criteria: { url: 'robots', until: timeOf(500) } }, 'profiles_by_time'],
  ['slow ones until a time', { criteria: { minDuration: 900, until: timeOf(500) } }, 'profiles_by_duration']
]

export function timeOf (place: number): number {
  return Date.parse('2026-01-02T00:00:00Z') + place * 1_000
}

/** Runs a search, and returns its tokens and how the database explains its first statement for profiles. */
export async function explainedSearch (database: SqlDatabase, options: Partial<SearchOptions>): Promise<{ tokens: string[], plan: string }> {
  const explain = database.engine === 'postgres' ? 'explain' : 'explain query plan'
  const plans: string[] = []
  const read: SqlDatabase['read'] = async (work) => await database.read(async (query) => {
    const explained: SqlQuery = async (sql, values) => {
      const rows = sql.includes('order by') ? await query(`${explain} ${sql}`, values) : []
      if (rows.length > 0) plans.push(rows.map((row) => row.detail ?? row['QUERY PLAN']).join('\n'))
      return await query(sql, values)
    }
    return await work(explained)
  })
  const storage = new SqlStorage(new Proxy(database, { get: (target, name) => name === 'read' ? read : Reflect.get(target, name) as unknown }), {})
  const { profiles } = await storage.search({ limit: 5, ...options })
  return { tokens: profiles.map(({ token }) => token), plan: plans[0] ?? '' }
}

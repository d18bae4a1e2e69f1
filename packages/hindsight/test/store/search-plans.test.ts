import t from 'tap'
import { SqlStorage } from '../../src/store/sql.js'
import { SqliteDatabase } from '../../src/store/sqlite/database.js'
import { failure, profile, tokens } from '../parts/fixture.js'
import { plansOf, SEARCHES, timeOf } from './search-plans.js'
import { connection, place, put } from './support.js'

t.test('a search reads an index, or profiles in their order', async (t) => {
  const path = place(t)
  const database = new SqliteDatabase(path, true, (message) => t.fail(message))
  t.teardown(() => database.close())
  const storage = new SqlStorage(database, {})
  await put(storage, tokens(1, 1_000).map((token, i) => {
    const time = new Date(timeOf(i + 1)).toISOString()
    return i % 100 === 0 ? failure(token, { time, status: 500, duration: 1_000 }) : profile(token, { time, duration: i % 100 })
  }))
  for (const [name, options, reads] of SEARCHES) {
    const plans = (await plansOf(database, 'explain query plan', options)).join('\n')
    // All entries of an index are read only where its order is that of the search, up to the limit.
    t.notMatch(plans.replace(/SCAN profiles USING INDEX/g, ''), /SCAN profiles/, name)
    const indexes = new Set(plans.match(/profiles_by_\w+/g) ?? [])
    if (reads === 'profiles') t.match(plans.split('\n').at(-1), /^SEARCH profiles USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)$/, name)
    else t.ok(indexes.has(reads), `${name}: ${plans}`)
    // Only few profiles that an index has found are put in order.
    if (plans.includes('USE TEMP B-TREE FOR ORDER BY')) t.equal(name, 'the slowest failures')
  }
})

t.test('a file without the indexes gets them when an application opens it, and keeps its profiles', async (t) => {
  const path = place(t)
  const first = new SqliteDatabase(path, true, (message) => t.fail(message))
  await put(new SqlStorage(first, {}), [profile('000001')])
  await first.close()
  const other = connection(t, path)
  for (const name of ['error', 'status', 'duration', 'time']) other.exec(`drop index profiles_by_${name}`)
  other.exec('create index profiles_by_age on profiles (pinned, error, seq, bytes)')
  const database = new SqliteDatabase(path, true, (message) => t.fail(message))
  t.teardown(() => database.close())
  const { profiles: [kept] } = await new SqlStorage(database, {}).search({ limit: 1 })
  t.equal(kept?.token, '000001')
  const indexes = other.prepare("select name from sqlite_schema where name like 'profiles\\_by%' escape '\\' order by name").all()
  t.same(indexes.map(({ name }) => name), ['duration', 'error', 'parent', 'status', 'time'].map((name) => `profiles_by_${name}`))
})

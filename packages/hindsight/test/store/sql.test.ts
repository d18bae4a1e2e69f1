import t from 'tap'
import { MemoryStorage } from '../../src/store/memory.js'
import { SqlStorage } from '../../src/store/sql.js'
import { SqliteDatabase } from '../../src/store/sqlite/database.js'
import { failure, profile, tokens } from '../parts/fixture.js'
import { explainedSearch, SEARCHES, timeOf } from './search-plans.js'
import { place, put } from './support.js'

t.test('a search reads an index, or profiles in their order, and finds what a store without SQL finds', async (t) => {
  const database = new SqliteDatabase(place(t), true, (message) => t.fail(message))
  t.teardown(() => database.close())
  const memory = new MemoryStorage()
  const made = tokens(1, 1_000).map((token, i) => {
    const changes = { time: new Date(timeOf(i + 1)).toISOString(), duration: i % 50 === 7 ? 900 : i % 101 }
    return i % 100 === 0 ? failure(token, { ...changes, status: 500 }) : profile(token, { ...changes, status: [200, 300, 404][i % 3] ?? 0 })
  })
  for (const storage of [new SqlStorage(database, {}), memory]) await put(storage, made)
  for (const [name, options, index] of SEARCHES) {
    const { tokens, plan } = await explainedSearch(database, options)
    const read = index === null ? 'INTEGER PRIMARY KEY (rowid>? AND rowid<?)' : `INDEX ${index} `
    t.ok(plan.startsWith(`SEARCH profiles USING ${read}`), `${name}: ${plan}`)
    // Only the profiles of an index are put in another order.
    t.equal(plan.includes('USE TEMP B-TREE FOR ORDER BY'), 'sort' in options, name)
    t.same(tokens, memory.search({ limit: 5, ...options }).profiles.map(({ token }) => token), name)
    if (name !== 'a text') t.equal(tokens.length, 5, name)
  }
})

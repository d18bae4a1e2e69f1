import t, { type Test } from 'tap'
import { storageContract } from '../../../src/storage-contract.js'
import { openStorage } from '../../../src/store/open.js'
import { PostgresDatabase } from '../../../src/store/postgres.js'
import type { ProfileStorage, StorageBounds } from '../../../src/store/storage.js'
import { postgresServer } from '../../support/postgres.js'
import { failure, profile, tokens } from '../../parts/fixture.js'
import { explainedSearch, SEARCHES, timeOf } from '../../store/search-plans.js'
import { listed, put } from '../../store/support.js'

/** On a busy machine a writer waits for the others for more than three seconds, after which a server is unavailable. */
const PATIENT = '?query_timeout=120000&statement_timeout=120000'
/** As many as the pool of a store has connections: others would wait for one, for three seconds at most. */
const WRITERS = 4

async function opened (t: Test, url: string, bounds: Partial<StorageBounds> = {}): Promise<ProfileStorage> {
  const storage = await openStorage({ storage: url + PATIENT, ...bounds })
  t.teardown(() => storage.close())
  return storage
}

t.test('PostgreSQL passes the contract of storage', async (t) => {
  const postgres = await postgresServer(t)
  if (!postgres) return
  const open = async (bounds: StorageBounds): Promise<ProfileStorage> => {
    await postgres.psql('drop schema if exists hindsight cascade')
    return await openStorage({ storage: postgres.url + PATIENT, ...bounds })
  }
  for (const { name, run } of storageContract(open)) await t.test(name, run)
})

t.test('a search reads an index, or profiles in their order', async (t) => {
  const postgres = await postgresServer(t)
  if (!postgres) return
  const database = new PostgresDatabase(postgres.url + PATIENT)
  t.teardown(() => database.close())
  await database.read(async (query) => await query('select 1'))
  // A table of few pages is read without an index.
  await postgres.psql('insert into hindsight.profiles (token, time, url, duration, status, error, json) select ' +
    `lpad(i::text, 6, '0'), to_char(date '${new Date(timeOf(0)).toISOString().slice(0, 10)}' + i * interval '20 ms', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), ` +
    "'http://h/', case when i % 5000 = 0 then 1000 else i % 100 end, case i % 5000 when 0 then 500 when 1 then 404 else 200 end, " +
    "(i % 5000 = 0)::int, repeat('x', 200) from generate_series(1, 50000) i")
  await postgres.psql('vacuum analyze hindsight.profiles')
  for (const [name, options, index] of SEARCHES) {
    const { plan } = await explainedSearch(database, options)
    // It expects that no profile has a text, and reads all of them.
    if (options.criteria?.url !== undefined) continue
    t.notMatch(plan, /Seq Scan/, name)
    // Where most profiles match, their order is as little to read.
    if (index !== null && name !== 'successes') t.match(plan, /profiles_by_(?:error|status|duration|time) /, `${name}: ${plan}`)
  }
})

t.test('two machines share one store', async (t) => {
  const postgres = await postgresServer(t)
  if (!postgres) return
  const [one, other] = [await opened(t, postgres.url, { maxProfiles: 3_000 }), await opened(t, postgres.url)]

  await t.test('each machine reads the profiles of the other, in one order', async (t) => {
    await Promise.all([one, other].flatMap((store, i) => Array.from({ length: WRITERS }, async (_, writer) => {
      for (let batch = writer * 2 + i; batch < 20; batch += 2 * WRITERS) {
        await put(store, tokens(batch * 50, batch * 50 + 49).map((token) => profile(token)))
      }
    })))
    t.equal((await one.get('000075'))?.token, '000075')
    t.equal((await other.get('000025'))?.token, '000025')
    t.same(await listed(one), await listed(other))
    t.match(await other.stats(), { profiles: 1_000, engine: 'postgres' })
  })

  await t.test('following finds all profiles of the other machine', async (t) => {
    const seen: string[] = []
    let { head } = await other.search({ limit: 1 })
    const writing = Promise.all([2_000, 2_050, 2_100, 2_150].map(async (first) => {
      for (const token of tokens(first, first + 49)) await put(one, [failure(token)])
    }))
    const isWritten = writing.then(() => true)
    for (let isLast = false; ;) {
      const page = await other.search({ limit: 1_000, after: head })
      seen.push(...page.profiles.map(({ token }) => token))
      head = page.head
      if (isLast) break
      isLast = await Promise.race([isWritten, new Promise<boolean>((resolve) => setImmediate(resolve, false))])
    }
    t.same(seen.sort(), tokens(2_000, 2_199))
  })

  await t.test('bounds hold while both write', async (t) => {
    const small = await opened(t, postgres.url, { maxProfiles: 300 })
    await Promise.all(Array.from({ length: WRITERS }, async (_, writer) => {
      for (let batch = writer; batch < 10; batch += WRITERS) {
        await put(small, tokens(3_000 + batch * 100, 3_099 + batch * 100).map((token) => profile(token)))
      }
    }))
    const { profiles, failures } = await small.stats()
    t.equal(profiles, 300)
    t.equal(failures, 200, 'failures outlive successes')
    t.equal((await listed(small)).length, 300)
  })
})

t.test('concurrent first uses create the tables once', async (t) => {
  const postgres = await postgresServer(t)
  if (!postgres) return
  // They connect at the same time, within three seconds.
  const stores = await Promise.all(Array.from({ length: 12 }, async () => await opened(t, postgres.url)))
  await Promise.all(stores.map(async (store, i) => await put(store, [profile(String(100_000 + i))])))
  t.match(await stores[0]?.stats(), { profiles: 12 })
})

t.test('SQL reads the tables and deletes rows', async (t) => {
  const postgres = await postgresServer(t)
  if (!postgres) return
  const storage = await opened(t, postgres.url)
  await put(storage, [profile('000001'), failure('000002', { status: 500 }), failure('000003', { url: 'http://h/\u0000' })])
  t.equal(await postgres.psql('select token, status from hindsight.profiles order by time desc, token limit 1'), '000001|200')
  const sql = "select json::json->'exceptions'->0->>'message' from hindsight.profiles where status >= 500"
  t.equal(await postgres.psql(sql), 'No routes found for "/robots.txt/"')
  t.equal((await storage.get('000003'))?.url, 'http://h/\u0000')
  await postgres.psql("delete from hindsight.profiles where token = '000002'")
  t.match(await storage.stats(), { profiles: 2, failures: 1 }, 'rows that others delete are counted')
})

t.test('what is dropped in the database is created again, and no profile is lost by it', async (t) => {
  const postgres = await postgresServer(t)
  if (!postgres) return
  const storage = await opened(t, postgres.url)
  await put(storage, [profile('000001'), failure('000002')])
  const columns = (await postgres.psql("select attname from pg_attribute where attrelid = 'hindsight.profiles'::regclass and attnum > 0")).split('\n')
  t.equal(columns.length, 17)
  const objects = 'select count(*) from pg_class where relnamespace = \'hindsight\'::regnamespace'
  const before = await postgres.psql(objects)
  const drops = [
    'drop table hindsight.profile_totals', 'drop table hindsight.form_secret', 'drop schema hindsight cascade', 'drop table hindsight.profiles cascade',
    'drop table hindsight.profiles cascade; create view hindsight.profiles as select 1 as seq', 'drop function hindsight.count_profiles() cascade',
    'drop index hindsight.profiles_by_error', 'alter table hindsight.profiles drop constraint if exists profiles_token_key; drop index if exists ' +
      'hindsight.profiles_token_key',
    'drop trigger profiles_inserted on hindsight.profiles',
    ...['pinned', 'error', 'profiles', 'bytes'].map((name) => `alter table hindsight.profile_totals drop column ${name}`),
    ...columns.map((name) => `alter table hindsight.profiles drop column ${name}`)
  ]
  for (const [i, sql] of drops.entries()) {
    await postgres.psql(sql)
    // Nothing shows that these are missing: they are created when a process uses the store for the first time.
    const isSilent = /index|trigger|function|constraint/.test(sql)
    const user = isSilent ? await opened(t, postgres.url) : storage
    const [token = ''] = tokens(16 + i, 16 + i)
    await put(user, [profile(token)])
    t.equal((await storage.get(token))?.token, token, sql)
    const [listing, { profiles }] = [await listed(storage), await storage.stats()]
    t.equal(listing[0], token, sql)
    t.equal(listing.length, profiles, `${sql}: the totals are right`)
    t.match(await storage.secret?.(), /^[0-9a-f-]{72}$/)
    t.equal(await postgres.psql(objects), before, `${sql}: nothing is left over`)
  }
})

t.test('a role that may only use the tables reads and writes, and keeps its own secret where there is none', async (t) => {
  const postgres = await postgresServer(t)
  if (!postgres) return
  await put(await opened(t, postgres.url), [profile('000001')])
  await postgres.psql('drop table hindsight.form_secret; create role user_only login; grant usage on schema hindsight to user_only; ' +
    'grant select, insert, update, delete on all tables in schema hindsight to user_only')
  const storage = await opened(t, postgres.url.replace('hindsight@', 'user_only@'))
  await put(storage, [profile('000002')])
  t.same(await listed(storage), ['000002', '000001'])
  await t.rejects(async () => await storage.secret?.(), { message: /form_secret/ })
  await postgres.psql('drop schema hindsight cascade')
  await t.rejects(put(storage, [profile('000003')]), { code: 'HINDSIGHT_STORAGE_UNUSABLE', message: /permission denied for database/ })
})

t.test('invalid addresses are errors without the password', async (t) => {
  await t.rejects(openStorage({ storage: 'postgres://' }), { message: /^profiler\.storage \(STORAGE_URL\): / })
  const storage = await opened(t, 'postgres://u:secret@127.0.0.1:1/x')
  await t.rejects(
    async () => await storage.stats(),
    { code: 'HINDSIGHT_STORAGE_UNUSABLE', statusCode: 503, message: /^The store "postgres:\/\/127\.0\.0\.1:1\/x" cannot be used: .*ECONNREFUSED/ }
  )
  await storage.close()
  await t.rejects(async () => await storage.stats(), { code: 'HINDSIGHT_STORAGE_CLOSED' })
})

import t, { type Test } from 'tap'
import { storageContract } from '../../../../contract/storage-contract.js'
import { openStorage } from '../../../../../lib/profiler/storage/open.js'
import type { ProfileStorage, StorageBounds } from '../../../../../lib/profiler/storage/storage.js'
import { postgresServer } from '../../../../support/postgres.js'
import { failure, profile, tokens } from '../../../../lib/profiler/fixture.js'
import { listed, put } from '../../../../lib/profiler/storage/support.js'

async function opened (t: Test, url: string, bounds: Partial<StorageBounds> = {}): Promise<ProfileStorage> {
  const storage = await openStorage({ storage: url, ...bounds })
  t.teardown(() => storage.close())
  return storage
}

t.test('PostgreSQL passes the contract of storage', async (t) => {
  const postgres = await postgresServer(t)
  if (!postgres) return
  const open = async (bounds: StorageBounds): Promise<ProfileStorage> => {
    await postgres.psql('drop schema if exists hindsight cascade')
    return await openStorage({ storage: postgres.url, ...bounds })
  }
  for (const { name, run } of storageContract(open)) await t.test(name, run)
})

t.test('two machines share one store', async (t) => {
  const postgres = await postgresServer(t)
  if (!postgres) return
  const [one, other] = [await opened(t, postgres.url, { maxProfiles: 3_000 }), await opened(t, postgres.url)]

  await t.test('each machine reads the profiles of the other, in one order', async (t) => {
    await Promise.all(Array.from({ length: 20 }, async (_, batch) => {
      const written = tokens(batch * 50, batch * 50 + 49).map((token) => profile(token))
      await put(batch % 2 === 0 ? one : other, written)
    }))
    t.equal((await one.get('000075'))?.token, '000075')
    t.equal((await other.get('000025'))?.token, '000025')
    t.same(await listed(one), await listed(other))
    t.match(await other.stats(), { profiles: 1_000, engine: 'postgres' })
  })

  await t.test('following finds all profiles of the other machine', async (t) => {
    const seen: string[] = []
    let { head } = await other.search({ limit: 1 })
    const writing = Promise.all(tokens(2_000, 2_199).map(async (token) => await put(one, [failure(token)])))
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
    await Promise.all(Array.from({ length: 10 }, async (_, batch) => await put(small, tokens(3_000 + batch * 100, 3_099 + batch * 100).map((token) => profile(token)))))
    const { profiles, failures } = await small.stats()
    t.equal(profiles, 300)
    t.equal(failures, 200, 'failures outlive successes')
    t.equal((await listed(small)).length, 300)
  })
})

t.test('40 concurrent first uses create the tables once', async (t) => {
  const postgres = await postgresServer(t, { settings: { max_connections: 120 } })
  if (!postgres) return
  const stores = await Promise.all(Array.from({ length: 40 }, async () => await opened(t, postgres.url)))
  await Promise.all(stores.map(async (store, i) => await put(store, [profile(String(100_000 + i))])))
  t.match(await stores[0]?.stats(), { profiles: 40 })
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

t.test('invalid addresses are errors without the password', async (t) => {
  await t.rejects(openStorage({ storage: 'postgres://' }), { message: /^profiler\.storage \(STORAGE_URL\): / })
  const storage = await opened(t, 'postgres://u:secret@127.0.0.1:1/x')
  await t.rejects(async () => await storage.stats(), { code: 'HINDSIGHT_STORAGE_UNUSABLE', statusCode: 503, message: /^The store "postgres:\/\/127\.0\.0\.1:1\/x" cannot be used: .*ECONNREFUSED/ })
  await storage.close()
  await t.rejects(async () => await storage.stats(), { code: 'HINDSIGHT_STORAGE_CLOSED' })
})

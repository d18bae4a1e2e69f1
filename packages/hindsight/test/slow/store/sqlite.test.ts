import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { storageContract } from '../../../src/storage-contract.js'
import { criteriaMatcher, type Criteria } from '../../../src/store/criteria.js'
import { SqliteStorage } from '../../../src/store/sqlite.js'
import { recordOf } from '../../../src/store/summary.js'
import { failure, profile, tokens } from '../../parts/fixture.js'
import { sample } from '../../parts/sample.js'
import { connection, isConsistent, listed, opened, PER_BATCH, place, put, until, writer } from '../../store/support.js'

const ALL = { limit: 100_000 }

t.test('SQLite passes the contract of storage, in a file', async (t) => {
  for (const { name, run } of storageContract((bounds) => new SqliteStorage({ path: place(t), ...bounds }))) await t.test(name, run)
})

t.test('a restart keeps profiles, pins, positions and totals', async (t) => {
  const path = place(t)
  const first = new SqliteStorage({ path })
  await put(first, [...tokens(1, 600).map((token) => profile(token)), failure('00000a'), sample()])
  await first.pin('000300', true)
  const [before, stats] = [await first.search(ALL), await first.stats()]
  t.match(stats, { engine: 'sqlite', place: path, profiles: 602, failures: 2, pinned: 1 })
  await first.close()
  const second = opened(t, { path })
  t.strictSame(await second.search(ALL), before)
  t.strictSame(await second.stats(), stats)
  t.strictSame(await second.get('3fa94c'), JSON.parse(JSON.stringify(sample())))
  t.strictSame((await second.search({ limit: 1, after: before.head })).profiles, [])
  await put(second, [profile('00000b')])
  t.same((await second.search({ limit: 5, after: before.head })).profiles.map(({ token }) => token), ['00000b'])
})

t.test('positions stay valid when the newest profiles are purged before a restart', async (t) => {
  const path = place(t)
  const first = new SqliteStorage({ path })
  await put(first, tokens(1, 10).map((token) => profile(token)))
  await first.purge()
  const { head } = await first.search({ limit: 1 })
  await first.close()
  const second = opened(t, { path })
  t.equal((await second.search({ limit: 1 })).head, head)
  await put(second, [profile('00000a')])
  t.same((await second.search({ limit: 9, after: head })).profiles.map(({ token }) => token), ['00000a'])
})

t.test('lowered bounds take effect with the next writes', async (t) => {
  const path = place(t)
  const first = new SqliteStorage({ path, maxProfiles: 20_000 })
  await put(first, tokens(1, 2_000).map((token) => profile(token)))
  await first.close()
  const second = opened(t, { path, maxProfiles: 100 })
  for (const token of ['00000a', '00000b', '00000c']) await put(second, [profile(token)])
  t.same(await isConsistent(t, second), ['00000c', '00000b', '00000a', ...tokens(1_904, 2_000).reverse()])
})

t.test('only its owner can read and write the files', { skip: process.platform === 'win32' && 'Windows has no file modes' }, async (t) => {
  const path = place(t)
  const umask = process.umask(0)
  t.teardown(() => process.umask(umask))
  const storage = opened(t, { path })
  await put(storage, [profile('000001')])
  t.same(readdirSync(dirname(path)).sort(), ['profiles.db', 'profiles.db-lock', 'profiles.db-shm', 'profiles.db-wal'])
  for (const suffix of ['', '-lock', '-shm', '-wal']) t.equal(statSync(path + suffix).mode & 0o777, 0o600, `profiles.db${suffix}`)
})

t.test('two processes write to one store, and a third one searches it', async (t) => {
  const path = place(t)
  const storage = opened(t, { path, maxProfiles: 5_000, maxBytes: 2 ** 26 })
  const others = [writer(t, path, 'a', 40), writer(t, path, 'b', 40)]
  await Promise.all(others.map(({ started }) => started))
  for (const token of tokens(1, 40)) {
    await put(storage, [profile(token.replace(/^0/, 'c'))])
    await storage.search({ limit: 10, criteria: { url: '/b/' } })
  }
  t.same(await Promise.all(others.map(({ ended }) => ended)), [0, 0])
  const found = await isConsistent(t, storage)
  t.same(['a', 'b', 'c'].map((prefix) => found.filter((token) => token.startsWith(prefix)).length), [800, 800, 40])
})

t.test('a process that is killed while it writes loses no acknowledged batch', async (t) => {
  const path = place(t)
  for (const prefix of ['1', '2', '3', '4']) {
    const process = writer(t, path, prefix)
    await until(() => process.written() >= 5)
    await sleep(Math.random() * 60)
    process.kill()
    t.equal(await process.ended, null)
    const written = process.written()
    const storage = new SqliteStorage({ path, warn: (message) => t.fail(message) })
    const found = (await isConsistent(t, storage)).filter((token) => token.startsWith(prefix)).length
    t.equal(found % PER_BATCH, 0, 'a batch is stored as a whole, or not at all')
    t.ok(found >= written * PER_BATCH && found <= (written + 2) * PER_BATCH, `${found} profiles of ${written} batches`)
    await put(storage, [profile('00000a')])
    await storage.close()
  }
})

t.test('while another process writes, a put waits and searches are answered', async (t) => {
  const path = place(t)
  const storage = opened(t, { path })
  await put(storage, [profile('000001')])
  const other = connection(t, path)
  other.exec('begin immediate')
  let isDone = false
  const putting = put(storage, [profile('000002')]).then(() => { isDone = true })
  for (let i = 0; i < 5; i++) t.same(await listed(storage), ['000001'])
  t.equal((await storage.get('000001'))?.token, '000001')
  t.equal(isDone, false)
  other.exec('commit')
  await putting
  t.same(await listed(storage), ['000002', '000001'])
})

t.test('puts that wait for another process keep their order', async (t) => {
  const path = place(t)
  const storage = opened(t, { path })
  await put(storage, [profile('000001')])
  const other = connection(t, path)
  other.exec('begin immediate')
  const putting = Promise.all(tokens(2, 9).map(async (token) => await put(storage, [profile(token)])))
  // All of them are tried meanwhile, unless they wait for each other.
  await sleep(1_200)
  other.exec('commit')
  await putting
  t.same(await listed(storage), tokens(1, 9).reverse())
})

t.test('the calls of one store run in their order', async (t) => {
  const storage = opened(t, { path: place(t) })
  const results = await Promise.all([
    put(storage, [profile('000001'), profile('000002')]),
    storage.pin('000001', true),
    put(storage, [profile('000003')]),
    storage.purge(),
    put(storage, [profile('000004')]),
    listed(storage)
  ])
  t.same(results.slice(1), [true, undefined, 2, undefined, ['000004', '000001']])
})

t.test('a store at its bound does not grow', async (t) => {
  const path = place(t)
  const storage = opened(t, { path, maxProfiles: 2_000 })
  const sizes: number[] = []
  for (let turnover = 0; turnover < 8; turnover++) {
    for (let at = 0; at < 2_000; at += 50) {
      await put(storage, Array.from({ length: 50 }, (_, i) => {
        const token = (turnover * 2_000 + at + i).toString(16).padStart(6, '0')
        const changes = { url: `http://h/${token}`, collectors: { text: 'x'.repeat(Math.random() * 8_000) } }
        return i % 9 === 0 ? failure(token, changes) : profile(token, changes)
      }))
    }
    sizes.push(statSync(path).size + statSync(`${path}-wal`).size)
  }
  const [, second = 0] = sizes
  // A store that does not use the pages of evicted profiles again would have several times that.
  t.ok(sizes.slice(2).every((size) => size <= second * 1.6), sizes.join(' '))
  t.match(await storage.stats(), { profiles: 2_000 })
  await isConsistent(t, storage)
})

t.test('a large purge keeps the other and the pinned profiles', async (t) => {
  const storage = opened(t, { path: place(t) })
  const all = tokens(1, 3_000)
  await put(storage, all.map((token, i) => profile(token, { status: i % 10 === 0 ? 201 : 404 })))
  await storage.pin('000002', true)
  t.equal(await storage.purge({ status: '404' }), 2_699)
  const rest = all.filter((_, i) => i % 10 === 0 || i === 1).reverse()
  t.same(await isConsistent(t, storage), rest)
  t.equal(await storage.pin('000002', false), true)
  t.same(await isConsistent(t, storage), rest)
  await storage.pin('000001', true)
  t.equal(await storage.purge(), 300)
  t.same(await isConsistent(t, storage), ['000001'])
  t.equal((await storage.get('000001'))?.status, 201)
})

t.test('profiles that are put during a purge are kept', async (t) => {
  const storage = opened(t, { path: place(t) })
  await put(storage, tokens(1, 2_000).map((token) => profile(token)))
  const purging = storage.purge()
  await put(storage, [profile('00000a')])
  t.equal(await purging, 2_000)
  t.same(await isConsistent(t, storage), ['00000a'])
})

t.test('one path that is opened twice is one store until both are closed', async (t) => {
  const path = place(t)
  const [first, second] = [new SqliteStorage({ path }), opened(t, { path: relative(process.cwd(), path) })]
  await Promise.all([put(first, [profile('000001')]), put(second, [profile('000002')])])
  await first.close()
  await put(second, [profile('000003')])
  t.equal((await isConsistent(t, second)).length, 3)
  await t.rejects(first.search({ limit: 1 }), { message: `The store "${path}" is closed.` })
})

t.test('a worker thread of the application writes to the same store, and ends', async (t) => {
  const path = place(t)
  const storage = opened(t, { path, maxProfiles: 5_000 })
  await put(storage, [profile('000001')])
  const url = pathToFileURL(`${import.meta.dirname}/../../store/processes/writer.ts`).href
  const code = `import('tsx/esm/api').then(({ register }) => { register(); return import(${JSON.stringify(url)}) })`
  const worker = new Worker(code, { eval: true, argv: [path, 'a', '5'], execArgv: [], stdout: true })
  t.same(await once(worker, 'exit'), [0])
  await put(storage, [profile('000002')])
  t.equal((await isConsistent(t, storage)).length, 102)
})

t.test('closing a store completes its pending reads and writes', async (t) => {
  const path = place(t)
  const storage = new SqliteStorage({ path })
  await put(storage, tokens(1, 2_000).map((token) => profile(token)))
  const pending = Promise.all([put(storage, [profile('00000a')]), storage.search({ limit: 10_000, criteria: { url: 'robots' } })])
  await Promise.all([storage.close(), storage.close()])
  t.equal((await pending)[1].profiles.length, 2_001)
  const calls: Array<() => unknown> = [
    () => storage.get('000001'), () => storage.stats(), () => put(storage, [profile('00000b')]), () => storage.purge(), () => storage.search({ limit: 1 }),
    () => storage.pin('000001', true)
  ]
  for (const call of calls) {
    await t.rejects(async () => { await call() }, { code: 'HINDSIGHT_STORAGE_CLOSED', statusCode: 503, message: `The store "${path}" is closed.` })
  }
  t.equal((await opened(t, { path }).get('00000a'))?.token, '00000a')
})

t.test('a closed store has all profiles in the database file', async (t) => {
  const path = place(t)
  const storage = new SqliteStorage({ path })
  await put(storage, tokens(1, 50).map((token) => profile(token)))
  await storage.search({ limit: 1, criteria: { url: 'robots' } })
  await storage.close()
  copyFileSync(path, `${path}-copy`)
  t.same(await listed(opened(t, { path: `${path}-copy` })), tokens(1, 50).reverse())
})

t.test('closing a store completes a purge and an eviction, and does not open it again', async (t) => {
  const path = place(t)
  const first = new SqliteStorage({ path, maxProfiles: 20_000 })
  await put(first, tokens(1, 6_000).map((token) => profile(token)))
  await first.close()
  const storage = new SqliteStorage({ path, maxProfiles: 3_000, warn: (message) => t.fail(message) })
  const pending = Promise.all([put(storage, [profile('00000a')]), storage.purge({ url: 'robots' })])
  await storage.close()
  rmSync(dirname(path), { recursive: true })
  await pending
  // Any other call: the thread has nothing else to do after it.
  await opened(t, { path: place(t) }).stats()
  t.notOk(existsSync(dirname(path)))
})

t.test('SQL selects the same profiles as the matcher', async (t) => {
  const storage = opened(t, { path: place(t) })
  const entries = Array.from({ length: 300 }, (_, i) => recordOf(randomProfile(i)))
  await storage.put(entries)
  let matched = 0
  for (let round = 0; round < 500; round++) {
    const criteria = randomCriteria()
    const expected = entries.filter(criteriaMatcher(criteria)).map(({ summary }) => summary.token).reverse()
    const actual = (await storage.search({ criteria, limit: 1_000 })).profiles.map(({ token }) => token)
    if (actual.join() !== expected.join()) t.same(actual, expected, JSON.stringify(criteria))
    if (Object.keys(criteria).length > 0 && expected.length > 0) matched++
  }
  t.ok(matched > 30, `${matched} searches found something`)
})

t.test('the program sqlite3 reads and deletes profiles while the store is open', { skip: isWithoutSqlite3() }, async (t) => {
  const path = place(t)
  const sqlite3 = async (sql: string): Promise<string> => (await promisify(execFile)('sqlite3', [path, sql])).stdout
  const storage = opened(t, { path })
  const crash = failure('00000b', { status: 500, time: '2026-01-02T03:04:06.000Z', url: 'http://h/crash?a=|' })
  await put(storage, [profile('00000a'), crash, profile('00000c', { status: 503, time: '2026-01-02T03:04:07.000Z' })])
  t.equal(await sqlite3('select token, time, status, url from profiles order by time desc limit 10'), [
    '00000c|2026-01-02T03:04:07.000Z|503|http://127.0.0.1:3000/robots.txt',
    '00000b|2026-01-02T03:04:06.000Z|500|http://h/crash?a=|',
    '00000a|2026-01-02T03:04:05.678Z|200|http://127.0.0.1:3000/robots.txt',
    ''
  ].join('\n'))
  t.equal(await sqlite3("select json_extract(json, '$.exceptions[0].message') from profiles where status >= 500"), 'No routes found for "/robots.txt/"\n\n')
  t.strictSame(JSON.parse(await sqlite3("select json from profiles where token = '00000b'")), crash)
  t.equal(
    await sqlite3('select token, error, pinned, exception from profiles where error'),
    '00000b|1|0|LookupError: No routes found for "/robots.txt/"\n00000c|1|0|\n'
  )

  await storage.pin('00000c', true)
  await put(storage, tokens(1, 20).map((token) => profile(token)))
  await sqlite3('delete from profiles where status >= 500')
  t.match(await storage.stats(), { profiles: 21, failures: 0, pinned: 0 })
  t.equal((await isConsistent(t, storage)).length, 21)
  t.equal(await storage.get('00000b'), undefined)
  t.equal(await sqlite3('select count(*) from profiles'), '21\n')
  t.equal(await sqlite3('delete from profiles; select count(*) from profiles'), '0\n')
  t.match(await storage.stats(), { profiles: 0, bytes: 0 })
  await put(storage, [profile('00000a')])
  t.same(await isConsistent(t, storage), ['00000a'])
})

function isWithoutSqlite3 (): string | false {
  return spawnSync('sqlite3', ['--version']).error !== undefined && process.env.CI === undefined && 'the program sqlite3 is not installed'
}

const pick = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)] as T
const WORDS = ['shoes', 'Red', 'ß', '😀', '\n', '%20', '_', 'a', 'aa', '/', '?q=', '*', '[a-z]']
const text = (): string => Array.from({ length: Math.ceil(Math.random() * 4) }, () => pick(WORDS)).join('')
const ROUTES = ['shop_show', 'shop_list', '*', '', 'a[b]?', 'Shop_show']
const IPS = ['10.1.2.3', '::ffff:10.1.2.3', '2001:db8::7', '2001:0db8:0:0:0:0:0:7', 'nonsense', '']

function randomProfile (number: number) {
  const token = String(number).padStart(6, '0')
  const changes = {
    method: pick(['GET', 'post', 'DELETE']),
    url: `http://h/${text()}`,
    ip: pick(IPS),
    status: pick([200, 201, 404, 500, 503]),
    duration: pick([0, 1.5, 99.99, 1_000]),
    time: pick(['2026-01-02T03:04:05.678Z', '2026-01-02T04:00:00.000Z']),
    route: Math.random() < 0.3 ? null : { name: pick(ROUTES), pattern: '/', params: {}, methods: [] },
    ...(Math.random() < 0.3 && { parent: pick(['000001', '000002']) })
  }
  return Math.random() < 0.5
    ? profile(token, changes)
    : failure(token, { ...changes, exceptions: [{ name: 'TypeError', message: text(), frames: [], stack: '' }] })
}

function randomCriteria (): Criteria {
  const all: Required<Criteria> = {
    token: String(Math.floor(Math.random() * 300)).padStart(6, '0'),
    ip: pick(['10.1.2.3', '10.1.2.4', '2001:db8:0:0:0:0:0:7']),
    method: pick(['get', 'POST', 'PUT']),
    status: pick(['404', '4xx', '5xx', '301']),
    url: text(),
    route: pick(['shop_*', 'shop_show', '*', '', 'none', '*[b]*', 'a[b]?', '*o*', '**w']),
    exception: text(),
    minDuration: pick([0, 1.5, 100, 5_000]),
    from: Date.parse(pick(['2026-01-02T03:04:05.678Z', '2026-01-02T03:30:00Z', '2027-01-01'])),
    until: Date.parse(pick(['2026-01-02T03:04:05.678Z', '2026-01-02T03:30:00Z', '2025-01-01'])),
    error: Math.random() < 0.5,
    parent: pick(['000001', '00000f']),
    not: [],
    values: {}
  }
  return Object.fromEntries(Object.entries(all).filter(([name]) => Math.random() < (name === 'token' ? 0.02 : 0.2)))
}

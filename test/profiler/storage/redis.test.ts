import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { createClient } from '@redis/client'
import type { Criteria } from '../../../plugins/profiler/storage/criteria.js'
import { MemoryStorage } from '../../../plugins/profiler/storage/memory.js'
import { openRedisStorage, type RedisStorage, type RedisStorageOptions } from '../../../plugins/profiler/storage/redis.js'
import { redisAddress } from '../../../plugins/profiler/storage/redis/address.js'
import { Blocks } from '../../../plugins/profiler/storage/redis/blocks.js'
import { RedisConnection } from '../../../plugins/profiler/storage/redis/connection.js'
import { tidy } from '../../../plugins/profiler/storage/redis/tidy.js'
import { walk } from '../../../plugins/profiler/storage/redis/walk.js'
import { findRedis, redisServer, type RedisServer } from '../../support/redis.js'
import { failure, profile, tokens } from '../fixture.js'
import { storageContract } from './contract.js'

const UNAVAILABLE = { code: 'HINDSIGHT_REDIS_UNAVAILABLE', statusCode: 503 }
const REFUSED = { code: 'HINDSIGHT_REDIS_REFUSED', statusCode: 503 }

async function opened (t: Test, redis: RedisServer, options: Partial<RedisStorageOptions> = {}): Promise<RedisStorage> {
  const storage = await openRedisStorage({ url: redis.url, ...options })
  t.teardown(() => storage.close())
  return storage
}

/** Another one who uses the same Redis. */
async function other (t: Test, redis: RedisServer) {
  const client = createClient({ url: redis.url })
  client.on('error', () => {})
  await client.connect()
  t.teardown(() => client.destroy())
  return client
}

const listed = async (storage: RedisStorage) => (await storage.search({ limit: 1_000 })).profiles.map(item => item.token)

/** Waits until something no longer rejects; tap's own time limit ends it. */
async function works<T> (act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act()
    } catch {
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
}

/** The keys that there are when nobody tidies any more. */
async function leftKeys (client: Awaited<ReturnType<typeof other>>): Promise<string[]> {
  return await works(async () => {
    const keys = await client.keys('*')
    if (keys.some(key => key.endsWith(':tidying'))) throw new Error('not yet')
    return keys.sort()
  })
}

/** All verbs that go to Redis. */
const verbs: Array<[name: string, act: (storage: RedisStorage) => Promise<unknown>]> = [
  ['put', async storage => await storage.put([profile('000009')])],
  ['get', async storage => await storage.get('000001')],
  ['has', async storage => await storage.has('000001')],
  ['search', async storage => await storage.search({ limit: 1 })],
  ['pin', async storage => await storage.pin('000001', true)],
  ['purge', async storage => await storage.purge()],
  ['stats', async storage => await storage.stats()]
]

t.test('contract', async t => {
  const redis = await redisServer(t)
  if (!redis) return
  let stores = 0
  await storageContract(t, async bounds => await openRedisStorage({ url: redis.url, prefix: `store${++stores}:`, ...bounds }))
})

t.test('two machines share one store', async t => {
  const redis = await redisServer(t)
  if (!redis) return
  const bounds = { maxProfiles: 50, maxBytes: 40_000 }
  const [a, b] = [await opened(t, redis, bounds), await opened(t, redis, bounds)]
  await a.put([profile('00000a')])
  t.same(await b.get('00000a'), profile('00000a'))
  t.equal(await b.has('00000a'), true)
  await b.put([failure('00000b')])
  t.same(await listed(a), ['00000b', '00000a'])
  await Promise.all(tokens(1, 400).map(async (token, i) => { await (i % 2 ? a : b).put([i % 3 ? profile(token) : failure(token)]) }))
  const stats = await a.stats()
  t.same(await b.stats(), stats)
  t.ok(stats.profiles <= 50 && stats.bytes <= 40_000, `${stats.profiles} profiles, ${stats.bytes} bytes`)
  const left = await listed(a)
  t.equal(left.length, stats.profiles)
  for (const token of left) t.ok(await b.get(token), token)
  const client = await other(t, redis)
  t.equal((await client.keys('hindsight:*:profile:*')).length, stats.profiles, 'none is left without its entry')
  await client.scriptFlush()
  t.same(await listed(a), left, 'a Redis that has forgotten the scripts is told them again')
})

t.test('nothing is left when it was purged, replaced or evicted', async t => {
  const redis = await redisServer(t)
  if (!redis) return
  const client = await other(t, redis)
  await client.set('theirs', 'stays')
  const storage = await opened(t, redis, { maxProfiles: 100 })
  for (let at = 1; at < 3_000; at += 100) await storage.put([...tokens(at, at + 99).map((token, i) => i % 2 ? profile(token) : failure(token)), profile('00000a')])
  await storage.pin('00000a', true)
  t.equal(await storage.purge({}, { pinned: true }), 100)
  t.same(await leftKeys(client), ['hindsight:{hindsight}:1:meta', 'hindsight:{hindsight}:format', 'theirs'])
  t.match(await storage.stats(), { profiles: 0, bytes: 0, failures: 0, pinned: 0 })
})

t.test('bounds that have become narrower are kept after the next put', async t => {
  const redis = await redisServer(t)
  if (!redis) return
  const wide = await opened(t, redis)
  for (let at = 1; at < 5_000; at += 500) await wide.put(tokens(at, at + 499).map(token => profile(token)))
  const narrow = await opened(t, redis, { maxProfiles: 10 })
  await narrow.put([profile('00000a')])
  t.same(await listed(narrow), ['00000a', ...tokens(4_992, 5_000).reverse()])
})

t.test('who is told no bounds takes those of the others', async t => {
  const redis = await redisServer(t)
  if (!redis) return
  const service = await opened(t, redis, { maxProfiles: 7 })
  await service.put(tokens(1, 20).map(token => profile(token)))
  const command = await opened(t, redis)
  t.match(await command.stats(), { profiles: 7, maxProfiles: 7, maxBytes: 256 * 1024 * 1024 })
  await command.put([profile('00000a')])
  t.match(await service.stats(), { profiles: 7 })
})

t.test('a large profile is compressed', async t => {
  const redis = await redisServer(t)
  if (!redis) return
  const storage = await opened(t, redis)
  const large = profile('000001', { collectors: { text: 'ä'.repeat(100_000) } })
  await storage.put([large])
  t.same(await storage.get('000001'), large)
  t.ok((await storage.stats()).bytes < 10_000)
})

t.test('Redis goes away and comes back', async t => {
  const redis = await redisServer(t)
  if (!redis) return
  const warnings: string[] = []
  const storage = await opened(t, redis, { warn: message => warnings.push(message) })
  await storage.put(tokens(1, 20).map(token => profile(token)))
  const { head } = await storage.search({ limit: 1 })
  await redis.stop()
  for (const [name, act] of verbs) await t.rejects(act(storage), UNAVAILABLE, name)
  await redis.start()
  t.equal(await works(() => storage.get('000001')), undefined, 'what it knew is lost')
  t.same(await listed(storage), [])
  t.match(await storage.stats(), { profiles: 0, bytes: 0 })
  await storage.put([profile('000021')])
  t.same((await storage.search({ limit: 5, after: head })).profiles.map(item => item.token), ['000021'], 'who follows goes on')
  t.equal(warnings.length, 2, warnings.join('\n'))
  t.match(warnings, [/^Redis at redis:\/\/127\.0\.0\.1:\d+\/0 cannot be used: .+\. It is tried again\.$/, /^Redis at redis:\/\/127\.0\.0\.1:\d+\/0 is back\.$/])
})

t.test('Redis is away at the start', async t => {
  const redis = await redisServer(t)
  if (!redis) return
  await redis.stop()
  const warnings: string[] = []
  const storage = await opened(t, redis, { warn: message => warnings.push(message) })
  t.match(warnings, [/cannot be used: connect ECONNREFUSED 127\.0\.0\.1:\d+\. It is tried again\.$/])
  await t.rejects(storage.has('000001'), { ...UNAVAILABLE, message: `Redis at ${redis.url}/0 cannot be used: connect ECONNREFUSED 127.0.0.1:${redis.port}.` })
  await redis.start()
  await works(() => storage.put([profile('000001')]))
  t.equal(await storage.has('000001'), true)
})

t.test('Redis hangs', async t => {
  const redis = await redisServer(t)
  if (!redis) return
  const warnings: string[] = []
  const storage = await opened(t, redis, { timeout: 100, warn: message => warnings.push(message) })
  await storage.put([profile('000001')])
  redis.pause()
  for (const [name, act] of verbs) await t.rejects(act(storage), { ...UNAVAILABLE, message: `Redis at ${redis.url}/0 cannot be used: no answer within 100 ms.` }, name)
  const late = await opened(t, redis, { timeout: 100 })
  await t.rejects(late.has('000001'), UNAVAILABLE, 'one that was opened meanwhile')
  redis.resume()
  t.equal(await works(() => storage.has('000002')), false)
  await works(() => late.put([profile('000002')]))
  t.equal(await storage.has('000002'), true)
  t.equal(warnings.length, 2, warnings.join('\n'))
})

t.test('a Redis that is slow delays nobody', async t => {
  const redis = await redisServer(t)
  if (!redis) return
  const client = await other(t, redis)
  const storage = await opened(t, redis, { timeout: 100 })
  await storage.put([profile('000001')])
  await client.sendCommand(['CLIENT', 'PAUSE', '400', 'ALL'])
  await t.rejects(storage.put([profile('000002')]), UNAVAILABLE)
  await t.rejects(storage.has('000001'), UNAVAILABLE, 'nothing more is sent')
  t.equal(await works(() => storage.has('000001')), true)
  await client.sendCommand(['CLIENT', 'PAUSE', '400', 'WRITE'])
  await t.rejects(storage.put([profile('000003')]), UNAVAILABLE)
  await works(() => storage.put([profile('000004')]))
  t.equal(await storage.has('000004'), true)
})

t.test('it is closed at once, and then says so', async t => {
  const redis = await redisServer(t)
  if (!redis) return
  const [here, hangs, away] = [await opened(t, redis), await opened(t, redis), await opened(t, redis)]
  here.close()
  await t.rejects(here.has('000001'), { message: `Redis at ${redis.url}/0 cannot be used: it was closed.` })
  redis.pause()
  const pending = t.rejects(hangs.has('000001'), { message: `Redis at ${redis.url}/0 cannot be used: it was closed.` })
  await new Promise(setImmediate)
  hangs.close()
  await pending
  redis.resume()
  await redis.stop()
  away.close()
  away.close()
  await t.rejects(away.has('000001'), UNAVAILABLE)
})

t.test('Redis is full', async t => {
  const redis = await redisServer(t)
  if (!redis) return
  const client = await other(t, redis)
  const storage = await opened(t, redis)
  await storage.put([profile('000001')])
  const before = [await storage.stats(), await listed(storage)]
  await client.configSet('maxmemory', '1')
  await t.rejects(storage.put([profile('000001', { method: 'PUT' }), profile('000002')]), { ...REFUSED, message: /^Redis at redis:\/\/127\.0\.0\.1:\d+\/0 has refused a script: .*OOM command not allowed when used memory > 'maxmemory'/ })
  t.same([await storage.stats(), await listed(storage)], before, 'nothing was changed')
  t.equal(await storage.purge({ status: '404' }), 0)
  t.equal(await storage.purge(), 1, 'room can be made')
  t.equal(await storage.purge(), 0)
  await client.configSet('maxmemory', '0')
  await storage.put([profile('000003')])
  t.same(await listed(storage), ['000003'])
  await storage.put(tokens(1, 700).map(token => profile(token, { url: `http://h/${token}` })))
  await works(async () => { if (await client.zCard('hindsight:{hindsight}:1:packed:s') === 0) throw new Error('not yet') })
  await client.configSet('maxmemory', '1')
  t.equal(await storage.purge({ url: '/00005' }), 10, 'room can be made in a block')
  const [block] = await client.zRange('hindsight:{hindsight}:1:packed:s', 0, 0)
  t.notMatch(await client.hGet(`hindsight:{hindsight}:1:block:${block}`, 'url'), /\/00005/)
})

t.test('a key of somebody else', async t => {
  const redis = await redisServer(t)
  if (!redis) return
  const client = await other(t, redis)
  const storage = await opened(t, redis)
  for (const [part, wanted] of [['meta', 'hash'], ['lane:s', 'zset'], ['rows:F', 'zset']]) {
    await client.flushAll()
    const key = `hindsight:{hindsight}:1:${part}`
    await client.set(key, 'theirs')
    for (const [name, act] of verbs.filter(([name]) => ['put', 'search', 'purge', 'stats'].includes(name))) {
      await t.rejects(act(storage), { ...REFUSED, message: new RegExp(`has refused a script: WRONGTYPE "${key}" is a string of somebody else, and should be a ${wanted} of ours`) }, `${name}, ${key}`)
    }
    t.same([await client.keys('*:profile:*'), await client.get(key)], [[], 'theirs'], 'nothing was changed')
  }
  await client.flushAll()
  const key = 'hindsight:{hindsight}:1:profile:000001'
  await client.rPush(key, 'theirs')
  await t.rejects(storage.get('000001'), { ...REFUSED, message: new RegExp(`has refused GET ${key}: WRONGTYPE`) })
  await t.rejects(storage.put([profile('000001')]), REFUSED)
  await client.del(key)
  await client.set(key, 's0000000000000001jno json')
  await t.rejects(storage.get('000001'), { code: 'HINDSIGHT_REDIS_UNREADABLE', message: `What Redis keeps under "${key}" is no profile of this version.` })
  await client.set(key, 'x')
  t.equal(await storage.get('000001'), undefined)
})

t.test('profiles of another version are set aside', async t => {
  const redis = await redisServer(t)
  if (!redis) return
  const client = await other(t, redis)
  for (const [format, after] of [['0', '1'], ['2', '2']] as const) {
    await client.set('hindsight:{hindsight}:format', format)
    const warnings: string[] = []
    const storage = await opened(t, redis, { warn: message => warnings.push(message) })
    await storage.put([profile('000001')])
    await works(async () => { if (await client.get('hindsight:{hindsight}:format') !== after) throw new Error('not yet') })
    t.same(warnings, [`The profiles in Redis under "hindsight:{hindsight}:${format}:" are of format ${format}; this version keeps format 1 and leaves them alone: they are not shown, and may be deleted.`])
  }
})

t.test('a password is never told', async t => {
  const redis = await redisServer(t, ['--requirepass', 's3cr/t%'])
  if (!redis) return
  const said: string[] = []
  const url = (password: string) => `redis://default:${password}@127.0.0.1:${redis.port}/3`
  const right = await opened(t, redis, { url: url('s3cr%2Ft%25') })
  await right.put([profile('000001')])
  t.equal((await right.stats()).place, `redis://127.0.0.1:${redis.port}/3`)
  const wrong = await opened(t, redis, { url: url('wr0ng'), warn: message => said.push(message) })
  await t.rejects(wrong.has('000001'), { message: /cannot be used: WRONGPASS/ })
  const error = await wrong.get('000001').catch((error: unknown) => error)
  said.push(String(error), JSON.stringify(error), (error as Error).stack ?? '')
  t.notMatch(said.join('\n'), /wr0ng/)
  t.equal(said.length, 4, 'one warning')
})

t.test('an address that is none', async t => {
  const cases: Array<[url: string, reason: string]> = [
    ['s3cret', 'this is no URL'],
    ['http://s3cret@h', '"http:" is another protocol'],
    ['redis://', 'the host is missing'],
    ['redis://h/s3cret', 'what follows the host is the number of a database'],
    ['redis://u:s3cret%@h', 'a "%" in the user or the password is written "%25"']
  ]
  for (const [url, reason] of cases) {
    await t.rejects(openRedisStorage({ url }), { code: 'HINDSIGHT_INVALID_REDIS_URL', message: `Invalid "profiler.storage": a Redis URL looks like "redis://user:password@host:6379/0", or "rediss://…" for TLS; ${reason}.` }, url)
  }
})

t.test('a block that is replaced on the way is read anew, and who packs at the same time does no harm', async t => {
  const redis = await redisServer(t)
  if (!redis) return
  const storage = await opened(t, redis, { prefix: '{walk}' })
  const connection = new RedisConnection(redisAddress(redis.url), { timeout: 500, warn: message => t.fail(message), ready: async () => {} })
  t.teardown(() => connection.close())
  await connection.opened()
  const root = '{walk}1:'
  const parts = { connection, root, blocks: new Blocks(connection, root) }
  const all = tokens(1, 3_000)
  await storage.put(all.map((token, i) => profile(token, { status: i % 2 ? 404 : 200, url: `http://h/${token}` })))
  await Promise.all([tidy(parts), tidy(parts), tidy(parts)])
  await works(async () => { if (Number(await connection.send('ZCARD', `${root}packed:s`)) < 10) throw new Error('not yet') })
  t.same(await listed(storage), all.slice(-1_000).reverse())
  for (const [last, criteria] of [['2', {}], ['4', { status: '404' }], ['6', { url: 'h/00' }]] satisfies Array<[string, Criteria]>) {
    const seen: string[] = []
    const wanted = (await storage.search({ criteria, limit: 3_000 })).profiles.map(item => item.token)
    const gone = new Set<string>()
    let steps = 0
    for await (const { found } of walk({ ...parts, criteria, limit: 1 })) {
      seen.push(...found.map(({ summary }) => summary.token))
      if (++steps % 2 === 0 || steps > 12) continue
      for (const token of wanted.filter(one => !seen.includes(one) && one.endsWith(`${steps % 10}${last}`))) {
        gone.add(token)
        await storage.purge({ url: `/${token}` })
      }
    }
    t.ok(gone.size > 20, `${gone.size} were removed on the way`)
    t.same(seen, wanted.filter(token => !gone.has(token)), JSON.stringify(criteria))
  }
})

t.test('a Redis that drops keys when it is full is told of', async t => {
  const redis = await redisServer(t, ['--maxmemory-policy', 'allkeys-lru'])
  if (!redis) return
  const warnings: string[] = []
  await opened(t, redis, { warn: message => warnings.push(message) })
  await works(async () => { if (warnings.length === 0) throw new Error('not yet') })
  t.same(warnings, ['Redis drops any key when it is full (maxmemory-policy allkeys-lru), profiles too: a list may then show some that are gone. With "noeviction" or one of "volatile-…" they stay.'])
})

t.test('where there is no Redis CI fails', async t => {
  const env = { REDIS_SERVER: '/nowhere' }
  t.equal(findRedis(env), undefined, 'one that is named is not replaced by another')
  await t.rejects(redisServer(t, [], { ...env, CI: 'true' }), { message: 'no Redis: install it (on Debian: apt-get install redis-server), or put the path of its server into REDIS_SERVER' })
})

t.test('whatever is done, it answers as the store in memory does', async t => {
  const redis = await redisServer(t)
  if (!redis) return
  let seed = 7
  const upTo = (limit: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7FFFFFFF
    return Math.floor(seed / 0x80000000 * limit)
  }
  const bounds = { maxProfiles: 2_500, maxBytes: 1e9 }
  const memory = new MemoryStorage(bounds)
  const machines = [await opened(t, redis, bounds), await opened(t, redis, bounds)]
  const token = () => tokens(1, 9_000)[upTo(9_000)] ?? ''
  const some = () => (upTo(6) === 0 ? failure : profile)(token(), {
    status: [200, 200, 201, 404, 500][upTo(5)] ?? 0,
    url: `http://h/${['a', 'b', 'ünited'][upTo(3)]}/${upTo(400)}`,
    ip: `10.0.${upTo(4)}.${upTo(200)}`,
    duration: upTo(1_000) / 10,
    time: new Date(1767225600000 + upTo(1e6)).toISOString(),
    method: upTo(4) === 0 ? 'POST' : 'GET'
  })
  const criteria = (): Criteria => ([
    {}, { error: true }, { error: false }, { status: '404' }, { status: '5xx', method: 'post' }, { url: `/ünited/${upTo(400)}` }, { url: `/${upTo(40)}` }, { ip: '10.0.1.0/26' },
    { minDuration: 99 }, { from: 1767225600000 + upTo(1e6), status: '201' }, { until: 1767225600000 + upTo(1e4) }, { exception: 'no route found' }, { exception: 'nothing like it' }, { token: token() }, { route: '*' }, { parent: 'none' }
  ] satisfies Criteria[])[upTo(16)] ?? {}
  const client = await other(t, redis)
  let blocks = 0
  for (let round = 0; round < 160; round++) {
    blocks = Math.max(blocks, await client.zCard('hindsight:{hindsight}:1:packed:s'))
    const storage = machines[upTo(2)] as RedisStorage
    const what = upTo(20)
    if (what < 12) {
      const batch = Array.from({ length: upTo(120) }, some)
      memory.put(batch)
      await storage.put(batch)
    } else if (what < 14) {
      const pins = Array.from({ length: 20 }, () => [token(), upTo(2) === 0] as const)
      t.same(await Promise.all(pins.map(([one, pinned]) => storage.pin(one, pinned))), pins.map(([one, pinned]) => memory.pin(one, pinned)), `pins, round ${round}`)
    } else if (what === 14) {
      const wanted = { ...criteria(), url: `/ünited/${upTo(400)}` }
      const pinned = { pinned: upTo(3) === 0 }
      t.equal(await storage.purge(wanted, pinned), memory.purge(wanted, pinned), `purged ${JSON.stringify(wanted)}`)
    } else {
      const wanted = criteria()
      const limit = 1 + upTo(upTo(2) === 0 ? 12 : 300)
      let [cursor, expectedCursor]: Array<string | undefined> = []
      for (let pages = 0; pages < 4; pages++) {
        const page = await storage.search({ criteria: wanted, limit, ...(cursor !== undefined && { cursor }) })
        const expected = memory.search({ criteria: wanted, limit, ...(expectedCursor !== undefined && { cursor: expectedCursor }) })
        t.ok(isDeepStrictEqual(page.profiles, expected.profiles), `${JSON.stringify(wanted)}, ${limit}, page ${pages}, round ${round}`)
        t.equal(page.next === null, expected.next === null)
        if (page.next === null || expected.next === null) break
        cursor = page.next
        expectedCursor = expected.next
      }
    }
    const { profiles, failures, pinned } = await storage.stats()
    t.match(memory.stats(), { profiles, failures, pinned }, `round ${round}`)
  }
  t.ok(blocks > 4, `${blocks} blocks were made`)
  await machines[0]?.purge({}, { pinned: true })
  t.same(await leftKeys(client), ['hindsight:{hindsight}:1:meta', 'hindsight:{hindsight}:format'])
})

import { Redis } from 'ioredis'
import { Redis as Redis6 } from 'ioredis-6'
import { createClient } from 'redis'
import { createClient as createOldest } from 'redis-5.12'
import t, { type Test } from 'tap'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import { connectTo, freePort } from '../../support/ports.js'
import { findProgram, missing, serverFolder, startServer } from '../../support/server-process.js'

const SOURCE = /redis\.test\.ts:\d+:\d+$/
const system = 'redis'

/** Starts a Redis server, which is stopped after the test; null, and the test is skipped, where there is none. */
async function redisServer (t: Test): Promise<{ port: number } | null> {
  const program = findProgram('redis-server')
  if (program === null) return missing(t, 'Redis', 'no Redis: install it (on Debian: apt-get install redis-server)')
  const folder = serverFolder(t, 'redis')
  const port = await freePort()
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder]
  await startServer(t, program, args, { folder, isReady: async () => await connectTo(port) })
  return { port }
}

t.test('ioredis and node-redis, by their channels', async (t) => {
  const server = await redisServer(t)
  if (!server) return
  const url = `redis://127.0.0.1:${server.port}`

  const testIoredis = (release: string, Client: typeof Redis): void => inBothProducts(`ioredis ${release}`, async (t, build) => {
    const ioredis = new Client(server.port, '127.0.0.1')
    t.teardown(() => ioredis.quit())
    await ioredis.flushall()
    const app = await build((app) => app.get('/', async () => {
      await ioredis.set('item:1', 'secret value')
      await ioredis.get('item:1')
      await ioredis.get('nothing')
      await ioredis.mget('item:1', 'nothing')
      await ioredis.pipeline().incr('n').expire('n', 10).exec()
      await ioredis.lpush('item:1', 'x').catch(() => {})
    }))
    const { collectors } = await profileOf(app, await app.inject('/'))
    t.match(collectors.queries, {
      count: 7,
      failed: 1,
      queries: [
        { system, statement: 'SET', parameters: ['item:1', '?'], source: SOURCE },
        { statement: 'GET', parameters: ['item:1'], source: SOURCE },
        { statement: 'GET', rows: 0 },
        { statement: 'MGET', rows: 2, source: SOURCE },
        { statement: 'INCR', source: SOURCE },
        { statement: 'EXPIRE', source: SOURCE },
        { statement: 'LPUSH', error: { message: /WRONGTYPE/ }, source: SOURCE }
      ]
    })
    t.notMatch(JSON.stringify(collectors.queries), 'secret value')
  }, t)

  const testRedis = (release: string, create: typeof createClient): void => inBothProducts(`node-redis ${release}`, async (t, build) => {
    const redis = create({ url })
    await redis.connect()
    t.teardown(() => redis.quit())
    await redis.flushAll()
    const app = await build((app) => app.get('/', async () => {
      await redis.set('item:2', 'secret value')
      await redis.get('item:2')
      await redis.hSet('cart:1', { password: 'secret value' })
      await redis.multi().incr('m').get('m').exec()
      await redis.multi().incr('m').execAsPipeline()
      await redis.lPush('item:2', 'x').catch(() => {})
    }))
    const { collectors } = await profileOf(app, await app.inject('/'))
    const { queries } = collectors.queries as { queries: Array<{ statement: string }> }
    t.same(queries.map(({ statement }) => statement), ['SET', 'GET', 'HSET', 'MULTI', 'INCR', 'LPUSH'])
    t.match(queries[0], { system, parameters: ['item:2', '?'], source: SOURCE })
    t.match(queries[2], { source: SOURCE })
    t.match(queries[3], { parameters: [2], source: SOURCE })
    t.match(queries.at(-1), { error: { message: /WRONGTYPE/ }, source: SOURCE })
    t.notMatch(JSON.stringify(queries), 'secret value')
  }, t)

  testIoredis('5.11', Redis)
  testIoredis('6', Redis6 as unknown as typeof Redis)
  testRedis('5.12', createOldest as unknown as typeof createClient)
  testRedis('6', createClient)
})

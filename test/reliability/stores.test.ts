import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '@redis/client'
import t, { type Test } from 'tap'
import type { FastifyInstance } from 'fastify'
import { openStorage } from '../../plugins/profiler/storage/open.js'
import { MemoryStorage } from '../../plugins/profiler/storage/memory.js'
import { build } from '../app/harness.js'
import { PRELOAD, run, SECRET, startCommand } from '../support/process.js'
import { redisServer, type RedisServer } from '../support/redis.js'
import { startService, until } from './start.js'

function folder (t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'hindsight-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

async function other (t: Test, { url }: RedisServer) {
  const client = createClient({ url })
  client.on('error', () => {})
  await client.connect()
  t.teardown(() => client.destroy())
  return client
}

/** What the pages say of a store that is away, and that the application does not notice. */
async function isAway (t: Test, app: FastifyInstance, reason: RegExp): Promise<void> {
  for (let i = 0; i < 5; i++) t.equal((await app.inject('/hello')).body, 'hello')
  await app.profiler.flush()
  for (const url of ['/_profiler/', '/_profiler/search?status=404', '/_profiler/latest']) {
    const page = await app.inject({ url, headers: { accept: 'text/html' } })
    t.equal(page.statusCode, 503, url)
    t.match(page.body, reason, 'it says which store, and why')
    t.match(page.body, /\d+ profiles of this process were lost: 0 because too many were waiting, \d+ because the store or their data failed\. The last time: the store failed: /)
  }
  for (const url of ['/_profiler/search.json', '/_profiler/latest.json']) {
    const data = await app.inject({ url })
    t.match(data, { statusCode: 503, headers: { 'content-type': 'application/problem+json' } })
    const { detail, counters } = data.json<{ detail: string, counters: { failed: number } }>()
    t.match(detail, reason)
    t.ok(counters.failed > 0)
  }
  t.equal((await app.inject('/readyz')).statusCode, 200, 'an application that answers is ready')
}

async function isBack (t: Test, app: FastifyInstance): Promise<void> {
  const { written } = app.profiler.counters
  await until(async () => { await app.inject('/hello'); await app.profiler.flush(); return app.profiler.counters.written }, (now) => now > written)
  t.equal((await app.inject('/_profiler/')).statusCode, 200)
}

t.test('Redis is killed, started again, hangs, is full, has keys of others', async (t) => {
  const redis = await redisServer(t)
  if (!redis) return
  const client = await other(t, redis)
  const app = await build(t, { profiler: { storage: redis.url }, health: true }, (app) => app.get('/hello', async () => 'hello'))
  await isBack(t, app)
  await redis.stop()
  await isAway(t, app, /Redis at redis:\/\/127\.0\.0\.1:\d+\/0 cannot be used: (connect ECONNREFUSED|read ECONNRESET|Socket closed)/)
  await redis.start()
  await isBack(t, app)
  redis.pause()
  await isAway(t, app, /Redis at redis:\/\/127\.0\.0\.1:\d+\/0 cannot be used: no answer within 500 ms/)
  redis.resume()
  await isBack(t, app)

  await until(async () => await client.configSet('maxmemory', '1').catch(() => null), (done) => done !== null)
  await app.inject('/hello')
  await app.profiler.flush()
  const page = await app.inject('/_profiler/')
  t.equal(page.statusCode, 200, 'what a full Redis has can be read')
  t.match(page.body, /The last time: the store failed: Redis at \S+ has refused a script: .*OOM/)
  await client.configSet('maxmemory', '0')
  await isBack(t, app)

  await client.flushAll()
  await client.set('hindsight:{hindsight}:1:meta', 'theirs')
  await isAway(t, app, /has refused a script: WRONGTYPE (?:"|&#34;)hindsight:\{hindsight\}:1:meta(?:"|&#34;) is a string of somebody else/)
  t.equal(await client.get('hindsight:{hindsight}:1:meta'), 'theirs')
  await client.flushAll()
  await isBack(t, app)
})

t.test('a Redis that keeps what it acknowledges: killed again and again, no profile that was written is lost', async (t) => {
  const redis = await redisServer(t, ['--appendonly', 'yes', '--appendfsync', 'always'])
  if (!redis) return
  const storage = await openStorage({ storage: redis.url, warn: () => {} })
  t.teardown(() => storage.close())
  const acknowledged: string[] = []
  const { profile } = await import('../profiler/fixture.js')
  for (let kill = 0; kill < 4; kill++) {
    const state = { stopped: false }
    const writing = (async () => {
      for (let i = 0; !state.stopped; i++) {
        const token = (kill * 10_000 + i).toString(16).padStart(6, '0')
        await Promise.resolve(storage.put([profile(token)])).then(() => acknowledged.push(token), () => sleep(5))
      }
    })()
    const wanted = acknowledged.length + 50
    await until(async () => acknowledged.length, (length) => length >= wanted)
    await redis.stop()
    state.stopped = true
    await writing
    await redis.start()
    await until(async () => { try { await storage.stats(); return true } catch { return false } }, (is) => is)
  }
  const lost: string[] = []
  for (const token of acknowledged) if (await storage.get(token) === undefined) lost.push(token)
  t.same(lost, [], `of ${acknowledged.length}`)
})

t.test('a store of the application’s own that fails is told of, for operators in production too', async (t) => {
  const storage = new MemoryStorage({})
  const options = {
    debug: false,
    profiler: { production: true, role: 'ROLE_OPERATOR', storage },
    security: {
      firewalls: [{ name: 'main', authenticators: { basic: true as const } }],
      providers: { users: async (identifier: string) => ({ identifier, password: 'x', roles: ['ROLE_OPERATOR'] }) },
      hasher: { verify: async () => true, hash: async () => 'x' }
    }
  }
  const app = await build(t, options as never)
  const headers = { authorization: `Basic ${Buffer.from('op:x').toString('base64')}`, accept: 'text/html' }
  t.equal((await app.inject({ url: '/_profiler/', headers })).statusCode, 200)
  storage.search = () => { throw new Error('the disk of the store is gone') }
  const page = await app.inject({ url: '/_profiler/', headers })
  t.equal(page.statusCode, 503)
  t.match(page.body, 'The store of profiles failed: the disk of the store is gone')
  t.not((await app.inject('/_profiler/')).statusCode, 503, 'nobody else is told')
})

t.test('a store that another process keeps locked: requests are answered, profiles wait, the process can end', async (t) => {
  const dataDir = folder(t)
  const process = run(t, startCommand(PRELOAD), { DATA_DIR: dataDir, SESSION_SECRET: SECRET })
  // It shares the store, and begins before that is locked: to open it takes the lock too.
  const second = run(t, startCommand(PRELOAD), { DATA_DIR: dataDir, SESSION_SECRET: SECRET })
  await second.listening()
  const port = await process.listening()
  const fine = async (): Promise<string | null> => {
    const answer = await fetch(`http://127.0.0.1:${port}/fine`)
    t.equal(await answer.text(), 'fine')
    return answer.headers.get('x-debug-token')
  }
  const isStored = async (token: string | null): Promise<number> => (await fetch(`http://127.0.0.1:${port}/_profiler/${token}.json`)).status
  const lock = async () => {
    const locker = spawn(globalThis.process.execPath, ['--import=tsx', join(import.meta.dirname, 'locker.ts'), join(dataDir, 'profiles.mdb')], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => { locker.kill('SIGKILL') })
    await once(locker.stdout, 'data')
    return locker
  }
  await fine()
  const locker = await lock()
  const tokens = await Promise.all(Array.from({ length: 40 }, fine))
  t.equal((await fetch(`http://127.0.0.1:${port}/_profiler/`)).status, 200, 'what is stored can be read')
  locker.kill('SIGKILL')
  for (const token of tokens) await until(() => isStored(token), (status) => status === 200)
  const listed = await until(async () => JSON.stringify(await (await fetch(`http://127.0.0.1:${port}/_profiler/search.json?limit=200`)).json()), (text) => tokens.every((token) => text.includes(String(token))))
  t.ok(listed, 'all that waited was written')

  await lock()
  await fine()
  t.equal(await process.exit('SIGTERM'), null, 'it ends within seconds, killed')
  t.match(process.stdout, /1 profiles were not written when the application was closed/)
  t.equal(process.stderr, 'The store of profiles does not come back from a write: the process is killed\n')
  await fetch(`http://127.0.0.1:${await second.listening()}/fine`)
  second.signal('SIGTERM')
  await second.said(/Closing/)
  await sleep(1_500)
  t.equal(await second.exit('SIGTERM'), null, 'a second signal ends it at once')
})

t.test('a disk that is full: requests are answered, and the page says so', { skip: globalThis.process.platform === 'win32' }, async (t) => {
  const dataDir = folder(t)
  // A limit of the shell for the size of files stands for the disk; the child keeps it.
  const service = await startService(t, { hindsight: { profiler: { dataDir } } }, [], 1_500)
  const ask = async (path: string): Promise<Response> => await fetch(`http://127.0.0.1:${service.port}${path}`)
  const stored: string[] = []
  const body = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: Array.from({ length: 3_000 }, () => Math.random()).join() }
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${service.port}/echo`, body)
    t.equal(answer.status, 200)
    stored.push(String(answer.headers.get('x-debug-token')))
    const { counters } = await service.figures()
    if ((counters?.failed ?? 0) > 0) break
    if (stored.length > 2_000) t.fail('the limit was not felt')
  }
  const page = await ask('/_profiler/')
  t.equal(page.status, 200, 'what is stored can be read')
  t.match(await page.text(), /The last time: the store failed: The store (?:"|&#34;).*profiles\.mdb(?:"|&#34;) cannot be used: /)
  const { counters } = await service.figures()
  service.process.kill('SIGKILL')
  await once(service.process, 'exit')
  const storage = await openStorage({ dataDir, warn: (message) => t.fail(message) })
  t.teardown(() => storage.close())
  const { profiles } = await storage.search({ limit: 5_000 })
  t.ok(profiles.length >= (counters?.written ?? Infinity), `${profiles.length} are there of ${counters?.written} that were acknowledged`)
})

t.test('a folder that may not be written to stops the start, with its name', async (t) => {
  const dataDir = folder(t)
  chmodSync(dataDir, 0o555)
  const child = spawn(globalThis.process.execPath, ['--import=tsx', join(import.meta.dirname, 'read-only.ts'), dataDir], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => { output += text })
  await once(child, 'close')
  t.match(output, new RegExp(`^The store "${dataDir}/profiles\\.mdb" cannot be used: EACCES`))
})

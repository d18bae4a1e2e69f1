import t from 'tap'
import { Profiler } from '../../src/store/profiler.js'
import { MemoryStorage } from '../../src/store/memory.js'
import type { ProfileStorage, SearchOptions } from '../../src/store/storage.js'
import type { ProfileRecord } from '../../src/store/summary.js'
import { failure, profile, tokens } from '../parts/fixture.js'
import { endLimits } from '../support/timers.js'

/** A store whose writes wait and fail as a test needs it. */
class Puppet implements ProfileStorage {
  readonly batches: string[][] = []
  readonly settled: number[] = []
  gate: Promise<void> | undefined
  error: Error | undefined
  readonly #memory = new MemoryStorage()

  async put (records: readonly ProfileRecord[]): Promise<void> {
    this.batches.push(records.map(({ summary }) => summary.token))
    await this.gate
    if (this.error !== undefined) throw this.error
    this.#memory.put(records)
  }

  get = (token: string) => this.#memory.get(token)
  search = (options: SearchOptions) => this.#memory.search(options)
  pin = (token: string, pinned: boolean) => this.#memory.pin(token, pinned)
  purge = () => this.#memory.purge()
  stats = () => this.#memory.stats()
  close = (): void => {}
  settle = (timeout: number): void => { this.settled.push(timeout) }
}

t.test('profiles are written in one batch, after the turn that saved them', async t => {
  const storage = new Puppet()
  const profiler = new Profiler({ storage })
  for (const token of tokens(1, 3)) t.equal(profiler.save(profile(token)), true)
  t.same(storage.batches, [])
  t.equal((await profiler.find('000002'))?.token, '000002', 'it is found while it is queued')
  await profiler.flush()
  t.same(storage.batches, [tokens(1, 3)])
  t.same(profiler.queue.counters, { written: 3, dropped: 0, failed: 0 })
  t.equal((await profiler.find('000002'))?.token, '000002')
})

t.test('a store receives the summary of each profile, and the whole profile as JSON', async t => {
  const records: ProfileRecord[] = []
  const storage = Object.assign(new MemoryStorage(), { put: (batch: readonly ProfileRecord[]) => { records.push(...batch) } })
  const profiler = new Profiler({ storage })
  const one = failure('000001', { parent: '000002', collectors: { request: { method: 'GET' } } })
  profiler.save(one)
  await profiler.flush()
  t.match(records, [{ summary: { token: '000001', error: true, parent: '000002', pinned: false }, exceptions: /^LookupError: .*\nNotFoundError: / }])
  t.strictSame(JSON.parse(records[0]?.json ?? ''), one)
})

t.test('a profile is bounded before it is stored', async t => {
  const profiler = new Profiler({ storage: new MemoryStorage(), maxProfileBytes: 2_000 })
  profiler.save(profile('000001', { collectors: { large: 'x'.repeat(5_000) } }))
  t.match((await profiler.find('000001'))?.collectors, { large: { error: /were left out/ } }, 'it is bounded while it is queued')
  await profiler.flush()
  t.match((await profiler.find('000001'))?.collectors, { large: { error: /were left out/ } })
  t.ok((await profiler.stats()).bytes <= 2_000)
})

t.test('profiles that are saved during a write are in the next batch', async t => {
  const storage = new Puppet()
  let open = () => {}
  storage.gate = new Promise(resolve => { open = resolve })
  const profiler = new Profiler({ storage })
  profiler.save(profile('000001'))
  const flushed = profiler.flush()
  profiler.save(profile('000002'))
  t.equal((await profiler.find('000001'))?.token, '000001', 'it is found while it is written')
  open()
  await Promise.all([flushed, profiler.flush()])
  t.same(storage.batches, [['000001'], ['000002']])
})

t.test('a profile that cannot be serialized does not affect the others', async t => {
  const profiler = new Profiler({ storage: new MemoryStorage(), warn: () => {} })
  profiler.save(profile('000001', { collectors: { a: { get b () { throw new Error('no') } } } }))
  profiler.save(profile('000002'))
  await profiler.flush()
  t.same(profiler.queue.counters, { written: 1, dropped: 0, failed: 1 })
  t.equal((await profiler.latest())?.token, '000002')
})

t.test('an unavailable store is an error of status 503 for readers, and profiles are queued', async t => {
  const unavailable = (): never => { throw new Error('unavailable') }
  const rejecting = async (): Promise<never> => await Promise.reject(new Error('unavailable'))
  for (const fail of [unavailable, rejecting]) {
    const storage: ProfileStorage = { put: fail, get: fail, search: fail, pin: fail, purge: fail, stats: fail, close: () => {} }
    const profiler = new Profiler({ storage, warn: () => {} })
    t.equal(profiler.save(profile('000001')), true)
    t.equal((await profiler.find('000001'))?.token, '000001')
    await profiler.flush()
    const calls = [() => profiler.find('000001'), () => profiler.search({ limit: 1 }), () => profiler.pin('000001', true), () => profiler.stats()]
    for (const call of calls) {
      await t.rejects(async () => { await call() }, { code: 'HINDSIGHT_PROFILE_STORE', statusCode: 503, message: 'The store of profiles failed: unavailable' })
    }
    t.same(profiler.queue.counters, { written: 0, dropped: 0, failed: 1 })
  }
})

t.test('an error of a store that has a status keeps it', async t => {
  const storage = Object.assign(new MemoryStorage(), { stats: () => { throw Object.assign(new Error('no'), { statusCode: 507 }) } })
  await t.rejects(new Profiler({ storage }).stats(), { message: 'no', statusCode: 507 })
})

t.test('a store that hangs does not block readers', async t => {
  const storage = new Puppet()
  let open = () => {}
  storage.gate = new Promise(resolve => { open = resolve })
  const profiler = new Profiler({ storage })
  profiler.save(profile('000001'))
  t.same((await profiler.search({ limit: 1 })).profiles, [])
  t.equal((await profiler.find('000001'))?.token, '000001')
  open()
  await profiler.close()
  t.equal(profiler.queue.counters.written, 1)
})

t.test('saved profiles are pinned by their tokens', async t => {
  const profiler = new Profiler({ storage: new MemoryStorage() })
  profiler.save(profile('000001'))
  profiler.save(failure('000002'))
  t.equal(await profiler.pin('000001', true), true)
  t.equal(await profiler.pin('../etc', true), false)
  t.match(await profiler.stats(), { profiles: 2, pinned: 1, engine: 'memory' })
})

t.test('search and latest include profiles that were just saved', async t => {
  const profiler = new Profiler({ storage: new MemoryStorage() })
  profiler.save(failure('000001'))
  profiler.save(profile('000002'))
  t.equal((await profiler.latest())?.token, '000002')
  t.equal((await profiler.latest({ error: true }))?.token, '000001')
  profiler.save(profile('000003'))
  t.same((await profiler.search({ limit: 2 })).profiles.map(item => item.token), ['000003', '000002'])
})

t.test('a malformed token never reaches the store', async t => {
  const storage = Object.assign(new MemoryStorage(), { get () { throw new Error('asked') } })
  const profiler = new Profiler({ storage })
  for (const token of ['', '../../etc/passwd', 'ABCDEF', '__proto__']) t.equal(await profiler.find(token), undefined, token)
})

t.test('close() writes queued profiles, and then nothing is saved', async t => {
  const storage = new Puppet()
  const profiler = new Profiler({ storage })
  profiler.save(profile('000001'))
  await profiler.close()
  await profiler.close()
  t.same(storage.batches, [['000001']])
  t.equal(profiler.save(profile('000002')), false)
})

t.test('exit() puts the queued profiles and waits for the store', async t => {
  const storage = new Puppet()
  const profiler = new Profiler({ storage })
  const { now } = performance
  t.teardown(() => { performance.now = now })
  performance.now = () => 1_000
  profiler.exit()
  profiler.settle(1_500)
  t.same([storage.batches, storage.settled], [[], [500]])
  profiler.save(profile('000001'))
  profiler.save(profile('000002'))
  profiler.exit()
  profiler.settle(1_400)
  performance.now = now
  t.same([storage.batches, storage.settled], [[['000001', '000002']], [500, 400]])
  await profiler.close()
  t.same(storage.batches.length, 1, 'once')
})

t.test('a store that fails or cannot wait does not disturb the exit of the process', async t => {
  for (const put of [() => { throw new Error('unavailable') }, async () => await Promise.reject(new Error('unavailable')), () => {}]) {
    const profiler = new Profiler({ storage: Object.assign(new MemoryStorage(), { put }) })
    profiler.save(profile('000001'))
    t.doesNotThrow(() => {
      profiler.exit()
      profiler.settle(performance.now() + 500)
    })
  }
})

t.test('an amended profile keeps its pin and becomes the newest', async t => {
  const profiler = new Profiler({ storage: new MemoryStorage() })
  for (const token of tokens(1, 3)) profiler.save(profile(token))
  await profiler.pin('000001', true)
  t.equal(await profiler.amend('000001', (one) => ({ ...one, collectors: { late: 1 } })), true)
  t.same((await profiler.find('000001'))?.collectors, { late: 1 })
  t.same((await profiler.search({ limit: 9 })).profiles.map(({ token, pinned }) => [token, pinned]), [['000001', true], ['000003', false], ['000002', false]])
  t.equal(await profiler.amend('00000f', (one) => one), false)
})

t.test('close() waits 5 seconds in all: for the queue, and for the store with the time that is left', async t => {
  for (const [writing, left] of [[1_000, 4_000], [5_000, 0], [5_003, 0]] as const) {
    await t.test(`after ${writing} ms`, async t => {
      let now = 100
      t.intercept(performance, 'now', { value: () => now })
      const put = (): void => { now += writing }
      const profiler = new Profiler({ storage: Object.assign(new MemoryStorage(), { put }) })
      profiler.save(profile('000001'))
      const limits = endLimits(t, 0)
      await profiler.close()
      // 20 ms: a part of a batch is waited for.
      t.same(limits.filter((limit) => limit !== 20), [5_000, 5_000, left])
    })
  }
})

t.test('a store that does not close does not block the application, also with mocked timers', async t => {
  const storage = Object.assign(new MemoryStorage(), { close: async () => await new Promise<void>(() => {}) })
  const profiler = new Profiler({ storage })
  const alive = setInterval(() => {}, 1_000)
  const { setTimeout, setImmediate } = globalThis
  const release = (): void => { Object.assign(globalThis, { setTimeout, setImmediate }) }
  t.teardown(() => { clearInterval(alive); release() })
  const limits = endLimits(t, 1_000)
  Object.assign(globalThis, { setTimeout: () => ({ unref () {} }), setImmediate: () => {} })
  await profiler.close()
  release()
  t.equal(limits.length, 3, 'closed')
})

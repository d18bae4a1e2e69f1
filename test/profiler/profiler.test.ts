import t from 'tap'
import { Profiler } from '../../plugins/profiler/profiler.js'
import type { Profile } from '../../plugins/profiler/profile.js'
import { MemoryStorage } from '../../plugins/profiler/storage/memory.js'
import type { ProfileBatch } from '../../plugins/profiler/storage/storage.js'
import { TOKEN_PATTERN } from '../../plugins/profiler/token.js'
import { failure, profile, tokens } from './fixture.js'

/** A store whose writes wait, count and fail as told. */
class Puppet extends MemoryStorage {
  readonly batches: string[][] = []
  gate: Promise<void> | undefined
  error: Error | undefined

  override async put (profiles: readonly Profile[]): Promise<void> {
    this.batches.push(profiles.map(profile => profile.token))
    await this.gate
    if (this.error !== undefined) throw this.error
    super.put(profiles)
  }
}

t.test('profiles are written in one batch, after the turn that saved them', async t => {
  const storage = new Puppet()
  const profiler = new Profiler({ storage })
  for (const token of tokens(1, 3)) t.equal(profiler.save(profile(token)), true)
  t.same(storage.batches, [])
  t.equal((await profiler.find('000002'))?.token, '000002', 'found while it waits')
  await profiler.flush()
  t.same(storage.batches, [tokens(1, 3)])
  t.same(profiler.counters, { written: 3, dropped: 0, failed: 0 })
  t.equal((await profiler.find('000002'))?.token, '000002')
})

t.test('a store with batches of its own is given each profile as it comes, and no `put`', async t => {
  const events: string[] = []
  class Packing extends MemoryStorage {
    override put (): void {
      events.push('put')
    }

    override batch (): ProfileBatch {
      const texts = new Map<string, string>()
      return {
        isFull: false,
        add: (profile) => {
          events.push(`add ${profile.token}`)
          texts.set(profile.token, JSON.stringify(profile))
        },
        get: (token) => {
          const text = texts.get(token)
          return text === undefined ? undefined : JSON.parse(text) as Profile
        },
        write: () => {
          events.push(`write ${[...texts.keys()].join()}`)
          super.put([...texts.values()].map((text) => JSON.parse(text) as Profile))
        }
      }
    }
  }
  const profiler = new Profiler({ storage: new Packing() })
  profiler.save(profile('000001', { status: 201 }))
  profiler.save(profile('000002'))
  t.same(events, [], 'not in the turn of the request')
  await new Promise((resolve) => { setImmediate(resolve) })
  t.same(events, ['add 000001', 'add 000002'])
  t.equal((await profiler.find('000001'))?.status, 201, 'found in the batch')
  await profiler.flush()
  t.same(events.slice(2), ['write 000001,000002'])
  t.equal((await profiler.find('000001'))?.status, 201, 'and in the store')
  t.same(profiler.counters, { written: 2, dropped: 0, failed: 0 })
})

t.test('what comes while a batch is written goes with the next one', async t => {
  const storage = new Puppet()
  let open = () => {}
  storage.gate = new Promise(resolve => { open = resolve })
  const profiler = new Profiler({ storage })
  profiler.save(profile('000001'))
  const flushed = profiler.flush()
  profiler.save(profile('000002'))
  t.equal((await profiler.find('000001'))?.token, '000001', 'found while it is written')
  open()
  await Promise.all([flushed, profiler.flush()])
  t.same(storage.batches, [['000001'], ['000002']])
})

t.test('a profile that cannot be read costs only itself', async t => {
  const profiler = new Profiler({ storage: new MemoryStorage(), warn: () => {} })
  profiler.save(profile('000001', { collectors: { a: { get b () { throw new Error('no') } } } }))
  profiler.save(profile('000002'))
  await profiler.flush()
  t.same(profiler.counters, { written: 1, dropped: 0, failed: 1 })
  t.equal((await profiler.latest())?.token, '000002')
})

t.test('a token is never one that is stored, waiting or given already', async t => {
  const asked: string[] = []
  class Full extends MemoryStorage {
    override has (token: string): boolean {
      asked.push(token)
      return asked.length < 3
    }
  }
  const token = new Profiler({ storage: new Full() }).newToken()
  t.match(token, TOKEN_PATTERN)
  t.equal(token, asked[2])
})

t.test('a store that is away does not keep a request from its token, nor its profile from the queue', async t => {
  for (const has of [() => { throw new Error('away') }, async () => { throw new Error('away') }]) {
    const storage = Object.assign(new MemoryStorage(), { has }) as MemoryStorage
    const profiler = new Profiler({ storage })
    const given = Array.from({ length: 100 }, () => profiler.newToken())
    t.ok(given.every(token => TOKEN_PATTERN.test(token)))
    t.equal(new Set(given).size, 100)
  }
})

t.test('a store that hangs hangs no reader', async t => {
  const storage = new Puppet()
  let open = () => {}
  storage.gate = new Promise(resolve => { open = resolve })
  const profiler = new Profiler({ storage })
  profiler.save(profile('000001'))
  t.same((await profiler.search({ limit: 1 })).profiles, [])
  t.equal((await profiler.find('000001'))?.token, '000001')
  open()
  await profiler.close()
  t.equal(profiler.counters.written, 1)
})

t.test('what was saved is pinned and purged by its token', async t => {
  const profiler = new Profiler({ storage: new MemoryStorage() })
  profiler.save(profile('000001'))
  profiler.save(failure('000002'))
  t.equal(await profiler.pin('000001', true), true)
  t.equal(await profiler.pin('../etc', true), false)
  t.equal(await profiler.purge(), 1)
  t.match(await profiler.stats(), { profiles: 1, pinned: 1, engine: 'memory' })
})

t.test('lists and the latest see what was just saved', async t => {
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

t.test('nothing is saved when it is off or closed, and closing writes what waits', async t => {
  t.equal(new Profiler({ storage: new MemoryStorage(), enabled: false }).save(profile('000001')), false)
  const storage = new Puppet()
  const profiler = new Profiler({ storage })
  profiler.save(profile('000001'))
  await profiler.close()
  await profiler.close()
  t.same(storage.batches, [['000001']])
  t.equal(profiler.save(profile('000002')), false)
})

t.test('the default warning is one of the process', async t => {
  const storage = new Puppet()
  storage.error = new Error('full')
  const warned = new Promise<Error>(resolve => process.once('warning', resolve))
  const profiler = new Profiler({ storage })
  profiler.save(profile('000001'))
  await profiler.flush()
  t.match(await warned, { name: 'HindsightWarning', message: 'Profiles are lost: the store failed. full' })
})

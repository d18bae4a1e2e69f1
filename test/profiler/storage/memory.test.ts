import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { MemoryStorage } from '../../../plugins/profiler/storage/memory.js'
import { failure, profile, tokens } from '../fixture.js'
import { storageContract } from './contract.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** The bytes of buffers that somebody holds. */
async function held (): Promise<number> {
  collect()
  // They are given back behind the collection.
  await delay(50)
  collect()
  return process.memoryUsage().arrayBuffers
}

t.test('contract', t => storageContract(t, bounds => new MemoryStorage(bounds)))

const listed = (storage: MemoryStorage) => storage.search({ limit: 1_000 }).profiles.map(item => item.token)

t.test('the oldest goes first when there are too many', async t => {
  const storage = new MemoryStorage({ maxProfiles: 3 })
  storage.put(tokens(1, 5).map(token => profile(token)))
  t.same(listed(storage), ['000005', '000004', '000003'])
  t.equal(storage.get('000001'), undefined)
})

t.test('the oldest goes first when there are too many bytes', async t => {
  const one = new MemoryStorage()
  one.put([profile('000001')])
  const { bytes } = one.stats()
  const storage = new MemoryStorage({ maxBytes: bytes * 3 })
  for (const token of tokens(1, 5)) storage.put([profile(token)])
  t.same(listed(storage), ['000005', '000004', '000003'])
  storage.put([profile('000005')])
  storage.put([profile('000005')])
  t.same(listed(storage), ['000005', '000004', '000003'], 'a replaced profile counts once')
  storage.put([profile('000009', { url: 'x'.repeat(bytes * 3) })])
  t.same(listed(storage), ['000005', '000004', '000003'], 'what is larger than the whole store is not kept')
})

t.test('what profiles have in common is kept once', async t => {
  const storage = new MemoryStorage()
  storage.put(tokens(1, 500).map(token => profile(token)))
  const { bytes } = storage.stats()
  const alone = 500 * JSON.stringify(profile('000001')).length
  t.ok(bytes < alone * 0.8, `${bytes} of ${alone} bytes`)
  t.same(storage.get('000123'), profile('000123'))
})

t.test('what is left of a chunk is packed anew when most of it is gone, and the rest is let go of', async t => {
  const storage = new MemoryStorage()
  const all = tokens(1, 2_048)
  const isKept = (i: number): boolean => i % 64 === 0
  storage.put(all.map((token, i) => profile(token, { url: `http://h/${isKept(i) ? 'kept' : 'gone'}/${'x'.repeat(1_500)}`, collectors: { text: 'y'.repeat(8_000) } })))
  const { bytes } = storage.stats()
  const before = await held()
  t.equal(storage.purge({ url: '/gone/' }), 2_016)
  const given = before - await held()
  t.ok(given > bytes * 0.8, `the bytes of those that are gone are given back: ${given} of ${bytes}`)
  const { profiles, bytes: left } = storage.stats()
  t.equal(profiles, 32)
  t.ok(left > 0 && left < bytes / 32, `${left} of ${bytes} bytes`)
  for (const [i, token] of all.entries()) if (storage.get(token)?.token !== (isKept(i) ? token : undefined)) t.fail(`${token} is ${isKept(i) ? 'gone' : 'there'}`)
  t.equal(storage.purge(), 32)
  t.match(storage.stats(), { profiles: 0, bytes: 0 })
})

t.test('one that is pinned stands for itself, and goes back to its age', async t => {
  const storage = new MemoryStorage({ maxProfiles: 20 })
  storage.put(tokens(1, 20).map(token => profile(token)))
  t.equal(storage.pin('000002', true), true)
  storage.put(tokens(100, 140).map(token => profile(token)))
  t.equal(storage.get('000002')?.token, '000002')
  t.equal(storage.stats().pinned, 1)
  t.equal(storage.pin('000002', false), true)
  t.equal(listed(storage).at(-1), '000002')
  storage.put([profile('00000f')])
  t.equal(storage.get('000002'), undefined, 'the oldest')
})

t.test('the oldest is found whatever has come and gone', async t => {
  const storage = new MemoryStorage({ maxProfiles: 50 })
  const expected: string[] = []
  for (let round = 0; round < 2_000; round++) {
    const token = (Math.floor(Math.random() * 120) + 1).toString(16).padStart(6, '0')
    const at = expected.indexOf(token)
    if (at !== -1) expected.splice(at, 1)
    if (round % 7 === 3) t.equal(storage.purge({ token }), at === -1 ? 0 : 1)
    else {
      storage.put([profile(token)])
      expected.push(token)
      if (expected.length > 50) expected.shift()
    }
    if (round % 500 === 499) {
      storage.purge()
      expected.length = 0
    }
    if (round % 50 === 0) t.same(listed(storage), [...expected].reverse())
  }
})

t.test('a store with a `put` of its own is told of all that is put', async t => {
  const put: string[] = []
  class Told extends MemoryStorage {
    override put (profiles: Parameters<MemoryStorage['put']>[0]): void {
      put.push(...profiles.map(({ token }) => token))
      super.put(profiles)
    }
  }
  for (const storage of [new Told(), new MemoryStorage()]) {
    const batch = storage.batch()
    batch.add(profile('000001'))
    batch.add(failure('000002'))
    t.equal(batch.get('000002')?.token, '000002')
    await batch.write()
    t.same(listed(storage), ['000002', '000001'])
  }
  t.same(put, ['000001', '000002'])
})

t.test('failures outlive successes', async t => {
  const storage = new MemoryStorage({ maxProfiles: 10 })
  storage.put([failure('00000a'), failure('00000b'), ...tokens(1, 30).map(token => profile(token))])
  t.same(listed(storage), [...tokens(23, 30).reverse(), '00000b', '00000a'])
})

t.test('failures leave room for a success', async t => {
  const storage = new MemoryStorage({ maxProfiles: 10 })
  storage.put(tokens(1, 30).map(token => failure(token)))
  t.equal(listed(storage).length, 10)
  storage.put([profile('00000a'), profile('00000b'), profile('00000c')])
  t.same(listed(storage), ['00000c', '00000b', ...tokens(23, 30).reverse()])
})

t.test('nothing is left when it is closed', async t => {
  const storage = new MemoryStorage()
  storage.put([profile('000001'), failure('000002')])
  storage.close()
  t.same(listed(storage), [])
})

import t from 'tap'
import { storageContract } from '../../src/storage-contract.js'
import { MemoryStorage } from '../../src/store/memory.js'
import { recordOf } from '../../src/store/summary.js'
import { failure, profile, tokens } from '../parts/fixture.js'

for (const { name, run } of storageContract((bounds) => new MemoryStorage(bounds))) t.test(name, run)

const listed = (storage: MemoryStorage): string[] => storage.search({ limit: 1_000 }).profiles.map(({ token }) => token)
const records = (from: number, to: number): ReturnType<typeof recordOf>[] => tokens(from, to).map((token) => recordOf(profile(token)))

t.test('the size is that of the JSON texts, and a replaced profile counts once', async (t) => {
  const [one, large] = [recordOf(profile('000001')), recordOf(profile('000001', { url: 'http://h/ü€😀' }))]
  const bytes = Buffer.byteLength(one.json)
  const storage = new MemoryStorage({ maxBytes: bytes * 3 })
  storage.put([one])
  t.equal(storage.stats().bytes, bytes)
  storage.put([large])
  t.equal(storage.stats().bytes, Buffer.byteLength(large.json))
  storage.put(records(1, 5))
  t.same(listed(storage), ['000005', '000004', '000003'])
  storage.put(records(5, 5))
  storage.put(records(5, 5))
  t.same(listed(storage), ['000005', '000004', '000003'])
  t.equal(storage.stats().bytes, bytes * 3)
})

t.test('a profile that is larger than the store does not replace the one with its token', async (t) => {
  const storage = new MemoryStorage({ maxBytes: 2_000 })
  storage.put(records(1, 2))
  storage.put([recordOf(profile('000001', { url: 'x'.repeat(2_000) }))])
  t.same(listed(storage), ['000002', '000001'])
  t.equal(storage.get('000001')?.url, profile('000001').url)
})

t.test('the oldest profile is evicted after any sequence of puts and purges', async (t) => {
  const storage = new MemoryStorage({ maxProfiles: 50 })
  const expected: string[] = []
  for (let round = 0; round < 2_000; round++) {
    const token = (Math.floor(Math.random() * 120) + 1).toString(16).padStart(6, '0')
    const at = expected.indexOf(token)
    if (at !== -1) expected.splice(at, 1)
    if (round % 7 === 3) t.equal(storage.purge({ token }), at === -1 ? 0 : 1)
    else {
      storage.put([recordOf(profile(token))])
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

t.test('the counts are those of the stored profiles after replacements, pins and purges', async (t) => {
  const storage = new MemoryStorage()
  storage.put([recordOf(profile('000001')), recordOf(failure('000002')), recordOf(profile('000003'))])
  storage.pin('000001', true)
  storage.put([{ ...recordOf(profile('000003', { url: 'http://h/longer' })), keepsPlace: true }, recordOf(profile('000002'))])
  const bytes = listed(storage).reduce((sum, token) => sum + Buffer.byteLength(JSON.stringify(storage.get(token))), 0)
  t.match(storage.stats(), { profiles: 3, failures: 0, pinned: 1, bytes })
  storage.pin('000001', false)
  t.match(storage.stats(), { profiles: 3, pinned: 0, bytes })
  t.equal(storage.purge(), 3)
  t.match(storage.stats(), { profiles: 0, pinned: 0, bytes: 0 })
})

t.test('returned summaries are copies', async (t) => {
  const storage = new MemoryStorage()
  storage.put([recordOf(failure('000001'))])
  const { profiles: [first] } = storage.search({ limit: 1 })
  if (first !== undefined) first.pinned = first.error = false
  t.match(storage.search({ limit: 1 }).profiles, [{ token: '000001', error: true }])
  t.match(storage.stats(), { engine: 'memory', place: 'this process', failures: 1, pinned: 0 })
  storage.pin('000001', true)
  t.match(first, { pinned: false })
})

t.test('its default bounds are those of the interface', async (t) => {
  t.match(new MemoryStorage().stats(), { maxProfiles: 10_000, maxBytes: 256 * 1024 * 1024 })
  t.match(new MemoryStorage({ maxProfiles: 5 }).stats(), { maxProfiles: 5, maxBytes: 256 * 1024 * 1024 })
})

import t from 'tap'
import { MemoryStorage } from '../../../plugins/profiler/storage/memory.js'
import { failure, profile, tokens } from '../fixture.js'
import { storageContract } from './contract.js'

t.test('contract', t => storageContract(t, bounds => new MemoryStorage(bounds)))

const listed = (storage: MemoryStorage) => storage.search({ limit: 1_000 }).profiles.map(item => item.token)

t.test('the oldest goes first when there are too many', async t => {
  const storage = new MemoryStorage({ maxProfiles: 3 })
  storage.put(tokens(1, 5).map(token => profile(token)))
  t.same(listed(storage), ['000005', '000004', '000003'])
  t.equal(storage.get('000001'), undefined)
})

t.test('the oldest goes first when there are too many bytes', async t => {
  const bytes = JSON.stringify(profile('000001')).length
  const storage = new MemoryStorage({ maxBytes: bytes * 3 })
  storage.put(tokens(1, 5).map(token => profile(token)))
  t.same(listed(storage), ['000005', '000004', '000003'])
  storage.put([profile('000005'), profile('000005')])
  t.same(listed(storage), ['000005', '000004', '000003'], 'a replaced profile counts once')
  storage.put([profile('000009', { url: 'x'.repeat(bytes * 3) })])
  t.same(listed(storage), ['000005', '000004', '000003'], 'what is larger than the whole store is not kept')
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

import diagnostics from 'node:diagnostics_channel'
import t, { type Test } from 'tap'
import { openStorage } from '../../src/store/open.js'
import type { ProfileStorage } from '../../src/store/storage.js'
import { storageContract } from '../../src/storage-contract.js'
import { profile } from '../parts/fixture.js'
import { listed, put } from './support.js'

let workers = 0
diagnostics.subscribe('worker_threads', () => { workers++ })

async function opened (t: Test, bounds: object = {}): Promise<ProfileStorage> {
  const storage = await openStorage({ storage: 'memory', warn: (message) => t.fail(message), ...bounds })
  t.teardown(() => storage.close())
  return storage
}

const tokenOf = (number: number): string => String(number).padStart(6, '0')

t.test('fifty profiles in memory need no thread; more move there, with what was done to them', async (t) => {
  const storage = await opened(t)
  for (let i = 1; i <= 50; i++) await put(storage, [profile(tokenOf(i))])
  t.equal(workers, 0)
  await storage.pin('000007', true)
  await storage.purge({ token: '000009' })
  const { head } = await storage.search({ limit: 1 })
  await put(storage, [profile('000051')])
  t.equal(workers, 1)
  t.match(await storage.stats(), { engine: 'memory', place: 'this process', profiles: 50, pinned: 1, maxBytes: 256 * 1024 * 1024 })
  t.same((await listed(storage)).slice(0, 2), ['000051', '000050'])
  t.match(await storage.get('000007'), { token: '000007' })
  t.equal(await storage.get('000009'), undefined)
  t.match(await storage.search({ limit: 9, after: head }), { profiles: [{ token: '000051' }] }, 'a cursor of before is valid')
})

t.test('two stores in memory have different profiles', async (t) => {
  const stores = await Promise.all([opened(t), opened(t)])
  for (const [i, storage] of stores.entries()) {
    storage.warmUp?.()
    await put(storage, [profile(tokenOf(i))])
  }
  t.same(await Promise.all(stores.map(listed)), [['000000'], ['000001']])
})

t.test('the contract, in the thread', async (t) => {
  const cases = storageContract((bounds) => {
    const first = opened(t, bounds)
    return first.then((storage) => {
      storage.warmUp?.()
      return storage
    })
  })
  for (const { name, run } of cases) await t.test(name, run)
})

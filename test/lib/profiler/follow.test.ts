import t from 'tap'
import { follow, type News } from '../../../lib/profiler/follow.js'
import { MemoryStorage } from '../../../lib/profiler/storage/memory.js'
import { recordOf } from '../../../lib/profiler/summary.js'
import { failure, profile, tokens } from './fixture.js'

const told = ({ profiles }: News): string[] => profiles.map(({ token }) => token)

t.test('what comes is told, oldest first, and nothing twice', async t => {
  const storage = new MemoryStorage()
  storage.put([recordOf(profile('000001'))])
  const stop = new AbortController()
  const news: string[] = []
  const { head } = storage.search({ limit: 1 })
  storage.put(tokens(2, 450).map(token => recordOf(profile(token))))
  for await (const batch of follow(storage, { after: head, signal: stop.signal, interval: 1 })) {
    news.push(...told(batch))
    if (news.length === 449) storage.put([recordOf(failure('00000a'))])
    else if (news.length >= 450) stop.abort()
  }
  t.same(news, [...tokens(2, 450), '00000a'])
})

t.test('only what fits is told', async t => {
  const storage = new MemoryStorage()
  const stop = new AbortController()
  const { head } = storage.search({ limit: 1 })
  storage.put([profile('000001'), failure('000002'), profile('000003')].map(recordOf))
  for await (const batch of follow(storage, { after: head, criteria: { error: true }, signal: stop.signal, interval: 1 })) {
    t.same(told(batch), ['000002'])
    stop.abort()
  }
})

t.test('a sign of life comes when there is no news', async t => {
  const storage = new MemoryStorage()
  const stop = new AbortController()
  for await (const batch of follow(storage, { after: '0', signal: stop.signal, interval: 1, heartbeat: 5 })) {
    t.same(batch, { profiles: [], head: '0' })
    stop.abort()
  }
})

t.test('a store that is away is asked again, one that began anew is followed from there', async t => {
  let storage = new MemoryStorage()
  storage.put(tokens(1, 5).map(token => recordOf(profile(token))))
  const stop = new AbortController()
  let calls = 0
  const store = {
    search (options: Parameters<MemoryStorage['search']>[0]) {
      if (++calls === 2) throw new Error('away')
      return storage.search(options)
    }
  }
  const after = storage.search({ limit: 1 }).head
  setTimeout(() => { storage = new MemoryStorage() }, 20)
  setTimeout(() => storage.put([recordOf(profile('00000b'))]), 60)
  for await (const batch of follow(store, { after, signal: stop.signal, interval: 1 })) {
    t.same(told(batch), ['00000b'])
    stop.abort()
  }
  t.ok(calls > 3)
})

t.test('it ends at once when it is told to', async t => {
  const stop = new AbortController()
  setTimeout(() => stop.abort(), 10)
  for await (const batch of follow(new MemoryStorage(), { after: '0', signal: stop.signal, interval: 60_000 })) t.fail(`news: ${JSON.stringify(batch)}`)
  t.pass('ended')
})

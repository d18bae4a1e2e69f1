import t from 'tap'
import { followProfiles, newestOf } from '../../src/store/follow.js'
import { MemoryStorage } from '../../src/store/memory.js'
import { type ProfileSummary } from '../../src/store/profile.js'
import { recordOf } from '../../src/store/summary.js'
import { failure, profile, tokens } from '../parts/fixture.js'

const tokensOf = (profiles: ProfileSummary[]): string[] => profiles.map(({ token }) => token)

t.test('new profiles are yielded once, oldest first', async t => {
  const storage = new MemoryStorage()
  storage.put([recordOf(profile('000001'))])
  const stop = new AbortController()
  const found: string[] = []
  const { head } = storage.search({ limit: 1 })
  storage.put(tokens(2, 450).map(token => recordOf(profile(token))))
  for await (const batch of followProfiles(storage, { after: head, signal: stop.signal, interval: 1 })) {
    found.push(...tokensOf(batch))
    if (found.length === 449) storage.put([recordOf(failure('00000a'))])
    else if (found.length >= 450) stop.abort()
  }
  t.same(found, [...tokens(2, 450), '00000a'])
})

t.test('only profiles that match are yielded', async t => {
  const storage = new MemoryStorage()
  const stop = new AbortController()
  const { head } = storage.search({ limit: 1 })
  storage.put([profile('000001'), failure('000002'), profile('000003')].map(recordOf))
  for await (const batch of followProfiles(storage, { after: head, criteria: { error: true }, signal: stop.signal, interval: 1 })) {
    t.same(tokensOf(batch), ['000002'])
    stop.abort()
  }
})

t.test('an empty batch is yielded after a time without new profiles', async t => {
  const storage = new MemoryStorage()
  const stop = new AbortController()
  for await (const batch of followProfiles(storage, { after: '0', signal: stop.signal, interval: 1, heartbeat: 5 })) {
    t.same(batch, [])
    stop.abort()
  }
})

t.test('an unavailable store is searched again, and a new store is followed from its position', async t => {
  let storage = new MemoryStorage()
  storage.put(tokens(1, 5).map(token => recordOf(profile(token))))
  const stop = new AbortController()
  let calls = 0
  const store = {
    search (options: Parameters<MemoryStorage['search']>[0]) {
      if (++calls === 2) throw new Error('unavailable')
      if (calls === 4) storage = new MemoryStorage()
      // When it was searched while it was empty.
      if (calls === 7) storage.put([recordOf(profile('00000b'))])
      return storage.search(options)
    }
  }
  const after = storage.search({ limit: 1 }).head
  for await (const batch of followProfiles(store, { after, signal: stop.signal, interval: 1 })) {
    t.same(tokensOf(batch), ['00000b'])
    stop.abort()
  }
  t.ok(calls > 3)
})

t.test('following ends at once when the signal aborts', async t => {
  const stop = new AbortController()
  setTimeout(() => stop.abort(), 10)
  const batches = followProfiles(new MemoryStorage(), { after: '0', signal: stop.signal, interval: 60_000 })
  for await (const batch of batches) t.fail(`a batch: ${JSON.stringify(batch)}`)
  t.pass('ended')
})

t.test('the newest profile is not the 404 of an icon, however many there are', async t => {
  const storage = new MemoryStorage()
  const icons = tokens(2, 120).map(token => recordOf(failure(token, { url: 'http://h/favicon.ico' })))
  storage.put(icons)
  t.equal(await newestOf(storage, { error: true }), undefined)
  t.match(await newestOf(storage, {}), { token: icons.at(-1)?.summary.token }, 'nothing else is there')
  t.match(await newestOf(storage, { status: '404' }), { token: icons.at(-1)?.summary.token })
  storage.put([recordOf(failure('000001')), ...icons])
  t.match(await newestOf(storage, { error: true }), { token: '000001' })
  t.match(await newestOf(storage, {}), { token: '000001' })
  t.match(await newestOf(storage, { url: 'favicon' }), { token: icons.at(-1)?.summary.token }, 'what is named')
  t.equal(await newestOf(storage, { method: 'PUT' }), undefined)
})

t.test('the newest failure is one of the application, and not the 404 of a robot', async t => {
  const storage = new MemoryStorage()
  const routed = { name: 'orders', pattern: '/orders', params: {}, methods: ['GET'] }
  const robots = tokens(3, 60).map(token => recordOf(failure(token, { status: 404, route: null, url: 'http://h/wp-login.php' })))
  storage.put(robots)
  t.match(await newestOf(storage, { error: true }), { token: robots.at(-1)?.summary.token }, 'nothing else has failed')
  for (const [token, changes] of [['000001', { status: 500, route: routed }], ['000002', { status: 404, route: routed }]] as const) {
    storage.put([recordOf(failure(token, changes)), ...robots])
    t.match(await newestOf(storage, { error: true }), { token })
  }
})

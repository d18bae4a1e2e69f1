import type { Test } from 'tap'
import type { Profile } from '../../../plugins/profiler/profile.js'
import type { Criteria } from '../../../plugins/profiler/storage/criteria.js'
import type { ProfileStorage, StorageBounds } from '../../../plugins/profiler/storage/storage.js'
import { failure, profile, tokens } from '../fixture.js'

/** What every storage engine promises; `open` gives an empty store with these bounds. */
export async function storageContract (t: Test, open: (bounds: StorageBounds) => ProfileStorage | Promise<ProfileStorage>): Promise<void> {
  async function stored (t: Test, bounds: Partial<StorageBounds> = {}): Promise<ProfileStorage> {
    const storage = await open({ maxProfiles: 1_000, maxBytes: 16 * 1024 * 1024, ...bounds })
    t.teardown(() => storage.close())
    return storage
  }

  const found = async (storage: ProfileStorage, criteria: Criteria = {}): Promise<string[]> =>
    (await storage.search({ criteria, limit: 1_000 })).profiles.map(item => item.token)

  await t.test('an empty store knows nothing', async t => {
    const storage = await stored(t)
    t.equal(await storage.get('000001'), undefined)
    t.equal(await storage.has('000001'), false)
    const { profiles, next } = await storage.search({ limit: 10 })
    t.same([profiles, next], [[], null])
    t.same(await found(storage, { error: true }), [])
    t.equal(await storage.pin('000001', true), false)
    t.equal(await storage.purge(), 0)
    t.match(await storage.stats(), { profiles: 0, bytes: 0, failures: 0, pinned: 0, maxProfiles: 1_000, maxBytes: 16 * 1024 * 1024 })
  })

  await t.test('what was put is got, equal and apart from the original', async t => {
    const storage = await stored(t)
    const original = failure('00000a', { url: 'http://h/ü€😀\u0000', collectors: { request: { deep: [{ a: null }] } } })
    await storage.put([original])
    const expected = structuredClone(original)
    original.method = 'CHANGED'
    const got = await storage.get('00000a')
    t.same(got, expected)
    got?.events.push({ stage: 'kernel.request', listener: 'x', pass: 'main', outcome: 'ran', start: 0, duration: 0 })
    t.same(await storage.get('00000a'), expected)
    t.equal(await storage.has('00000a'), true)
    t.equal(await storage.has('00000b'), false)
  })

  await t.test('names of an object’s own machinery are no tokens', async t => {
    const storage = await stored(t)
    for (const token of ['__proto__', 'constructor', '', '../x']) {
      t.equal(await storage.get(token), undefined, token)
      t.equal(await storage.has(token), false, token)
    }
  })

  await t.test('a token that is there already is replaced, and becomes the newest', async t => {
    const storage = await stored(t)
    await storage.put([profile('000001'), profile('000002')])
    await storage.put([failure('000001', { method: 'PUT' })])
    t.equal((await storage.get('000001'))?.method, 'PUT')
    const { profiles } = await storage.search({ limit: 10 })
    t.same(profiles.map(({ token, error }) => [token, error]), [['000001', true], ['000002', false]])
    await storage.put([profile('000001')])
    t.same(await found(storage, { error: true }), [])
    t.match(await storage.stats(), { profiles: 2, failures: 0 })
  })

  await t.test('a list gives summaries, newest first', async t => {
    const storage = await stored(t)
    await storage.put([profile('000001'), failure('000002', { status: 500, ip: '::1' })])
    const known = { time: '2026-01-02T03:04:05.678Z', method: 'GET', url: 'http://127.0.0.1:3000/robots.txt', duration: 1.25, route: null, warnings: 0, parent: null, pinned: false }
    t.strictSame((await storage.search({ limit: 10 })).profiles, [
      { ...known, token: '000002', status: 500, ip: '::1', error: true, exception: 'NotFoundError: No route found for "GET http://127.0.0.1:3000/robots.txt"' },
      { ...known, token: '000001', status: 200, ip: '127.0.0.1', error: false, exception: null }
    ])
  })

  await t.test('a cursor goes on where the page before ended, whatever came meanwhile', async t => {
    const storage = await stored(t)
    await storage.put(tokens(1, 7).map((token, i) => i % 2 ? failure(token) : profile(token)))
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await storage.search({ limit: 3, ...(cursor !== undefined && { cursor }) })
      seen.push(...page.profiles.map(item => item.token))
      cursor = page.next ?? undefined
      await storage.put([profile(`00001${seen.length}`)])
    } while (cursor !== undefined)
    t.same(seen, tokens(1, 7).reverse())
  })

  await t.test('a page that ends with the last profile has no next', async t => {
    const storage = await stored(t)
    await storage.put(tokens(1, 4).map(token => profile(token)))
    t.equal((await storage.search({ limit: 4 })).next, null)
    t.type((await storage.search({ limit: 3 })).next, 'string')
  })

  await t.test('a cursor that no page gave is refused', async t => {
    const storage = await stored(t)
    for (const cursor of ['x', '', '-1', '1e9', '../../etc/passwd', '9'.repeat(400)]) {
      for (const option of [{ cursor }, { after: cursor }]) await t.rejects(async () => await storage.search({ limit: 1, ...option }), { statusCode: 400, message: `Invalid "cursor": "${cursor}" is not one of a previous page.` }, cursor)
    }
  })

  await t.test('everything that can be looked for is found, newest first', async t => {
    const storage = await stored(t)
    const warning = { time: '2026-01-02T03:04:05.678Z', level: 'warn' as const, channel: 'app', message: 'careful', context: {} }
    const route = (name: string) => ({ name, pattern: '/', params: {}, methods: ['GET'] })
    await storage.put([
      profile('000001', { method: 'POST', url: 'http://Shop.test/Ünited/a?Q=Red%20Shoes', ip: '10.1.2.3', status: 201, duration: 99.5, route: route('shop_show') }),
      profile('000002', { status: 404, ip: '::ffff:10.9.9.9', time: '2026-01-02T00:00:00.000Z', logs: [warning, warning] }),
      failure('000003', { status: 500, ip: '2001:db8::7', parent: '000001', time: '2026-01-03T00:00:00.000Z' })
    ])
    await storage.put([profile('000004', { status: 503, ip: '192.168.0.1', duration: 100, route: route('shop_list') })])
    const cases: Array<[Criteria, string[]]> = [
      [{}, ['000004', '000003', '000002', '000001']],
      [{ token: '000002' }, ['000002']],
      [{ token: '00000f' }, []],
      [{ token: '000002', status: '500' }, []],
      [{ ip: '10.1.2.3' }, ['000001']],
      [{ ip: '10.0.0.0/8' }, ['000002', '000001']],
      [{ ip: '2001:db8::/32' }, ['000003']],
      [{ ip: '2001:0db8:0:0:0:0:0:7' }, ['000003']],
      [{ method: 'post' }, ['000001']],
      [{ method: 'DELETE' }, []],
      [{ status: '404' }, ['000002']],
      [{ status: '5xx' }, ['000004', '000003']],
      [{ url: 'red%20shoes' }, ['000001']],
      [{ url: 'SHOP.TEST/ü' }, ['000001']],
      [{ url: 'robots.txt' }, ['000004', '000003', '000002']],
      [{ url: 'o' }, ['000004', '000003', '000002', '000001']],
      [{ url: 'nowhere' }, []],
      [{ route: 'shop_show' }, ['000001']],
      [{ route: 'shop' }, []],
      [{ route: 'shop_*' }, ['000004', '000001']],
      [{ exception: 'notfounderror' }, ['000003']],
      [{ exception: 'No routes found for' }, ['000003']],
      [{ exception: 'TypeError' }, []],
      [{ minDuration: 100 }, ['000004']],
      [{ minDuration: 99.5 }, ['000004', '000001']],
      [{ from: Date.parse('2026-01-02T03:04:05.678Z') }, ['000004', '000003', '000001']],
      [{ until: Date.parse('2026-01-02T03:04:05.677Z') }, ['000002']],
      [{ error: true }, ['000004', '000003']],
      [{ error: false }, ['000002', '000001']],
      [{ parent: '000001' }, ['000003']],
      [{ error: true, status: '5xx', exception: 'found', ip: '2001:db8::/32', until: Date.parse('2026-01-04') }, ['000003']],
      [{ error: true, method: 'POST' }, []]
    ]
    for (const [criteria, tokens] of cases) t.same(await found(storage, criteria), tokens, JSON.stringify(criteria))
    t.equal((await storage.search({ criteria: { token: '000002' }, limit: 1 })).profiles[0]?.warnings, 2)
  })

  await t.test('a search among many is paged like a list', async t => {
    const storage = await stored(t)
    const all = tokens(1, 700)
    for (let at = 0; at < all.length; at += 50) {
      await storage.put(all.slice(at, at + 50).map((token, i) => profile(token, { status: i % 7 === 0 ? 404 : 200, url: `http://h/item/${token}` })))
    }
    const missing = all.filter((_, i) => i % 50 % 7 === 0).reverse()
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await storage.search({ criteria: { status: '404' }, limit: 9, ...(cursor !== undefined && { cursor }) })
      t.ok(page.next === null || page.profiles.length === 9)
      seen.push(...page.profiles.map(item => item.token))
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    t.same(seen, missing)
    t.same(await found(storage, { url: '/item/000001' }), ['000001'])
    t.same(await found(storage, { url: 'ITEM/00069' }), tokens(690, 699).reverse())
    t.same(await found(storage, { url: '/item/x' }), [])
  })

  await t.test('what came behind a head is told apart from what was there', async t => {
    const storage = await stored(t)
    const { head: empty } = await storage.search({ limit: 1 })
    await storage.put([profile('000001'), failure('000002')])
    const { head, profiles } = await storage.search({ limit: 10, after: empty })
    t.same(profiles.map(item => item.token), ['000002', '000001'])
    t.same((await storage.search({ limit: 10, after: head })).profiles, [])
    await storage.put([profile('000003'), failure('000004'), profile('000005')])
    const later = await storage.search({ limit: 2, after: head })
    t.same(later.profiles.map(item => item.token), ['000005', '000004'])
    const rest = await storage.search({ limit: 2, after: head, cursor: later.next ?? '' })
    t.same([rest.profiles.map(item => item.token), rest.next], [['000003'], null])
    t.same((await storage.search({ limit: 10, after: head, criteria: { error: true } })).profiles.map(item => item.token), ['000004'])
    await t.rejects(async () => await storage.search({ limit: 1, after: '999999999999999' }), /^Invalid "cursor": "999999999999999"/, 'a head that it has not come to')
  })

  await t.test('a cursor that lies behind the newest profile is refused', async t => {
    const storage = await stored(t)
    for (const [count, criteria] of [[0, {}], [3, {}], [3, { url: 'nothing has this' }], [3, { token: '000001' }]] as Array<[number, Criteria]>) {
      await storage.put(tokens(1, count).map(token => profile(token)))
      const { head } = await storage.search({ limit: 1 })
      for (const cursor of [String(Number(head) + 1), '999999999999999']) {
        await t.rejects(async () => await storage.search({ criteria, limit: 1, cursor }), { statusCode: 400, message: `Invalid "cursor": "${cursor}" is not one of a previous page.` }, `${cursor} of ${head}`)
      }
    }
  })

  await t.test('the oldest goes first when there are too many', async t => {
    const storage = await stored(t, { maxProfiles: 300 })
    await storage.put(tokens(1, 250).map(token => profile(token)))
    for (const token of tokens(251, 330)) await storage.put([profile(token)])
    t.same(await found(storage), tokens(31, 330).reverse())
    t.equal(await storage.get('000030'), undefined)
    t.equal(await storage.has('000030'), false)
    t.match(await storage.stats(), { profiles: 300 })
  })

  await t.test('the oldest goes first when there are too many bytes', async t => {
    const storage = await stored(t, { maxBytes: 400_000 })
    // Not to be compressed.
    const body = (): string => Buffer.from(Array.from({ length: 15_000 }, () => Math.random() * 256)).toString('base64')
    for (const token of tokens(1, 60)) await storage.put([profile(token, { collectors: { body: body() } })])
    const left = await found(storage)
    t.same(left, tokens(61 - left.length, 60).reverse())
    t.ok(left.length >= 10 && left.length <= 27, `${left.length} profiles of 15 to 20 kB in 400 kB`)
    const { bytes } = await storage.stats()
    t.ok(bytes <= 400_000 && bytes > 150_000, `${bytes} bytes`)
    await storage.put([profile('000099', { collectors: { body: body().repeat(40).split('').reverse().join('') + body() } })])
    t.ok((await storage.stats()).bytes <= 400_000)
  })

  await t.test('failures outlive successes, and leave room for one', async t => {
    const storage = await stored(t, { maxProfiles: 100 })
    await storage.put([failure('00000a'), failure('00000b'), ...tokens(1, 300).map(token => profile(token))])
    t.same(await found(storage), [...tokens(203, 300).reverse(), '00000b', '00000a'])
    await storage.put(tokens(301, 600).map(token => failure(token)))
    await storage.put([...tokens(601, 610).map(token => profile(token))])
    const left = await found(storage)
    t.equal(left.length, 100)
    t.same(left.slice(0, 10), tokens(601, 610).reverse())
    t.same(await found(storage, { error: true }), tokens(601 - 90, 600).reverse().slice(0, left.length - (await found(storage, { error: false })).length))
  })

  await t.test('what is pinned stays where it is in the list, until it is let go', async t => {
    const storage = await stored(t, { maxProfiles: 20 })
    await storage.put([profile('000001'), failure('000002'), profile('000003')])
    t.equal(await storage.pin('000001', true), true)
    t.equal(await storage.pin('000001', true), true, 'twice is once')
    t.equal(await storage.pin('000002', true), true)
    t.same((await storage.search({ limit: 9 })).profiles.map(item => [item.token, item.pinned]), [['000003', false], ['000002', true], ['000001', true]])
    await storage.put(tokens(11, 60).map((token, i) => i % 2 ? profile(token) : failure(token)))
    t.same((await found(storage)).slice(-2), ['000002', '000001'])
    t.equal((await storage.get('000001'))?.token, '000001')
    t.match(await storage.stats(), { profiles: 20, pinned: 2 })
    t.same(await found(storage, { error: true, until: Date.parse('2027-01-01'), method: 'GET', token: '000002' }), ['000002'])
    t.equal(await storage.pin('000001', false), true)
    t.match(await storage.stats(), { pinned: 1 })
    await storage.put(tokens(61, 80).map(token => profile(token)))
    t.equal(await storage.has('000001'), false, 'one that was let go is as old as it was')
    t.equal(await storage.has('000002'), true)
    await storage.put([profile('000002')])
    t.match(await storage.stats(), { pinned: 0 })
  })

  await t.test('no more is pinned than leaves room', async t => {
    const storage = await stored(t, { maxProfiles: 4 })
    await storage.put(tokens(1, 4).map(token => profile(token)))
    await storage.pin('000001', true)
    await storage.pin('000002', true)
    await t.rejects(async () => await storage.pin('000003', true), { statusCode: 409, message: /^Profile "000003" cannot be pinned: / })
    t.match(await storage.stats(), { pinned: 2, profiles: 4 })
  })

  await t.test('purged is what fits, pinned ones only when that is said', async t => {
    const storage = await stored(t)
    await storage.put(tokens(1, 6).map((token, i) => profile(token, { status: i < 4 ? 404 : 200 })))
    await storage.pin('000001', true)
    t.equal(await storage.purge({ status: '4xx' }), 3)
    t.same(await found(storage), ['000006', '000005', '000001'])
    t.equal(await storage.get('000002'), undefined)
    t.equal(await storage.purge(), 2)
    t.equal(await storage.purge({}, { pinned: true }), 1)
    t.match(await storage.stats(), { profiles: 0, bytes: 0, pinned: 0 })
    await storage.put([profile('000002')])
    t.same(await found(storage), ['000002'])
  })

  await t.test('the latest failure is a server error too, but no answer of 404', async t => {
    const storage = await stored(t)
    await storage.put([failure('000001'), profile('000002', { status: 503 }), profile('000003', { status: 404 })])
    t.same(await found(storage, { error: true }), ['000002', '000001'])
  })

  await t.test('a batch of none is nothing', async t => {
    const storage = await stored(t)
    await storage.put([] satisfies Profile[])
    t.same(await found(storage), [])
  })
}

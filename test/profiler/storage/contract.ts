import type { Test } from 'tap'
import type { ProfileStorage } from '../../../plugins/profiler/storage/storage.js'
import { failure, profile, tokens } from '../fixture.js'

/** What every storage engine promises; `open` gives an empty store that is large enough for a hundred profiles. */
export async function storageContract (t: Test, open: () => ProfileStorage | Promise<ProfileStorage>): Promise<void> {
  async function stored (t: Test): Promise<ProfileStorage> {
    const storage = await open()
    t.teardown(() => storage.close())
    return storage
  }

  await t.test('an empty store knows nothing', async t => {
    const storage = await stored(t)
    t.equal(await storage.get('000001'), undefined)
    t.equal(await storage.has('000001'), false)
    t.same(await storage.list({ limit: 10 }), { profiles: [], next: null })
    t.equal(await storage.latest(), undefined)
    t.equal(await storage.latest({ error: true }), undefined)
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
    const { profiles } = await storage.list({ limit: 10 })
    t.same(profiles.map(({ token, error }) => [token, error]), [['000001', true], ['000002', false]])
    await storage.put([profile('000001')])
    t.equal(await storage.latest({ error: true }), undefined)
  })

  await t.test('a list gives summaries, newest first', async t => {
    const storage = await stored(t)
    await storage.put([profile('000001'), failure('000002', { status: 500, ip: '::1' })])
    t.same((await storage.list({ limit: 10 })).profiles, [
      { token: '000002', time: '2026-01-02T03:04:05.678Z', method: 'GET', url: 'http://127.0.0.1:3000/robots.txt', status: 500, ip: '::1', duration: 1.25, error: true },
      { token: '000001', time: '2026-01-02T03:04:05.678Z', method: 'GET', url: 'http://127.0.0.1:3000/robots.txt', status: 200, ip: '127.0.0.1', duration: 1.25, error: false }
    ])
  })

  await t.test('a cursor goes on where the page before ended, whatever came meanwhile', async t => {
    const storage = await stored(t)
    await storage.put(tokens(1, 7).map((token, i) => i % 2 ? failure(token) : profile(token)))
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await storage.list({ limit: 3, ...(cursor !== undefined && { cursor }) })
      seen.push(...page.profiles.map(item => item.token))
      cursor = page.next ?? undefined
      await storage.put([profile(`00001${seen.length}`)])
    } while (cursor !== undefined)
    t.same(seen, tokens(1, 7).reverse())
  })

  await t.test('a page that ends with the last profile has no next', async t => {
    const storage = await stored(t)
    await storage.put(tokens(1, 4).map(token => profile(token)))
    t.equal((await storage.list({ limit: 4 })).next, null)
    t.type((await storage.list({ limit: 3 })).next, 'string')
  })

  await t.test('a cursor that no page gave is refused', async t => {
    const storage = await stored(t)
    for (const cursor of ['', 'x', '-1', '1e9', '../../etc/passwd', '9'.repeat(400)]) {
      await t.rejects(async () => await storage.list({ limit: 1, cursor }), { statusCode: 400, message: `Invalid "cursor": "${cursor}" is not one of a previous page.` }, cursor)
    }
  })

  await t.test('the latest is the newest, or the newest failure', async t => {
    const storage = await stored(t)
    await storage.put([failure('000001'), profile('000002', { status: 503 }), profile('000003', { status: 404 })])
    t.equal((await storage.latest())?.token, '000003')
    t.equal((await storage.latest({ error: true }))?.token, '000002', 'a server error is a failure, an answer of 404 is not')
  })
}

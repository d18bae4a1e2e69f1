import assert from 'node:assert/strict'
import type { Profile } from './store/profile.js'
import type { Criteria } from './store/criteria.js'
import type { ProfileStorage, SearchOptions, Sort, StorageBounds } from './store/storage.js'
import { recordOf } from './store/summary.js'

/** One test; `run` rejects with an `AssertionError` if the store breaks the contract. */
export interface StorageContractCase {
  name: string
  run: () => Promise<void>
}

type OpenStorage = (bounds: StorageBounds) => ProfileStorage | Promise<ProfileStorage>
type Case = [name: string, bounds: Partial<StorageBounds>, check: (storage: ProfileStorage) => Promise<void>]

const BOUNDS: StorageBounds = { maxProfiles: 1_000, maxBytes: 16 * 1024 * 1024 }
const TIME = '2026-01-02T03:04:05.678Z'

/**
 * The tests that every store of profiles must pass, for any test runner. `open` returns an empty store with the bounds.
 *
 *     import { storageContract } from 'fastify-hindsight/storage-contract'
 *     const cases = storageContract((bounds) => new MyStorage(bounds))
 *     for (const { name, run } of cases) test(name, run)
 */
export function storageContract (open: OpenStorage): StorageContractCase[] {
  return CASES.map(([name, bounds, check]) => ({
    name,
    run: async () => {
      const storage = await open({ ...BOUNDS, ...bounds })
      try {
        await check(storage)
      } finally {
        await storage.close()
      }
    }
  }))
}

const CASES: Case[] = [
  ['an empty store has no profiles', {}, async (storage) => {
    await put(storage, [])
    for (const token of ['000001', '__proto__', 'constructor', '', '../x']) {
      assert.equal(await storage.get(token), undefined, token)
      assert.equal(await storage.pin(token, true), false, token)
    }
    assert.deepEqual(await allPages(storage, { limit: 10 }), [[]])
    assert.equal(await storage.purge(), 0)
    await hasStats(storage, { profiles: 0, bytes: 0, failures: 0, pinned: 0, ...BOUNDS })
  }],
  ['get returns a profile that equals what was put, and is a copy', {}, async (storage) => {
    const collectors = { request: { deep: [{ a: null }], text: '\u0000 \ud83d' } }
    const original = failure('00000a', { url: 'http://h/ü€😀\u0000\ud83d/End', collectors })
    const [expected, record] = [structuredClone(original), recordOf(original)]
    await storage.put([record])
    original.method = record.summary.method = 'CHANGED'
    const got = await storage.get('00000a')
    assert.deepEqual(got, expected)
    got?.logs.push({ time: TIME, level: 'info', channel: 'app', message: 'added', context: {} })
    assert.deepEqual(await storage.get('00000a'), expected)
    const { profiles: [summary] } = await storage.search({ criteria: { url: '/end' }, limit: 1 })
    assert.equal(summary?.method, 'GET')
  }],
  ['a put with the token of a stored profile replaces it, and makes it the newest', {}, async (storage) => {
    await put(storage, [profile('000001'), profile('000002')])
    await put(storage, [failure('000001', { method: 'PUT' })])
    assert.equal((await storage.get('000001'))?.method, 'PUT')
    const { profiles } = await storage.search({ limit: 10 })
    assert.deepEqual(profiles.map(({ token, error }) => [token, error]), [['000001', true], ['000002', false]])
    await put(storage, [profile('000003'), profile('000001'), profile('000003', { method: 'PUT' })])
    assert.equal((await storage.get('000003'))?.method, 'PUT')
    await finds(storage, [{ error: true }, []], [{}, ['000003', '000001', '000002']])
    await hasStats(storage, { profiles: 3, failures: 0 })
  }],
  ['a put that keeps the place replaces a stored profile where it is', {}, async (storage) => {
    await put(storage, [profile('000001'), profile('000002')])
    await storage.pin('000001', true)
    await storage.put([{ ...recordOf(failure('000001', { method: 'PUT' })), keepsPlace: true }])
    assert.equal((await storage.get('000001'))?.method, 'PUT')
    const { profiles } = await storage.search({ limit: 10 })
    const found = profiles.map(({ token, error, pinned }) => [token, error, pinned])
    assert.deepEqual(found, [['000002', false, false], ['000001', true, true]])
    await hasStats(storage, { profiles: 2, failures: 1, pinned: 1 })
    await storage.put([{ ...recordOf(profile('000003')), keepsPlace: true }])
    await finds(storage, [{}, ['000003', '000002', '000001']])
  }],
  ['a search returns summaries, newest first', {}, async (storage) => {
    const warning = { time: TIME, level: 'warn' as const, channel: 'app', message: 'careful', context: {} }
    const first = profile('000001', { logs: [warning, warning], ...routed('top') })
    await put(storage, [first, failure('000002', { parent: '000001' })])
    const { time, method, duration, url, ip } = first
    const same = { time, method, duration, url, ip, pinned: false, values: { issues: 'yes' } }
    const exception = 'NotFoundError: No route found'
    const found = (await storage.search({ limit: 10 })).profiles
    const values = { failure: found[0]?.values?.failure }
    assert.match(values.failure ?? '', /^f[0-9a-f]{8}$/)
    assert.deepEqual(found, [
      {
        ...same,
        token: '000002',
        status: 404,
        error: true,
        exception,
        route: null,
        warnings: 0,
        parent: '000001',
        values: { ...values, issues: 'yes' }
      },
      {
        ...same,
        token: '000001',
        status: 200,
        error: false,
        exception: null,
        route: 'top',
        warnings: 2,
        parent: null,
        values: { issues: 'Logs: careful' }
      }
    ])
  }],
  ['a cursor continues after the previous page, whatever was put meanwhile', {}, async (storage) => {
    await put(storage, tokens(1, 7).map((token, i) => i % 2 ? failure(token) : profile(token)))
    const { next } = await storage.search({ limit: 3 })
    await put(storage, [profile('000008'), failure('000002'), profile('000009')])
    const rest = await allPages(storage, { limit: 3, cursor: next ?? '' })
    assert.deepEqual(rest, [['000004', '000003', '000001']], 'a page that ends with the oldest profile has no next')
  }],
  ['a position that no page can have returned is rejected', {}, async (storage) => {
    for (const one of ['x', '', '-1', '1e9', '../../etc/passwd', '9'.repeat(400)]) await rejectsPosition(storage, one)
  }],
  ['a position is valid after the newest profiles were removed', {}, async (storage) => {
    await put(storage, tokens(1, 4).map((token) => profile(token)))
    const [{ head }, { next }] = [await storage.search({ limit: 1 }), await storage.search({ limit: 1 })]
    await storage.purge({ token: '000003' })
    await storage.purge({ token: '000004' })
    assert.deepEqual(await allPages(storage, { limit: 10, cursor: next ?? '' }), [['000002', '000001']])
    assert.deepEqual(await allPages(storage, { limit: 10, after: head }), [[]])
    await put(storage, [profile('000005')])
    assert.deepEqual(await allPages(storage, { limit: 10, after: head }), [['000005']])
  }],
  ['every criterion selects, alone and with others', {}, async (storage) => {
    const shop = { url: 'http://Shop.test/Ünited/a?Q=Red%20Shoes', duration: 99.5, ...routed('shop_show') }
    await put(storage, [
      profile('000001', { ...shop, method: 'POST', ip: '10.1.2.3', status: 201 }),
      profile('000002', { status: 404, ip: '::ffff:10.9.9.9', time: '2026-01-02T00:00:00.000Z' }),
      failure('000003', { status: 500, ip: '2001:db8::7', parent: '000001', time: '2026-01-03T00:00:00.000Z' })
    ])
    await put(storage, [profile('000004', { status: 503, ip: '192.168.0.1', duration: 100, ...routed('shop_list') })])
    const all = ['000004', '000003', '000002', '000001']
    await finds(storage,
      [{}, all], [{ token: '000002' }, ['000002']], [{ token: '00000f' }, []],
      [{ token: '000002', status: '500' }, []], [{ token: '000001', url: 'shop' }, ['000001']],
      [{ ip: '10.1.2.3' }, ['000001']], [{ ip: '::ffff:10.9.9.9' }, ['000002']], [{ ip: '10.9.9.9' }, ['000002']],
      [{ ip: '2001:0db8:0:0:0:0:0:7' }, ['000003']], [{ ip: '10.1.2.30' }, []],
      [{ method: 'post' }, ['000001']], [{ method: 'DELETE' }, []],
      [{ status: '404' }, ['000002']], [{ status: '5xx' }, ['000004', '000003']], [{ status: '3xx' }, []],
      [{ url: 'red%20shoes' }, ['000001']], [{ url: 'shoes nothing' }, []],
      [{ url: ' SHOES shop.test ' }, ['000001']], [{ url: 'o' }, all], [{ url: 'nowhere' }, []],
      [{ url: 'ROBOTS.txt' }, ['000004', '000003', '000002']],
      [{ route: 'shop_show' }, ['000001']], [{ route: 'shop' }, []],
      [{ route: 'shop_*' }, ['000004', '000001']], [{ route: 's*p_s*w' }, ['000001']],
      [{ route: '*' }, ['000004', '000001']], [{ route: '*_show*show' }, []],
      [{ exception: 'notfounderror' }, ['000003']], [{ exception: 'No routes found for' }, ['000003']],
      [{ exception: 'TypeError' }, []],
      [{ minDuration: 100 }, ['000004']], [{ minDuration: 99.5 }, ['000004', '000001']],
      [{ from: Date.parse(TIME) }, ['000004', '000003', '000001']], [{ until: Date.parse(TIME) - 1 }, ['000002']],
      // A server error is a failure without an exception, a 404 is not.
      [{ error: true }, ['000004', '000003']], [{ error: false }, ['000002', '000001']],
      [{ parent: '000001' }, ['000003']], [{ error: true, method: 'POST' }, []],
      [{ error: true, status: '5xx', exception: 'found', ip: '2001:db8::7', until: Date.parse('2027') }, ['000003']],
      [{ not: [{ url: 'robots.txt' }] }, ['000001']], [{ not: [{ route: 'shop_*' }] }, ['000003', '000002']],
      [{ not: [{ status: '4xx' }, { status: '503' }] }, ['000003', '000001']],
      [{ not: [{ exception: 'found' }], status: '5xx' }, ['000004']],
      [{ not: [{ parent: '000001' }] }, ['000004', '000002', '000001']],
      [{ not: [{ values: { queries: '>1' } }] }, all])
  }],
  ['numbers that parts add to the search are compared, and their texts are found', {}, async (storage) => {
    const counts = [5, 20, 21, 123].map((count, i) => profile(`00000${i + 1}`, {
      collectors: { queries: { count, findings: count === 21 ? [{ kind: 'n+1' }] : [] } }
    }))
    await put(storage, [...counts, profile('000005'), failure('000006', {
      exceptions: [{ name: 'queries=99', message: 'n+1=yes', frames: [], stack: '' }]
    })])
    const counted = (queries: string): Criteria => ({ values: { queries } })
    await finds(storage,
      [counted('>20'), ['000004', '000003']], [counted('>=20'), ['000004', '000003', '000002']],
      [counted('<20'), ['000001']],
      [counted('<=20'), ['000002', '000001']], [counted('=20'), ['000002']], [counted('=2'), []], [counted('>123'), []],
      [{ values: { 'n+1': 'yes' } }, ['000003']], [{ values: { queries: '>5', 'n+1': 'yes' } }, ['000003']],
      [{ values: { other: '>1' } }, []], [{ values: { "x'": '>1' } }, []],
      [{ not: [counted('>20')] }, ['000006', '000005', '000002', '000001']],
      [{ exception: 'queries=' }, ['000006']], [{ exception: '123' }, []])
    const { profiles: [summary] } = await storage.search({ criteria: { values: { 'n+1': 'yes' } }, limit: 1 })
    assert.deepEqual(summary?.values, { queries: '21', 'n+1': 'yes', issues: 'Queries: 1 warning' })
    await finds(storage, [{ values: { issues: '' } }, ['000006', '000003']])
  }],
  ['characters that are special in patterns of databases are literal', {}, async (storage) => {
    const names = ['%', '_', '[a]', '?', '!', '\\', "'", 'plain']
    await put(storage, names.map((name, i) => profile(`00000${i}`, { url: `http://h/=${name}=`, ...routed(name) })))
    for (const [i, name] of names.entries()) {
      const wanted: Criteria[] = [{ url: `=${name}=` }, { route: name }, { route: `*${name}*` }]
      for (const criteria of wanted) await finds(storage, [criteria, [`00000${i}`]])
    }
    await finds(storage, [{ url: '*' }, []], [{ url: '%l' }, []], [{ route: 'p_ain' }, []], [{ route: '[a-z]' }, []])
  }],
  ['text outside of ASCII is searched', {}, async (storage) => {
    const exceptions = [{ name: 'Ürror', message: 'Äpfel und BIRNEN', frames: [], stack: '' }]
    await put(storage, [profile('000001', { url: 'http://h/MÜLLER/Σίσυφος' }), failure('000002', { exceptions })])
    await finds(storage, [{ url: 'mÜller' }, ['000001']], [{ url: 'Σίσ' }, ['000001']], [{ url: 'muller' }, []],
      [{ exception: 'Ürror: Äpfel UND' }, ['000002']], [{ exception: 'birnen' }, ['000002']])
  }],
  ['a search among many profiles has full pages', {}, async (storage) => {
    const all = tokens(1, 700)
    const isMissing = (i: number): boolean => i % 50 % 7 === 0
    const made = all.map((token, i) => profile(token, { status: isMissing(i) ? 404 : 200, url: `http://h/i/${token}` }))
    for (let at = 0; at < all.length; at += 50) await put(storage, made.slice(at, at + 50))
    const pages = await allPages(storage, { criteria: { status: '404' }, limit: 9 })
    assert.ok(pages.slice(0, -1).every(({ length }) => length === 9))
    assert.deepEqual(pages.flat(), all.filter((_, i) => isMissing(i)).reverse())
    await finds(storage, [{ url: '/i/000001' }, ['000001']], [{ url: 'I/00069' }, tokens(690, 699).reverse()])
  }],
  ['a search has an order, in both directions', {}, async (storage) => {
    const durations = [0.1 + 0.2, 5e-7, 12, 0.3, 1_000.25]
    await put(storage, tokens(1, 10).map((token, i) =>
      profile(token, { duration: durations[i % 5] ?? 0, status: [404, 200, 500][i % 3] ?? 0 })))
    const orders: Array<[Sort, number[]]> = [
      ['time', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]], ['-time', [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]],
      ['duration', [2, 7, 4, 9, 1, 6, 3, 8, 5, 10]], ['-duration', [10, 5, 8, 3, 6, 1, 9, 4, 7, 2]],
      ['status', [2, 5, 8, 1, 4, 7, 10, 3, 6, 9]], ['-status', [9, 6, 3, 10, 7, 4, 1, 8, 5, 2]]
    ]
    for (const [sort, expected] of orders) {
      const ordered = expected.flatMap((number) => tokens(number, number))
      assert.deepEqual(await allPages(storage, { limit: 20, sort }), [ordered], sort)
      const { profiles, next } = await storage.search({ limit: 3, sort })
      assert.deepEqual(profiles.map(({ token }) => token), ordered.slice(0, 3), sort)
      assert.equal(next === null, sort !== '-time', 'only the newest first have further pages')
    }
    const failures = await allPages(storage, { limit: 2, sort: '-duration', criteria: { status: '404' } })
    assert.deepEqual(failures, [['000010', '000001']])
  }],
  ['after selects the profiles that were put after a head', {}, async (storage) => {
    const { head: empty } = await storage.search({ limit: 1 })
    await put(storage, [profile('000001'), failure('000002')])
    assert.deepEqual(await allPages(storage, { limit: 10, after: empty }), [['000002', '000001']])
    const { head } = await storage.search({ limit: 1 })
    assert.deepEqual(await allPages(storage, { limit: 10, after: head }), [[]])
    await put(storage, [profile('000003'), failure('000004'), profile('000005')])
    assert.deepEqual(await allPages(storage, { limit: 2, after: head }), [['000005', '000004'], ['000003']])
    assert.deepEqual(await allPages(storage, { limit: 9, after: head, criteria: { error: true } }), [['000004']])
  }],
  ['the oldest profiles are evicted above the bound of their number', { maxProfiles: 300 }, async (storage) => {
    await put(storage, tokens(1, 250).map((token) => profile(token)))
    for (const token of tokens(251, 330)) await put(storage, [profile(token)])
    assert.deepEqual(await found(storage), tokens(31, 330).reverse())
    assert.equal(await storage.get('000030'), undefined)
    await hasStats(storage, { profiles: 300 })
  }],
  ['the oldest profiles are evicted above the bound of their bytes', { maxBytes: 400_000 }, async (storage) => {
    const body = 'x'.repeat(20_000)
    for (const token of tokens(1, 60)) await put(storage, [profile(token, { collectors: { body } })])
    assert.deepEqual(await found(storage), tokens(42, 60).reverse())
    const { bytes } = await storage.stats()
    assert.ok(bytes > 380_000 && bytes <= 400_000, `${bytes} bytes`)
    await put(storage, [profile('000099', { collectors: { body: body.repeat(20) } })])
    assert.deepEqual(await found(storage), tokens(42, 60).reverse(), 'one that is above the bound alone is not kept')
  }],
  ['failures outlive successes, up to a share', { maxProfiles: 100 }, async (storage) => {
    await put(storage, [failure('00000a'), failure('00000b'), ...tokens(1, 300).map((token) => profile(token))])
    assert.deepEqual(await found(storage), [...tokens(203, 300).reverse(), '00000b', '00000a'])
    await put(storage, tokens(301, 600).map((token) => failure(token)))
    await put(storage, tokens(601, 610).map((token) => profile(token)))
    const [all, failures] = [await found(storage), await found(storage, { error: true })]
    assert.deepEqual([all.length, all.slice(0, 10)], [100, tokens(601, 610).reverse()])
    assert.ok(failures.length >= 50 && failures.length <= 90, `${failures.length} failures`)
    assert.deepEqual(failures, tokens(601 - failures.length, 600).reverse())
    await hasStats(storage, { profiles: 100, failures: failures.length })
  }],
  ['a pinned profile stays at its place until it is unpinned', { maxProfiles: 20 }, async (storage) => {
    await put(storage, [profile('000001'), failure('000002'), profile('000003')])
    for (const token of ['000001', '000001', '000002']) assert.equal(await storage.pin(token, true), true)
    assert.deepEqual(await pins(storage), [['000003', false], ['000002', true], ['000001', true]])
    await put(storage, tokens(11, 60).map((token, i) => i % 2 ? profile(token) : failure(token)))
    assert.deepEqual((await found(storage)).slice(-2), ['000002', '000001'])
    assert.equal((await storage.get('000001'))?.token, '000001')
    await hasStats(storage, { profiles: 20, pinned: 2 })
    assert.equal(await storage.pin('000001', false), true)
    await hasStats(storage, { pinned: 1 })
    await put(storage, tokens(61, 80).map((token) => profile(token)))
    assert.equal(await storage.get('000001'), undefined, 'it is as old as it was')
    assert.notEqual(await storage.get('000002'), undefined)
  }],
  ['a put replaces a pinned profile of the same request only', {}, async (storage) => {
    await put(storage, [profile('000001'), failure('000002')])
    for (const token of ['000001', '000002']) await storage.pin(token, true)
    await put(storage, [profile('000001', { time: '2026-01-02T03:04:05.679Z', status: 500 }), profile('000003')])
    assert.deepEqual(await storage.get('000001'), profile('000001'), 'of another request: kept, and still pinned')
    assert.deepEqual(await pins(storage), [['000003', false], ['000002', true], ['000001', true]])
    await hasStats(storage, { profiles: 3, failures: 1, pinned: 2 })
    await put(storage, [profile('000001', { method: 'PUT' })])
    assert.equal((await storage.get('000001'))?.method, 'PUT', 'of the same request: replaced, and still pinned')
    assert.deepEqual(await pins(storage), [['000001', true], ['000003', false], ['000002', true]])
    await hasStats(storage, { profiles: 3, failures: 1, pinned: 2 })
  }],
  ['pinned profiles fill at most half of the store', { maxProfiles: 4 }, async (storage) => {
    await put(storage, tokens(1, 4).map((token) => profile(token)))
    for (const token of ['000001', '000002']) await storage.pin(token, true)
    const tooMany = { statusCode: 409, message: /^Profile "000003" cannot be pinned: / }
    await assert.rejects(async () => await storage.pin('000003', true), tooMany)
    await hasStats(storage, { pinned: 2, profiles: 4 })
  }],
  ['a purge removes what matches, and no pinned profiles', {}, async (storage) => {
    await put(storage, tokens(1, 6).map((token, i) => profile(token, { status: i < 4 ? 404 : 200 })))
    await storage.pin('000001', true)
    assert.equal(await storage.purge({ status: '4xx' }), 3)
    assert.deepEqual(await found(storage), ['000006', '000005', '000001'])
    assert.equal(await storage.purge(), 2)
    assert.deepEqual(await found(storage), ['000001'])
    await storage.pin('000001', false)
    assert.equal(await storage.purge(), 1)
    await hasStats(storage, { profiles: 0, bytes: 0, pinned: 0 })
  }]
]

async function put (storage: ProfileStorage, profiles: readonly Profile[]): Promise<void> {
  await storage.put(profiles.map(recordOf))
}

async function found (storage: ProfileStorage, criteria: Criteria = {}): Promise<string[]> {
  return (await storage.search({ criteria, limit: 1_000 })).profiles.map(({ token }) => token)
}

async function finds (storage: ProfileStorage, ...cases: Array<[Criteria, expected: string[]]>): Promise<void> {
  for (const [criteria, expected] of cases) {
    assert.deepEqual(await found(storage, criteria), expected, `found by ${JSON.stringify(criteria)}`)
  }
}

async function pins (storage: ProfileStorage): Promise<Array<[token: string, pinned: boolean]>> {
  return (await storage.search({ limit: 1_000 })).profiles.map(({ token, pinned }) => [token, pinned])
}

/** The tokens of all pages. */
async function allPages (storage: ProfileStorage, options: SearchOptions): Promise<string[][]> {
  const { profiles, next } = await storage.search(options)
  const page = profiles.map(({ token }) => token)
  return next === null ? [page] : [page, ...await allPages(storage, { ...options, cursor: next })]
}

async function rejectsPosition (storage: ProfileStorage, position: string): Promise<void> {
  const expected = { statusCode: 400, message: `Invalid "cursor": "${position}" is not one of a previous page.` }
  for (const option of [{ cursor: position }, { after: position }]) {
    await assert.rejects(async () => await storage.search({ limit: 1, ...option }), expected, position)
  }
}

async function hasStats (storage: ProfileStorage, expected: Record<string, number>): Promise<void> {
  const stats = new Map(Object.entries(await storage.stats()))
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, stats.get(name)])), expected)
}

function tokens (from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, i) => String(from + i).padStart(6, '0'))
}

function profile (token: string, changes: Partial<Profile> = {}): Profile {
  const request = { method: 'GET', url: 'http://127.0.0.1:3000/robots.txt', ip: '127.0.0.1', status: 200, route: null }
  const collected = { exceptions: [], logs: [], events: [], collectors: {} }
  return { version: 1, token, time: TIME, duration: 1.25, ...request, ...collected, ...changes }
}

function failure (token: string, changes: Partial<Profile> = {}): Profile {
  const exceptions = [
    { name: 'LookupError', message: 'No routes found for "/robots.txt/"', frames: [], stack: 'LookupError: x' },
    { name: 'NotFoundError', message: 'No route found', statusCode: 404, frames: [], stack: 'NotFoundError: x' }
  ]
  return profile(token, { status: 404, exceptions, ...changes })
}

function routed (name: string): Pick<Profile, 'route'> {
  return { route: { name, pattern: '/', params: {}, methods: ['GET'] } }
}

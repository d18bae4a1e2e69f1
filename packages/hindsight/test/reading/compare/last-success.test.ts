import t from 'tap'
import { lastSuccess, renderDifferences, successOf, type ShownDifference } from '../../../src/reading/compare/last-success.js'
import { isSuccess, type Profile } from '../../../src/store/profile.js'
import { MemoryStorage } from '../../../src/store/memory.js'
import { recordOf } from '../../../src/store/summary.js'
import { profile } from '../../parts/fixture.js'
import { HOSTILE } from '../../parts/hostile.js'
import { sample } from '../../parts/sample.js'
import { parseHtml } from '../../support/parse-html.js'

const route = { name: 'orders', pattern: '/orders', params: {}, methods: ['POST'], handler: '/app/a.js:3' }
const HEADERS = {
  host: 'a:1',
  accept: '*/*',
  'user-agent': 'curl',
  'content-type': 'application/json',
  'content-length': '20',
  'x-tenant': 'one',
  'x-request-id': 'a',
  date: 'x'
}
const CONFIG = {
  id: 'aaa',
  node: '22.1.0',
  fastify: '5.1.0',
  hindsight: '1.0.0',
  mode: 'development',
  revision: 'aaaaaaaaaaaa',
  dependencies: 'fastify@5.1.0 pg@8.0.0'
}

interface Changes {
  headers?: object
  body?: unknown
  call?: object
  config?: object
  request?: object
  profile?: Partial<Profile>
}

/** A request to create an order. */
function order (token: string, {
  headers = {}, body = { item: 'tea', count: 2, address: { city: 'Bonn' } }, call = {}, config = {}, request = {}, profile: changes = {}
}: Changes = {}): Profile {
  return profile(token, {
    method: 'POST',
    url: 'http://a:1/orders?sort=up',
    route,
    collectors: {
      request: { headers: { ...HEADERS, ...headers }, body, ...request },
      'http-client': { count: 1, calls: [{ via: 'http', method: 'GET', url: 'http://stock/items/17?key=******', status: 200, ...call }] },
      config: { ...CONFIG, ...config }
    },
    ...changes
  })
}

/** The same as a failure, with what differs in every request. */
function failed (changes: Changes = {}): Profile {
  return order('000002', {
    ...changes,
    headers: {
      'user-agent': 'Mozilla',
      accept: 'text/html',
      'x-request-id': 'b',
      date: 'y',
      'content-length': '9',
      traceparent: 'z',
      cookie: 'a=******',
      ...changes.headers
    },
    call: { url: 'http://stock/items/18?key=******', ...changes.call },
    profile: {
      time: '2026-01-02T03:05:00.000Z',
      status: 500,
      duration: 99,
      exceptions: [{ name: 'TypeError', message: 'it failed', frames: [], stack: '' }],
      ...changes.profile
    }
  })
}

async function differencesOf (before: Profile, now: Profile): Promise<ShownDifference[] | undefined> {
  const store = new MemoryStorage()
  await store.put([recordOf(before), recordOf(now)])
  return (await lastSuccess(store, now))?.differences
}

const PLANTED: ReadonlyArray<readonly [name: string, before: Changes, now: Changes, expected: ShownDifference]> = [
  ['a field of the body', {}, { body: { item: 'tea', count: 0, address: { city: 'Bonn' } } }, { what: 'request body count', before: '2', now: '0' }],
  ['the type of a field', {}, { body: { item: 'tea', count: '2', address: { city: 'Bonn' } } }, { what: 'request body count', before: '2', now: '"2"' }],
  ['a field that is missing', {}, { body: { item: 'tea', count: 2, address: {} } }, { what: 'request body address.city', before: '"Bonn"', now: 'absent' }],
  ['a body that is missing', {}, { body: null }, { what: 'request body', before: '{"item":"tea","count":2,"address":{"city":"Bonn"}}', now: 'absent' }],
  [
    'a body that is not parsed', {}, { body: null, request: { bodyNote: 'not parsed: no JSON' } },
    { what: 'request body', before: '{"item":"tea","count":2,"address":{"city":"Bonn"}}', now: '"not parsed: no JSON"' }
  ],
  ['a parameter of the query', {}, { profile: { url: 'http://a:1/orders' } }, { what: 'query parameter sort', before: 'up', now: 'absent' }],
  ['a header that is missing', {}, { headers: { 'x-tenant': undefined } }, { what: 'header x-tenant', before: 'one', now: 'absent' }],
  [
    'a header with another value', {}, { headers: { 'content-type': 'text/plain' } },
    { what: 'header content-type', before: 'application/json', now: 'text/plain' }
  ],
  ['the user of a plugin', { request: { user: { sub: 1, iat: 1 } } }, { request: { user: { sub: 2, iat: 2 } } }, { what: 'user sub', before: '1', now: '2' }],
  [
    'an outgoing call that fails', {}, { call: { status: 500 } },
    { what: 'outgoing GET http://stock/items/:id', before: '200 (/items/17)', now: '500 (/items/18)' }
  ],
  [
    'an outgoing call to the same path that fails', {}, { call: { url: 'http://stock/items/17', status: 500 } },
    { what: 'outgoing GET http://stock/items/:id', before: '200', now: '500' }
  ],
  [
    'an outgoing call without an answer', {}, { call: { status: null, error: 'connect ECONNREFUSED 10.0.0.1:80' } },
    { what: 'outgoing GET http://stock/items/:id', before: '200 (/items/17)', now: 'connect ECONNREFUSED 10.0.0.1:80 (/items/18)' }
  ],
  ['another server', {}, { call: { url: 'http://test/items/18' } }, { what: 'outgoing GET http://test/items/:id', before: 'not sent', now: '200' }],
  ['another revision', {}, { config: { revision: 'bbbbbbbbbbbb' } }, { what: 'code revision (git)', before: 'aaaaaaaaaaaa', now: 'bbbbbbbbbbbb' }],
  ['another Node.js', {}, { config: { node: '24.0.0', id: 'bbb' } }, { what: 'Node.js', before: '22.1.0', now: '24.0.0' }],
  ['another dependency', {}, { config: { dependencies: 'fastify@5.1.0 pg@8.1.0' } }, { what: 'dependency pg', before: '8.0.0', now: '8.1.0' }],
  ['another environment', {}, { config: { mode: 'test', id: 'bbb' } }, { what: 'configuration NODE_ENV', before: 'development', now: 'test' }],
  ['other options', {}, { config: { id: 'bbb' } }, { what: 'configuration id', before: 'aaa', now: 'bbb' }]
]

t.test('a planted regression is among the first three differences', async (t) => {
  for (const [name, before, now, expected] of PLANTED) {
    const success = order('000001', before)
    const failure = failed(now)
    const found = await differencesOf(success, failure)
    t.ok(found?.slice(0, 3).some((one) => JSON.stringify(one) === JSON.stringify(expected)), `${name}: ${JSON.stringify(found)}`)
    t.ok((found?.length ?? 9) <= 5, name)
  }
})

t.test('a regression is among the first three when other values differ, too', async (t) => {
  const noise = { item: 'coffee', count: 3, address: { city: 'Ulm', street: 'A 1' }, note: 'x', gift: true }
  const cases: Array<[Changes, string]> = [
    [{ body: noise, headers: { 'x-tenant': undefined } }, 'header x-tenant'],
    [{ body: noise, config: { revision: 'b' } }, 'code revision (git)'],
    [{ body: noise, config: { node: '24.0.0' } }, 'Node.js'],
    [{ body: noise, call: { status: 500 } }, 'outgoing GET http://stock/items/:id'],
    [{ body: noise, profile: { exceptions: [{ name: 'E', message: 'Unknown city', frames: [], stack: '' }] } }, 'request body address.city'],
    [{ body: noise, profile: { exceptions: [{ name: 'E', message: 'There is no coffee', frames: [], stack: '' }] } }, 'request body item']
  ]
  for (const [now, what] of cases) {
    const found = await differencesOf(order('000001'), failed(now))
    t.ok(found?.slice(0, 3).some((one) => one.what === what), `${what}: ${JSON.stringify(found)}`)
  }
})

t.test('long texts are shown from their first difference', async (t) => {
  const [same, rest] = ['a'.repeat(500), 'b'.repeat(300)]
  const found = await differencesOf(order('000001', { body: `${same}1${rest}` }), failed({ body: `${same}2${rest}` }))
  const difference = found?.find(({ what }) => what === 'request body')
  t.match([difference?.before, difference?.now], [/^…a{40}1b/, /^…a{40}2b/])
  t.ok(Number(difference?.now.length) < 250)
  const longer = await differencesOf(order('000001', { headers: { 'x-long': same } }), failed({ headers: { 'x-long': `${same}b` } }))
  t.match(longer?.find(({ what }) => what === 'header x-long'), { before: `…${'a'.repeat(40)}`, now: `…${'a'.repeat(40)}b` })
})

t.test('values that differ in every request are omitted', async (t) => {
  t.same((await differencesOf(order('000001'), failed({ headers: { cookie: undefined, accept: '*/*', 'user-agent': 'curl' } })))?.map(({ what }) => what), [])
})

t.test('headers in which each client differs are shown only where the failure is about them', async (t) => {
  const headers = {
    'x-tenant': 'two',
    cookie: undefined,
    ...Object.fromEntries([
      'accept', 'accept-language', 'sec-fetch-site', 'sec-ch-ua', 'cache-control', 'pragma', 'priority', 'upgrade-insecure-requests', 'referer', 'origin',
      'dnt', 'te', 'if-none-match'
    ].map((name) => [name, 'none']))
  }
  const about = async (status: number, message: string): Promise<string[] | undefined> => {
    const exceptions = [{ name: 'E', message, frames: [], stack: '' }]
    return (await differencesOf(order('000001'), failed({ headers, profile: { status, exceptions } })))?.map(({ what }) => what.replace(/^header /, ''))
  }
  t.same(await about(500, 'it is empty, and was not sent to none'), ['x-tenant'], 'a value is no name')
  t.same(await about(406, ''), ['accept', 'x-tenant', 'accept-language'])
  t.same(await about(403, ''), ['x-tenant', 'sec-fetch-site', 'referer', 'origin'])
  t.same(await about(400, 'The header Origin is wrong'), ['origin', 'x-tenant'])
})

t.test('queries and calls that were not sent follow from the failure', async (t) => {
  const call = { count: 0, calls: [] }
  const now = failed({ body: { item: 'tea', count: 'x', address: { city: 'Ulm' } }, headers: { 'x-tenant': 'two', cookie: undefined } })
  now.collectors['http-client'] = call
  const found = await differencesOf(order('000001'), now)
  t.same(found?.map(({ what }) => what), ['request body count', 'header x-tenant', 'request body address.city'])
})

t.test('the last success is of the same route and method, before the failure, without an error', async (t) => {
  const store = new MemoryStorage()
  const at = (minute: number, changes: Partial<Profile> = {}): Changes => ({ profile: { time: `2026-01-02T03:0${minute}:00.000Z`, ...changes } })
  const now = failed({ profile: { time: '2026-01-02T03:08:00.000Z' } })
  await store.put([
    order('00000a', at(1)), order('00000b', at(2)), order('00000c', at(3, { status: 404 })), order('00000d', at(4, { method: 'PUT' })),
    order('00000e', at(5, { route: { ...route, name: 'other' } })), failed(
      { profile: { token: '00000f', time: '2026-01-02T03:06:00.000Z' } }
    ), now, order('000010', at(9))
  ].map(recordOf))
  t.equal((await lastSuccess(store, now))?.summary.token, '00000b')
  t.equal(await lastSuccess(store, order('00000a', at(1))), null)
  t.equal(await lastSuccess({ search: (options) => store.search(options), get: () => undefined }, now), null, 'evicted since the search')
  t.same([order('1'), now, order('1', { profile: { status: 400 } })].map(isSuccess), [true, false, false])
})

t.test('where no route matched, it is the last success of the path', async (t) => {
  const store = new MemoryStorage()
  const now = failed({ profile: { route: null, status: 404 } })
  await store.put([order('00000a'), order('00000b', { profile: { url: 'http://a:1/orders/9', route: { ...route, name: 'one' } } }), now].map(recordOf))
  const found = await lastSuccess(store, now)
  t.match(found, { summary: { token: '00000a' }, differences: [{ what: 'route', before: 'orders', now: 'none' }] })
})

t.test('the fragment has the differences and their links, and text of requests is escaped', async (t) => {
  const store = new MemoryStorage()
  const changes = { route: sample().route, method: 'GET', status: 200, exceptions: [] }
  await store.put([recordOf(order('000001', { profile: changes }))])
  for (const text of ['plain', HOSTILE]) {
    const now = { ...sample(text), route: sample().route, time: '2026-03-01T00:00:00.000Z' }
    const found = await lastSuccess(store, now)
    const document = parseHtml(renderDifferences(found, '/_profiler'))
    t.equal(document.querySelector('h2')?.textContent, 'Differences from the last success')
    t.match(document.querySelector('.facts')?.textContent, /^000001 200 GET \/orders\?sort=up, \d+ d ago$/)
    t.same([...document.querySelectorAll('thead th')].map((head) => head.textContent), ['What', 'Before', 'Now'])
    t.equal(document.querySelectorAll('tbody tr').length, 5)
    t.same(
      [...document.querySelectorAll('a')].map((link) => link.getAttribute('href')),
      ['/_profiler/000001', '/_profiler/000001/compare/3fa94c', '/_profiler/3fa94c/replay']
    )
    t.equal(document.querySelectorAll(':is(script, img, b, iframe, [onerror], [style])').length, 0)
    t.notMatch(JSON.stringify(found?.differences), /[\u202e\u0007]/)
  }
  const summary = { token: '000001', status: 200, method: 'GET', url: '/', time: '' } as never
  const same = { token: '000002', summary, title: 'Differences', isOfJob: false, differences: [] }
  t.match(String(renderDifferences(same, '')), 'No difference was found that may be a cause.')
  t.notMatch(String(renderDifferences(same, '', false)), 'replay')
  t.match(String(renderDifferences(null, '')), 'No success of the same route is stored before this request.')
})

t.test('profiles that were imported without a complete check are compared', async (t) => {
  const broken = order('000001', { profile: { collectors: { request: null, config: 3, 'http-client': { calls: [null, {}] } } } })
  t.ok(await differencesOf(broken, failed()))
  t.ok(await differencesOf(order('000001'), failed({ profile: { collectors: { config: { dependencies: 3 }, request: { headers: 'x' } } } })))
})

/** Milliseconds of each shape of query, of each kind of call, and of the event loop. */
interface Times {
  queries?: Record<string, [count: number, duration: number]>
  calls?: Record<string, number[]>
  budget?: object
  url?: string
  isParallel?: boolean
}

function success (token: string, minute: number, duration: number, times: Times = {}): Profile {
  const { queries = {}, calls = {}, budget, url = 'http://a:1/orders', isParallel = false } = times
  let start = 0
  const groups = Object.entries(queries).map(([shape, [count, time]]) =>
    ({ system: 'postgresql', shape, statement: shape, count, duration: time, sources: [] }))
  const all = Object.entries(calls).flatMap(([call, times]) => times.map((time) => {
    start += time
    return { method: 'GET', url: call, status: 200, start: isParallel ? 0 : start - time, duration: time }
  }))
  return profile(token, {
    url,
    route,
    duration,
    time: `2026-01-02T03:${String(minute).padStart(2, '0')}:00.000Z`,
    collectors: {
      request: { headers: HEADERS },
      queries: { count: groups.length, queries: [], groups, findings: [] },
      'http-client': { count: all.length, calls: all },
      performance: { budget: { work: [], javascript: 5, waiting: 1, sending: 0, ...budget } }
    }
  })
}

const usual: Times = { queries: { 'select a': [1, 4], 'select b': [2, 5] }, calls: { 'http://stock/items/17': [6] } }
const SLOW: Array<[name: string, slow: Times, first: ShownDifference]> = [
  [
    'more queries', { ...usual, queries: { 'select a': [1, 4], 'select b': [24, 96] } },
    { what: 'postgresql: select b', before: '2 ×, 5 ms', now: '24 ×, 96 ms' }
  ],
  [
    'a slower query', { ...usual, queries: { 'select a': [1, 120], 'select b': [2, 9] } },
    { what: 'postgresql: select a', before: '1 ×, 4 ms', now: '1 ×, 120 ms' }
  ],
  ['another query', { ...usual, queries: { ...usual.queries, 'select c': [1, 90] } }, { what: 'postgresql: select c', before: 'none', now: '1 ×, 90 ms' }],
  ['a slower call', { ...usual, calls: { 'http://stock/items/18': [130] } }, { what: 'GET http://stock/items/:id', before: '1 ×, 6 ms', now: '1 ×, 130 ms' }],
  [
    'more calls', { ...usual, calls: { 'http://stock/items/1': [9, 9, 9, 9], 'http://stock/items/2': [60] } },
    { what: 'GET http://stock/items/:id', before: '1 ×, 6 ms', now: '5 ×, 96 ms' }
  ],
  [
    'another call', { ...usual, calls: { 'http://stock/items/1': [9], 'http://tax/rates': [80] } },
    { what: 'GET http://tax/rates', before: 'none', now: '1 ×, 80 ms' }
  ],
  ['code', { ...usual, budget: { javascript: 110 } }, { what: 'JavaScript', before: '5 ms', now: '110 ms' }],
  ['a timer', { ...usual, budget: { waiting: 110 } }, { what: 'waiting for something that was not recorded', before: '1 ms', now: '110 ms' }],
  ['a slow client', { ...usual, budget: { sending: 110 } }, { what: 'sending the response', before: '< 1 µs', now: '110 ms' }],
  ['another parameter', { ...usual, url: 'http://a:1/orders?all=1', budget: { javascript: 6 } }, { what: 'query parameter all', before: 'absent', now: '1' }]
]

t.test('a slow success is compared with the last fast one, the cause first', async (t) => {
  for (const [name, times, first] of SLOW) {
    const store = new MemoryStorage()
    const slow = success('0000ff', 59, 150, times)
    const older = [18, 20, 22, 60, 19].map((duration, i) => success(`00000${i}`, i, duration, usual))
    await store.put([...older, slow].map(recordOf))
    const found = await successOf(store, slow)
    t.match(found, {
      summary: { token: '000004' },
      title: 'Differences from the last fast request',
      why: 'It took 150 ms: 8 times the median of this route, 20 ms.'
    }, name)
    t.same(found?.differences[0], first, `${name}: ${JSON.stringify(found?.differences)}`)
    t.match(String(renderDifferences(found, '')), 'Differences from the last fast request')
  }
})

t.test('calls at the same time take no longer than one of them, and nothing waits for later ones', async (t) => {
  const stock = 'http://stock/items/1'
  const store = new MemoryStorage()
  await store.put([1, 2, 3, 4, 5].map((i) => recordOf(success(`00000${i}`, i, 40, { calls: { [stock]: [30, 30, 30, 30] }, isParallel: true }))))
  const slow = success('0000ff', 59, 130, { calls: { [stock]: [30, 30, 30, 30, 300] } })
  await store.put([recordOf(slow)])
  const found = await successOf(store, slow)
  t.same(found?.differences[0], { what: 'GET http://stock/items/:id', before: '4 ×, 30 ms', now: '5 ×, 130 ms' })
})

t.test('a success is compared only where it is slow for its route', async (t) => {
  const store = new MemoryStorage()
  const older = [18, 20, 22, 60, 19].map((duration, i) => success(`00000${i}`, i, duration, usual))
  await store.put(older.map(recordOf))
  t.equal(await successOf(store, success('0000ff', 59, 50, usual)), null, 'not three times the median')
  const other = new MemoryStorage()
  await other.put(older.slice(1).map(recordOf))
  t.equal(await successOf(other, success('0000ff', 59, 150, usual)), null, 'too few')
  const fast = new MemoryStorage()
  await fast.put(older.map((one) => recordOf({ ...one, duration: 1 })))
  t.equal(await successOf(fast, success('0000ff', 59, 5, usual)), null, 'too short')
})

import fc from 'fast-check'
import t from 'tap'
import { compareProfiles, rankedDifferences, type Comparison } from '../../../src/reading/compare/compare.js'
import { normalizeVolatile } from '../../../src/parts/section.js'
import { readProfile, type Profile } from '../../../src/store/profile.js'
import { failure, profile } from '../../parts/fixture.js'
import { HOSTILE } from '../../parts/hostile.js'
import { sample } from '../../parts/sample.js'

const line = (message: string, level: 'info' | 'warn' = 'info', context: Record<string, unknown> = {}) =>
  ({ time: '2026-01-02T03:04:05.700Z', level, channel: 'app', message, context })
const event = (listener: string, changes: object = {}) =>
  ({ stage: 'kernel.request', listener, pass: 'main', outcome: 'ran', start: 1, duration: 0.1, ...changes }) as Profile['events'][number]
const request = (changes: object) => ({ collectors: { request: { method: 'GET', headers: {}, ...changes } } })
const calls = (status: number, date = '') => ({
  collectors: { 'http-client': { count: 1, calls: [{ method: 'GET', url: 'http://stock/items/17', status, start: 1, responseHeaders: { date } }] } }
})

/** The differences as lines: section, what, and both sides. */
function told ({ sections }: Comparison, which: 'differences' | 'always' = 'differences'): string[] {
  return sections.flatMap((section) => section[which].map(
    ({ what, kind, a, b }) => `${section.name} | ${what} | ${kind === 'only-b' ? '' : JSON.stringify(a)} | ${kind === 'only-a' ? '' : JSON.stringify(b)}`
  ))
}

const callOf = (url: string, status: number, source = '/app/src/rates.js:3:9') =>
  ({ collectors: { 'http-client': { count: 1, calls: [{ method: 'GET', url, status, start: 1, duration: 2, source }] } } })

const CASES: ReadonlyArray<readonly [name: string, a: Partial<Profile>, b: Partial<Profile>, differs: string[]]> = [
  ['nothing', {}, {}, []],
  ['times, tokens and a little unrest', { duration: 1.2 }, { duration: 2.1, time: '2026-02-02T00:00:00.000Z' }, []],
  ['a time that is twice as long', { duration: 332 }, { duration: 914 }, ['times | duration | "332 ms" | "914 ms"']],
  ['a time that varies', { duration: 332 }, { duration: 614 }, []],
  [
    'a call whose address has changed', callOf('http://bank/rates/USD', 200), callOf('http://bank/rates/usd', 404),
    ['http-client | outgoing call from /app/src/rates.js:3 | "GET http://bank/rates/USD: 200" | "GET http://bank/rates/usd: 404"']
  ],
  [
    'calls of two lines', callOf('http://bank/rates/USD', 200), callOf('http://bank/rates/usd', 404, '/app/src/rates.js:5:9'),
    ['http-client | outgoing GET http://bank/rates/USD | "200" | ', 'http-client | outgoing GET http://bank/rates/usd |  | "404"']
  ],
  ['the status', {}, { status: 500 }, ['outcome | status | 200 | 500']],
  [
    'the route', { route: { name: 'home', pattern: '/:id', params: { id: '1' }, methods: ['GET'] } },
    { route: { name: 'home', pattern: '/:id', params: { id: '2' }, methods: ['GET'] } }, ['outcome | parameter id | "1" | "2"']
  ],
  ['the query', { url: 'http://h/a?x=1&y=2&y=3' }, { url: 'http://h/a?x=2&y=2&y=3&z=' }, ['request | query x | "1" | "2"', 'request | query z |  | ""']],
  [
    'a header that is gone', request({ headers: { accept: 'a/b', 'x-request-id': '1' } }), request({ headers: { 'x-request-id': '2' } }),
    ['request | header accept | "a/b" | ']
  ],
  [
    'a field of a body', request({ body: { user: { roles: ['a'], name: 'x' } } }), request({ body: { user: { roles: ['a', 'b'], name: 'x' } } }),
    ['body | user.roles | ["a"] | ["a","b"]']
  ],
  ['the type of a field', request({ body: { count: 2 } }), request({ body: { count: '2' } }), ['body | count | 2 | "2"']],
  ['a body that is text', request({ body: 'a=1' }), request({ body: null }), ['body | value | "a=1" | ']],
  [
    'an exception', {}, { exceptions: [{ name: 'E', message: 'm', stack: '', frames: [{ file: '/a.js', line: 3, column: 1, function: 'f', own: true }] }] },
    ['exceptions | E |  | "E: m at f /a.js:3"']
  ],
  [
    'log lines, aligned', { logs: [line('one'), line('two'), line('three')] }, { logs: [line('one'), line('more', 'warn'), line('two'), line('thirty')] },
    ['logs | warn app |  | "more"', 'logs | info app | "three" | ', 'logs | info app |  | "thirty"']
  ],
  [
    'what a line is about', { logs: [line('saved', 'info', { user: 1, reqId: 'a' })] }, { logs: [line('saved', 'info', { user: 2, reqId: 'b' })] },
    ['logs | context of "saved" user | 1 | 2']
  ],
  [
    'ids, times and durations in a line', { logs: [line('req-1 of 000001 took 12.5 ms, 1,220 ms, 12.3 s and 5 min 19 s at 2026-01-02T03:04:05Z')] },
    { logs: [line('req-2 of 000002 took 7 ms, 990 µs, 10 s and 10,000 ms at 2026-01-02T03:04:06Z')] }, []
  ],
  ['what a listener did', { events: [event('router'), event('cors'), event('gone')] }, {
    events: [event('router', { outcome: 'raised' }), event('cors', { outcome: 'skipped', reason: 'no Origin' }), event('idle', { outcome: 'skipped' })]
  },
  [
    'events | kernel.request router | "ran" | "raised"', 'events | kernel.request cors | "ran" | "skipped: no Origin"',
    'events | kernel.request gone | "ran" | '
  ]],
  ['a pass that was left for that of an error', { events: [event('router'), event('robots')] }, {
    events: [event('router', { outcome: 'raised' }), event('error', { pass: 'error' }), event('robots', { pass: 'error' })]
  },
  ['events | kernel.request router | "ran" | "raised"']],
  [
    'the session', { collectors: { session: { used: true, cookie: true } } }, { collectors: { session: { used: false, cookie: false } } },
    ['session | used | true | false', 'session | cookie | true | false']
  ],
  ['the headers of a call', calls(200, 'Fri, 27 Nov 2026 11:40:56 GMT'), calls(200, 'Fri, 27 Nov 2026 11:40:58 GMT'), []],
  ['the status of a call', calls(200), calls(503), ['http-client | outgoing GET http://stock/items/:id | "200" | "503"']],
  ['a handler below the working directory', {}, {
    route: { name: 'none', pattern: '/', params: {}, methods: ['GET'], handler: `${process.cwd()}/routes/a.ts:3` }
  }, ['outcome | pattern |  | "/"', 'outcome | handler |  | "routes/a.ts:3"']],
  [
    'a collector of the application', { collectors: { statements: [{ sql: 'select 1', duration: 2 }] } },
    { collectors: { statements: [{ sql: 'select 2', duration: 9 }] } }, ['statements | [0].sql | "select 1" | "select 2"']
  ]
]

t.test('only the differences are listed, by section', async (t) => {
  for (const [name, a, b, differs] of CASES) {
    const comparison = compareProfiles(profile('000001', a), profile('000002', b))
    t.same(told(comparison), differs, name)
    t.equal(comparison.differences, differs.length, `${name}: counted`)
    t.ok(comparison.equal > 0, `${name}: equal values are counted`)
  }
})

t.test('exchanging the two profiles yields the same number of differences', async (t) => {
  for (const [name, a, b, differs] of CASES) {
    t.equal(compareProfiles(profile('000002', b), profile('000001', a)).differences, differs.length, name)
  }
})

t.test('sections with differences come first, and volatile values last', async (t) => {
  const headers = (date: string) => ({ collectors: { response: { headers: { date, 'content-security-policy': `script-src 'nonce-${date}'`, vary: 'a' } } } })
  const comparison = compareProfiles(profile('000001', { ...headers('x'), logs: [line('a')] }), profile('000002', { ...headers('y'), logs: [line('b')] }))
  t.equal(comparison.sections[0]?.name, 'logs')
  t.same(
    told(comparison, 'always'),
    ['response | header date | "x" | "y"', 'response | header content-security-policy | "script-src \'nonce-x\'" | "script-src \'nonce-y\'"']
  )
})

t.test('all differences have one order: causes, times, and what follows; those of clients are apart', async (t) => {
  const of = (changes: object, status: number, query: string, duration: number, message: string): Profile => profile('000001', {
    ...request(changes), status, duration, url: `http://h/a?x=${query}`, logs: [line(message)]
  })
  const before = of({ headers: { cookie: 'a', accept: 'x/y', 'x-tenant': 'one' } }, 200, '1', 332, 'a')
  const after = of({ headers: { cookie: 'b', accept: 'x/y', 'x-tenant': 'two' } }, 200, '2', 914, 'b')
  const namesIn = (a: Profile, b: Profile) => {
    const { shown, ofClient } = rankedDifferences(compareProfiles(a, b))
    return [shown.map(({ what }) => what), ofClient.map(({ what }) => what)]
  }
  t.same(namesIn(before, after), [['query x', 'header x-tenant', 'duration', 'info app', 'info app'], ['header cookie']])
  t.same(namesIn(before, { ...after, status: 401 })[1], [], 'of a refusal a cookie may be the cause')
})

t.test('comparing a failure with a success lists the exception and the status', async (t) => {
  const comparison = compareProfiles(profile('000001'), failure('000002'))
  t.match(comparison.a, { token: '000001', status: 200, exception: null })
  t.match(comparison.b, { token: '000002', status: 404, exception: 'NotFoundError: No route found for "GET http://127.0.0.1:3000/robots.txt"' })
  t.same(told(comparison).map((one) => one.split(' | ', 2).join(' | ')), ['outcome | status', 'exceptions | LookupError', 'exceptions | NotFoundError'])
  const { a } = compareProfiles(failure('000002', { status: 500 }), profile('000001'))
  t.match(a.exception, /^LookupError: No routes found/, 'the root cause')
})

t.test('profiles of any content are compared, and a profile does not differ from itself', async (t) => {
  t.equal(compareProfiles(sample(HOSTILE), sample(HOSTILE)).differences, 0)
  const broken = {
    events: [{ changes: { headers: {}, attributes: 3 } }],
    collectors: { request: null, response: { headers: 'x' }, x: undefined }
  } as unknown as Partial<Profile>
  t.ok(compareProfiles(readProfile(profile('000001', broken)), sample()).differences > 0)
  fc.assert(fc.property(fc.anything({ withNullPrototype: true, maxDepth: 4 }), fc.json(), (one, other) => {
    const data = JSON.parse(other) as unknown
    const a = profile('000001', { collectors: { x: data, request: { body: data, headers: data } } })
    const b = profile('000002', { collectors: { x: data, request: { body: data, headers: data } } })
    return compareProfiles(a, b).differences === 0 &&
      typeof compareProfiles(a, profile('000002', { collectors: { x: String(typeof one) } })).differences === 'number'
  }))
})

t.test('texts without volatile parts are unchanged, and hostile texts are compared in linear time', async (t) => {
  t.equal(normalizeVolatile('order 12 of 2026', 'abcdef'), 'order 12 of 2026')
  for (const text of ['0'.repeat(1e5), '2026-01-02T'.repeat(1e4), "'nonce-".repeat(1e4), 'a-'.repeat(5e4)]) t.type(normalizeVolatile(text, 'abcdef'), 'string')
  t.ok(compareProfiles(
    profile('000001', { logs: Array.from({ length: 2_000 }, (_, i) => line(`a${i}`)) }),
    profile('000002', { logs: Array.from({ length: 2_000 }, (_, i) => line(`b${i}`)) })
  ).differences >= 2_000)
})

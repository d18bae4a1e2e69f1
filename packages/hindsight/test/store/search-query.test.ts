import t from 'tap'
import { readSearch } from '../../src/store/search-query.js'

const time = Date.parse('2026-01-31T12:00:00Z')

const good: Array<[name: string, fields: Record<string, unknown>, criteria: object]> = [
  ['nothing', {}, {}],
  ['fields that were not filled in', { url: '', status: '', limit: '', cursor: '', error: '' }, {}],
  ['a token', { token: ' 3FA94C ' }, { token: '3fa94c' }],
  ['an address', { ip: '10.0.0.1' }, { ip: '10.0.0.1' }],
  ['a method in any case', { method: 'get' }, { method: 'GET' }],
  ['a status', { status: '404' }, { status: '404' }],
  ['a class of statuses', { status: '4XX' }, { status: '4xx' }],
  ['text', { url: '/a b', route: 'shop_*', exception: 'Type' }, { url: '/a b', route: 'shop_*', exception: 'Type' }],
  ['a route without its methods, as the list shows it', { route: '/a/:id' }, { route: '* /a/:id' }],
  ['a duration', { min_duration: '12.5' }, { minDuration: 12.5 }],
  ['a duration with a unit', { min_duration: '1s' }, { minDuration: 1_000 }],
  ['a time in UTC', { from: '2026-01-31T12:00:00Z' }, { from: time }],
  ['a time in a zone', { from: '2026-01-31T13:00:00+01:00' }, { from: time }],
  ['a time without a zone', { from: '2026-01-31T12:00' }, { from: time }],
  [
    'a day, from its beginning to its end', { from: '2026-01-31', until: '2026-01-31' },
    { from: Date.parse('2026-01-31T00:00Z'), until: Date.parse('2026-01-31T23:59:59.999Z') }
  ],
  ['failures', { error: '1' }, { error: true }],
  ['successes', { error: '0' }, { error: false }],
  ['failures, as a word', { error: 'true' }, { error: true }],
  ['successes, as a word', { error: ' false ' }, { error: false }],
  ['failures, with blanks', { error: ' 1 ' }, { error: true }],
  ['a parent', { parent: '000001' }, { parent: '000001' }]
]

const texts: Array<[q: string, criteria: object]> = [
  ['', {}],
  ['  ', {}],
  ['/orders', { url: '/orders' }],
  ['status:5xx method:POST /orders slow:>200ms', { status: '5xx', method: 'POST', url: '/orders', minDuration: 200 }],
  ['/orders  Red', { url: '/orders Red' }],
  ['url:/a /b "c d"', { url: '/a /b c d' }],
  ['STATUS:404', { status: '404' }],
  ['exception:"not found: x" route:shop_*', { exception: 'not found: x', route: 'shop_*' }],
  ['route:"GET /a/:id"', { route: 'GET /a/:id' }],
  ['http://h:80/x?a:b', { url: 'http://h:80/x?a:b' }],
  ['"localhost:3000"', { url: 'localhost:3000' }],
  ['slow:1.5s', { minDuration: 1_500 }],
  ['slow:>=20', { minDuration: 20 }],
  ['ip:::1 token:3FA94C parent:000001 error:1', { ip: '::1', token: '3fa94c', parent: '000001', error: true }],
  ['from:2026-01-31T12:00:00Z', { from: time }],
  ['queries:>20 n+1:YES', { values: { queries: '>20', 'n+1': 'yes' } }],
  ['-url:/public -/assets -status:4xx "-x" -', { url: '-x -', not: [{ url: '/public' }, { url: '/assets' }, { status: '4xx' }] }],
  ['kind:document -kind:asset machine:web-1', { values: { kind: 'document', machine: 'web-1' }, not: [{ values: { kind: 'asset' } }] }],
  ['revision:0123456789ab failure:f01234567', { values: { revision: '0123456789ab', failure: 'f01234567' } }],
  ['queries:20', { values: { queries: '=20' } }],
  ['a1:80', { url: 'a1:80' }]
]

for (const [q, criteria] of texts) {
  t.test(`the query "${q}"`, async (t) => t.strictSame(readSearch({ q }), { criteria, limit: 50 }))
}

t.test('an age is subtracted from the current time', async (t) => {
  const before = Date.now()
  const { criteria } = readSearch({ q: 'from:1h', until: '5min' })
  const now = Date.now()
  for (const [time, age] of [[Number(criteria.from), 3_600_000], [Number(criteria.until), 300_000]] as const) {
    t.ok(before <= time + age && time + age <= now, String(time))
  }
  t.equal(readSearch({ from: `${'9'.repeat(15)}y` }).criteria.from, 0)
})

t.test('fields and the query are combined', async (t) => {
  t.strictSame(readSearch({ q: 'status:404 /b', url: '/a', method: 'GET' }).criteria, { method: 'GET', status: '404', url: '/a /b' })
  t.strictSame(readSearch({ sort: '-time' }), { criteria: {}, limit: 50, sort: '-time' })
  t.strictSame(readSearch({ sort: 'duration' }), { criteria: {}, limit: 50, sort: 'duration' })
})

for (const [name, fields, criteria] of good) {
  t.test(`${name} is a valid search`, async (t) => t.strictSame(readSearch(fields), { criteria, limit: 50 }))
}

t.test('limit and cursor are read', async (t) => {
  t.strictSame(readSearch({ limit: '7', cursor: '12' }), { criteria: {}, limit: 7, cursor: '12' })
  t.strictSame(readSearch({}, 10), { criteria: {}, limit: 10 })
  t.strictSame(readSearch({ limit: '1000000' }, 1_000_000), { criteria: {}, limit: 1_000_000 })
})

const words = 'token, ip, method, status, url, route, exception, min_duration, slow, from, since, until, error, parent, issues, kind, ' +
  'outcome, job, failure, line, queries, n+1, calls, revision, machine, size'
const bad: Array<[fields: Record<string, unknown>, message: string]> = [
  [{ q: 'status:50' }, 'Invalid "status": "50" is neither a status such as 404 nor a class such as 4xx.'],
  [{ q: 'statu:500' }, `Invalid "statu": there is no such criterion; use one of ${words}; a part of a URL with a colon is written in quotes, "statu:500".`],
  [
    { q: '__proto__:1' },
    `Invalid "__proto__": there is no such criterion; use one of ${words}; a part of a URL with a colon is written in quotes, "__proto__:1".`
  ],
  [{ q: 'limit:5' }, `Invalid "limit": there is no such criterion; use one of ${words}; a part of a URL with a colon is written in quotes, "limit:5".`],
  [{ q: '-status:50' }, 'Invalid "status": "50" is neither a status such as 404 nor a class such as 4xx.'],
  [{ q: 'status:' }, 'Invalid "status": it has no value.'],
  [{ q: 'exception:""' }, 'Invalid "exception": it has no value.'],
  [{ q: 'exception:"open' }, 'Invalid "q": a quotation mark is not closed.'],
  [{ q: 'status:404 status:500' }, 'Invalid "status": it may be given only once.'],
  [{ q: 'status:404', status: '500' }, 'Invalid "status": it may be given only once.'],
  [{ q: ['a', 'b'] }, 'Invalid "q": it may be given only once.'],
  [{ q: 'x '.repeat(251) }, 'Invalid "q": it has 502 characters; the maximum is 500.'],
  [{ q: 'slow:<200ms' }, 'Invalid "slow": "<200ms" is not a duration such as >200ms or >1.5s.'],
  [{ q: 'slow:-5' }, 'Invalid "slow": "-5" is not a duration such as >200ms or >1.5s.'],
  [{ sort: 'url' }, 'Invalid "sort": "url" is none of -time, time, -duration, duration, -status, status.'],
  [{ sort: '--time' }, 'Invalid "sort": "--time" is none of -time, time, -duration, duration, -status, status.'],
  [{ token: '3fa94' }, 'Invalid "token": "3fa94" is not a token of six hexadecimal digits.'],
  [{ ip: 'localhost' }, 'Invalid "ip": "localhost" is not an IP address.'],
  [{ ip: '10.0.0.0/8' }, 'Invalid "ip": "10.0.0.0/8" is not an IP address.'],
  [{ method: 'G T' }, 'Invalid "method": "G T" is not an HTTP method.'],
  [{ status: '4x' }, 'Invalid "status": "4x" is neither a status such as 404 nor a class such as 4xx.'],
  [{ status: '4040' }, 'Invalid "status": "4040" is neither a status such as 404 nor a class such as 4xx.'],
  [{ url: 'x'.repeat(501) }, 'Invalid "url": it has 501 characters; the maximum is 500.'],
  [{ min_duration: '-1' }, 'Invalid "min_duration": "-1" is not a duration such as >200ms or >1.5s.'],
  [{ from: 'yesterday' }, 'Invalid "from": "yesterday" is neither a time in ISO 8601, such as 2026-01-31T12:00:00Z, nor an age such as 1h.'],
  [
    { until: '2026-01-31T25:00:00Z' },
    'Invalid "until": "2026-01-31T25:00:00Z" is neither a time in ISO 8601, such as 2026-01-31T12:00:00Z, nor an age such as 1h.'
  ],
  [{ queries: '2e1' }, 'Invalid "queries": "2e1" is not a number of queries such as >20.'],
  [{ 'n+1': 'no' }, 'Invalid "n+1": "no" is not "yes".'],
  [{ error: 'yes' }, 'Invalid "error": "yes" is neither 1 nor 0.'],
  [{ parent: 'x' }, 'Invalid "parent": "x" is not a token of six hexadecimal digits.'],
  [{ status: ['404', '500'] }, 'Invalid "status": it may be given only once.'],
  [{ limit: '0' }, 'Invalid "limit": "0" is not a whole number from 1 to 500.'],
  [{ limit: '501' }, 'Invalid "limit": "501" is not a whole number from 1 to 500.'],
  [{ limit: '1e2' }, 'Invalid "limit": "1e2" is not a whole number from 1 to 500.'],
  [{ colour: 'red' }, 'Invalid "colour": there is no such criterion; use one of token, ip, method, status, url, route, exception, min_duration, slow, from, ' +
    'since, until, error, parent, issues, kind, outcome, job, failure, line, queries, n+1, calls, revision, machine, size, q, sort, limit, cursor.'],
  [{ constructor: 'red' }, 'Invalid "constructor": there is no such criterion; use one of token, ip, method, status, url, route, exception, min_duration, ' +
    'slow, from, since, until, error, parent, issues, kind, outcome, job, failure, line, queries, n+1, calls, revision, machine, size, q, sort, limit, cursor.']
]

for (const [fields, message] of bad) {
  t.test(`refused: ${JSON.stringify(fields).slice(0, 60)}`, async (t) => {
    t.throws(() => readSearch(fields), { statusCode: 400, message })
  })
}

import t from 'tap'
import { readSearch } from '../../../lib/profiler/search-query.js'

const time = Date.parse('2026-01-31T12:00:00Z')

const good: Array<[name: string, fields: Record<string, unknown>, criteria: object]> = [
  ['nothing', {}, {}],
  ['fields that were not filled in', { url: '', status: '', limit: '', cursor: '', error: '' }, {}],
  ['a token', { token: ' 3FA94C ' }, { token: '3fa94c' }],
  ['an address', { ip: '10.0.0.1' }, { ip: '10.0.0.1' }],
  ['a range', { ip: '2001:db8::/32' }, { ip: '2001:db8::/32' }],
  ['a method in any case', { method: 'get' }, { method: 'GET' }],
  ['a status', { status: '404' }, { status: '404' }],
  ['a class of statuses', { status: '4XX' }, { status: '4xx' }],
  ['text', { url: '/a b', route: 'shop_*', exception: 'Type' }, { url: '/a b', route: 'shop_*', exception: 'Type' }],
  ['a duration', { min_duration: '12.5' }, { minDuration: 12.5 }],
  ['a time in UTC', { from: '2026-01-31T12:00:00Z' }, { from: time }],
  ['a time in a zone', { from: '2026-01-31T13:00:00+01:00' }, { from: time }],
  ['a time without a zone', { from: '2026-01-31T12:00' }, { from: time }],
  ['a time with a blank', { from: '2026-01-31 12:00:00.000' }, { from: time }],
  ['a day, from its beginning to its end', { from: '2026-01-31', until: '2026-01-31' }, { from: Date.parse('2026-01-31T00:00Z'), until: Date.parse('2026-01-31T23:59:59.999Z') }],
  ['failures', { error: '1' }, { error: true }],
  ['successes', { error: '0' }, { error: false }],
  ['a parent', { parent: '000001' }, { parent: '000001' }]
]

for (const [name, fields, criteria] of good) {
  t.test(`${name} is a valid search`, async (t) => t.strictSame(readSearch(fields), { criteria, limit: 50 }))
}

t.test('limit and cursor', async (t) => {
  t.strictSame(readSearch({ limit: '7', cursor: '12' }), { criteria: {}, limit: 7, cursor: '12' })
  t.strictSame(readSearch({}, 10), { criteria: {}, limit: 10 })
  t.strictSame(readSearch({ limit: '1000000' }, 1_000_000), { criteria: {}, limit: 1_000_000 })
})

const bad: Array<[fields: Record<string, unknown>, message: string]> = [
  [{ token: '3fa94' }, 'Invalid "token": "3fa94" is not a token of six hexadecimal digits.'],
  [{ ip: 'localhost' }, 'Invalid "ip": "localhost" is neither an IP address nor a range such as 10.0.0.0/8.'],
  [{ ip: '10.0.0.0/33' }, 'Invalid "ip": "10.0.0.0/33" is neither an IP address nor a range such as 10.0.0.0/8.'],
  [{ method: 'G T' }, 'Invalid "method": "G T" is not an HTTP method.'],
  [{ status: '4x' }, 'Invalid "status": "4x" is neither a status such as 404 nor a class such as 4xx.'],
  [{ status: '4040' }, 'Invalid "status": "4040" is neither a status such as 404 nor a class such as 4xx.'],
  [{ url: 'x'.repeat(501) }, 'Invalid "url": it has 501 characters, 500 are the most.'],
  [{ min_duration: '-1' }, 'Invalid "min_duration": "-1" is not a number of milliseconds.'],
  [{ min_duration: '1s' }, 'Invalid "min_duration": "1s" is not a number of milliseconds.'],
  [{ from: 'yesterday' }, 'Invalid "from": "yesterday" is not a time in ISO 8601, such as 2026-01-31T12:00:00Z.'],
  [{ until: '2026-02-31T12:00:00Z' }, 'Invalid "until": "2026-02-31T12:00:00Z" is not a time in ISO 8601, such as 2026-01-31T12:00:00Z.'],
  [{ until: '2026-01-31T25:00:00Z' }, 'Invalid "until": "2026-01-31T25:00:00Z" is not a time in ISO 8601, such as 2026-01-31T12:00:00Z.'],
  [{ from: '2026-02-01', until: '2026-01-01' }, 'Invalid "until": it is before "from".'],
  [{ error: 'yes' }, 'Invalid "error": "yes" is neither 1 nor 0.'],
  [{ parent: 'x' }, 'Invalid "parent": "x" is not a token of six hexadecimal digits.'],
  [{ status: ['404', '500'] }, 'Invalid "status": it may be given only once.'],
  [{ limit: '0' }, 'Invalid "limit": "0" is not a whole number from 1 to 500.'],
  [{ limit: '501' }, 'Invalid "limit": "501" is not a whole number from 1 to 500.'],
  [{ limit: '1e2' }, 'Invalid "limit": "1e2" is not a whole number from 1 to 500.'],
  [{ colour: 'red' }, 'Invalid "colour": there is no such criterion; known are token, ip, method, status, url, route, exception, min_duration, from, until, error, parent, limit, cursor.'],
  [{ constructor: 'red' }, 'Invalid "constructor": there is no such criterion; known are token, ip, method, status, url, route, exception, min_duration, from, until, error, parent, limit, cursor.']
]

for (const [fields, message] of bad) {
  t.test(`refused: ${JSON.stringify(fields).slice(0, 60)}`, async (t) => {
    t.throws(() => readSearch(fields), { statusCode: 400, message })
  })
}

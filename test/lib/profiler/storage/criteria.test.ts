import t from 'tap'
import { addressKey, addressRange, matcher } from '../../../../lib/profiler/storage/criteria.js'
import { recordOf } from '../../../../lib/profiler/summary.js'
import { failure, profile } from '../fixture.js'

t.test('an address matches an address or a range', async (t) => {
  const cases: Array<[wanted: string, matching: string[], others: string[]]> = [
    ['10.1.2.3', ['10.1.2.3', '::ffff:10.1.2.3', '::ffff:a01:203'], ['10.1.2.4', '10.1.2.30', '1.10.1.2', '', 'x', '::1']],
    ['::ffff:10.1.2.3', ['10.1.2.3'], ['10.1.2.4']],
    ['0.0.0.0', ['0.0.0.0'], ['0.0.0.1', '0.0.0.0.0', '....']],
    ['255.255.255.255', ['255.255.255.255'], ['255.255.255.254', '255.255.255.256', '127.0.0.1']],
    ['10.0.0.0/8', ['10.0.0.0', '10.255.255.255', '::ffff:10.9.9.9'], ['9.255.255.255', '11.0.0.0', '::a00:1', 'unknown']],
    ['10.1.2.77/26', ['10.1.2.64', '10.1.2.127'], ['10.1.2.63', '10.1.2.128']],
    ['192.168.1.1/32', ['192.168.1.1'], ['192.168.1.0', '192.168.1.2']],
    ['0.0.0.0/0', ['0.0.0.0', '255.255.255.255'], ['::1', '2001:db8::1']],
    ['2001:db8::/32', ['2001:db8::7', '2001:DB8:ffff::'], ['2001:db9::', '10.0.0.1']],
    ['2001:0db8:0:0:0:0:0:7', ['2001:db8::7'], ['2001:db8::8', '7.0.0.0']],
    ['::/0', ['::1', '10.0.0.1'], ['', 'unknown']]
  ]
  for (const [wanted, matching, others] of cases) {
    const matches = matcher({ ip: wanted })
    t.same([...matching, ...others].filter((ip) => matches(recordOf(profile('000001', { ip })))), matching, wanted)
  }
})

t.test('keys of addresses sort by number', async (t) => {
  const addresses = ['::', '::1', '0.0.0.0', '10.1.2.3', '10.1.2.10', '192.168.0.1', '255.255.255.255', '2001:db8::7', '2001:db8::10', 'ffff::']
  const keys = addresses.map(addressKey)
  t.same([...keys].sort(), keys)
  for (const key of keys) t.match(key, /^[0-9a-f]{32}$/)
  t.equal(addressKey('::ffff:10.1.2.3'), addressKey('10.1.2.3'))
  for (const text of ['', 'unknown', 'unix:', '10.1.2.3:80', '10.1.2.3/8']) t.equal(addressKey(text), '', text)
})

t.test('a range has a first and a last key', async (t) => {
  t.same(addressRange('10.1.2.3'), [addressKey('10.1.2.3'), addressKey('10.1.2.3')])
  t.same(addressRange('10.1.2.77/26'), [addressKey('10.1.2.64'), addressKey('10.1.2.127')])
  t.same(addressRange('2001:db8::/32'), [addressKey('2001:db8::'), addressKey('2001:db8:ffff:ffff:ffff:ffff:ffff:ffff')])
  t.same(addressRange('::/0'), ['0'.repeat(32), 'f'.repeat(32)])
})

t.test('a route pattern matches the whole route, with an asterisk for any part', async (t) => {
  const cases: Array<[wanted: string, matching: string[], others: string[]]> = [
    ['shop_show', ['shop_show'], ['shop', 'shop_show2', 'a_shop_show', 'Shop_show']],
    ['shop_*', ['shop_', 'shop_show'], ['shop', 'a_shop_show']],
    ['*_show', ['shop_show', '_show'], ['show', 'shop_show_']],
    ['a*b*c', ['abc', 'a-b-c', 'abbbc', 'abcbc'], ['ac', 'acb', 'ab', 'bc']],
    ['aa*aa', ['aaaa', 'aa-aa', 'aaaaa'], ['aaa', 'aa']],
    ['a*a*a', ['aaa', 'a-a-a'], ['aa', 'a']],
    ['*', ['', 'shop_show'], []],
    ['**', ['', 'shop_show'], []],
    ['', [''], ['a']],
    ['a.c', ['a.c'], ['abc']],
    ['[a]?', ['[a]?'], ['a', 'ab', '[a]b']]
  ]
  for (const [wanted, matching, others] of cases) {
    const matches = matcher({ route: wanted })
    const found = [...matching, ...others].filter((name) => matches(recordOf(profile('000001', { route: { name, pattern: '/', params: {}, methods: [] } }))))
    t.same(found, matching, wanted)
    t.equal(matches(recordOf(profile('000001'))), false, 'no route matched the request')
  }
})

t.test('a pattern with many stars and a long text are compared in linear time', async (t) => {
  const matches = matcher({ route: `${'a*'.repeat(200)}b` })
  const name = 'a'.repeat(20_000)
  t.equal(matches(recordOf(profile('000001', { route: { name, pattern: '/', params: {}, methods: [] } }))), false)
  t.equal(matches(recordOf(profile('000001', { route: { name: `${name}b`, pattern: '/', params: {}, methods: [] } }))), true)
})

t.test('an exception is found by each error of its chain, across lines', async (t) => {
  const [first, second] = failure('000001').exceptions
  const record = recordOf(failure('000001', { exceptions: [{ ...first, message: 'one\n  two' }, second] as never }))
  for (const [exception, expected] of [['lookuperror: ONE two', true], ['NotFoundError', true], ['one\n', false], ['TypeError', false]] as const) {
    t.equal(matcher({ exception })(record), expected, exception)
  }
})

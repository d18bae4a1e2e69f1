import t from 'tap'
import { criteriaMatcher } from '../../src/store/criteria.js'
import { recordOf } from '../../src/store/summary.js'
import { failure, profile } from '../parts/fixture.js'

t.test('an address matches in each of its spellings', async (t) => {
  const cases: Array<[wanted: string, matching: string[], others: string[]]> = [
    ['10.1.2.3', ['10.1.2.3', '::ffff:10.1.2.3'], ['10.1.2.4', '10.1.2.30', '1.10.1.2', '', 'x', '::1']],
    ['::ffff:10.1.2.3', ['10.1.2.3', '::ffff:10.1.2.3'], ['10.1.2.4']],
    ['2001:0DB8:0:0:0:0:0:7', ['2001:db8::7'], ['2001:db8::8', '7.0.0.0']]
  ]
  for (const [wanted, matching, others] of cases) {
    const matches = criteriaMatcher({ ip: wanted })
    t.same([...matching, ...others].filter((ip) => matches(recordOf(profile('000001', { ip })))), matching, wanted)
  }
})

t.test('a route pattern matches the whole route, with an asterisk for any part', async (t) => {
  const cases: Array<[wanted: string, matching: string[], others: string[]]> = [
    ['shop_show', ['shop_show', 'Shop_show'], ['shop', 'shop_show2', 'a_shop_show']],
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
    const matches = criteriaMatcher({ route: wanted })
    const found = [...matching, ...others].filter((name) => matches(recordOf(profile('000001', { route: { name, pattern: '/', params: {}, methods: [] } }))))
    t.same(found, matching, wanted)
    t.equal(matches(recordOf(profile('000001'))), false, 'no route matched the request')
  }
})

t.test('a pattern with many stars and a long text are compared in linear time', async (t) => {
  const matches = criteriaMatcher({ route: `${'a*'.repeat(200)}b` })
  const name = 'a'.repeat(20_000)
  t.equal(matches(recordOf(profile('000001', { route: { name, pattern: '/', params: {}, methods: [] } }))), false)
  t.equal(matches(recordOf(profile('000001', { route: { name: `${name}b`, pattern: '/', params: {}, methods: [] } }))), true)
})

t.test('an exception is found by each error of its chain, across lines', async (t) => {
  const [first, second] = failure('000001').exceptions
  const record = recordOf(failure('000001', { exceptions: [{ ...first, message: 'one\n  two' }, second] as never }))
  for (const [exception, expected] of [['lookuperror: ONE two', true], ['NotFoundError', true], ['one\n', false], ['TypeError', false]] as const) {
    t.equal(criteriaMatcher({ exception })(record), expected, exception)
  }
})

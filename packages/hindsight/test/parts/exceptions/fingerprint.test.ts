import t from 'tap'
import type { Profile } from '../../../src/store/profile.js'
import { recordOf } from '../../../src/store/summary.js'
import { profile } from '../fixture.js'

const thrown = (token: string, message: string, line: number | null, changes: Partial<Profile> = {}): Profile => profile(token, {
  status: 500,
  exceptions: [{
    name: 'TypeError', message, stack: '', frames: line === null ? [] : [{ file: '/app/orders.ts', line, column: 1, function: 'f', own: true }]
  }],
  ...changes
} as Partial<Profile>)

t.test('equal failures have one fingerprint: that of the root cause and its line', async (t) => {
  const of = (one: Profile) => recordOf(one).summary.values?.failure
  const wanted = of(thrown('000001', 'order 17 is locked', 4))
  t.match(wanted, /^f[0-9a-f]{8}$/)
  t.equal(of(thrown('000002', 'cart 18 is locked', 4, { route: { name: 'other', pattern: '/', params: {}, methods: [] } })), wanted, 'of another route')
  t.not(of(thrown('000003', 'order 17 is locked', 5)), wanted, 'of another line')
  t.equal(of(thrown('000004', 'order 17 is locked', null)), of(thrown('000005', 'order 18 is locked', null)), 'without a line by its message')
  t.not(of(thrown('000004', 'order 17 is locked', null)), of(thrown('000005', 'order 18 is gone', null)))
  t.equal(of(thrown('00000a', 'order 17 is locked', 0)), of(thrown('00000b', 'order 18 is locked', 0)), 'the same in a file without a source map')
  t.not(of(thrown('00000a', 'order 17 is locked', 0)), of(thrown('00000b', 'order 18 is gone', 0)))
  t.equal(of(profile('000006')), undefined, 'a success')
  t.equal(recordOf(thrown('000008', 'x', 4)).summary.values?.line, '/app/orders.ts:4')
  t.equal(recordOf(thrown('000009', 'x', null)).summary.values?.line, undefined)
  t.equal(of(profile('000007', { status: 503 })), undefined, 'without an error and a route')
})

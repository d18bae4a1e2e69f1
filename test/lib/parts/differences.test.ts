import t from 'tap'
import { serviceParts } from '../../../lib/parts/index.js'
import { parts } from '../../../packages/hindsight/src/parts/index.js'
import { lastSuccess } from '../../../packages/hindsight/src/reading/compare/last-success.js'
import { MemoryStorage } from '../../../packages/hindsight/src/store/memory.js'
import { recordOf } from '../../../packages/hindsight/src/store/summary.js'
import { profile } from '../../../packages/hindsight/test/parts/fixture.js'

const user = (identifier: string, roles: string[]): object => ({ security: { user: { identifier, attributes: {} }, roles } })
const session = (values: object): object => ({ session: { used: true, values, changed: false } })

for (const [name, before, now, expected] of [
  ['another user', user('ann', ['ADMIN']), user('bob', ['ADMIN']), { what: 'user identifier', before: 'ann', now: 'bob' }],
  ['other roles', user('ann', ['ADMIN']), user('ann', []), { what: 'user roles', before: '["ADMIN"]', now: '[]' }],
  ['a value of the session', session({ cart: '****** (object)' }), session({}), { what: 'session value cart', before: '****** (object)', now: 'absent' }]
] as const) {
  t.test(`${name} is a difference from the last success`, async (t) => {
    const route = { name: 'orders', pattern: '/orders', methods: ['GET'], params: {} }
    const success = profile('000001', { route, collectors: before as Record<string, unknown> })
    const exceptions = [{ name: 'TypeError', message: 'it failed', frames: [], stack: '' }]
    const failure = profile('000002', { time: '2026-01-02T03:05:00.000Z', route, status: 500, exceptions, collectors: now as Record<string, unknown> })
    const store = new MemoryStorage()
    await store.put([recordOf(success), recordOf(failure)])
    const found = await lastSuccess(store, failure, [...parts, ...serviceParts])
    t.match(found?.differences, [expected])
  })
}

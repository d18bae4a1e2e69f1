import t from 'tap'
import { MemorySessionStore, type SessionStoreOptions } from '../../../lib/session/session-store.js'

type Session = Parameters<MemorySessionStore['set']>[1]

function storeOf (options: SessionStoreOptions = {}): { store: MemorySessionStore, set: (id: string, session: object) => unknown, get: (id: string) => unknown } {
  const store = new MemorySessionStore(options)
  return {
    store,
    set (id, session) {
      let result: unknown = 'not called back at once'
      store.set(id, session as Session, error => { result = error })
      return result
    },
    get (id) {
      let result: unknown = 'not called back at once'
      store.get(id, (_error, session) => { result = session })
      return result
    }
  }
}

t.test('a stored session is a copy', async t => {
  const { store, set, get } = storeOf()
  const session = { cookie: { expires: null }, user: { name: 'anna' } }
  t.equal(set('a', session), undefined)
  session.user.name = 'eve'
  t.same(get('a'), { cookie: { expires: null }, user: { name: 'anna' } })
  t.not(get('a'), get('a'))
  t.equal(get('b'), null)
  store.destroy('a', () => {})
  t.equal(get('a'), null)
})

t.test('a session that is not JSON is refused', async t => {
  const { set, get } = storeOf()
  t.match(set('a', { big: 1n }), /^Error: The session cannot be stored: .*BigInt/)
  t.equal(get('a'), null)
})

t.test('the least recently used session is evicted', async t => {
  const { store, set, get } = storeOf({ limit: 3 })
  for (const id of ['a', 'b', 'c']) set(id, {})
  get('a')
  set('b', { again: true })
  set('d', {})
  t.equal(store.size, 3)
  t.same(['a', 'b', 'c', 'd'].map(id => get(id) !== null), [true, true, false, true])
  const many = storeOf()
  for (let i = 0; i < 10_100; i++) many.set(String(i), {})
  t.equal(many.store.size, 10_000)
})

t.test('sessions expire', async t => {
  let now = 1_000_000
  t.intercept(Date, 'now', { value: () => now })
  const { store, set, get } = storeOf({ idle: 1000 })
  set('idle', { cookie: { expires: null } })
  set('until', { cookie: { expires: new Date(now + 5000) } })
  now += 900
  t.ok(get('idle'), 'in use')
  now += 900
  t.ok(get('idle'), 'its last use counts')
  now += 1000
  t.equal(get('idle'), null)
  t.ok(get('until'), 'the cookie sets the time')
  now += 2200
  t.equal(get('until'), null)
  set('old', {})
  now += 1000
  set('new', {})
  t.equal(store.size, 1, 'expired sessions are removed')
})

import t from 'tap'
import { guardedStore, MemorySessionStore } from '../../../lib/session/session-store.js'

type Session = Parameters<MemorySessionStore['set']>[1]

function storeOf (): { store: MemorySessionStore, set: (id: string, session: object) => unknown, get: (id: string) => unknown } {
  const store = new MemorySessionStore()
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
  const { set } = storeOf()
  t.throws(() => set('a', { big: 1n }), /BigInt/)
})

t.test('the least recently used session is evicted', async t => {
  const { set, get } = storeOf()
  for (let i = 0; i < 10_000; i++) set(String(i), {})
  get('0')
  set('1', { again: true })
  set('new', {})
  t.same(['0', '1', '2', '3', 'new'].map(id => get(id) !== null), [true, true, false, true, true])
})

t.test('a session ends after a day without use', async t => {
  const { now } = Date
  t.teardown(() => { Date.now = now })
  const { set, get } = storeOf()
  set('used', {})
  set('unused', {})
  Date.now = () => now() + 20 * 60 * 60 * 1_000
  get('used')
  Date.now = () => now() + 40 * 60 * 60 * 1_000
  t.same([get('used'), get('unused')], [{}, null])
})

t.test('a store that reports ENOENT has no such session', async t => {
  const missing = Object.assign(new Error('no such file'), { code: 'ENOENT' })
  const store = guardedStore({ get: (_id: string, done: (error: unknown) => void) => done(missing) } as never)
  t.same(await new Promise((resolve) => store.get('x', (...result: unknown[]) => resolve(result))), [null, undefined])
})

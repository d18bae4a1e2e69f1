import t from 'tap'
import { rememberSession, takeOver } from '../../../lib/session/session-merge.js'

t.test('what others have stored is taken over, but for what the request itself has changed', async t => {
  for (const [name, was, change, theirs, expected] of [
    ['nobody changed anything', { a: 1 }, {}, { a: 1 }, { a: 1 }],
    ['they changed', { a: 1 }, {}, { a: 2 }, { a: 2 }],
    ['they added', { a: 1 }, {}, { a: 1, b: 2 }, { a: 1, b: 2 }],
    ['they took away', { a: 1, b: 2 }, {}, { a: 1 }, { a: 1 }],
    ['it changed', { a: 1 }, { a: 3 }, { a: 1 }, { a: 3 }],
    ['it took away', { a: 1, b: 2 }, { b: undefined }, { a: 1, b: 2 }, { a: 1, b: undefined }],
    ['both changed', { a: 1 }, { a: 3 }, { a: 2 }, { a: 3 }],
    ['each changed another', { a: 1, b: 1 }, { a: 3 }, { a: 1, b: 2 }, { a: 3, b: 2 }],
    ['they took away what it changed', { a: 1 }, { a: 3 }, {}, { a: 3 }],
    ['within a value', { a: { b: 1 } }, {}, { a: { b: 2 } }, { a: { b: 2 } }],
    ['the cookie is its own', { cookie: 1 }, {}, { cookie: 2 }, { cookie: 1 }]
  ] as const) {
    const session: Record<string, unknown> = structuredClone(was)
    rememberSession(session)
    Object.assign(session, change)
    takeOver(session, theirs)
    t.same(session, expected, name)
  }
})

t.test('a session that was not read, or is no JSON, stays as it is', async t => {
  const fresh = { a: 1 }
  takeOver(fresh, { a: 2 })
  t.same(fresh, { a: 1 })
  const large = { a: 1n }
  rememberSession(large)
  takeOver(large, { a: 2 })
  t.same(large, { a: 1n })
})

import { createHook } from 'node:async_hooks'
import t from 'tap'
import { keepTickShape } from '../../plugins/kernel/tick-shape.js'

t.test('one tick is queued and kept at the first call, and nothing at any other', (t) => {
  let queued = 0
  const hook = createHook({ init (_id, type) { if (type === 'TickObject') queued++ } }).enable()
  t.teardown(() => { hook.disable() })
  keepTickShape()
  t.equal(queued, 1)
  keepTickShape()
  t.equal(queued, 1)
  t.end()
})

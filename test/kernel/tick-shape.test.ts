import { createHook } from 'node:async_hooks'
import t from 'tap'
import { keepTickShape } from '../../plugins/kernel/tick-shape.js'

t.test('what is queued is looked at once, and nothing is watched from then on', async (t) => {
  keepTickShape()
  let seen = 0
  const hook = createHook({ init (_id, type) { if (type === 'TickObject') seen++ } }).enable()
  t.teardown(() => { hook.disable() })
  keepTickShape()
  t.equal(seen, 0, 'a second call queues nothing')
  await new Promise<void>((resolve) => { process.nextTick(resolve) })
  t.ok(seen > 0, 'and ticks are queued as ever')
})

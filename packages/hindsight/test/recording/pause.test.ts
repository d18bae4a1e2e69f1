import t from 'tap'
import { inspectCalls } from '../../src/inspection/inspect-calls.js'
import { internalWorkIn } from '../../src/recording/event-loop.js'

t.test('the pause in which variables are read is work of Hindsight', async (t) => {
  const now = performance.now()
  const paused = Number(process.hrtime.bigint()) - 50 * 1_000_000
  t.equal(inspectCalls(new Error('thrown'), paused, [], { isCaught: false, stack: '' }), false)
  const work = internalWorkIn({ start: now - 1_000, end: performance.now() }).at(-1)
  t.ok(work !== undefined && work.start < now && work.end - work.start >= 50, JSON.stringify(work))
})

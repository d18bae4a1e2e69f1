import t from 'tap'
import { isolate } from './isolation.js'

t.test('interleaved requests share no data', async t => {
  const { requests, profiles, replaced, atOnce, statuses } = await isolate({ requests: 600, seed: 7 })
  t.equal(requests, 600)
  t.equal(profiles + replaced, 600)
  t.ok(atOnce >= 20, `${atOnce} at once`)
  t.same(statuses, { 200: 540, 500: 60 })
})

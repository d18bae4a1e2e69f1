import t from 'tap'
import { isLong } from '../../../packages/hindsight/test/support/long.js'
import { isolate } from './isolation.js'

const REQUESTS = isLong ? 3_000 : 300

t.test('interleaved requests share no data', async t => {
  const { requests, profiles, replaced, atOnce, statuses } = await isolate({ requests: REQUESTS, seed: 7 })
  t.equal(requests, REQUESTS)
  t.equal(profiles + replaced, REQUESTS)
  t.ok(atOnce >= 20, `${atOnce} at once`)
  t.same(statuses, { 200: 0.9 * REQUESTS, 500: 0.1 * REQUESTS })
})

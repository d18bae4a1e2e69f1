import t from 'tap'
import { fuzz } from './fuzz.js'

// A short run with a seed of its own each time; what it finds can be repeated by `npm run fuzz -- --seed`.
const seed = Date.now() & 0x7fffffff

for (const NODE_ENV of ['development', 'production']) {
  t.test(`the service answers after any message (${NODE_ENV}, seed ${seed})`, async (t) => {
    const { messages, responses, statuses } = await fuzz({ messages: 700, seed, env: { NODE_ENV } })
    t.equal(messages >= 700, true)
    t.ok(responses > 300, JSON.stringify(statuses))
  })
}

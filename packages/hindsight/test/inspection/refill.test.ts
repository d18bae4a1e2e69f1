import { limits } from '../../src/inspection/inspect-calls.js'
import { inspection } from '../../src/inspection/inspection.js'
import { takeSample } from '../../src/recording/event-loop.js'
import { allowInspection, hasInspection } from '../support/inspection.js'
import { inBothProducts } from '../support/products.js'

const MAX_REQUESTS = 10

allowInspection()
// Each pause takes more than all may, until the next look at the time.
Object.assign(limits, { share: 1_000, burst: 1e-3 })

inBothProducts('a block is named when the time of pauses that was used up is over', async (t, build) => {
  const app = await build((app) => {
    app.get('/caught', async () => { try { throw new Error('caught') } catch { return {} } })
    app.get('/blocked', async function blocked () {
      const end = takeSample().cpu + 200
      while (takeSample().cpu < end);
      return {}
    })
  })
  t.equal(await hasInspection(), true)
  await app.inject('/caught')
  let body = ''
  // Where the thread that asks gets no CPU in time, a block has no call.
  for (let i = 0; i < MAX_REQUESTS && !body.includes('at one moment'); i++) {
    while (inspection.isResting) await new Promise((resolve) => { setImmediate(resolve) })
    const { headers } = await app.inject('/blocked')
    body = (await app.inject(`/_profiler/${String(headers['x-debug-token'])}.md`)).body
  }
  t.match(body, /of CPU time(?:, by this or by other work)?: at one moment it ran blocked \(/)
})

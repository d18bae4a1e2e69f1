import { spawnSync } from 'node:child_process'
import { limits } from '../../src/inspection/inspect-calls.js'
import { inspection } from '../../src/inspection/inspection.js'
import type { Profile } from '../../src/store/profile.js'
import { allowInspection, hasInspection } from '../support/inspection.js'
import { inBothProducts } from '../support/products.js'

const REQUESTS = 100

allowInspection()
// After each pause the thread rests for some milliseconds.
Object.assign(limits, { share: 0.5, burst: 1e-3 })

inBothProducts('while rests begin and end each failure has its variables, or the sentence that none were read', async (t, build) => {
  const app = await build((app) => {
    app.get('/', async () => {
      const id = 1
      throw new Error(String(id))
    })
  })
  t.equal(await hasInspection(), true)
  const before = inspection.rests
  for (let i = 0; i < REQUESTS; i++) {
    const { headers } = await app.inject({ url: '/', headers: { accept: 'text/html' } })
    const { body } = await app.inject(`/_profiler/${String(headers['x-debug-token'])}.json`)
    const { exceptions: [error] } = JSON.parse(body) as Profile
    t.ok(error?.values ?? error?.note?.startsWith('For a time no variables were read'), `request ${i}`)
  }
  t.ok(inspection.rests > before + 2)
})

inBothProducts('a rest does not end before V8 pauses again', async (t, build) => {
  const app = await build((app) => app.get('/', async () => { throw new Error('planted') }))
  t.equal(await hasInspection(), true)
  let isHeld = false
  for (let tries = 0; tries < 50 && !isHeld; tries++) {
    await app.inject('/')
    const hasBegun = inspection.isResting
    // The timer of the rest ends, but this thread reads no message meanwhile.
    if (hasBegun) spawnSync('sleep', ['0.2'])
    isHeld = hasBegun && inspection.isResting
  }
  t.equal(isHeld, true)
})

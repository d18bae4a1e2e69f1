import type { Profile } from '../../src/store/profile.js'
import { BLOCKING } from '../fixtures/failing/blocking.js'
import { allowInspection, hasInspection } from '../support/inspection.js'
import { inBothProducts } from '../support/products.js'

allowInspection()

inBothProducts('a block of the event loop has the call of the application that blocks', async (t, build) => {
  const app = await build((app) => {
    for (const [name, { handler }] of Object.entries(BLOCKING)) app.get(`/${name}`, handler)
    app.get('/fine', async () => ({}))
  })
  t.equal(await hasInspection(), true)
  const profileOf = async (path: string): Promise<Profile> => {
    const { headers } = await app.inject(path)
    return JSON.parse((await app.inject(`/_profiler/${String(headers['x-debug-token'])}.json`)).body) as Profile
  }
  for (const [name, { names }] of Object.entries(BLOCKING)) {
    const profile = await profileOf(`/${name}`)
    const { budget: { blocks } } = profile.collectors.performance as { budget: { blocks: Array<{ calls?: Array<{ function: string, source: string }> }> } }
    const [call] = blocks.flatMap(({ calls = [] }) => calls)
    t.ok(names.includes(call?.function ?? ''), `${name}: ${JSON.stringify(blocks)}`)
    t.match(call?.source, /blocking\.js:\d+:\d+$/)
    const { body } = await app.inject(`/_profiler/${profile.token}.md`)
    t.match(body, new RegExp(`was blocked for [\\d.,]+ m?s: ${String(call?.function)} \\(packages/.*/blocking\\.js:\\d+\\)\\.`))
  }
  const fine = await profileOf('/fine')
  t.notMatch(JSON.stringify(fine.collectors.performance), 'calls')
})

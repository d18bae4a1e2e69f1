import { createRequire } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import type { Profile } from '../../src/store/profile.js'
import { blocking, PACKAGE } from '../fixtures/failing/blocking.js'
import { inspection } from '../../src/inspection/inspection.js'
import { blocksIn, takeSample, watchLoop } from '../../src/recording/event-loop.js'
import { testdir } from '../support/folder.js'
import { allowInspection, hasInspection } from '../support/inspection.js'
import { inBothProducts } from '../support/products.js'
import { withoutMarks } from '../support/marks.js'

allowInspection()

/** Takes so many milliseconds of CPU time. */
function first (ms: number): void {
  const end = takeSample().cpu + ms
  while (takeSample().cpu < end);
}

function second (ms: number): void {
  const end = takeSample().cpu + ms
  while (takeSample().cpu < end);
}

t.test('the start of the thread is no block of what runs meanwhile', async (t) => {
  const start = performance.now()
  const { end } = watchLoop()
  inspection.start()
  t.equal(await hasInspection(), true)
  end()
  t.same(blocksIn({ start, end: performance.now() }), [])
})

inBothProducts('a block of the event loop has the call of the application that blocks', async (t, build) => {
  const folder = testdir(t, { node_modules: { blocker: { 'index.js': PACKAGE } } })
  const routes = blocking(createRequire(join(folder, 'app.js'))('blocker') as Record<string, unknown>)
  t.ok(Object.keys(routes).length >= 20)
  const app = await build((app) => {
    for (const [name, { names: _names, handler, ...options }] of Object.entries(routes)) app.get(`/${name}`, options, handler)
    app.get('/fine', async () => ({}))
  })
  t.equal(await hasInspection(), true)
  const profileOf = async (path: string): Promise<Profile> => {
    const { headers } = await app.inject(path)
    return JSON.parse((await app.inject(`/_profiler/${String(headers['x-debug-token'])}.json`)).body) as Profile
  }
  for (const [name, { names }] of Object.entries(routes)) {
    const profile = await profileOf(`/${name}`)
    const { budget: { blocks } } = profile.collectors.performance as { budget: { blocks: Array<{ calls?: Array<{ function: string, source: string }> }> } }
    const [call] = blocks.flatMap(({ calls = [] }) => calls)
    t.ok(names.includes(call?.function ?? ''), `${name}: ${JSON.stringify(blocks)}`)
    t.match(call?.source, /blocking\.js:\d+:\d+$/)
    const body = withoutMarks((await app.inject(`/_profiler/${profile.token}.md`)).body)

    const line = String.raw`packages/.*/blocking\.js:\d+`
    const place = call?.function === '' ? line : String.raw`${call?.function} \(${line}\)`
    t.match(body, new RegExp(String.raw`was blocked for [\d.,]+ m?s of CPU time: at one moment it ran ${place}`))
  }
  const fine = await profileOf('/fine')
  t.notMatch(JSON.stringify(fine.collectors.performance), 'calls')
})

inBothProducts('of a long block, the call is named that runs in its second half', async (t, build) => {
  const app = await build((app) => {
    app.get('/long', async () => {
      first(100)
      second(1_000)
      return {}
    })
  })
  t.equal(await hasInspection(), true)
  const { headers } = await app.inject('/long')
  const { body } = await app.inject(`/_profiler/${String(headers['x-debug-token'])}.md`)
  t.match(body, /was blocked for [\d.,]+ m?s of CPU time: at one moment it ran second \(/)
})

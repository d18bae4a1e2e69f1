import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import type { Profile } from '../../src/store/profile.js'
import { blocking, PACKAGE } from '../fixtures/failing/blocking.js'
import { inspection } from '../../src/inspection/inspection.js'
import { internalWorkIn, takeSample, type BlockedCall } from '../../src/recording/event-loop.js'
import { testdir } from '../support/folder.js'
import { allowInspection, hasInspection } from '../support/inspection.js'
import { inBothProducts } from '../support/products.js'
import { withoutMarks } from '../support/marks.js'

allowInspection()

/** Where the thread that asks gets no CPU in time, a block has no call: so a busy machine needs more than one request. */
const MAX_REQUESTS = 10

/** Takes so many milliseconds of CPU time. */
function first (ms: number): void {
  const end = takeSample().cpu + ms
  while (takeSample().cpu < end);
}

function second (ms: number): void {
  const end = takeSample().cpu + ms
  while (takeSample().cpu < end);
}

t.test('what V8 does for the start of the thread is work of Hindsight', async (t) => {
  const start = performance.now()
  inspection.start()
  t.equal(await hasInspection(), true)
  t.match(internalWorkIn({ start, end: performance.now() }), [{ rate: 1 }])
})

/** A request, and the calls of the application in the longest of its blocks. */
async function requestOnce (app: FastifyInstance, path: string): Promise<{ profile: Profile, calls: BlockedCall[] }> {
  const { headers } = await app.inject(path)
  const profile = JSON.parse((await app.inject(`/_profiler/${String(headers['x-debug-token'])}.json`)).body) as Profile
  const { budget } = profile.collectors.performance as { budget: { blocks: Array<{ duration: number, calls?: BlockedCall[] }> } }
  const [longest] = budget.blocks.toSorted((a, b) => b.duration - a.duration)
  return { profile, calls: longest?.calls ?? [] }
}

/** A request of which the thread has named the call that blocks. */
async function blockedRequest (app: FastifyInstance, path: string): ReturnType<typeof requestOnce> {
  let request = await requestOnce(app, path)
  for (let i = 1; i < MAX_REQUESTS && request.calls.length === 0; i++) request = await requestOnce(app, path)
  return request
}

inBothProducts('a block of the event loop has the call of the application that blocks', async (t, build) => {
  const folder = testdir(t, { node_modules: { blocker: { 'index.js': PACKAGE } } })
  const routes = blocking(createRequire(join(folder, 'app.js'))('blocker') as Record<string, unknown>)
  t.ok(Object.keys(routes).length >= 20)
  const app = await build((app) => {
    for (const [name, { names: _names, handler, ...options }] of Object.entries(routes)) app.get(`/${name}`, options, handler)
    app.get('/fine', async () => ({}))
  })
  t.equal(await hasInspection(), true)
  for (const [name, { names }] of Object.entries(routes)) {
    const { profile, calls: [call] } = await blockedRequest(app, `/${name}`)
    t.ok(names.includes(call?.function ?? ''), `${name}: ${JSON.stringify(profile.collectors.performance)}`)
    t.match(call?.source, /blocking\.js:\d+:\d+$/)
    const body = withoutMarks((await app.inject(`/_profiler/${profile.token}.md`)).body)

    const line = String.raw`packages/.*/blocking\.js:\d+`
    const place = call?.function === '' ? line : String.raw`${call?.function} \(${line}\)`
    const blocked = String.raw`was blocked for [\d.,]+ m?s of CPU time(?:, by this or by other work)?`
    t.match(body, new RegExp(`${blocked}: at one moment it ran ${place}`), name)
  }
  const { calls } = await requestOnce(app, '/fine')
  t.same(calls, [])
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
  // The times of the thread are not those of the CPU.
  let found: string | undefined
  for (let i = 0; i < MAX_REQUESTS && found !== 'second'; i++) {
    const { calls } = await requestOnce(app, '/long')
    found = calls[0]?.function
  }
  t.equal(found, 'second')
})

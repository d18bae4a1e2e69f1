import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { blocksIn, doInternalWork, takeSample, watchLoop } from '../../src/recording/event-loop.js'
import { createMask } from '../../src/mask/mask.js'
import { Recording } from '../../src/recording/recording.js'
import { WorkLog, type TimeBudget } from '../../src/recording/work-log.js'
import { inBothProducts } from '../support/products.js'
import { profileOf } from '../support/app.js'

/** Blocks for so many milliseconds, also of CPU time: Node.js 20 counts that of other threads, too. */
function block (ms: number): void {
  const start = takeSample()
  for (let now = start; Math.min(now.at - start.at, now.cpu - start.cpu) < ms;) now = takeSample()
}

/** The blocks of a request that waits, and has the event loop. Again where other threads took CPU time meanwhile. */
function blocksOfWait (begin: () => WorkLog): unknown[] {
  for (;;) {
    const log = begin()
    const { cpu } = takeSample()
    // The thread waits, and takes no CPU time.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
    const used = takeSample().cpu - cpu
    log.end(performance.now())
    if (used < 25) return log.budget(0, 0, createMask([])).blocks
  }
}

t.test('requests that were open at the same time share the event loop', async t => {
  const first = watchLoop()
  first.end()
  t.equal(first.isShared(), false)
  const [a, b] = [watchLoop(), watchLoop()]
  t.same([a.isShared(), b.isShared()], [true, true])
  a.end()
  b.end()
  const log = new WorkLog(performance.now())
  t.equal(log.budget(0, 0, createMask([])).isShared, false)
  watchLoop().end()
  t.equal(log.budget(0, 0, createMask([])).isShared, true, 'of a request that has not ended, too')
  log.end(performance.now())
})

t.test('a block is one that no timer interrupts', async t => {
  const { end } = watchLoop()
  await sleep(30)
  const blocked = performance.now()
  block(200)
  const blockEnd = performance.now()
  await turn()
  end()
  const found = blocksIn({ start: blocked, end: blockEnd })
  t.equal(found.length, 1)
  t.ok((found[0]?.cpu ?? 0) >= 100, JSON.stringify(found))
  t.same(blocksIn({ start: 0, end: 1 }), [], 'not of another time')
})

t.test('CPU time before a request begins is not in a block of it', async (t) => {
  const { end } = watchLoop()
  t.same(blocksOfWait(() => {
    block(80)
    return new WorkLog(performance.now())
  }), [])
  t.same(blocksOfWait(() => {
    const restarted = new WorkLog(performance.now())
    block(80)
    restarted.restart(performance.now())
    return restarted
  }), [])
  end()
})

t.test('work of Hindsight is no block', async (t) => {
  const start = performance.now()
  const { end } = watchLoop()
  t.equal(doInternalWork(() => { block(80); return 'done' }), 'done')
  await turn()
  end()
  t.same(blocksIn({ start, end: performance.now() }), [])
})

t.test('of a block, the CPU time of Hindsight is none', async (t) => {
  const start = performance.now()
  const { end } = watchLoop()
  block(300)
  doInternalWork(() => { block(300) })
  await turn()
  end()
  const [found] = blocksIn({ start, end: performance.now() })
  t.ok(found !== undefined && found.cpu >= 150 && found.cpu < 450, JSON.stringify(found))
})

inBothProducts('a blocked event loop is a problem, with its line or the command for it', async (t, build) => {
  const app = await build((app) => {
    app.get('/slow', async function slow (request) {
      block(Number((request.query as { ms?: string }).ms ?? 200))
      return {}
    })
    app.post('/slow', async () => {
      block(200)
      return {}
    })
  })
  const panel = async (token: unknown) => (await app.inject(`/_profiler/${String(token)}?panel=timeline`)).body
  const get = await app.inject('/slow')
  const { collectors } = await profileOf(app, get) as { collectors: Record<string, any> }
  // Modules that the first request loads may be blocks, too.
  const { blocks } = collectors.performance.budget as TimeBudget
  t.ok(Math.max(...blocks.map(({ duration }) => duration)) >= 100, JSON.stringify(blocks))
  const page = await panel(get.headers['x-debug-token'])
  t.match(page, /The event loop was blocked for \S+&#160;m?s of CPU time\.<\/li>/)
  t.match(page, /s of CPU time\.<\/li>[^]*action="\/_profiler\/[0-9a-f]{6}\/replay"[^]*name="cpu" value="1">Record a CPU profile</)
  t.match(page, 'warning')
  const asText = async (answer: typeof get) =>
    (await app.inject({ url: `/_profiler/${String(answer.headers['x-debug-token'])}`, headers: { accept: 'text/markdown' } })).body
  t.match(await asText(get), /For the line of code, record a CPU profile: curl -H/)
  const overview = await app.inject(`/_profiler/${String(get.headers['x-debug-token'])}`)
  t.match(overview.body, /The event loop was blocked for \S+&#160;m?s of CPU time\.<\/dd><dt>CPU<\/dt><dd><form [^]*>Record a CPU profile<\/button>/)
  const post = await app.inject({ method: 'POST', url: '/slow' })
  t.match(await asText(post), 'send the request again with the header x-hindsight-cpu: 1')
  t.match(await panel(post.headers['x-debug-token']), /href="\/_profiler\/[0-9a-f]{6}\/replay\?cpu=1">Record a CPU profile…|&#8230;</)
  // More than half of the time, also where the process is stopped in other code for half a second.
  const profiled = await app.inject({ url: '/slow?ms=1500', headers: { 'x-hindsight-cpu': '1' } })
  const withPlace = await panel(profiled.headers['x-debug-token'])
  t.match(withPlace, /&#160;m?s of CPU time: most of the time it ran block \(<a href="vscode:[^"]*event-loop\.test\.ts:1[1-5]:1"/)
  const { body: found } = await app.inject(`/_profiler/${String(profiled.headers['x-debug-token'])}`)
  t.match(found, /most of the time it ran block \(<a href="vscode:[^"]*event-loop\.test\.ts:1[1-5]:1"/)
  const { body } = await app.inject({ url: `/_profiler/${String(profiled.headers['x-debug-token'])}`, headers: { accept: 'text/markdown' } })
  t.match(body, '## Blocked event loop')
})

t.test('work of Hindsight that fails has ended', async t => {
  const recording = new Recording()
  t.throws(() => recording.measureInternal(() => { throw new Error('no') }), { message: 'no' })
  t.equal(recording.internalSince, null)
})

import { Readable } from 'node:stream'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import { JSDOM } from 'jsdom'
import t from 'tap'
import { pluginOf } from '../../support/products.js'
import { performance } from '../../../src/clock.js'
import { toolbarOf } from '../../../src/reading/pages/toolbar/toolbar.js'
import { formatTime, pendingTime } from '../../../src/view/components.js'
import { parts } from '../../../src/parts/index.js'
import { performance as performancePart } from '../../../src/parts/performance/index.js'
import { timelineOf } from '../../../src/parts/read.js'
import { profile } from '../fixture.js'
import { profileOf, SECRET } from '../../support/app.js'
import { texts } from '../support.js'
import { inBothProducts } from '../../support/products.js'

const HOUR = 3_600_000
const event = (listener: string, start: number, duration: number, stage = 'kernel.request') =>
  ({ stage, listener, pass: 'main', outcome: 'ran', start, duration }) as never
const whole = profile('000001', {
  duration: 10,
  route: { name: 'home', pattern: '/', params: {}, methods: ['GET'] },
  events: [event('router', 1, 0.5), event('response', 8, 0.25, 'kernel.response')],
  collectors: {
    performance: { handlerStart: 2, handler: 5, firstByte: 9 },
    'http-client': {
      count: 2,
      calls: [
        { method: 'GET', url: 'http://a.test/', status: 503, start: 3, duration: 2 },
        { method: 'GET', url: 'http://b.test/', status: null, start: 4, duration: null }
      ]
    }
  }
})

t.test('durations are in microseconds below 1 ms', async t => {
  t.same(
    [0, 0.0004, 0.0005, 0.012, 0.9994, 0.9996, 1, 1.234, 12.34, 1234.5, -0.5].map(formatTime),
    ['< 1 µs', '< 1 µs', '1 µs', '12 µs', '999 µs', '1 ms', '1 ms', '1.23 ms', '12.3 ms', '1.23 s', '-500 µs']
  )
  t.same([null, undefined, '1', NaN, Infinity].map(formatTime), ['–', '–', '–', '–', '–'])
  t.same([null, 0, 2].map((ms) => String(pendingTime(ms))), ['<span class="none">pending</span>', '< 1\u00a0µs', '2\u00a0ms'])
})

t.test('the time of a handler is the same in the timeline and the toolbar', async t => {
  const sent = { ...whole, collectors: { performance: { handlerStart: 2, handler: 7.5 } } }
  t.match(timelineOf(parts, sent).find(({ step }) => step === 'handler'), { start: 2, duration: 7.5 })
  t.equal(toolbarOf(sent, '', parts, null).data.handlerDuration, 7.5)
})

t.test('a block is in a hook or handler that was open for at least half of its CPU time', async t => {
  const place = (block: { start: number, end?: number, duration: number }, handlerStart: number): string => {
    const data = { handlerStart, handler: 70, budget: { blocks: [block], isShared: false } }
    const route = { name: 'home', pattern: '/', params: {}, methods: ['GET'], handler: '/app/src/home.ts:3' }
    return /in the handler/.exec(performancePart.findings?.(data, profile('000001', { duration: 300, route }))[0]?.text ?? '')?.[0] ?? ''
  }
  t.equal(place({ start: 0, end: 70, duration: 60 }, 5), 'in the handler')
  t.equal(place({ start: 0, end: 70, duration: 60 }, 60), '')
  t.equal(place({ start: 0, end: 90, duration: 60 }, 25), 'in the handler', 'without the CPU before it')
  t.equal(place({ start: 0, end: 260, duration: 60 }, 1), '', 'the process had the CPU at an unknown time')
  t.equal(place({ start: 0, duration: 60 }, 5), 'in the handler', 'a profile of an earlier release')
})

inBothProducts('the time of a handler says that it has that of the hooks of its route', async (t, build) => {
  const app = await build((app) => {
    app.get('/plain', async () => 'x')
    app.get('/guarded', { preHandler: async () => { await sleep(5) } }, async () => 'x')
  })
  const nameOf = async (url: string) => {
    return timelineOf(parts, await profileOf(app, await app.inject(url))).find(({ step }) => step === 'handler')?.name
  }
  t.equal(await nameOf('/plain'), 'handler GET /plain')
  t.equal(await nameOf('/guarded'), 'route hooks and handler GET /guarded')
})

inBothProducts('the times of a request are in their order, and within its duration', async (t, build) => {
  const app = await build(app => {
    app.get('/json', async () => ({ a: 1 }))
    app.get('/stream', (_request, reply) => reply.send(Readable.from(['a', 'b'])))
    app.get('/fail', () => { throw new Error('no') })
  })
  for (const [url, isHandled] of [['/json', true], ['/stream', true], ['/fail', true], ['/nix', false]] as const) {
    const { collectors, duration } = await profileOf(app, await app.inject(url))
    const { handlerStart = NaN, handler = NaN, firstByte = NaN } = collectors.performance as Record<string, number>
    t.equal(handler >= 0, isHandled, `${url} has a handler that ended`)
    t.ok(firstByte <= duration, url)
    if (isHandled) t.ok(handlerStart + handler <= firstByte, url)
  }
})

inBothProducts('a handler that continues after its reply ends with the reply', async (t, _build, product) => {
  let offset = 0
  const { now } = performance
  performance.now = () => now.call(performance) + offset
  t.teardown(() => { performance.now = now })
  let received = (): void => {}
  const isReceived = new Promise<void>((resolve) => { received = resolve })
  const app = Fastify({ pluginTimeout: 60_000 }) as unknown as FastifyInstance
  await app.register(pluginOf(product), { debug: true, profiler: { storage: 'memory' }, ...(product === 'service' && { session: { secret: SECRET } }) })
  app.get('/', async (_request, reply) => {
    reply.type('text/html').send('<html><body></body></html>').then(() => {}, () => {})
    await isReceived
    offset += HOUR
    return reply
  })
  t.teardown(() => app.close())
  const response = await app.inject('/')
  received()
  await setImmediate()
  const profile = await profileOf(app, response)
  const { handlerStart, handler, firstByte } = profile.collectors.performance as Record<string, number>
  t.ok(Number(handler) < HOUR && Number(handlerStart) + Number(handler) <= Number(firstByte) && Number(firstByte) <= profile.duration)
  t.equal(timelineOf(parts, profile).find(({ step }) => step === 'handler')?.duration, handler)
  t.equal((await app.inject(`/_wdt/${profile.token}.json`)).json().handlerDuration, handler)
})

inBothProducts('the time of the page and of the toolbar is not that of the application', async (t, build, product) => {
  let offset = 0
  const { now } = performance
  performance.now = () => now.call(performance) + offset
  t.teardown(() => { performance.now = now })
  // It runs for the page and for the toolbar, and after the response.
  const slow = { name: 'slow', collect: () => { offset += HOUR; return 1 }, hints: () => [], toolbar: () => ({ title: 'Slow', head: 'slow' }) }
  const app = await build((app) => {
    app.get('/fails', async () => { throw new Error('no') })
    app.get('/page', async (_request, reply) => reply.type('text/html').send('<body>x</body>'))
    app.get('/json', async () => ({}))
  }, { profiler: { collectors: [slow] }, serverTiming: true })
  for (const url of ['/fails', '/nowhere', '/page', '/json']) {
    const response = await app.inject({ url, headers: { accept: 'text/html' } })
    const profile = await profileOf(app, response)
    const { hindsight, hindsightStart, firstByte } = profile.collectors.performance as Record<string, number>
    const isOurs = url !== '/json'
    t.equal(Number(hindsight ?? 0) >= HOUR, isOurs, url)
    t.equal(Number(hindsightStart ?? HOUR) < HOUR, isOurs, 'since the request arrived')
    t.ok(profile.duration < HOUR && Number(firstByte) < HOUR, url)
    const panel = JSDOM.fragment((await app.inject({ url: `/_profiler/${profile.token}?panel=timeline`, headers: { accept: 'text/html' } })).body)
    t.equal(texts(panel, '.row .name').includes('Hindsight'), isOurs, url)
    t.ok(texts(panel, '.scale text').every((text) => !text.startsWith('3,600')), 'the axis has the time of the application')
    // In the service the header is set before the toolbar is inserted.
    const timing = String(response.headers['server-timing'])
    t.ok(Number(/total;dur=([\d.]+)/.exec(timing)?.[1]) < HOUR, timing)
    if (isOurs && (product === 'package' || url !== '/page')) t.match(timing, /hindsight;dur=\d{7}/)
  }
})

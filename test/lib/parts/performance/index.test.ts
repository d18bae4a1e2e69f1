import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { hindsight } from '../../../../app/hindsight.js'
import { performance } from '../../../../lib/clock.js'
import { toolbarOf } from '../../../../lib/reading/pages/toolbar/toolbar.js'
import { milliseconds, pending } from '../../../../lib/view/components.js'
import { overview as overviewPanel } from '../../../../lib/parts/overview/index.js'
import { performance as performancePanel } from '../../../../lib/parts/performance/index.js'
import { parts } from '../../../../lib/parts/index.js'
import { timelineOf } from '../../../../lib/parts/read.js'
import { profile } from '../fixture.js'
import { sample } from '../sample.js'
import { profileOf, SECRET } from '../../../support/app.js'
import { shown, texts } from '../support.js'
import { inBothModes } from '../../../support/modes.js'

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

/** The names of the rows, each below the names of the rows around it. */
const outline = (list: Element | null): unknown[] => [...list?.children ?? []].map((item) => {
  const name = item.querySelector('.name')?.textContent ?? ''
  const inner = item.querySelector(':scope > ol, :scope > details > ol')
  return inner === null ? name : [name, ...outline(inner)]
})
const rows = (root: ParentNode) => texts(root, '.waterfall li .row').map((row) => row.replace(/(?<= )(start|duration) /g, ''))
const ticks = (changes: object) => texts(shown(performancePanel, profile('000001', { events: [event('a', 0, 0)], ...changes })), '.scale text')

t.test('the waterfall has a row for each stage, handler, call and span', async t => {
  const root = shown(performancePanel, whole)
  t.same(rows(root), [
    'kernel.request 1 listener 1 ms 500 µs',
    'router 1 ms 500 µs',
    'handler home 2 ms 5 ms',
    'GET a.test/ 3 ms 2 ms',
    'GET b.test/ 4 ms pending',
    'kernel.response 1 listener 8 ms 250 µs',
    'response 8 ms 250 µs'
  ])
  t.same([...root.querySelectorAll('.waterfall rect')].map((bar) => [bar.getAttribute('class'), bar.getAttribute('x'), bar.getAttribute('width')]), [
    [
      'bar-listener', '10.00%', '5.00%'
    ], ['bar-listener', '10.00%', '5.00%'], ['bar-handler', '20.00%', '50.00%'], ['bar-failed', '30.00%', '20.00%'], ['bar-call', '40.00%', '60.00%'],
    ['bar-listener', '80.00%', '2.50%'], ['bar-listener', '80.00%', '2.50%']
  ])
  t.same([...root.querySelectorAll('.waterfall a.name')].map((link) => link.getAttribute('href')), [
    '?panel=events#event-1', '?panel=router', '?panel=http-client#call-1', '?panel=http-client#call-2', '?panel=events#event-2'
  ])
  t.same([...root.querySelectorAll('.waterfall a.name')].map((link) => link.getAttribute('title')), [
    'kernel.request: ran', 'the handler of the route home', 'http://a.test/: 503', 'http://b.test/: no response yet', 'kernel.response: ran'
  ])
  t.equal(root.querySelector('.scale .ready')?.getAttribute('x1'), '90.00%')
  t.same(texts(root, '.legend li'), ['outgoing HTTP call', 'failed', 'Response ready 9 ms'])
})

t.test('ticks are at 4 to 8 round times', async t => {
  t.same(ticks({ duration: 10 }), ['0', '2 ms', '4 ms', '6 ms', '8 ms', '10 ms'])
  t.same(ticks({ duration: 3 }), ['0', '0.5 ms', '1 ms', '1.5 ms', '2 ms', '2.5 ms', '3 ms'])
  t.same(ticks({ duration: 0.04 }), ['0', '10 µs', '20 µs', '30 µs', '40 µs'])
  t.same(ticks({ duration: 4_321 }), ['0', '1,000 ms', '2,000 ms', '3,000 ms', '4,000 ms'])
  const positions = [...shown(performancePanel, { ...whole, duration: 16 }).querySelectorAll('.scale .tick')].map((line) => line.getAttribute('x1'))
  t.same(positions, ['0.00%', '31.25%', '62.50%', '93.75%'])
  for (let duration = 0.001; duration < 1e6; duration *= 1.07) {
    const labels = ticks({ duration })
    t.ok(labels.length >= 4 && labels.length <= 8, `${duration}: ${labels.join()}`)
  }
})

t.test('the listeners of a stage are one row; hooks of the application have separate rows', async t => {
  const raised = { ...event('error', 9, 1, 'kernel.response') as object, pass: 'error', outcome: 'raised' } as never
  const root = shown(performancePanel, profile('000001', {
    duration: 10,
    events: [
      event('cors', 0, 0.25), event('authenticate', 0.5, 1, 'onRequest'), event('router', 2, 0.5), event('etag', 8, 0.25, 'kernel.response'), raised
    ]
  }))
  t.same(outline(root.querySelector('.waterfall > ol')), [
    ['kernel.request 2 listeners', 'cors', 'router'], 'authenticate', ['kernel.response 1 listener', 'etag'],
    ['kernel.response, error pass 1 listener', 'error']
  ])
  t.equal(rows(root)[0], 'kernel.request 2 listeners < 1 µs 750 µs')
  t.same([...root.querySelector('summary')?.querySelectorAll('rect') ?? []].map((bar) => bar.getAttribute('x')), ['0.00%', '20.00%'])
  t.same([...root.querySelectorAll('details')].map(({ open }) => open), [false, false, true], 'only a stage that failed is open')
  t.same(texts(root, '.legend li'), ['application hook', 'failed'])
})

t.test('calls and spans are below the row that started them', async t => {
  const call = (url: string, start: number, duration: number | null = 1) => ({ method: 'GET', url, status: 200, start, duration })
  const span = (name: string, start: number, spanId: string, parentId?: string) => ({ name, kind: 'client', start, duration: 1, spanId, parentId })
  const root = shown(performancePanel, profile('000001', {
    duration: 20,
    url: 'https://shop.test:8443/orders?a=1',
    events: [event('authenticate', 1, 3, 'onRequest')],
    collectors: {
      performance: { handlerStart: 5, handler: 10 },
      'http-client': {
        count: 5,
        calls: [
          call('https://login.test/user?token=x', 2), call('https://shop.test:8443/rates?currency=EUR', 6, null), call('https://shop.test/rates', 7),
          call('http://late.test/', 16), call('unknown', 17)
        ]
      },
      spans: {
        spans: [
          span('select', 8, 'b', 'a'), span('transaction', 7.5, 'a', 'gone'), span('circle', 9, 'd', 'e'), span('of circle', 9.5, 'e', 'd'),
          span('itself', 10, 'f', 'f')
        ]
      }
    }
  }))
  t.same(outline(root.querySelector('.waterfall > ol')), [
    ['authenticate', 'GET login.test/user'],
    ['handler unnamed', 'GET /rates', 'GET shop.test/rates', ['transaction', 'select'], ['circle', 'of circle'], 'itself'],
    'GET late.test/', 'GET unknown'
  ])
  t.ok(root.querySelector('[title="https://login.test/user?token=x: 200"]'))
})

t.test('of many calls those that failed and the longest are shown, and the others are counted', async t => {
  const calls = Array.from(
    { length: 200 },
    (_, i) => ({ method: 'GET', url: `http://a.test/${i}`, status: i === 7 ? 500 : 200, start: 3 + i / 1000, duration: i === 150 ? null : i / 1000 })
  )
  const { collectors, ...rest } = whole
  const root = shown(performancePanel, { ...rest, collectors: { ...collectors, 'http-client': { count: 500, calls } } })
  const names = texts(root, '.waterfall li li .name').filter((name) => name.startsWith('GET'))
  t.same([names.length, names[0], names[1], names[2], names.at(-1)], [60, 'GET a.test/7', 'GET a.test/141', 'GET a.test/142', 'GET a.test/199'])
  t.equal(texts(root, '.note')[0], '140 entries are left out: they took less time, and did not fail.')
  t.ok((root.querySelector('.waterfall')?.outerHTML.length ?? Infinity) < 40_000)
})

t.test('log lines are marks at their times', async t => {
  const line = (level: string, ms: number, message = level, channel = 'app') =>
    ({ time: new Date(Date.parse(whole.time) + ms).toISOString(), level, channel, message, context: {} }) as never
  const marks = (logs: never[]) => [...shown(performancePanel, { ...whole, logs }).querySelectorAll('.waterfall circle')]
    .map((mark) => [mark.textContent, mark.getAttribute('class'), mark.getAttribute('cx')])
  t.same(marks([
    line('error', 5, '<b>lost\n\u202e'), line('debug', 0, 'Notified', 'event'), line('info', 2), line('warn', 99),
    { ...line('fatal', 0) as object, offset: 0.5 } as never
  ]), [
    ['5 ms, error: <b>lost␊⟨U+202E⟩', 'mark-error', '50.00%'],
    ['2 ms, info: info', 'mark-info', '20.00%'],
    ['99 ms, warn: warn', 'mark-warn', '100.00%'],
    ['500 µs, fatal: fatal', 'mark-fatal', '5.00%']
  ])
  const many = Array.from({ length: 1_200 }, (_, i) => line(i === 3 ? 'warn' : 'info', i / 200))
  const root = shown(performancePanel, { ...whole, logs: many })
  t.equal(texts(root, '.waterfall .name')[0], '1,200 log lines')
  t.equal(root.querySelector('.waterfall .name')?.getAttribute('href'), '?panel=logs')
  t.equal(marks(many).length, 100)
  t.match(marks(many)[0], [/warn/])
})

t.test('durations are in microseconds below 1 ms', async t => {
  t.same(
    [0, 0.0004, 0.0005, 0.012, 0.9994, 0.9996, 1, 1.234, 12.34, 1234.5, -0.5].map(milliseconds),
    ['< 1 µs', '< 1 µs', '1 µs', '12 µs', '999 µs', '1 ms', '1 ms', '1.23 ms', '12.3 ms', '1,235 ms', '-500 µs']
  )
  t.same([null, undefined, '1', NaN, Infinity].map(milliseconds), ['–', '–', '–', '–', '–'])
  t.same([null, 0, 2].map(pending), ['<span class="none">pending</span>', '&#60; 1 µs', '2 ms'])
})

t.test('the time of a handler is the same in the waterfall, the overview and the toolbar', async t => {
  const sent = { ...whole, collectors: { performance: { handlerStart: 2, handler: 7.5 } } }
  t.match(timelineOf(parts, sent).find(({ step }) => step === 'handler'), { start: 2, duration: 7.5 })
  t.match(texts(shown(overviewPanel, sent), '.tiles > div')[0], 'Handler 7.5 ms')
  t.equal(toolbarOf(sent, '', parts, null).data.handlerDuration, 7.5)
})

inBothModes('the times of a request are in their order, and within its duration', async (t, build) => {
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

inBothModes('a handler that continues after its reply ends with the reply', async (t, _build, lifecycle) => {
  const app = Fastify() as unknown as FastifyInstance
  await app.register(hindsight, { debug: true, lifecycle, profiler: { storage: 'memory' }, ...(lifecycle === 'full' && { session: { secret: SECRET } }) })
  app.get('/', async (_request, reply) => {
    reply.type('text/html').send('<html><body></body></html>').then(() => {}, () => {})
    await sleep(50)
    return reply
  })
  t.teardown(() => app.close())
  const response = await app.inject('/')
  await sleep(60)
  const profile = await profileOf(app, response)
  const { handlerStart, handler, firstByte } = profile.collectors.performance as Record<string, number>
  t.ok(Number(handler) < 40 && Number(handlerStart) + Number(handler) <= Number(firstByte) && Number(firstByte) <= profile.duration)
  t.equal(timelineOf(parts, profile).find(({ step }) => step === 'handler')?.duration, handler)
  t.equal((await app.inject(`/_wdt/${profile.token}.json`)).json().handlerDuration, handler)
})

t.test('skipped listeners have no row, and invalid data has no bar', async t => {
  t.same(timelineOf(parts, sample()).map(({ name, failed }) => [name, failed]),
    [['router', true], ['error', false], ['clickjacking', false], ['GET plain', true], ['plain', false]])
  const root = shown(performancePanel,
    profile('000001', { duration: 0, events: [event('a', 0, 0)], collectors: { 'http-client': { calls: [{ start: 'x' }, {}] } } }))
  t.notMatch(root.querySelector('.waterfall')?.innerHTML, /NaN|Infinity|undefined/)
  t.equal(root.querySelectorAll('.waterfall a.name').length, 1)
  t.match(shown(performancePanel, profile('000001')).textContent, /No listener was reached\./)
})

inBothModes('the time of the page and of the toolbar is not that of the application', async (t, build, mode) => {
  const HOUR = 3_600_000
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
    const overview = (await app.inject({ url: `/_profiler/${profile.token}`, headers: { accept: 'text/html' } })).body
    t.equal(overview.includes('<div>Page or toolbar of Hindsight (not in the total) <strong>3,600,'), isOurs, url)
    const panel = (await app.inject({ url: `/_profiler/${profile.token}?panel=performance`, headers: { accept: 'text/html' } })).body
    t.equal(/class="name"[^>]*>Hindsight</.test(panel), isOurs, url)
    // In full mode the header is set before the toolbar is inserted.
    const timing = String(response.headers['server-timing'])
    t.ok(Number(/total;dur=([\d.]+)/.exec(timing)?.[1]) < HOUR, timing)
    if (isOurs && (mode === 'observe' || url !== '/page')) t.match(timing, /hindsight;dur=\d{7}/)
  }
})

import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { hindsight } from '../../../../app/hindsight.js'
import { toolbarOf } from '../../../../lib/profiler/pages/toolbar/toolbar.js'
import { performancePanel } from '../../../../lib/profiler/panels/performance.js'
import { spansOf } from '../../../../lib/profiler/panels/waterfall.js'
import { profile } from '../fixture.js'
import { sample } from '../sample.js'
import { profileOf, SECRET } from '../../../support/app.js'
import { shown, texts } from './support.js'

const event = (listener: string, start: number, duration: number, stage = 'kernel.request') =>
  ({ stage, listener, pass: 'main', outcome: 'ran', start, duration }) as never
const whole = profile('000001', {
  duration: 10,
  route: { name: 'home', pattern: '/', params: {}, methods: ['GET'] },
  events: [event('router', 1, 0.5), event('response', 8, 0.25, 'kernel.response')],
  collectors: {
    performance: { handlerStart: 2, handler: 5, serialization: 0.5, firstByte: 9 },
    'http-client': { count: 2, calls: [{ method: 'GET', url: 'http://a.test/', status: 503, start: 3, duration: 2 }, { method: 'GET', url: 'http://b.test/', status: null, start: 4, duration: null }] }
  }
})

t.test('the waterfall has a row for each listener, handler, call and span', async t => {
  const root = shown(performancePanel, whole)
  t.same(texts(root, '.waterfall tbody tr'), [
    'router kernel.request: ran router: 1 ms + 0.5 ms 1 ms 0.5 ms',
    'handler home the handler of the route home handler home: 2 ms + 5 ms 2 ms 5 ms',
    'GET http://a.test/ answered with 503 GET http://a.test/: 3 ms + 2 ms 3 ms 2 ms',
    'GET http://b.test/ no response yet GET http://b.test/: 4 ms + – 4 ms pending',
    'serialization from the result of the handler to the first listener of the response serialization: 7.5 ms + 0.5 ms 7.5 ms 0.5 ms',
    'response kernel.response: ran response: 8 ms + 0.25 ms 8 ms 0.25 ms'
  ])
  t.same([...root.querySelectorAll('.waterfall tbody rect')].map((bar) => [bar.getAttribute('class'), bar.getAttribute('x'), bar.getAttribute('width')]), [
    ['bar-request', '100.0', '50.0'], ['bar-handler', '200.0', '500.0'], ['bar-failed', '300.0', '200.0'], ['bar-call', '400.0', '600.0'],
    ['bar-serialization', '750.0', '50.0'], ['bar-response', '800.0', '25.0']
  ])
  t.same([...root.querySelectorAll('.waterfall th a')].map((link) => link.getAttribute('href')), [
    '?panel=events#event-1', '?panel=router', '?panel=http-client#call-1', '?panel=http-client#call-2', '?panel=router', '?panel=events#event-2'
  ])
  t.equal(root.querySelectorAll('.waterfall tbody .first-byte').length, 6)
  t.same(texts(root, '.legend li'), ['kernel.request 0.5 ms', 'handler 5 ms', 'serialization 0.5 ms', 'kernel.response 0.25 ms', 'outgoing HTTP call 2 ms', 'failed', 'response ready 9 ms'])
  t.same(texts(root, '.ticks span'), ['0 ms', '2.5 ms', '5 ms', '7.5 ms'])
})

t.test('the time of a handler is the same in the waterfall, the table and the toolbar', async t => {
  const sent = { ...whole, collectors: { performance: { handlerStart: 2, handler: 7.5 } } }
  t.match(spansOf(sent).find(({ kind }) => kind === 'handler'), { start: 2, duration: 7.5 })
  t.ok(texts(shown(performancePanel, sent), '.pairs tr').includes('handler7.5 ms'))
  t.equal(toolbarOf(sent, '').handlerDuration, 7.5)
})

for (const lifecycle of ['observe', 'full'] as const) {
  t.test(`a handler that continues after its reply ends with the reply: ${lifecycle}`, async t => {
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
    const { handlerStart, handler, firstByte, total } = profile.collectors.performance as Record<string, number>
    t.ok(Number(handler) < 40 && Number(handlerStart) + Number(handler) <= Number(firstByte) && Number(firstByte) <= Number(total))
    t.equal(spansOf(profile).find(({ kind }) => kind === 'handler')?.duration, handler)
    t.equal((await app.inject(`/_wdt/${profile.token}.json`)).json().handlerDuration, handler)
  })
}

t.test('a minimum duration hides shorter rows, but no pending ones', async t => {
  const visible = (threshold: unknown) => texts(shown(performancePanel, whole, { threshold }), '.span:not([hidden]) th a')
  t.same(visible('1'), ['handler home', 'GET http://a.test/', 'GET http://b.test/'])
  t.same(visible('50'), ['GET http://b.test/'])
  for (const nonsense of ['', 'x', '-1', '3']) t.equal(visible(nonsense).length, 6, nonsense)
  t.same(texts(shown(performancePanel, whole, { threshold: '5' }), 'option[selected]'), ['5 ms'])
})

t.test('skipped listeners have no row, and odd data no bar', async t => {
  t.same(spansOf(sample()).map(({ name, failed }) => [name, failed]), [['router', true], ['error', false], ['clickjacking', false], ['GET plain', true], ['plain', false]])
  const root = shown(performancePanel, profile('000001', { duration: 0, events: [event('a', 0, 0)], collectors: { 'http-client': { calls: [{ start: 'x' }, {}] } } }))
  t.notMatch(root.querySelector('.waterfall')?.innerHTML, /NaN|Infinity|undefined/)
  t.equal(root.querySelectorAll('.span').length, 1)
  t.match(shown(performancePanel, profile('000001')).textContent, /No listener was reached\./)
})

t.test('the total and the slowest listener', async t => {
  t.same(texts(shown(performancePanel, sample()), '.pairs tr'), [
    'total4.2 ms', 'all listeners0.4 ms', 'slowest listenercors (kernel.request), 0.1 ms', 'handler0 ms'
  ])
})

t.test('the times of the handler and of the response', async t => {
  const root = shown(performancePanel, profile('000001', { collectors: { performance: { total: 4, handlerStart: 1, handler: 2, serialization: 0.5, firstByte: 3.25 } } }))
  t.same(texts(root, '.pairs tr'), ['total1.25 ms', 'handler began at1 ms', 'handler2 ms', 'serialization0.5 ms', 'response ready at3.25 ms'])
})

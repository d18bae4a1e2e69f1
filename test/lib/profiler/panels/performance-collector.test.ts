import { Readable } from 'node:stream'
import t from 'tap'
import { stateOf } from '../../../../lib/lifecycle/request-state.js'
import type { PerformanceRecord } from '../../../../lib/profiler/panels/performance-collector.js'
import { build, profileOf } from '../../../support/app.js'

t.test('the times are in their order, and within the duration', async t => {
  const app = await build(t, {}, app => {
    app.get('/json', async () => ({ a: 1 }))
    app.get('/text', () => 'x')
    app.get('/stream', (_request, reply) => reply.send(Readable.from(['a', 'b'])))
    app.get('/fail', () => { throw new Error('no') })
  })
  for (const [url, serialised, handled] of [['/json', true, true], ['/text', false, true], ['/stream', false, true], ['/fail', false, true], ['/nix', false, false]] as const) {
    const { collectors, duration, events } = await profileOf(app, await app.inject(url))
    const record = collectors.performance as Required<PerformanceRecord>
    t.equal(record.total, duration, url)
    t.equal(record.serialization !== undefined, serialised, `${url} is serialised`)
    t.equal(record.handler !== undefined, handled, `${url} has a handler that ended`)
    const response = events.find(({ stage, outcome }) => stage === 'kernel.response' && outcome !== 'skipped')
    t.ok((response?.start ?? Infinity) <= record.firstByte && record.firstByte <= record.total, url)
    if (serialised) t.ok(record.handlerStart + record.handler <= (response?.start ?? 0) && record.serialization >= 0)
  }
})

t.test('outside debug mode no time is measured', async t => {
  let measured: unknown = 'never asked'
  const app = await build(t, { debug: false }, app => app.get('/', request => {
    const { headAt, serializeStart } = stateOf(request)
    measured = [headAt, serializeStart, Object.hasOwn(request.raw.socket, 'writeHead')]
    return { a: 1 }
  }))
  await app.inject('/')
  t.same(measured, [0, 0, false])
})

import { AsyncResource } from 'node:async_hooks'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { context, SpanKind, SpanStatusCode, trace, type Tracer } from '@opentelemetry/api'
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { hindsightSpanProcessor } from '../../../../src/index.js'
import { timeline as timelinePanel } from '../../../../src/parts/timeline/index.js'
import { spans as spansPanel } from '../../../../src/parts/spans/index.js'
import { SpanLog, type SpanLike } from '../../../../src/parts/spans/span-processor.js'
import { problemsOf } from '../../../../src/parts/read.js'
import { createMask } from '../../../../src/mask/mask.js'
import { profileOf } from '../../../support/app.js'
import { inBothProducts } from '../../../support/products.js'
import { HOSTILE } from '../../../parts/hostile.js'
import { profile } from '../../../parts/fixture.js'
import { shown, texts } from '../../../parts/support.js'

type Spans = { count: number, spans: Array<Record<string, unknown>> }

/** A tracer of OpenTelemetry's own SDK, as an application has it. */
function tracer (t: Test): Tracer {
  const provider = new NodeTracerProvider({ spanProcessors: [hindsightSpanProcessor()] })
  provider.register()
  t.teardown(async () => {
    await provider.shutdown()
    trace.disable()
    context.disable()
  })
  return trace.getTracer('pg', '1.0.0')
}

async function spansOf (app: FastifyInstance, url: string): Promise<Spans> {
  return (await profileOf(app, await app.inject(url))).collectors.spans as Spans
}

inBothProducts('spans of the application are in the profile of their request, and in its waterfall', async (t, build) => {
  const pg = tracer(t)
  const app = await build((app) => {
    app.get('/:name', async (request) => await pg.startActiveSpan(`SELECT ${(request.params as { name: string }).name}`, {
      kind: SpanKind.CLIENT, attributes: { 'db.system.name': 'postgresql', 'db.query.text': "select 1 where password='hunter2'", 'db.rows': [1, 2] }
    }, async (span) => {
      await sleep(2)
      pg.startSpan('inner').end()
      span.recordException(new Error('lost'))
      span.setStatus({ code: SpanStatusCode.ERROR, message: 'lost' })
      span.end()
      pg.startSpan('never ended')
      return 'x'
    }))
  })
  const [one, other] = await Promise.all([spansOf(app, '/one'), spansOf(app, '/other')])
  t.same(
    [one, other].map(({ count, spans }) => [count, spans.map(({ name }) => name)]),
    [[3, ['SELECT one', 'inner', 'never ended']], [3, ['SELECT other', 'inner', 'never ended']]], 'those of requests at the same time are kept apart'
  )
  const [select, inner, pending] = one.spans
  t.match(select, {
    kind: 'client',
    scope: 'pg',
    error: 'lost',
    traceId: /^[0-9a-f]{32}$/,
    spanId: /^[0-9a-f]{16}$/,
    attributes: { 'db.system.name': 'postgresql', 'db.rows': [1, 2] }
  })
  t.ok(Number(select?.start) > 0 && Number(select?.duration) >= 1)
  t.match(inner, { parentId: String(select?.spanId), traceId: String(select?.traceId) })
  t.ok(Number(inner?.start) >= Number(select?.start))
  t.equal(pending?.duration, null)
  t.notMatch(JSON.stringify(one), 'hunter2')

  const whole = profile('000001', { duration: 100, collectors: { spans: one } })
  const rows = texts(shown(timelinePanel, whole), '.waterfall .row')
  t.match(rows[0], /^SELECT one/)
  t.ok(texts(shown(timelinePanel, whole), '.more code').includes('client span, failed: lost'))
  t.equal(shown(timelinePanel, whole).querySelector('.waterfall li li .name > span')?.textContent, 'inner')
  t.match(rows[2], /pending$/)
  t.equal(shown(timelinePanel, whole).querySelector('.waterfall a')?.getAttribute('href'), '?panel=spans#span-1')
  const panel = shown(spansPanel, whole)
  t.match(panel.querySelector('#span-1')?.textContent, /postgresql/)
  t.equal(problemsOf(spansPanel, whole).errors, 1)
})

inBothProducts('spans without a profiled request are not recorded', async (t, build) => {
  const pg = tracer(t)
  const app = await build((app) => {
    app.get('/', async () => 'x')
    app.get('/unprofiled', { config: { profile: false } }, async () => { pg.startSpan('a').end() })
  })
  pg.startSpan('outside').end()
  t.equal(await spansOf(app, '/'), undefined)
  t.equal((await app.inject('/unprofiled')).statusCode, 200)
  const production = await build((app) => { app.get('/', async () => { pg.startSpan('a').end() }) }, { debug: false })
  t.equal((await production.inject('/')).statusCode, 200)
})

t.test('spans of any shape are bounded and masked', async (t) => {
  const span: SpanLike = {
    name: 'n'.repeat(500),
    spanContext: () => ({ traceId: 'a'.repeat(99), spanId: 'b'.repeat(99) }),
    attributes: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`k${i}`, 'v'.repeat(5_000)]))
  }
  const log = new SpanLog()
  for (let i = 0; i < 300; i++) log.add(span)
  const { count, spans } = log.record(createMask(), performance.now())
  t.same([count, spans.length], [300, 200])
  t.match(spans[0], { name: 'n'.repeat(200), traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), duration: null, kind: 'internal', scope: '' })
  const attributes = spans[0]?.attributes as Record<string, unknown>
  t.equal(Object.keys(attributes).length, 32)
  t.ok(String(attributes.k0).length < 600)

  const odd = new SpanLog()
  odd.add({ name: 'a', spanContext: () => { throw new Error('no') } })
  odd.add({
    name: 'Bearer abc.def',
    spanContext: () => ({ traceId: '1', spanId: '2' }),
    parentSpanContext: { spanId: '3' },
    startTime: [Date.now() / 1000 - 10, 0],
    duration: [1, 500_000_000],
    ended: true,
    kind: 99,
    status: { code: 2 },
    attributes: { authorization: 'x', big: 'y' },
    instrumentationScope: { name: 'old' }
  })
  const [only, ...others] = odd.record(createMask(), performance.now()).spans
  t.same(others, [])
  t.match(only, { name: 'Bearer ******', parentId: '3', duration: 1500, kind: 'internal', scope: 'old', error: '', attributes: { authorization: '******' } })
  t.ok(Number(only?.start) < -9_000, 'one that began before it was told')
})

t.test('the panel shows hostile and missing data safely', async (t) => {
  const hostile = profile('000001', {
    collectors: {
      spans: {
        count: 9,
        spans: [
          { name: HOSTILE, kind: HOSTILE, scope: HOSTILE, error: HOSTILE, attributes: { [HOSTILE]: HOSTILE }, events: [{ name: HOSTILE }], spanId: HOSTILE }, {}
        ]
      }
    }
  })
  const root = shown(spansPanel, hostile)
  t.equal(root.querySelectorAll('script, img').length, 0)
  t.match(root.textContent, '7 more were only counted.')
  t.equal(shown(timelinePanel, hostile).querySelectorAll('script, img').length, 0)
  t.match(shown(spansPanel, profile('000001', { collectors: { spans: { error: 'broke' } } })).textContent, 'broke')
  t.match(shown(spansPanel, profile('000001', { collectors: { spans: {} } })).textContent, 'None was recorded.')
})

inBothProducts('spans are recorded until the response has ended', async (t, build) => {
  const pg = tracer(t)
  const later: Array<() => void> = []
  const app = await build((app) => {
    app.get('/', async () => {
      const span = pg.startSpan('pending')
      later.push(AsyncResource.bind(() => {
        span.end()
        pg.startSpan('later').end()
      }))
      return 'x'
    })
  })
  const response = await app.inject('/')
  await turn()
  later[0]?.()
  const { collectors } = await profileOf(app, response)
  t.match(collectors.spans, { count: 1, spans: [{ name: 'pending', duration: null }] })
})

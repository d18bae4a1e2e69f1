import { setTimeout as sleep } from 'node:timers/promises'
import { context, SpanKind, SpanStatusCode, trace, type Attributes, type Tracer } from '@opentelemetry/api'
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import t, { type Test } from 'tap'
import { hindsightSpanProcessor } from '../../../../src/index.js'
import { recordQuery } from '../../../../src/queries/observe.js'
import { timeline as timelinePart } from '../../../../src/parts/timeline/index.js'
import { queries } from '../../../../src/parts/queries/index.js'
import { queryOfSpan } from '../../../../src/parts/queries/query-spans.js'
import { problemsOf } from '../../../../src/parts/read.js'
import { spans } from '../../../../src/parts/spans/index.js'
import { profileOf } from '../../../support/app.js'
import { inBothProducts } from '../../../support/products.js'
import { shown, texts } from '../../../parts/support.js'

function tracerOf (t: Test): Tracer {
  const provider = new NodeTracerProvider({ spanProcessors: [hindsightSpanProcessor()] })
  provider.register()
  t.teardown(async () => {
    await provider.shutdown()
    trace.disable()
    context.disable()
  })
  return trace.getTracer('pg', '1.0.0')
}

inBothProducts('queries that also come as spans are shown once', async (t, build) => {
  const tracer = tracerOf(t)
  const send = async (statement: string, parameters: unknown[], attributes: Attributes): Promise<void> => {
    const span = tracer.startSpan('pg.query', { kind: SpanKind.CLIENT, attributes })
    const end = recordQuery({ system: 'postgresql', statement, parameters })
    await sleep(1)
    const error = parameters[0] === 0 ? new Error('failed') : undefined
    end({ error })
    if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: 'failed' })
    span.end()
  }
  const app = await build((app) => {
    app.get('/', async () => {
      for (const id of [0, 1, 2]) {
        await send('select name from t where id = $1', [id], { 'db.system.name': 'postgresql', 'db.query.text': 'select name from t where id = $1' })
      }
      await Promise.all([send('select 1', [], { 'db.statement': 'select 2' }), send('select 1', [], { 'db.statement': 'select  1' })])
      tracer.startSpan('pg-pool.connect', { attributes: { 'db.system.name': 'postgresql' } }).end()
      tracer.startSpan('other', { attributes: { 'db.query.text': 'select other' } }).end()
      const outer = tracer.startSpan('load')
      await context.with(trace.setSpan(context.active(), outer), () =>
        send('select 3', [], { 'db.system.name': 'postgresql', 'db.query.text': 'select 3' }))
      outer.end()
    })
  })
  const stored = await profileOf(app, await app.inject('/'))
  const rows = texts(shown(timelinePart, stored), '.waterfall .name > span').filter((name) => !name.startsWith('handler'))
  t.equal(texts(shown(timelinePart, stored), '.legend a').find((kind) => kind.startsWith('query')), 'query 6')
  const outer = [...shown(timelinePart, stored).querySelectorAll('li')].find((row) => row.querySelector('.name > span')?.textContent === 'load')
  t.same(texts(outer as Element, ':scope > ol .name > span'), ['select 3'], 'a query is below the span around its own')
  t.same(rows.filter((name) => /^(?:pg|other)/.test(name)), ['pg-pool.connect', 'other'])
  const panel = shown(spans, stored)
  t.same([...panel.querySelectorAll('tr[id]')].map(({ id }) => id), ['span-6', 'span-7', 'span-8'])
  t.equal(texts(panel, '.note')[0], '6 spans of operations are shown in other panels.')
  t.same([problemsOf(spans, stored).errors, problemsOf(queries, stored).errors], [0, 1], 'the failure is counted once')
  const recorded = (stored.collectors.spans as { spans: Array<{ name: string, shownAs?: string }> }).spans
  t.same(recorded.map(({ shownAs }) => shownAs?.replace('?panel=queries#', '')).slice(0, 3), ['query-1', 'query-2', 'query-3'])
})

inBothProducts('the spans of Prisma in an operation are below it', async (t, build) => {
  const tracer = tracerOf(t)
  const app = await build((app) => {
    app.get('/', async () => {
      const span = tracer.startSpan('prisma:client:operation', { attributes: { name: 'User.count', method: 'count', model: 'User' } })
      const end = recordQuery({ system: 'prisma', statement: 'User.count', parameters: {} })
      // The clock of spans is another one.
      await sleep(10)
      context.with(trace.setSpan(context.active(), span), () => tracer.startSpan('prisma:client:serialize').end())
      await sleep(10)
      end()
      span.end()
    })
  })
  const timeline = shown(timelinePart, await profileOf(app, await app.inject('/')))
  const operation = [...timeline.querySelectorAll('li')].find((row) => row.querySelector('.name > span')?.textContent === 'User.count')
  t.same(texts(operation as Element, ':scope > ol .name > span'), ['prisma:client:serialize'])
  t.notOk(texts(timeline, '.name > span').includes('prisma:client:operation'))
})

t.test('a span belongs to the nearest query with the same statement that overlaps, and each query to one span', (t) => {
  const query = (system: string, statement: string, startedAt: number, endedAt?: number) =>
    ({ system, statement, startedAt, internal: 0, ...endedAt !== undefined && { endedAt } })
  const owner = queryOfSpan([
    query('sqlite', 'select 1', 0, 10), query('sqlite', 'select 2', 20, 30), query('redis', 'GET', 40, 50), query('mongodb', 'items.find', 60)
  ])
  const of = (startedAt: number, endedAt: number, attributes: Record<string, unknown>): string | null =>
    owner({ startedAt, endedAt, attributes })?.replace('?panel=queries#', '') ?? null
  t.equal(of(11, 12, { 'db.query.text': 'select ?' }), 'query-1', 'clocks differ')
  t.equal(of(0, 9, { 'db.query.text': 'select ?' }), null, 'it has its span already')
  t.equal(of(13, 17, { 'db.query.text': 'select ?' }), null, 'the times do not overlap')
  t.equal(of(20, 30, { 'db.query.text': 'select x' }), null, 'another statement')
  t.equal(of(20, 30, { 'db.system.name': 'sqlite' }), null, 'no statement')
  t.equal(of(20, Infinity, { 'db.statement': 'SELECT' }), null)
  t.equal(of(20, Infinity, { 'db.statement': 'select 3' }), 'query-2')
  t.equal(of(41, 49, { 'db.statement': 'get key' }), 'query-3')
  t.equal(of(61, 62, { 'db.operation.name': 'insert' }), null)
  t.equal(of(61, 62, { 'db.operation.name': 'find' }), 'query-4')
  t.end()
})

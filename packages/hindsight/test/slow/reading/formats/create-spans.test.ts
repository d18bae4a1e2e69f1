import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type HrTime } from '@opentelemetry/api'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor, type ReadableSpan } from '@opentelemetry/sdk-trace-node'
import t from 'tap'
import { hindsightSpanProcessor } from '../../../../src/index.js'
import type { Profile } from '../../../../src/store/profile.js'
import { createSpans, SCOPE } from '../../../../src/reading/formats/create-spans.js'
import { profileOf } from '../../../support/app.js'
import { failure, profile } from '../../../parts/fixture.js'
import { HOSTILE } from '../../../parts/hostile.js'
import { sample } from '../../../parts/sample.js'
import { inBothModes } from '../../../support/products.js'

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const exporter = new InMemorySpanExporter()
const application = trace.getTracer('shop')
const epochOf = ([seconds, nanoseconds]: HrTime): number => seconds * 1000 + nanoseconds / 1e6

/** The spans of Hindsight that were made since the last call: the request, and those below it. */
function made (): [root: ReadableSpan, ...children: ReadableSpan[]] {
  const spans = exporter.getFinishedSpans().filter(({ instrumentationScope }) => instrumentationScope.name === SCOPE)
  exporter.reset()
  const root = spans.find(({ kind }) => kind === SpanKind.SERVER) as ReadableSpan
  return [root, ...spans.filter((span) => span !== root)]
}

const spansOf = (one: Profile): ReturnType<typeof made> => {
  exporter.reset()
  createSpans(one)
  return made()
}

const OPTIONS = { profiler: { openTelemetry: true } } as const

inBothModes('without an SDK no span is created', async (t, build) => {
  const app = await build((app) => { app.get('/', async () => 'x') }, OPTIONS)
  t.equal((await app.inject('/')).body, 'x')
  await app.hindsight.profiler.flush()
  t.equal(app.hindsight.profiler.queue.counters.written, 1)
})

t.test('with an SDK spans are created', async (t) => {
  new NodeTracerProvider({ spanProcessors: [hindsightSpanProcessor(), new SimpleSpanProcessor(exporter)] }).register()
  t.teardown(() => trace.disable())

  inBothModes('a request is a span of a server, by the conventions, with its exceptions', async (t, build, mode) => {
    const app = await build((app) => {
      app.get('/articles/:id', async (request) => {
        if ((request.query as { fail?: string }).fail !== undefined) throw Object.assign(new RangeError('no price'), { statusCode: 503 })
        return 'x'
      })
    }, OPTIONS)
    exporter.reset()
    const answer = await app.inject({ url: '/articles/3?fail=1&token=abc', headers: { traceparent: TRACEPARENT, 'user-agent': 'curl/8' } })
    const stored = await profileOf(app, answer)
    const [root, ...children] = made()
    t.match(root, { name: 'GET /articles/:id', kind: SpanKind.SERVER, status: { code: SpanStatusCode.ERROR } })
    t.equal(root.spanContext().traceId, '0af7651916cd43dd8448eb211c80319c')
    t.match(root.parentSpanContext, { spanId: 'b7ad6b7169203331', isRemote: true })
    t.match(root.attributes, {
      'http.request.method': 'GET',
      'url.scheme': 'http',
      'url.path': '/articles/3',
      'http.route': '/articles/:id',
      'http.response.status_code': 503,
      'server.address': 'localhost',
      'server.port': 80,
      'client.address': '127.0.0.1',
      'user_agent.original': 'curl/8',
      'network.protocol.version': '1.1',
      'error.type': 'RangeError',
      'hindsight.token': stored.token
    })
    t.notMatch(JSON.stringify(root.attributes), 'token=abc')
    t.ok(Math.abs(epochOf(root.startTime) - Date.parse(stored.time)) < 1)
    const { hindsight = 0 } = stored.collectors.performance as { hindsight?: number }
    t.ok(Math.abs(epochOf(root.endTime) - epochOf(root.startTime) - stored.duration - hindsight) < 1)
    const [exception] = root.events.filter(({ name }) => name === 'exception')
    t.match(exception?.attributes, { 'exception.type': 'RangeError', 'exception.message': 'no price', 'exception.stacktrace': /RangeError: no price\n +at / })
    const ran = stored.events.filter(({ outcome }) => outcome !== 'skipped')
    const names = ran.map(({ stage, pass, listener }) => `${stage}${pass === 'error' ? ', error pass' : ''} ${listener}`)
    t.same(children.map(({ name }) => name).sort(), [...names, 'handler GET /articles/:id'].sort())
    const attributesOf = (part: string) => children.find(({ name }) => name.startsWith(part))?.attributes
    if (mode === 'full') t.match(attributesOf('kernel.request router'), { 'hindsight.part': 'listener', 'hindsight.detail': /^kernel\.request, ran/ })
    t.match(attributesOf('handler'), { 'hindsight.part': 'handler' })
    for (const child of children) {
      t.match(child, { kind: SpanKind.INTERNAL, parentSpanContext: { spanId: root.spanContext().spanId } })
      t.equal(child.spanContext().traceId, root.spanContext().traceId)
    }
    t.notOk('spans' in stored.collectors, 'they are not shown as spans of the application')
    const success = await profileOf(app, await app.inject('/articles/3'))
    const [first] = made()
    t.same(
      [first.status.code, first.parentSpanContext, first.attributes['error.type'], first.attributes['hindsight.token']],
      [SpanStatusCode.UNSET, undefined, undefined, success.token]
    )
  }, t)

  inBothModes('a call to another server is a span of a client', async (t, build) => {
    const other = http.createServer((_request, response) => response.writeHead(404).end())
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    t.teardown(() => other.close())
    const { port } = other.address() as AddressInfo
    const app = await build((app) => { app.get('/', async () => await (await fetch(`http://127.0.0.1:${port}/a`)).text()) }, OPTIONS)
    exporter.reset()
    await profileOf(app, await app.inject('/'))
    t.match(made().find(({ kind }) => kind === SpanKind.CLIENT), {
      name: 'GET',
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'url.full': `http://127.0.0.1:${port}/a`, 'server.port': port, 'http.response.status_code': 404, 'error.type': '404' }
    })
  }, t)

  inBothModes('writing a profile again creates no second span', async (t, build) => {
    const app = await build((app) => {
      app.get('/', async (request, reply) => {
        reply.send('x')
        await new Promise((resolve) => setTimeout(resolve, 50))
        throw new Error('late')
      })
    }, OPTIONS)
    exporter.reset()
    const { headers } = await app.inject('/')
    await app.hindsight.profiler.find(String(headers['x-debug-token']))
    await new Promise((resolve) => setTimeout(resolve, 150))
    t.match((await app.hindsight.profiler.find(String(headers['x-debug-token'])))?.exceptions, [{ message: 'late' }])
    t.equal(exporter.getFinishedSpans().filter(({ kind }) => kind === SpanKind.SERVER).length, 1)
  }, t)

  inBothModes('the span joins a trace that the instrumentation of the application has started', async (t, build) => {
    const app = await build((app) => { app.get('/', async () => { application.startSpan('query', {}, ROOT_CONTEXT).end() }) }, OPTIONS)
    exporter.reset()
    await profileOf(app, await app.inject('/'))
    const query = exporter.getFinishedSpans().find(({ name }) => name === 'query')
    const [root] = made()
    t.equal(root.spanContext().traceId, query?.spanContext().traceId)
  }, t)

  await t.test('a trace that is not sampled has no spans', async () => {
    t.same(spansOf(profile('000001', { collectors: { trace: { traceId: 'a'.repeat(32), parentId: 'b'.repeat(16), sampled: false } } })), [undefined])
  })

  await t.test('a client error is not an error of the server', async (t) => {
    const [root, ...children] = spansOf(failure('000001'))
    t.same(
      [root.status.code, 'error.type' in root.attributes, root.name, children.length], [SpanStatusCode.UNSET, false, 'GET', failure('000001').events.length]
    )
    const [odd] = spansOf(profile('000001', { method: 'BREW', url: 'nonsense', ip: 'unix' }))
    t.match(odd.attributes, { 'http.request.method': 'BREW' })
    t.notOk('client.address' in odd.attributes || 'url.path' in odd.attributes)
  })

  await t.test('texts and events are bounded for any profile', async (t) => {
    const [exception] = failure('000001').exceptions
    const [root] = spansOf(failure('000001', { exceptions: Array.from({ length: 50 }, () => exception as never) }))
    t.equal(root.events.length, 20)
    for (const odd of [sample(HOSTILE), sample('\ud800'), sample('x'.repeat(50_000))]) {
      const text = JSON.stringify(spansOf(odd).map(({ name, attributes, events }) => ({ name, attributes, events })))
      t.ok(text.length < 400_000 && !/(?<!\\)\\ud800/.test(text), `${text.length}`)
    }
  })
})

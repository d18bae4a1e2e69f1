import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import type { HrTime } from '@opentelemetry/api'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor, type ReadableSpan } from '@opentelemetry/sdk-trace-node'
import t from 'tap'
import type { OtlpSpan, TraceRequest } from '../../../../lib/profiler/otlp/message.js'
import { traceRequest } from '../../../../lib/profiler/otlp/trace-request.js'
import type { Profile } from '../../../../lib/profiler/profile.js'
import { build, profileOf } from '../../../support/app.js'
import { faultsOf, spansIn, valuesOf } from '../../../support/collector.js'
import { HOSTILE } from '../hostile.js'
import { failure, profile } from '../fixture.js'
import { sample } from '../sample.js'

const RESOURCE = { 'service.name': 'shop' }
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

const sent = (profile: Profile): TraceRequest => JSON.parse(JSON.stringify(traceRequest([profile], RESOURCE, { instrumented: true }))) as TraceRequest
const hrTime = (nano: string): HrTime => [Number(BigInt(nano) / 1_000_000_000n), Number(BigInt(nano) % 1_000_000_000n)]
const plain = (span: Pick<OtlpSpan, 'attributes'>): Record<string, never> => Object.fromEntries(span.attributes.map(({ key, value }) => [key, 'intValue' in value ? Number(value.intValue) : 'arrayValue' in value ? value.arrayValue.values.map((one) => Object.values(one)[0]) : Object.values(value)[0]])) as Record<string, never>

/** The same span as OpenTelemetry's SDK has it. */
async function readable (span: OtlpSpan): Promise<ReadableSpan> {
  const exporter = new InMemorySpanExporter()
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  provider.getTracer('x').startSpan('x').end()
  await provider.forceFlush()
  const [made] = exporter.getFinishedSpans() as [ReadableSpan]
  return {
    ...made,
    name: span.name,
    kind: span.kind - 1,
    spanContext: () => ({ traceId: span.traceId, spanId: span.spanId, traceFlags: 1 }),
    ...(span.parentSpanId !== undefined && { parentSpanContext: { traceId: span.traceId, spanId: span.parentSpanId, traceFlags: 1 } }),
    startTime: hrTime(span.startTimeUnixNano),
    endTime: hrTime(span.endTimeUnixNano),
    status: { code: span.status.code ?? 0, ...(span.status.message !== undefined && { message: span.status.message }) },
    attributes: plain(span),
    events: span.events.map((event) => ({ name: event.name, time: hrTime(event.timeUnixNano), attributes: plain(event) })),
    links: [],
    resource: made.resource,
    instrumentationScope: { name: 'fastify-hindsight' },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0
  }
}

t.test('the messages are those that OpenTelemetry\'s own serializer writes of the same spans', async (t) => {
  const ours = spansIn(sent(sample()))
  const spans = await Promise.all(ours.map(readable))
  const official = JSON.parse(new TextDecoder().decode(JsonTraceSerializer.serializeRequest(spans))) as TraceRequest
  t.same(faultsOf(official).filter((fault) => fault !== 'a resource without service.name'), [], 'what is held against ours holds for the original')
  const theirs = new Map(spansIn(official).map((span) => [span.spanId, span]))
  const ints = (value: unknown): unknown => JSON.parse(JSON.stringify(value).replace(/"intValue":"(-?\d+)"/g, '"intValue":$1'))
  for (const span of ours) {
    const { traceId, spanId, parentSpanId, name, kind, startTimeUnixNano, endTimeUnixNano, attributes, events, status } = theirs.get(span.spanId) as OtlpSpan
    t.same(ints({ parentSpanId: undefined, ...span, droppedEventsCount: undefined, status: { code: 0, ...span.status } }), ints({
      traceId, spanId, parentSpanId, name, kind, startTimeUnixNano, endTimeUnixNano, attributes, events: events.map(({ timeUnixNano, name, attributes }) => ({ timeUnixNano, name, attributes })), status
    }), span.name)
  }
  t.ok((ProtobufTraceSerializer.serializeRequest(spans)?.length ?? 0) > 500)
})

t.test('a request is a span of a server, by the conventions, with what was raised and logged', async (t) => {
  const app = await build(t, {}, (app) => {
    app.get('/articles/:id', async (request) => {
      request.log.warn({ id: 3 }, 'careful')
      if ((request.query as { fail?: string }).fail !== undefined) throw Object.assign(new RangeError('no price'), { statusCode: 503 })
      return 'x'
    })
  })
  const answer = await app.inject({ url: '/articles/3?fail=1&token=abc', headers: { traceparent: TRACEPARENT, 'user-agent': 'curl/8' } })
  const stored = await profileOf(app, answer)
  const request = sent(stored)
  t.same(faultsOf(request), [])
  const [root, ...children] = spansIn(request) as [OtlpSpan, ...OtlpSpan[]]
  t.match(root, { name: 'GET /articles/:id', kind: 2, traceId: '0af7651916cd43dd8448eb211c80319c', parentSpanId: 'b7ad6b7169203331', status: { code: 2 } })
  t.match(valuesOf(root), {
    'http.request.method': 'GET',
    'url.scheme': 'http',
    'url.path': '/articles/3',
    'http.route': '/articles/:id',
    'http.response.status_code': '503',
    'server.address': 'localhost',
    'server.port': '80',
    'client.address': '127.0.0.1',
    'user_agent.original': 'curl/8',
    'network.protocol.version': '1.1',
    'error.type': 'RangeError',
    'hindsight.token': stored.token
  })
  t.notMatch(JSON.stringify(request), 'token=abc')
  t.match(root.events.filter(({ name }) => name === 'exception').map(valuesOf)[0], { 'exception.type': 'RangeError', 'exception.message': 'no price', 'exception.stacktrace': /RangeError: no price\n +at / })
  const lines = root.events.filter(({ name }) => name === 'log').map((event) => valuesOf(event))
  t.match(lines.find((line) => line['log.channel'] === 'app'), { 'log.severity': 'warn', 'log.message': 'careful', 'log.context': '{"id":3}' })
  t.notOk(lines.some((line) => String(line['log.message']).startsWith('Notified event')), 'the listeners are spans')
  const walked = stored.events.filter(({ outcome }) => outcome !== 'skipped')
  t.same(children.slice(0, walked.length).map(({ name }) => name), walked.map(({ stage, listener }) => `${stage} ${listener}`), 'one span a listener')
  t.same(children.slice(walked.length).map(({ name }) => name), ['handler GET /articles/:id'])
  t.match(valuesOf(children.at(-1) as OtlpSpan), { 'hindsight.part': 'handler', 'code.file.path': /trace-request\.test\.ts$/, 'code.line.number': /^\d+$/ })
  for (const child of children) t.match(child, { traceId: root.traceId, parentSpanId: root.spanId, kind: 1 })
  t.match(children.map(valuesOf), walked.map(({ pass, outcome }) => ({ 'hindsight.pass': pass, 'hindsight.outcome': outcome })))

  const success = sent(await profileOf(app, await app.inject('/articles/3')))
  const [first] = spansIn(success) as [OtlpSpan]
  t.same([first.status, first.parentSpanId, 'error.type' in valuesOf(first)], [{}, undefined, false])
  t.same(faultsOf(success), [])
})

t.test('what a client gets wrong is no error of the server, and a trace is the same whenever it is made', async (t) => {
  const [root] = spansIn(sent(failure('000001'))) as [OtlpSpan]
  t.same([root.status, 'error.type' in valuesOf(root), root.name, root.events.length], [{}, false, 'GET', 2])
  t.same(sent(failure('000001')), sent(failure('000001')))
  t.not((spansIn(sent(failure('000002')))[0] as OtlpSpan).traceId, root.traceId)
  const odd = valuesOf(spansIn(sent(profile('000001', { method: 'BREW', url: 'nonsense', ip: 'unix' })))[0] as OtlpSpan)
  t.match(odd, { 'http.request.method': '_OTHER', 'http.request.method_original': 'BREW' })
  t.notOk('client.address' in odd || 'url.path' in odd)
})

t.test('spans of the application keep their own ids, and lead the trace where the request brought none', async (t) => {
  const spans = [{ traceId: 'c'.repeat(32), spanId: 'd'.repeat(16), parentId: 'e'.repeat(16), name: 'SELECT', kind: 'client', scope: 'pg', start: 1, duration: 2, error: 'lost', attributes: { 'db.system.name': 'postgresql' }, events: [{ name: 'retry', attributes: { n: 1 } }] }, { traceId: 'nonsense', spanId: 'x', name: 'y' }]
  const traced = profile('000001', { collectors: { spans: { count: 2, spans } } })
  const request = sent(traced)
  t.same(faultsOf(request), [])
  const [root, select, ...others] = spansIn(request) as [OtlpSpan, OtlpSpan]
  t.same(others, [])
  t.match(root, { traceId: 'c'.repeat(32), parentSpanId: 'e'.repeat(16) })
  t.match(select, { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16), parentSpanId: 'e'.repeat(16), kind: 3, status: { code: 2, message: 'lost' }, events: [{ name: 'retry' }] })
  t.same(spansIn(traceRequest([traced], RESOURCE)).length, 1, 'unless they are sent by the application itself')
})

t.test('whatever a profile holds, a collector takes it, and no more than it should', async (t) => {
  const line = { time: '2026-01-02T03:04:05.679Z', level: 'info' as const, channel: 'app', message: 'm', context: {} }
  const many = profile('000001', { logs: Array.from({ length: 500 }, () => line) })
  const root = spansIn(sent(many))[0] as OtlpSpan
  t.same([root.events.length, root.droppedEventsCount], [128, 372])
  for (const odd of [
    sample(HOSTILE), sample('\ud800'), sample('x'.repeat(50_000)),
    { ...profile('000001'), time: 'nonsense', duration: NaN, events: [{}], exceptions: [{}], logs: [{}], collectors: { 'http-client': { calls: [{}] }, trace: { traceId: '0'.repeat(32), spanId: 'x' }, otherErrors: [[{}]] } },
    { ...profile('000001'), events: undefined, exceptions: undefined, logs: undefined, route: 'x', url: null, method: '', collectors: { performance: { handlerStart: 1, handler: 2 } } }
  ]) {
    const request = sent(odd as unknown as Profile)
    t.same(faultsOf(request), [])
    t.ok(JSON.stringify(request).length < 400_000)
  }
})

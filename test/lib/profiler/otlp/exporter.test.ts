import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { OtlpExporter } from '../../../../lib/profiler/otlp/exporter.js'
import { otlpTarget } from '../../../../lib/profiler/otlp/settings.js'
import { build, profileOf, refusal } from '../../../support/app.js'
import { Collector, spansIn, valuesOf } from '../../../support/collector.js'
import { profile, tokens } from '../fixture.js'

const many = (count: number): ReturnType<typeof profile>[] => tokens(1, count).map((token) => profile(token))

t.test('profiles go to a collector behind the responses, with the headers that it needs', async (t) => {
  const collector = new Collector()
  const endpoint = await collector.listen(t)
  const app = await build(t, { profiler: { otlp: { endpoint, headers: { 'x-api-key': 'k' }, serviceName: 'shop' } } }, (app) => { app.get('/', async () => 'x') })
  const stored = await profileOf(app, await app.inject('/'))
  await app.inject('/nowhere')
  await app.close()
  t.same(collector.faults, [])
  t.equal(collector.headers[0]?.['x-api-key'], 'k')
  t.notOk('traceparent' in (collector.headers[0] ?? {}), 'what is sent belongs to no request')
  t.same(collector.requests.flatMap(({ resourceSpans }) => resourceSpans.map(({ resource }) => valuesOf(resource as never)['service.name'])), ['shop'])
  const roots = collector.requests.flatMap(spansIn).filter(({ kind }) => kind === 2)
  t.same(roots.map((span) => [span.name, valuesOf(span)['http.response.status_code']]), [['GET /', '200'], ['GET', '404']])
  t.equal(valuesOf(roots[0] as never)['hindsight.token'], stored.token)
  t.same(app.hindsight.profiler.exporter?.counters, { sent: 2, dropped: 0, rejected: 0 })
})

t.test('without the option nothing is sent, whatever the variables say', async (t) => {
  const collector = new Collector()
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = (await collector.listen(t)).replace('/v1/traces', '')
  t.teardown(() => { delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT })
  const off = await build(t, { profiler: { otlp: false } })
  await off.inject('/')
  await off.close()
  t.same([off.hindsight.profiler.exporter, collector.headers.length], [undefined, 0])
  const on = await build(t, { profiler: { otlp: true } })
  await on.inject('/')
  await on.close()
  t.equal(collector.requests.length, 1)
})

t.test('a collector that is slow, refuses or is away costs profiles, counted and told once', async (t) => {
  const told: string[] = []
  const warn = (message: string): void => { told.push(message) }
  const collector = new Collector()
  const endpoint = await collector.listen(t)
  const target = otlpTarget({ endpoint }, {})

  const bounded = new OtlpExporter({ target, warn, maxWaiting: 40, interval: 1_000_000 })
  bounded.add(many(50))
  await bounded.close()
  t.same(bounded.counters, { sent: 40, dropped: 10, rejected: 0 })
  t.same(collector.requests.map((request) => spansIn(request).length), [32, 8], 'in batches')
  t.match(told, ['Profiles are not exported: more are waiting than may; the collector is too slow (10 so far)'])
  bounded.add(many(1))
  t.equal(bounded.counters.dropped, 11, 'none is taken behind the end')

  const cases = [
    ['tried again', [{ status: 503 }, { status: 429, headers: { 'retry-after': '0' } }], { sent: 1, dropped: 0, rejected: 0 }],
    ['given up', [{ status: 503 }, { status: 503 }, { status: 503 }], { sent: 0, dropped: 1, rejected: 0 }],
    ['refused for good', [{ status: 400, body: 'no such tenant' }], { sent: 0, dropped: 1, rejected: 0 }],
    ['led elsewhere', [{ status: 307, headers: { location: 'http://127.0.0.1:1/' } }], { sent: 0, dropped: 1, rejected: 0 }],
    ['taken in part', [{ status: 200, body: '{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}' }], { sent: 1, dropped: 0, rejected: 3 }],
    ['taken, with an odd answer', [{ status: 200, body: 'fine' }], { sent: 1, dropped: 0, rejected: 0 }]
  ] as const
  for (const [name, answers, counters] of cases) {
    told.length = 0
    collector.answers = [...answers]
    const exporter = new OtlpExporter({ target, warn, backoff: 1, interval: 1_000_000 })
    exporter.add(many(1))
    await exporter.close()
    t.same(exporter.counters, counters, name)
    t.equal(told.length, counters.dropped + counters.rejected > 0 ? 1 : 0, name)
    if (name === 'refused for good') t.match(told[0], `the collector at ${endpoint} answered with 400: no such tenant`)
    if (name === 'taken in part') t.match(told[0], 'refused 3 spans: too old')
  }

  told.length = 0
  const away = new OtlpExporter({ target: otlpTarget({ endpoint: 'http://127.0.0.1:1/v1/traces?key=secret' }, {}), warn, backoff: 1, interval: 1 })
  for (let i = 0; i < 3; i++) {
    away.add(many(1))
    await sleep(10)
  }
  await away.close()
  t.same([away.counters.dropped, told.length], [3, 1])
  t.match(told[0], 'http://127.0.0.1:1/v1/traces cannot be reached: ')
  t.notMatch(told[0], 'secret')
})

t.test('closing does not wait for a collector that hangs', async (t) => {
  const collector = new Collector()
  const target = otlpTarget({ endpoint: await collector.listen(t) }, {})
  collector.answers = [{ status: 503, headers: { 'retry-after': '30' } }]
  const exporter = new OtlpExporter({ target, warn: () => {}, interval: 1_000_000 })
  exporter.add(many(40))
  await exporter.close(50)
  t.same(exporter.counters, { sent: 0, dropped: 40, rejected: 0 })
})

t.test('where traces go is settled by the option, then by the variables', async (t) => {
  const { endpoint, headers, resource } = otlpTarget({}, { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otel.test/base/', OTEL_EXPORTER_OTLP_HEADERS: 'a=b%20c, d=e', OTEL_RESOURCE_ATTRIBUTES: 'service.name=x,deployment.environment.name=dev' })
  t.same([endpoint, headers, resource], ['https://otel.test/base/v1/traces', { a: 'b c', d: 'e' }, { 'service.name': 'x', 'deployment.environment.name': 'dev' }])
  t.equal(otlpTarget({}, {}).endpoint, 'http://localhost:4318/v1/traces')
  t.equal(otlpTarget({}, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://h/x', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://g' }).endpoint, 'http://h/x')
  t.equal(otlpTarget({ endpoint: 'http://own/t', headers: { a: 'own' } }, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://g', OTEL_EXPORTER_OTLP_HEADERS: 'a=b' }).headers.a, 'own')
  t.equal(otlpTarget({ serviceName: 'own' }, { OTEL_SERVICE_NAME: 'env' }).resource['service.name'], 'own')
  for (const [settings, message] of [
    [{ endpoint: 'nowhere' }, 'profiler.otlp.endpoint: "nowhere" is no URL; a collector\'s is like http://localhost:4318/v1/traces'],
    [{ endpoint: 'ftp://h/' }, 'profiler.otlp.endpoint: "ftp:" is neither http: nor https:'],
    [{ endpoint: 'http://u:p@h/' }, 'profiler.otlp.endpoint: credentials belong into profiler.otlp.headers (OTEL_EXPORTER_OTLP_HEADERS), not into the URL'],
    [{ endpoint: 'http://h:4317' }, 'profiler.otlp.endpoint: port 4317 is that of gRPC; traces go by HTTP, to port 4318 by default'],
    [{ headers: { 'a b': 'x' } }, 'profiler.otlp.headers: "a b" has a name or a value that no header may have'],
    [{ headers: { a: 1 } }, 'Option "profiler.otlp.headers.a" must be a string, not a number'],
    [{ endpont: 'x' }, 'Unknown option "profiler.otlp.endpont"; did you mean "endpoint"?'],
    ['yes', 'Option "profiler.otlp" must be a boolean or an object, not a string']
  ] as const) t.equal(await refusal({ profiler: { storage: 'memory', otlp: settings } }), message)
  t.throws(() => otlpTarget({}, { OTEL_EXPORTER_OTLP_HEADERS: 'nonsense' }), { message: 'OTEL_EXPORTER_OTLP_HEADERS: a pair is written as in "name=value", separated by commas' })
})

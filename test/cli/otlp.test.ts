import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { execute } from '../../cli/run.js'
import type { TraceRequest } from '../../lib/profiler/otlp/message.js'
import { openStorage } from '../../lib/profiler/storage/open.js'
import { recordOf } from '../../lib/profiler/summary.js'
import { Collector, faultsOf, spansIn, valuesOf } from '../support/collector.js'
import { profile, tokens } from '../lib/profiler/fixture.js'
import { sample } from '../lib/profiler/sample.js'

async function stored (t: Test): Promise<(args: string[]) => Promise<[code: number, out: string, err: string]>> {
  const dataDir = t.testdir()
  const store = await openStorage({ dataDir })
  await store.put([...tokens(1, 40).map((token) => profile(token)), sample()].map(recordOf))
  await store.close()
  return async (args) => {
    const [out, err] = [new PassThrough(), new PassThrough()]
    const texts = [text(out), text(err)]
    const code = await execute([...args, '--data-dir', dataDir], out, err)
    out.end()
    err.end()
    return [code, await texts[0] ?? '', await texts[1] ?? '']
  }
}

const parsed = (lines: string): TraceRequest[] => lines.trim().split('\n').map((line) => JSON.parse(line) as TraceRequest)
const roots = (requests: TraceRequest[]): unknown[] => requests.flatMap(spansIn).filter(({ kind }) => kind === 2).map((span) => valuesOf(span)['hindsight.token'])

t.test('profiles are written as traces, oldest first, a line a request to a collector', async (t) => {
  const hindsight = await stored(t)
  const [code, out, err] = await hindsight(['export', '--format', 'otlp', '--service', 'shop'])
  t.same([code, err], [0, ''])
  const requests = parsed(out)
  t.same(requests.map((request) => faultsOf(request)), [[], []])
  t.same(roots(requests), [...tokens(1, 40), '3fa94c'])
  t.equal(valuesOf(requests[0]?.resourceSpans[0]?.resource as never)['service.name'], 'shop')
  const file = join(t.testdirName, 'traces.jsonl')
  t.same(await hindsight(['export', file, '--format', 'otlp', '--error', '1']), [0, `1 profile was written to ${file}.\n`, ''])
  t.same(roots(parsed(readFileSync(file, 'utf8'))), ['3fa94c'])
  t.notMatch((await hindsight(['export', '--format', 'profiles', '--limit', '1']))[1], 'resourceSpans')
})

t.test('they are posted to a collector', async (t) => {
  const hindsight = await stored(t)
  const collector = new Collector()
  const endpoint = await collector.listen(t)
  t.same(await hindsight(['export', '--format', 'otlp', '--endpoint', endpoint, '--headers', 'x-key=a%20b,x-other=c']), [0, `41 profiles were sent to ${endpoint}.\n`, ''])
  t.same(collector.faults, [])
  t.same(roots(collector.requests), [...tokens(1, 40), '3fa94c'])
  t.match(collector.headers[0], { 'x-key': 'a b', 'x-other': 'c' })
  collector.answers = [{ status: 200, body: '{"partialSuccess":{"rejectedSpans":2}}' }]
  t.same(await hindsight(['export', '--format', 'otlp', '--endpoint', endpoint, '--error', '1', '--json']), [0, '{"exported":1,"rejectedSpans":2}\n', ''])
  collector.answers = [{ status: 200 }, { status: 401, body: 'no \u001b[31mkey' }]
  t.same(await hindsight(['export', '--format', 'otlp', '--endpoint', endpoint]), [1, '', `fastify-hindsight: the collector at ${endpoint} answered with 401: no ␛[31mkey; 32 profiles were sent before it.\n`])
})

t.test('flags that do not go together are refused by their names', async (t) => {
  const hindsight = await stored(t)
  const file = join(t.testdirName, 'x')
  for (const [args, message] of [
    [['--format', 'xml'], '--format: "xml" is neither profiles nor otlp.'],
    [['--endpoint', 'http://h/'], '--endpoint goes with --format otlp only.'],
    [['--service', 'x'], '--service goes with --format otlp only.'],
    [['--format', 'otlp', '--headers', 'a=b'], '--headers are for an --endpoint, and none is given.'],
    [[file, '--format', 'otlp', '--endpoint', 'http://h/'], 'Traces go to the --endpoint or to a file, not to both.'],
    [['--format', 'otlp', '--endpoint', 'h'], '--endpoint: "h" is no URL; a collector\'s is like http://localhost:4318/v1/traces'],
    [['--format', 'otlp', '--endpoint', 'http://u:p@h/'], '--endpoint: credentials belong into --headers (OTEL_EXPORTER_OTLP_HEADERS), not into the URL'],
    [['--format', 'otlp', '--endpoint', 'http://h/', '--headers', 'x'], '--headers: a pair is written as in "name=value", separated by commas']
  ] as const) t.same(await hindsight(['export', ...args]), [2, '', `fastify-hindsight: ${message}\n`])
  t.notOk(existsSync(file))
})

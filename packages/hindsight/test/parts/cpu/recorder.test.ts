import { Session, type Profiler } from 'node:inspector'
import { connect } from 'node:net'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { runInThisContext } from 'node:vm'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { busiestPlace, callTreeOf, cpuProfileOf, readCpuRecord, type CpuRecord } from '../../../src/parts/cpu/record.js'
import { aggregateProfile, current, functionOf } from '../../../src/parts/cpu/recorder.js'
import { routesOf } from '../../../src/reading/pages/routes.js'
import type { TimeBudget } from '../../../src/recording/work-log.js'
import type { Profile } from '../../../src/store/profile.js'
import { listen, profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import { limitsAt, NEVER } from '../../support/timers.js'
import { HOSTILE } from '../hostile.js'

const ASKED = { 'x-hindsight-cpu': '1' }
// V8 reports functions by the names in their source.
const hostile = (runInThisContext(
  `(spin) => ({ ${JSON.stringify(HOSTILE)} () { spin(200) } })[${JSON.stringify(HOSTILE)}]`
) as (does: typeof spin) => () => void)(spin)

function deferred<T> (): { promise: Promise<T>, resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((_resolve) => { resolve = _resolve })
  return { promise, resolve }
}

/** Is busy for so many milliseconds of CPU time: where other processes run, less of them would have no sample. */
function spin (milliseconds: number): void {
  const before = process.cpuUsage()
  while (process.cpuUsage(before).user < milliseconds * 1_000) for (let i = 0; i < 100_000; i++) Math.sqrt(i)
}

function declare (app: FastifyInstance): void {
  app.get('/busy', async () => {
    spin(200)
    return 'done'
  })
  app.get('/hostile', async () => hostile())
  app.get('/quick', async () => 'done')
  app.get('/unseen', { config: { profile: false } }, async () => 'done')
  app.get('/boom', async () => { throw new Error('boom') })
}

function recordOf ({ collectors: { cpu } }: Profile): CpuRecord {
  const record = readCpuRecord(cpu)
  if (record === null) throw new Error(`no record, but ${JSON.stringify(cpu)}`)
  return record
}

const isRecording = (): boolean => current !== undefined
const keep = (text: string): string => text
const frame = (functionName: string, lineNumber = 0, url = 'file:///app/a.js') => ({ functionName, scriptId: '1', url, lineNumber, columnNumber: 0 })

/** A recording: a list of parents (by the number of a node, from 1) and what was at work in steps of a millisecond. */
function recording (names: ReadonlyArray<readonly [name: string, parent: number]>, samples: number[], line = (_i: number) => 0): Profiler.Profile {
  const nodes = names.map(([name], i) => ({ id: i + 1, callFrame: frame(name, line(i)), children: [] as number[] }))
  names.forEach(([, parent], i) => nodes[parent - 1]?.children.push(i + 1))
  return { nodes, samples, timeDeltas: samples.map(() => 1000), startTime: 0, endTime: (samples.length + 1) * 1000 }
}

inBothProducts('a busy function is among the heaviest, with its place, also in the exported file', async (t, build) => {
  const app = await build(declare)
  for (const [url, headers] of [['/busy', ASKED], ['/busy?_cpu=1', { 'sec-fetch-site': 'none' }], ['/busy', ASKED]] as const) {
    const profile = await profileOf(app, await app.inject({ url, headers }))
    const record = recordOf(profile)
    const tree = callTreeOf(record)
    const first = tree.heaviest.slice(0, 10).find(({ function: { name } }) => name === 'spin')
    t.match(first?.function, { kind: 'own', file: 'packages/hindsight/test/parts/cpu/recorder.test.ts', line: 31 }, url)
    t.ok((first?.total ?? 0) > 10_000 && (first?.total ?? 0) <= record.duration * 1000, `${first?.total} of ${record.duration}`)
    t.equal(record.interval, 250)
    const { prepared, budget: { work } } = profile.collectors.performance as { prepared: number, budget: TimeBudget }
    t.same(work, [], 'the start of the recorder is no work of the request')
    t.ok(prepared > 0, 'nor in its duration')
    const { body: panel } = await app.inject(`/_profiler/${profile.token}?panel=timeline`)
    t.match(panel, /Before that, Hindsight started the CPU profile in [\d.]+&#160;m?s\./)
    t.equal(Math.round(record.calls.reduce((sum, [, , time]) => sum + time, 0) / 1000), Math.round(record.duration))
    const file = cpuProfileOf(record) as {
      nodes: Array<{ id: number, children?: number[], callFrame: { functionName: string, url: string } }>
      samples: number[]
      timeDeltas: number[]
      endTime: number
    }
    const ids = new Set(file.nodes.map(({ id }) => id))
    t.ok(file.samples.length === file.timeDeltas.length && file.samples.every((id) => ids.has(id)) &&
      file.nodes.every(({ children = [] }) => children.every((id) => ids.has(id))))
    const spins = new Set(file.nodes.filter(({ callFrame: { functionName } }) => functionName === 'spin').map(({ id }) => id))
    t.ok(file.samples.some((id) => spins.has(id)))
  }
  t.equal(current, undefined)
})

inBothProducts('a request whose CPU profile is recorded is not in the times of its route', async (t, build) => {
  const app = await build(declare)
  const timesOf = async () => {
    const { routes } = await routesOf(app.hindsight)
    const { count, p50, p95 } = routes.find(({ pattern }) => pattern === '/quick') ?? {}
    return { count, p50, p95 }
  }
  await profileOf(app, await app.inject({ url: '/quick', headers: ASKED }))
  t.same(await timesOf(), { count: 1, p50: undefined, p95: undefined })
  const { duration } = await profileOf(app, await app.inject('/quick'))
  t.same(await timesOf(), { count: 2, p50: duration, p95: duration })
})

t.test('what ran for most of the time is a function of the application, or none', async (t) => {
  const functionOfKind = (name: string, kind: string) => ({ name, file: `${name}.js`, line: 1, column: 1, kind })
  const functions = [
    functionOfKind('(root)', 'engine'), functionOfKind('itemsOf', 'own'), functionOfKind('framesHere', 'hindsight'), functionOfKind('get', 'node')
  ]
  const placeOf = (own: number, hindsight: number, called: number, others: number) => busiestPlace(
    { interval: 250, duration: 1, samples: 1, functions, calls: [[0, -1, others], [1, 0, own], [2, 1, hindsight], [3, 2, called]] })
  t.equal(placeOf(20, 0, 40, 10), 'itemsOf (itemsOf.js:1)', 'with what it called')
  t.equal(placeOf(20, 400, 0, 30), null, 'not for what Hindsight did')
  t.equal(placeOf(20, 400, 0, 10), 'itemsOf (itemsOf.js:1)')
})

inBothProducts('functions of Hindsight, of dependencies and of Node.js have their kinds', async (t, build) => {
  const app = await build(declare)
  const unseen = new Map([['hindsight', /^packages\//], ['dependency', /^node_modules\/fastify\//], ['node', /^node:/]])
  // What takes less than a millisecond may have no sample in one request.
  while (unseen.size > 0) {
    const { functions } = recordOf(await profileOf(app, await app.inject({ url: '/quick', headers: ASKED })))
    for (const { kind, file } of functions) if (unseen.get(kind)?.test(file) === true) unseen.delete(kind)
  }
  t.equal(current, undefined)
})

inBothProducts('requests without the flag or without access are not recorded', async (t, build) => {
  const app = await build(declare)
  for (const [name, headers, url] of [
    ['without the header', {}, '/quick'],
    ['another value', { 'x-hindsight-cpu': '0' }, '/quick'],
    ['an empty parameter', {}, '/quick?_cpu='],
    ['a repeated parameter', {}, '/quick?_cpu=1&_cpu=1'],
    ['a page elsewhere', { ...ASKED, 'sec-fetch-site': 'cross-site' }, '/quick'],
    ['a page of a neighbour', { 'sec-fetch-site': 'same-site' }, '/quick?_cpu=1'],
    ['two values', { 'sec-fetch-site': 'none, cross-site' }, '/quick?_cpu=1']
  ] as const) {
    t.equal((await profileOf(app, await app.inject({ url, headers }))).collectors.cpu, undefined, name)
  }
  t.equal((await app.inject({ url: '/unseen', headers: ASKED })).body, 'done')
  t.equal(current, undefined)
  const port = await listen(app)
  const socket = connect(port, '127.0.0.1')
  socket.end('GET /quick HTTP/1.1\r\nHost: evil.example\r\nX-Hindsight-Cpu: 1\r\nConnection: close\r\n\r\n')
  for await (const chunk of socket) t.match(String(chunk), /200 OK/)
  // A search waits at most a second for the store, whose thread may start for longer.
  await app.hindsight.profiler.flush()
  const { profiles: [summary] } = await app.hindsight.profiler.search({ criteria: { url: 'evil.example' }, limit: 1 })
  const found = await app.hindsight.profiler.find(String(summary?.token))
  t.match([found?.status, found?.collectors.cpu], [200, undefined], 'a client without access')
})

inBothProducts('without Sec-Fetch-Site, no page of another origin starts a recording', async (t, build) => {
  const app = await build((app) => { app.get('/quick', async () => 'done') })
  const own = 'http://shop.test:3000'
  for (const [name, headers, query, expected] of [
    ['a client that is no browser', ASKED, '', true],
    ['an image that sends no referrer, or the address bar', {}, '?_cpu=1', false],
    ['an image of another site', { referer: 'http://evil.example/' }, '?_cpu=1', false],
    ['a page of another port', { referer: 'http://shop.test/' }, '?_cpu=1', false],
    ['a form of another site', { origin: 'null' }, '?_cpu=1', false],
    ['fetch of another site, which CORS allows', { ...ASKED, origin: 'http://evil.example' }, '', false],
    ['fetch of another site, with its own referrer', { ...ASKED, origin: 'http://evil.example', referer: `${own}/` }, '', false],
    ['a referrer that is no URL', { ...ASKED, referer: 'x' }, '', false],
    ['a page of the application', { referer: `${own}/orders?a=b` }, '?_cpu=1', true],
    ['fetch of the application', { ...ASKED, origin: own }, '', true]
  ] as const) {
    const response = await app.inject({ url: `/quick${query}`, headers: { host: 'shop.test:3000', ...headers } })
    t.equal((await profileOf(app, response)).collectors.cpu !== undefined, expected, name)
  }
})

inBothProducts('a request with the flag has a profile, even if it would have none otherwise', async (t, build) => {
  const app = await build(declare, { profiler: { collect: false } })
  t.equal((await app.inject('/quick')).headers['x-debug-token'], undefined)
  t.ok(recordOf(await profileOf(app, await app.inject({ url: '/quick', headers: ASKED }))))
  t.ok(recordOf(await profileOf(app, await app.inject({ url: '/boom', headers: ASKED }))))
  t.ok(recordOf(await profileOf(app, await app.inject({ url: '/nowhere', headers: ASKED }))))
})

inBothProducts('one recording runs at a time: the second profile has a note, the first has all work', async (t, build) => {
  const waiting = deferred<string>()
  const begun = deferred<void>()
  const app = await build((app) => {
    declare(app)
    app.get('/waits', async () => {
      begun.resolve()
      return await waiting.promise
    })
  })
  const first = app.inject({ url: '/waits', headers: ASKED })
  await begun.promise
  const token = current?.token
  const second = await profileOf(app, await app.inject({ url: '/busy', headers: ASKED }))
  t.same(second.collectors.cpu, { refused: `A CPU profile was being recorded for ${token}, and only one runs at a time. Try again.` })
  waiting.resolve('done')
  const profile = await profileOf(app, await first)
  t.equal(profile.token, token)
  t.ok(callTreeOf(recordOf(profile)).heaviest.some(({ function: { name } }) => name === 'spin'), 'the recording has their functions')
  t.ok(recordOf(await profileOf(app, await app.inject({ url: '/quick', headers: ASKED }))), 'the next one is recorded')
})

inBothProducts('a recording ends after 30 seconds, and the next one may begin', async (t, build) => {
  const waiting = deferred<string>()
  const begun = deferred<void>()
  const moments = [begun.promise.then(() => spin(200)), NEVER]
  t.intercept(globalThis, 'setTimeout', { value: limitsAt(30_000, moments) })
  const app = await build((app) => {
    declare(app)
    app.get('/waits', async () => {
      begun.resolve()
      return await waiting.promise
    })
  })
  // The places of hooks are inspected once.
  await app.inject('/quick')
  const sessions = t.capture(Session.prototype, 'disconnect', Session.prototype.disconnect)
  const first = app.inject({ url: '/waits', headers: ASKED })
  await begun.promise
  while (isRecording()) await sleep(5)
  t.not(sessions().length, 0, 'the inspector is closed during the request')
  t.ok(recordOf(await profileOf(app, await app.inject({ url: '/busy', headers: ASKED }))))
  waiting.resolve('done')
  const answer = await first
  t.same([answer.statusCode, answer.body], [200, 'done'], 'the response is unchanged')
  const record = recordOf(await profileOf(app, answer))
  t.ok(callTreeOf(record).heaviest.slice(0, 10).some(({ function: { name } }) => name === 'spin'), 'the profile has the functions until then')
  t.equal(current, undefined)
  t.equal(moments.length, 0)
})

inBothProducts('a recording ends with the connection', async (t, build) => {
  const begun = deferred<void>()
  const app = await build((app) => {
    declare(app)
    app.get('/never', async () => {
      begun.resolve()
      await new Promise(() => {})
    })
  })
  const port = await listen(app)
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /never HTTP/1.1\r\nHost: localhost\r\nX-Hindsight-Cpu: 1\r\n\r\n')
  await begun.promise
  t.not(current, undefined)
  socket.destroy()
  await once(socket, 'close')
  let found: string | undefined
  for (; found === undefined; await sleep(10)) found = (await app.hindsight.profiler.search({ criteria: { url: 'never' }, limit: 1 })).profiles[0]?.token
  t.equal(current, undefined)
  const profile = await app.hindsight.profiler.find(found)
  t.match(profile, { status: 499 })
  t.ok(recordOf(profile as Profile))
})

inBothProducts('a hostile name is stored unchanged, and bounded', async (t, build) => {
  const app = await build(declare)
  const record = recordOf(await profileOf(app, await app.inject({ url: '/hostile', headers: ASKED })))
  t.ok(record.functions.some(({ name }) => name.startsWith(HOSTILE.slice(0, HOSTILE.indexOf('\u0000')))), record.functions.map(({ name }) => name).join())
})

inBothProducts('outside debug mode no CPU recorder exists', async (t, build) => {
  const app = await build(declare, { debug: false, profiler: { production: true, storage: 'memory' } })
  t.equal((await app.inject({ url: '/quick', headers: ASKED })).body, 'done')
  const profile = await app.hindsight.profiler.find((await app.hindsight.profiler.latest())?.token ?? '')
  t.equal(profile?.status, 200)
  t.notOk('cpu' in (profile?.collectors ?? {}))
})

t.test('a sample lasts until the next', async (t) => {
  const profile = recording([['(root)', 0], ['a', 1], ['b', 2], ['a', 3]], [2, 3, 3, 3, 4, 1])
  const record = aggregateProfile(profile, 250, keep)
  t.same(record.functions.map(({ name }) => name), ['(root)', 'a', 'b'])
  t.same(record.calls, [[0, -1, 1000], [1, 0, 1000], [2, 1, 3000], [1, 2, 1000]])
  t.equal(record.duration, 6)
  const times = callTreeOf(record).heaviest.map(({ function: { name }, self, total }) => [name, self, total])
  t.same(times, [['b', 3000, 4000], ['a', 2000, 5000], ['(root)', 1000, 6000]], 'a recursive function is counted once')
})

t.test('a function of the application has the line that took longest; native code counts for the line that called it', async (t) => {
  const profile = recording([['(root)', 0], ['a', 1], ['all', 2]], [2, 2, 2, 2, 3, 3, 3])
  const [, own, native] = profile.nodes
  Object.assign(own as object, { hitCount: 4, positionTicks: [{ line: 3, ticks: 3 }, { line: 7, ticks: 1 }] })
  Object.assign(native as object, { hitCount: 3, positionTicks: [{ line: 7, ticks: 3 }] })
  Object.assign(native?.callFrame as object, { url: '', scriptId: '0', lineNumber: -1 })
  const { functions } = aggregateProfile(profile, 250, keep)
  t.match(functions, [{ name: '(root)' }, { name: 'a', line: 1, hot: [7, 4_000] }, { name: 'all', kind: 'engine' }])
  t.notOk('hot' in (functions[2] ?? {}))
})

t.test('the calls of a record are limited, and its total time is unchanged', async (t) => {
  const size = 20_000
  const names = Array.from({ length: size }, (_, i) => [`function number ${i}`, i === 0 ? 0 : 1 + Math.floor(i / 3)] as const)
  const profile = recording(names, Array.from({ length: 60_000 }, (_, i) => 1 + (i * 7919) % size), (i) => i)
  const record = aggregateProfile(profile, 250, keep)
  t.equal(record.calls.length, 800)
  t.ok(record.functions.length <= 800)
  t.equal(record.duration, 60_000)
  t.equal(record.calls.reduce((sum, [, , time]) => sum + time, 0), 60_000_000, 'no time is lost')
  t.not(readCpuRecord(JSON.parse(JSON.stringify(record))), null)
})

t.test('an empty or inconsistent recording is handled', async (t) => {
  const empty = aggregateProfile({ nodes: [], startTime: 0, endTime: 0 }, 250, keep)
  t.equal(readCpuRecord(JSON.parse(JSON.stringify(empty))), null)
  const odd = aggregateProfile({ ...recording([['(root)', 0]], [1, 99, 1]), timeDeltas: [5, -7, 3], endTime: 0 }, 250, keep)
  t.ok(odd.calls.every(([, , time]) => time >= 0))
})

t.test('a function belongs to the application, a dependency, Node.js or Hindsight, by its URL', async (t) => {
  const root = '/app'
  for (const [url, file, kind] of [
    ['file:///app/src/a.js', 'src/a.js', 'own'],
    ['file:///app/src/a%20b.js?v=2', 'src/a b.js', 'own'],
    ['/app/src/a.js', 'src/a.js', 'own'],
    ['file:///app/node_modules/x/a.js', 'node_modules/x/a.js', 'dependency'],
    ['file:///elsewhere/a.js', '/elsewhere/a.js', 'own'],
    ['node:internal/x', 'node:internal/x', 'node'],
    ['data:text/javascript,x', 'data:text/javascript,x', 'dependency'],
    ['evalmachine.<anonymous>', 'evalmachine.<anonymous>', 'dependency'],
    ['', '', 'dependency'],
    ['file://%', 'file://%', 'dependency'],
    [new URL('../../../src/recording/trace.ts', import.meta.url).href, null, 'hindsight']
  ] as const) {
    const found = functionOf(frame('f', 4, url), keep, root)
    t.equal(found.kind, kind, url)
    if (file !== null) t.match(found, { file, line: 5, column: 1 })
  }
  t.equal(functionOf({ ...frame('(program)', -1, ''), scriptId: '0' }, keep, root).kind, 'engine')
  t.match(functionOf(frame('', -1), keep, root), { name: '(anonymous)', line: 0 })
  t.equal(functionOf(frame('x'.repeat(5000), 0), (text) => text.replace('x', 'y'), root).name.slice(0, 3), 'yxx')
  t.ok(functionOf(frame('x'.repeat(5000), 0), keep, root).name.length < 300)
})

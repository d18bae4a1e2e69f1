import { Session } from 'node:inspector'
import { connect } from 'node:net'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { runInThisContext } from 'node:vm'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { callTreeOf, cpuProfileOf, readCpuRecord, type CpuRecord } from '../../../../lib/profiler/cpu/record.js'
import { currentRecording } from '../../../../lib/profiler/cpu/recorder.js'
import type { Profile } from '../../../../lib/profiler/profile.js'
import { build as buildApplication, listen, profileOf, type BuildOptions } from '../../../support/app.js'
import { limitsAt, NEVER } from '../../../support/timers.js'
import { HOSTILE } from '../hostile.js'

const ASKED = { 'x-hindsight-cpu': '1' }
// V8 reports functions by the names in their source.
const hostile = (runInThisContext(`(spin) => ({ ${JSON.stringify(HOSTILE)} () { spin(30) } })[${JSON.stringify(HOSTILE)}]`) as (does: typeof spin) => () => void)(spin)

function deferred<T> (): { promise: Promise<T>, resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((_resolve) => { resolve = _resolve })
  return { promise, resolve }
}

/** Is busy for so many milliseconds. */
function spin (milliseconds: number): void {
  const end = performance.now() + milliseconds
  while (performance.now() < end) Math.sqrt(end)
}

async function build (t: Test, options: BuildOptions = {}): Promise<FastifyInstance> {
  const app = await buildApplication({
    ...options,
    declare (app) {
      app.get('/busy', async () => {
        spin(60)
        return 'done'
      })
      app.get('/hostile', async () => hostile())
      app.get('/quick', async () => 'done')
      app.get('/unseen', { config: { profile: false } }, async () => 'done')
      app.get('/boom', async () => { throw new Error('boom') })
      options.declare?.(app)
    }
  })
  t.teardown(() => app.close())
  return app
}

function recordOf ({ collectors: { cpu } }: Profile): CpuRecord {
  const record = readCpuRecord(cpu)
  if (record === null) throw new Error(`no record, but ${JSON.stringify(cpu)}`)
  return record
}

t.test('a busy function is among the heaviest, with its place, also in the exported file', async (t) => {
  const app = await build(t)
  for (const [url, headers] of [['/busy', ASKED], ['/busy?_cpu=1', {}], ['/busy', ASKED]] as const) {
    const profile = await profileOf(app, await app.inject({ url, headers }))
    const record = recordOf(profile)
    const tree = callTreeOf(record)
    const first = tree.heaviest.slice(0, 10).find(({ function: { name } }) => name === 'spin')
    t.match(first?.function, { kind: 'own', file: 'test/lib/profiler/cpu/recorder.test.ts', line: 26 }, url)
    t.ok((first?.total ?? 0) > 10_000 && (first?.total ?? 0) <= record.duration * 1000, `${first?.total} of ${record.duration}`)
    t.equal(record.interval, 250)
    t.ok(record.functions.some(({ kind, file }) => kind === 'hindsight' && file.startsWith('plugins/')))
    t.ok(record.functions.some(({ kind, file }) => kind === 'dependency' && file.startsWith('node_modules/fastify/')))
    t.ok(record.functions.some(({ kind, file }) => kind === 'node' && file.startsWith('node:')))
    t.notOk(record.functions.some(({ name }) => name === 'post'), 'the recorder is not part of it')
    t.equal(Math.round(record.calls.reduce((sum, [, , time]) => sum + time, 0) / 1000), Math.round(record.duration))
    const file = cpuProfileOf(record) as { nodes: Array<{ id: number, children?: number[], callFrame: { functionName: string, url: string } }>, samples: number[], timeDeltas: number[], endTime: number }
    const ids = new Set(file.nodes.map(({ id }) => id))
    t.ok(file.samples.length === file.timeDeltas.length && file.samples.every((id) => ids.has(id)) && file.nodes.every(({ children = [] }) => children.every((id) => ids.has(id))))
    const spins = new Set(file.nodes.filter(({ callFrame: { functionName } }) => functionName === 'spin').map(({ id }) => id))
    t.ok(file.samples.some((id) => spins.has(id)))
  }
  t.equal(currentRecording(), undefined)
})

t.test('requests without the flag or without access are not recorded', async (t) => {
  const app = await build(t)
  for (const [name, headers, url] of [
    ['without the header', {}, '/quick'],
    ['another value', { 'x-hindsight-cpu': '0' }, '/quick'],
    ['an empty parameter', {}, '/quick?_cpu='],
    ['a repeated parameter', {}, '/quick?_cpu=1&_cpu=1'],
    ['a page elsewhere', { ...ASKED, 'sec-fetch-site': 'cross-site' }, '/quick'],
    ['a page of a neighbour', { 'sec-fetch-site': 'same-site' }, '/quick?_cpu=1']
  ] as const) {
    t.equal((await profileOf(app, await app.inject({ url, headers }))).collectors.cpu, undefined, name)
  }
  t.equal((await app.inject({ url: '/unseen', headers: ASKED })).body, 'done')
  t.equal(currentRecording(), undefined)
  const port = await listen(app)
  const socket = connect(port, '127.0.0.1')
  socket.end('GET /quick HTTP/1.1\r\nHost: evil.example\r\nX-Hindsight-Cpu: 1\r\nConnection: close\r\n\r\n')
  for await (const chunk of socket) t.match(String(chunk), /200 OK/)
  const { profiles: [summary] } = await app.hindsight.profiler.search({ criteria: { url: 'evil.example' }, limit: 1 })
  t.equal((await app.hindsight.profiler.find(summary?.token ?? ''))?.collectors.cpu, undefined, 'a client without access')
})

t.test('a request with the flag has a profile, even if it would have none otherwise', async (t) => {
  const app = await build(t, { profiler: { collect: false } })
  t.equal((await app.inject('/quick')).headers['x-debug-token'], undefined)
  t.ok(recordOf(await profileOf(app, await app.inject({ url: '/quick', headers: ASKED }))))
  t.ok(recordOf(await profileOf(app, await app.inject({ url: '/boom', headers: ASKED }))))
  t.ok(recordOf(await profileOf(app, await app.inject({ url: '/nowhere', headers: ASKED }))))
})

t.test('one recording runs at a time: the second profile has a note, the first has all work', async (t) => {
  const waiting = deferred<string>()
  const begun = deferred<void>()
  const app = await build(t, {
    declare (app) {
      app.get('/waits', async () => {
        begun.resolve()
        return await waiting.promise
      })
    }
  })
  const first = app.inject({ url: '/waits', headers: ASKED })
  await begun.promise
  const token = currentRecording()?.token
  const second = await profileOf(app, await app.inject({ url: '/busy', headers: ASKED }))
  t.same(second.collectors.cpu, { refused: `A CPU profile was being recorded for ${token}, and only one runs at a time. Try again.` })
  waiting.resolve('done')
  const profile = await profileOf(app, await first)
  t.equal(profile.token, token)
  t.ok(callTreeOf(recordOf(profile)).heaviest.slice(0, 30).some(({ function: { name } }) => name === 'spin'), 'the recording has their functions')
  t.ok(recordOf(await profileOf(app, await app.inject({ url: '/quick', headers: ASKED }))), 'the next one is recorded')
})

t.test('a recording ends after 30 seconds, and the next one may begin', async (t) => {
  const waiting = deferred<string>()
  const begun = deferred<void>()
  const moments = [begun.promise.then(() => spin(60)), NEVER]
  t.intercept(globalThis, 'setTimeout', { value: limitsAt(30_000, moments) })
  const app = await build(t, {
    declare (app) {
      app.get('/waits', async () => {
        begun.resolve()
        return await waiting.promise
      })
    }
  })
  const sessions = t.capture(Session.prototype, 'disconnect', Session.prototype.disconnect)
  const first = app.inject({ url: '/waits', headers: ASKED })
  await begun.promise
  while (currentRecording() !== undefined) await sleep(5)
  t.equal(sessions().length, 1, 'the inspector is closed during the request')
  t.ok(recordOf(await profileOf(app, await app.inject({ url: '/busy', headers: ASKED }))))
  waiting.resolve('done')
  const answer = await first
  t.same([answer.statusCode, answer.body], [200, 'done'], 'the response is unchanged')
  const record = recordOf(await profileOf(app, answer))
  t.ok(callTreeOf(record).heaviest.slice(0, 10).some(({ function: { name } }) => name === 'spin'), 'the profile has the functions until then')
  t.equal(currentRecording(), undefined)
  t.equal(moments.length, 0)
})

t.test('a recording ends with the connection', async (t) => {
  const begun = deferred<void>()
  const app = await build(t, {
    declare (app) {
      app.get('/never', async () => {
        begun.resolve()
        await new Promise(() => {})
      })
    }
  })
  const port = await listen(app)
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /never HTTP/1.1\r\nHost: localhost\r\nX-Hindsight-Cpu: 1\r\n\r\n')
  await begun.promise
  t.not(currentRecording(), undefined)
  socket.destroy()
  await once(socket, 'close')
  let found: string | undefined
  for (; found === undefined; await sleep(10)) found = (await app.hindsight.profiler.search({ criteria: { url: 'never' }, limit: 1 })).profiles[0]?.token
  t.equal(currentRecording(), undefined)
  const profile = await app.hindsight.profiler.find(found)
  t.match(profile, { status: 499 })
  t.ok(recordOf(profile as Profile))
})

t.test('a hostile name is stored unchanged, and bounded', async (t) => {
  const app = await build(t)
  const record = recordOf(await profileOf(app, await app.inject({ url: '/hostile', headers: ASKED })))
  t.ok(record.functions.some(({ name }) => name.startsWith(HOSTILE.slice(0, HOSTILE.indexOf('\u0000')))), record.functions.map(({ name }) => name).join())
})

t.test('outside debug mode no CPU recorder exists', async (t) => {
  const app = await build(t, { debug: false, profiler: { production: true, storage: 'memory' } })
  t.equal((await app.inject({ url: '/quick', headers: ASKED })).body, 'done')
  const profile = await app.hindsight.profiler.find((await app.hindsight.profiler.latest())?.token ?? '')
  t.equal(profile?.status, 200)
  t.notOk('cpu' in (profile?.collectors ?? {}))
})

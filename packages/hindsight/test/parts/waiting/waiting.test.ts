import http from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { waiting } from '../../../src/parts/waiting/index.js'
import { traceWaits } from '../../../src/parts/waiting/trace.js'
import type { WaitingView, WaitingRow } from './view.js'
import { listen } from '../../support/app.js'
import { inBothProducts, type Build } from '../../support/products.js'
import { profile } from '../fixture.js'
import { HANGS, placeOf, type Hang } from './hangs.js'

/** Starts an application in which each request for `/<number>` hangs, and sends all of them. */
async function start (t: Test, build: Build, traceWaits: boolean): Promise<{ app: FastifyInstance, origin: string, leave: () => void }> {
  const app = await build(async (app) => {
    for (const [i, { declare }] of HANGS.entries()) await app.register(async (scope) => { await declare(scope) }, { prefix: `/${i}` })
  }, { profiler: { traceWaits } }, { forceCloseConnections: true })
  const origin = `http://127.0.0.1:${await listen(app)}`
  const requests = HANGS.map(({ request: { path = '', ...request } = {}, body }, i) =>
    http.request(`${origin}/${i}${path}`, request).on('error', () => {}).end(body))
  const leave = (): void => { for (const request of requests) request.destroy() }
  t.teardown(leave)
  return { app, origin, leave }
}

async function waitingView (origin: string, count = HANGS.length): Promise<WaitingView> {
  for (;;) {
    const view = await (await fetch(`${origin}/_profiler/waiting.json`)).json() as WaitingView
    if (view.waiting.length === count) return view
    await sleep(50)
  }
}

function found (waiting: readonly WaitingRow[], origin: string, hang: Hang): WaitingRow | undefined {
  const url = `${origin}/${HANGS.indexOf(hang)}${hang.request?.path ?? ''}`
  return waiting.find((one) => one.url === url)
}

inBothProducts('requests that have not ended are shown with the code that they are in', async (t, build) => {
  const { origin } = await start(t, build, false)
  const { waiting, tracing } = await waitingView(origin)
  t.equal(tracing, false)
  for (const hang of HANGS) {
    const { in: code, for: pending, traced } = found(waiting, origin, hang) ?? {}
    t.equal(code?.name, hang.in, hang.name)
    t.equal(code?.source, placeOf(hang.at), hang.name)
    t.equal(traced, false, hang.name)
    t.same(pending?.map(({ kind, source }) => [kind, source]), hang.pending === undefined ? [] : [[hang.pending[0], placeOf(hang.pending[1])]], hang.name)
  }
})

inBothProducts('requests that wait for their client', async (t, build) => {
  const app = await build((app) => {
    app.post('/upload', () => 'never')
    app.get('/download', (_request, reply) => reply.send(Readable.from(function * () { while (true) yield 'x'.repeat(100_000) }())))
  }, {}, { forceCloseConnections: true })
  const port = await listen(app)
  const origin = `http://127.0.0.1:${port}`
  const upload = 'POST /upload HTTP/1.1\r\nHost: a.test\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"a"'
  for (const message of [upload, 'GET /download HTTP/1.1\r\nHost: a.test\r\n\r\n']) {
    const socket = connect(port, '127.0.0.1').on('error', () => {}).pause()
    t.teardown(() => socket.destroy())
    socket.write(message)
  }
  const { waiting } = await waitingView(origin, 2)
  const found = waiting.map(({ in: code, sentences }) => [code?.name, sentences.length]).sort()
  t.same(found, [['the parser: the body of the request has not arrived', 1], ['the response, which its client does not read', 1]])
})

inBothProducts('traced requests are shown with the line that they wait for', async (t, build, product) => {
  const { origin } = await start(t, build, true)
  const { waiting, tracing } = await waitingView(origin)
  t.equal(tracing, true)
  for (const hang of HANGS) {
    const { in: code, for: pending = [] } = found(waiting, origin, hang) ?? {}
    t.equal(code?.name, hang.in, hang.name)
    const traced = product === 'package' && hang.isUntracedByPackage === true ? [] : hang.traced ?? []
    const expected = [hang.pending ?? [], traced].filter(({ length }) => length > 0)
    t.same(pending.filter(({ name }) => /<anonymous>|^async |^Object\./.test(name)), [], hang.name)
    t.same(pending.map(({ kind, source }) => [kind, source]), expected.map(([kind, line = '']) => [kind, placeOf(line)]), hang.name)
  }
})

inBothProducts('a body that has not arrived is not the fault of a hook', async (t, build) => {
  const app = await build((app) => {
    app.post('/late', { preHandler: async () => {}, preValidation: async () => {} }, () => 'never')
    app.post('/early', { preParsing: async () => {} }, () => 'never')
  }, {}, { forceCloseConnections: true })
  const port = await listen(app)
  for (const path of ['/late', '/early']) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    t.teardown(() => socket.destroy())
    socket.write(`POST ${path} HTTP/1.1\r\nHost: a.test\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"a"`)
  }
  const { waiting } = await waitingView(`http://127.0.0.1:${port}`, 2)
  const parser = 'the parser: the body of the request has not arrived'
  t.same(waiting.map(({ in: code }) => code?.name).sort(), [`a hook of the route, or ${parser}`, parser])
})

inBothProducts('nothing is listed when tracing has ended', async (t, build) => {
  const { app, origin } = await start(t, build, true)
  await waitingView(origin)
  const tokens = app.hindsight.recorder?.waitingTokens()
  t.equal(tokens?.length, HANGS.length)
  traceWaits(app.hindsight, false)
  const { waiting, tracing } = await waitingView(origin)
  t.equal(tracing, false)
  t.same(waiting.map(({ token }) => token), tokens)
  t.same(waiting.filter(({ traced }) => traced), [])
  t.same(waiting.flatMap((one) => one.for.map(({ kind }) => kind)), HANGS.flatMap(({ pending }) => pending?.[0] ?? []))
})

t.test('tracing is offered, also where a line is known of what is not awaited for certain', async (t) => {
  const notice = (isCalling: boolean, traced = false) => {
    const call = { kind: 'outgoing HTTP call', name: 'GET http://a.test/', source: '/app/src/a.js:69', start: 0 }
    const data = { in: null, for: isCalling ? [call] : [], traced }
    return waiting.notice?.(data, profile('000001', { status: 0, collectors: { waiting: data } }))
  }
  t.match(notice(false)?.sentences, [/^For the line at which it waits, press Trace new requests, and send it again\.$/])
  t.match(notice(true)?.sentences, [/^Not ended: .*a\.js:69/, /^If it waits for something else, press Trace new requests, and send it again\.$/])
  t.equal(notice(true, true)?.sentences.length, 1)
  t.notOk(notice(true, true)?.form)
})

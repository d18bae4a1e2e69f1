import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { readCpuRecord } from '../../../lib/profiler/cpu/record.js'
import { currentRecording } from '../../../lib/profiler/cpu/recorder.js'
import type { Profile } from '../../../lib/profiler/profile.js'
import { limitsAt, NEVER } from '../../support/timers.js'
import { profile } from '../../lib/profiler/fixture.js'
import { sample } from '../../lib/profiler/sample.js'
import { build as buildApplication, profileOf } from '../../support/app.js'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { accept: 'application/json' }

interface Seen {
  url: string
  headers: Record<string, unknown>
}

async function build (t: Test): Promise<{ app: FastifyInstance, seen: Seen[] }> {
  const seen: Seen[] = []
  const app = await buildApplication({
    session: false,
    declare (app) {
      app.all('/things', async (request) => {
        seen.push({ url: request.url, headers: { ...request.headers } })
        return 'done'
      })
      app.get('/unseen', { config: { profile: false } }, async () => 'done')
    }
  })
  t.teardown(() => app.close())
  return { app, seen }
}

async function repeat (app: FastifyInstance, token: string, headers: Record<string, string> = {}, form = app.hindsight.profiler.formTokens.create()) {
  return await app.inject({ method: 'POST', url: `/_profiler/${token}/cpu`, headers: { ...FORM, ...json, ...headers }, payload: new URLSearchParams({ form_token: form }).toString() })
}

t.test('the file has the name of the profile, and a form that tools read', async (t) => {
  const { app } = await build(t)
  app.hindsight.profiler.save(sample())
  const { statusCode, headers, body } = await app.inject('/_profiler/3fa94c/cpu')
  t.equal(statusCode, 200)
  t.match(headers, { 'content-type': 'application/json; charset=utf-8', 'content-disposition': 'attachment; filename="3fa94c.cpuprofile"', 'cache-control': 'no-store' })
  t.same(JSON.parse(body), {
    nodes: [
      { id: 1, callFrame: { functionName: '(root)', scriptId: '0', url: '', lineNumber: -1, columnNumber: -1 }, hitCount: 0, children: [2, 6] },
      { id: 2, callFrame: { functionName: 'run', scriptId: '3', url: 'node:async_hooks', lineNumber: 331, columnNumber: 0 }, hitCount: 0, children: [3] },
      { id: 3, callFrame: { functionName: 'next', scriptId: '2', url: 'node_modules/fastify/lib/hooks.js', lineNumber: 233, columnNumber: 18 }, hitCount: 2, children: [4] },
      { id: 4, callFrame: { functionName: 'plain', scriptId: '1', url: 'plain', lineNumber: 2, columnNumber: 6 }, hitCount: 18, children: [5] },
      { id: 5, callFrame: { functionName: 'plain', scriptId: '1', url: 'plain', lineNumber: 2, columnNumber: 6 }, hitCount: 4, children: [] },
      { id: 6, callFrame: { functionName: '(idle)', scriptId: '4', url: '', lineNumber: -1, columnNumber: -1 }, hitCount: 16, children: [] }
    ],
    startTime: 0,
    endTime: 10_000,
    samples: [3, 4, 5, 6],
    timeDeltas: [0, 500, 4500, 1000]
  })
  app.hindsight.profiler.save(profile('000001'))
  app.hindsight.profiler.save(profile('000002', { collectors: { cpu: { refused: 'Another one ran.' } } }))
  for (const [token, status, message] of [['000001', 404, /has no CPU profile: none was requested\./], ['000002', 404, /Another one ran\./], ['00000f', 404, /was not found/], ['x', 404, /was not found/]] as const) {
    const response = await app.inject({ url: `/_profiler/${token}/cpu`, headers: json })
    t.equal(response.statusCode, status)
    t.match(response.body, message)
  }
})

t.test('a safe request is sent again, with what is known of it, and leads to its own graph', async (t) => {
  const { app, seen } = await build(t)
  const first = await app.inject({ url: '/things?a=%20b&c', headers: { 'x-custom': 'kept', cookie: 'old=1', authorization: 'Bearer gone', 'if-none-match': '"x"', 'sec-fetch-site': 'cross-site' } })
  const before = await profileOf(app, first)
  const answer = await repeat(app, before.token, { cookie: 'mine=2' })
  t.equal(answer.statusCode, 303)
  const token = /^\/_profiler\/([0-9a-f]{6})\?panel=cpu$/.exec(answer.headers.location ?? '')?.[1] ?? ''
  t.not(token, before.token)
  t.not(readCpuRecord((await app.hindsight.profiler.find(token))?.collectors.cpu), null)
  t.match(seen[1], { url: '/things?a=%20b&c', headers: { 'x-custom': 'kept', cookie: 'mine=2', 'if-none-match': '"x"' } })
  t.notOk('authorization' in (seen[1]?.headers ?? {}), 'what is masked is not sent')
  const page = await app.inject({ url: `/_profiler/${before.token}?panel=performance`, headers: { accept: 'text/html' } })
  t.match(page.body, `action="/_profiler/${before.token}/cpu"`)
})

t.test('requests that cannot be repeated, or may not', async (t) => {
  const { app, seen } = await build(t)
  for (const [token, changes] of Object.entries({
    '000001': { method: 'POST' },
    '000002': { url: 'http://h/things?token=******' },
    '000003': { url: 'not a url' },
    '000004': { url: 'http://h/unseen' },
    '000005': { url: 'http://h/things' }
  })) app.hindsight.profiler.save(profile(token, changes))
  for (const [token, status, message] of [
    ['000001', 409, /POST may change something/], ['000002', 409, /has masked values/], ['000003', 409, /no path/], ['000004', 409, /names no profile/], ['00000f', 404, /was not found/]
  ] as const) {
    const answer = await repeat(app, token)
    t.equal(answer.statusCode, status, answer.body)
    t.match(answer.body, message)
  }
  t.equal((await repeat(app, '000005', {}, 'forged')).statusCode, 403)
  t.equal((await repeat(app, '000005', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' })).statusCode, 403)
  t.same(seen, [])
  t.equal((await repeat(app, '000005')).statusCode, 303)
  t.equal(seen.length, 1)
})

t.test('a request without a response times out, and an endless response is aborted', async (t) => {
  let [begun, streamed] = [() => {}, () => {}]
  const moments = [new Promise<void>((resolve) => { begun = resolve }), new Promise<void>((resolve) => { streamed = resolve }), NEVER]
  t.intercept(globalThis, 'setTimeout', { value: limitsAt(45_000, moments) })
  let gone = 0
  const app = await buildApplication({
    session: false,
    declare (app) {
      app.get('/never', async (request) => {
        request.raw.once('close', () => gone++)
        begun()
        await NEVER
      })
      app.get('/always', async (_request, reply) => {
        let pieces = 0
        return await reply.type('text/plain').send(new Readable({
          read () {
            setImmediate(() => this.push('again '))
            if (++pieces === 20) streamed()
          }
        }))
      })
      app.get('/quick', async () => 'done')
    }
  })
  t.teardown(() => app.close())
  app.hindsight.profiler.save(profile('000001', { url: 'http://h/never' }))
  app.hindsight.profiler.save(profile('000002', { url: 'http://h/always' }))
  const late = await repeat(app, '000001')
  t.match(late.json(), { status: 504, detail: 'The repeated request was not answered within 45 seconds.' })
  t.equal(gone, 1, 'the request was given up')
  t.equal(currentRecording(), undefined)
  for (const [token, end] of [['000002', 'gone'], ['000001', 'response']] as const) {
    if (end === 'response') app.hindsight.profiler.save(profile('000001', { url: 'http://h/quick' }))
    const answer = await repeat(app, token)
    t.equal(answer.statusCode, 303, answer.body)
    const made = await found(app, /^\/_profiler\/([0-9a-f]{6})\?panel=cpu$/.exec(answer.headers.location ?? '')?.[1] ?? '')
    t.equal(readCpuRecord(made.collectors.cpu)?.end, end)
    t.equal(currentRecording(), undefined)
  }
  t.equal(moments.length, 0)
})

async function found (app: FastifyInstance, token: string): Promise<Profile> {
  for (;;) {
    const profile = await app.hindsight.profiler.find(token)
    if (profile !== undefined) return profile
    await sleep(10)
  }
}

t.test('outside debug mode the routes are not found', async (t) => {
  const app = await buildApplication({ debug: false, profiler: { production: true } })
  t.teardown(() => app.close())
  app.hindsight.profiler.save(sample())
  t.equal((await app.inject('/_profiler/3fa94c/cpu')).statusCode, 404)
  t.equal((await repeat(app, '3fa94c')).statusCode, 404)
})

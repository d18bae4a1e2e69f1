import type { FastifyInstance } from 'fastify'
import { readCpuRecord } from '../../../src/parts/cpu/record.js'
import { profile } from '../../parts/fixture.js'
import { sample } from '../../parts/sample.js'
import { profileOf } from '../../support/app.js'
import { inBothProducts, type Build } from '../../support/products.js'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { accept: 'application/json' }

interface Seen {
  url: string
  headers: Record<string, unknown>
}

async function start (build: Build): Promise<{ app: FastifyInstance, seen: Seen[] }> {
  const seen: Seen[] = []
  const app = await build((app) => {
    app.all('/things', async (request) => {
      seen.push({ url: request.url, headers: { ...request.headers } })
      return 'done'
    })
    app.get('/unseen', { config: { profile: false } }, async () => 'done')
  })
  return { app, seen }
}

async function replay (app: FastifyInstance, token: string, fields: Record<string, string> = {}) {
  const form = { form_token: await app.hindsight.profiler.formToken(), ...fields }
  return await app.inject(
    { method: 'POST', url: `/_profiler/${token}/replay`, headers: { ...FORM, accept: 'text/html' }, payload: new URLSearchParams(form).toString() }
  )
}

inBothProducts('the file is named after the profile, and is valid for other tools', async (t, build) => {
  const { app } = await start(build)
  app.hindsight.profiler.save(sample())
  const { statusCode, headers, body } = await app.inject('/_profiler/3fa94c/cpu')
  t.equal(statusCode, 200)
  t.match(
    headers,
    { 'content-type': 'application/json; charset=utf-8', 'content-disposition': 'attachment; filename="3fa94c.cpuprofile"', 'cache-control': 'no-store' }
  )
  t.same(JSON.parse(body), {
    nodes: [
      { id: 1, callFrame: { functionName: '(root)', scriptId: '0', url: '', lineNumber: -1, columnNumber: -1 }, hitCount: 0, children: [2, 6] },
      { id: 2, callFrame: { functionName: 'run', scriptId: '3', url: 'node:async_hooks', lineNumber: 331, columnNumber: 0 }, hitCount: 0, children: [3] },
      {
        id: 3,
        callFrame: { functionName: 'next', scriptId: '2', url: 'node_modules/fastify/lib/hooks.js', lineNumber: 233, columnNumber: 18 },
        hitCount: 2,
        children: [4]
      },
      { id: 4, callFrame: { functionName: 'plain', scriptId: '1', url: 'plain', lineNumber: 2, columnNumber: 6 }, hitCount: 18, children: [5] },
      { id: 5, callFrame: { functionName: 'plain', scriptId: '1', url: 'plain', lineNumber: 2, columnNumber: 6 }, hitCount: 4, children: [] },
      { id: 6, callFrame: { functionName: '(idle)', scriptId: '4', url: '', lineNumber: -1, columnNumber: -1 }, hitCount: 16, children: [] }
    ],
    startTime: 0,
    endTime: 10_000,
    samples: [1, 2, 3, 4, 5, 6],
    timeDeltas: [0, 0, 0, 500, 4500, 1000]
  })
  app.hindsight.profiler.save(profile('000001'))
  app.hindsight.profiler.save(profile('000002', { collectors: { cpu: { refused: 'Another one ran.' } } }))
  for (const [token, status, message] of [
    ['000001', 404, /has no CPU profile: none was requested\./], ['000002', 404, /Another one ran\./], ['00000f', 404, /was not found/],
    ['x', 404, /was not found/]
  ] as const) {
    const response = await app.inject({ url: `/_profiler/${token}/cpu`, headers: json })
    t.equal(response.statusCode, status)
    t.match(response.body, message)
  }
})

inBothProducts('a replay records a CPU profile if the form requests it, and links to its graph', async (t, build) => {
  const { app, seen } = await start(build)
  const first = await app.inject({ method: 'POST', url: '/things?a=b', headers: { 'sec-fetch-site': 'cross-site' } })
  const before = await profileOf(app, first)
  const form = await app.inject({ url: `/_profiler/${before.token}/replay`, headers: { accept: 'text/html' } })
  t.match(form.body, '<input type="checkbox" name="cpu" value="1"> Record a CPU profile')
  const answer = await replay(app, before.token, { cpu: '1', confirm: '1' })
  t.equal(answer.statusCode, 303, answer.body)
  const token = /^\/_profiler\/([0-9a-f]{6})\?panel=cpu$/.exec(answer.headers.location ?? '')?.[1] ?? ''
  const made = await app.hindsight.profiler.find(token)
  t.equal(made?.replayOf, before.token)
  t.not(readCpuRecord(made?.collectors.cpu), null)
  t.match(seen[1], { url: '/things?a=b', headers: { 'sec-fetch-site': 'cross-site', 'x-hindsight-cpu': '1' } })
  const other = await replay(app, before.token, { confirm: '1' })
  t.match(other.headers.location, /\/compare\//, 'without the field there is none')
  t.notOk('x-hindsight-cpu' in (seen[2]?.headers ?? {}))
})

inBothProducts('one button records a GET; a masked value, or a method with side effects, is asked for first', async (t, build) => {
  const { app, seen } = await start(build)
  const pageOf = async (token: string) => (await app.inject({ url: `/_profiler/${token}?panel=timeline`, headers: { accept: 'text/html' } })).body
  const plain = await profileOf(app, await app.inject('/things'))
  t.match(await pageOf(plain.token), `action="/_profiler/${plain.token}/replay"`)
  const answer = await replay(app, plain.token, { cpu: '1' })
  t.match(answer.headers.location, /\?panel=cpu$/, answer.body)
  t.notMatch(await pageOf((answer.headers.location ?? '').slice(11, 17)), 'Record a CPU profile')
  const secret = await profileOf(app, await app.inject({ url: '/things', headers: { authorization: 'Bearer abc' } }))
  const asked = await replay(app, secret.token, { cpu: '1' })
  t.equal(asked.statusCode, 400)
  t.match(asked.body, /it is masked in the profile: enter it, or send the request without it/)
  t.match(asked.body, 'name="cpu" value="1" checked>')
  t.notMatch(asked.body, 'name="confirm"', 'a GET needs no confirmation')
  t.equal(seen.length, 3, 'it was not sent')
  const posted = await profileOf(app, await app.inject({ method: 'POST', url: '/things' }))
  t.match(await pageOf(posted.token), `href="/_profiler/${posted.token}/replay?cpu=1"`)
  const form = await app.inject({ url: `/_profiler/${posted.token}/replay?cpu=1`, headers: { accept: 'text/html' } })
  t.match(form.body, 'name="cpu" value="1" checked>')
})

inBothProducts('outside debug mode the route is a 404', async (t, build) => {
  const app = await build(undefined, { debug: false, profiler: { production: true } })
  app.hindsight.profiler.save(sample())
  t.equal((await app.inject('/_profiler/3fa94c/cpu')).statusCode, 404)
})

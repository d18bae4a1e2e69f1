import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http, { type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Ajv } from 'ajv'
import type { FastifyInstance } from 'fastify'
import { PROFILE_SCHEMA } from '../../../../../docs/scripts/profile.js'
import { recordQuery } from '../../../src/queries/observe.js'
import type { Profile } from '../../../src/store/profile.js'
import type { WaitingView } from '../../parts/waiting/view.js'
import { listen } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'

const SECRET_PATH = '/orders/7?api_key=secret-of-the-client&note=%3Cscript%3E%E2%80%AE'

/** A route that waits for a query, and may be ended; it is not the one request that has begun less than a second ago. */
function declare (app: FastifyInstance): Array<() => void> {
  const endings: Array<() => void> = []
  app.get('/orders/:id', (_request, reply) => {
    recordQuery({ system: 'postgresql', statement: "select \"<b>\" from orders where password = 'secret-of-the-query'" })
    app.log.info('before the query')
    endings.push(() => reply.send('at last'))
  })
  return endings
}

async function waitingView (origin: string, isExpected: (view: WaitingView) => boolean): Promise<WaitingView> {
  for (;;) {
    const view = await (await fetch(`${origin}/_profiler/waiting.json`)).json() as WaitingView
    if (isExpected(view)) return view
    await sleep(50)
  }
}

const hasOne = ({ waiting }: WaitingView): boolean => waiting.length === 1
const hasNone = ({ waiting }: WaitingView): boolean => waiting.length === 0

async function page (url: string): Promise<string> {
  return await (await fetch(url, { headers: { accept: 'text/html' } })).text()
}

inBothProducts('a request that has not ended is the first row of the list, and has a page until it ends', async (t, build) => {
  let endings: Array<() => void> = []
  const app = await build((app) => { endings = declare(app) })
  const origin = `http://127.0.0.1:${await listen(app)}`
  const response = fetch(`${origin}${SECRET_PATH}`)
  const { waiting: [request] } = await waitingView(origin, hasOne)
  t.match(request, { method: 'GET', route: 'GET /orders/:id', duration: Number, in: { name: 'the handler', source: /waiting\.test\.ts:\d+$/ }, traced: false })
  t.match(request?.for, [{ kind: 'query', name: 'select "<b>" from orders where password = \'******\'', source: /waiting\.test\.ts:\d+$/, start: Number }])
  t.match(request?.sentences, [
    /^In the handler, \S*\/_profiler\/waiting\.test\.ts:\d+, for [\d,.]+ m?s\.$/,
    /^Not ended: query select "<b>" from orders where password = '\*{6}', \S*\/waiting\.test\.ts:\d+, for [\d,.]+ m?s\.$/
  ])
  const { token = '', url = '' } = request ?? {}
  t.equal(new URL(url).search, '?api_key=******&note=%3Cscript%3E%E2%80%AE')
  const list = await page(`${origin}/_profiler/`)
  t.match(list, /<tbody class="waiting">[^]*select &#34;&#60;b&#62;&#34; from orders[^]*In the handler/)
  t.notMatch(list, /secret-of-the|<b>|\u202e/)
  t.match(list, `<a href="${token}">${token}</a>`)
  t.notMatch(await page(`${origin}/_profiler/search?status=200`), '<tbody class="waiting">', 'criteria are those of profiles')

  const unfinished = await (await fetch(`${origin}/_profiler/${token}.json`)).json() as Profile
  t.match(unfinished, { token, status: 0, route: { name: 'GET /orders/:id' }, exceptions: [], collectors: { waiting: { in: { name: 'the handler' } } } })
  t.equal(unfinished.logs.at(-1)?.message, 'before the query')
  const validate = new Ajv({ strict: false, validateFormats: false }).compile(JSON.parse(readFileSync(PROFILE_SCHEMA, 'utf8')) as object)
  t.ok(validate(unfinished), JSON.stringify(validate.errors))
  for (const panel of ['overview', 'queries', 'events', 'request']) {
    const text = await page(`${origin}/_profiler/${token}?panel=${panel}`)
    t.match(text, /What does it wait for\?[^]*In the handler/, panel)
    t.equal(text.includes('<details class="blocked" open>'), panel === 'overview', 'folded on the other panels')
    t.match(text, /If it waits for something else[^]*action="\/_profiler\/waiting"/, 'the query may not be awaited')
    t.notMatch(text, /secret-of-the|<b>"|class="failure"|pin-form/, panel)
  }
  const markdown = await (await fetch(`${origin}/_profiler/${token}.md`)).text()
  t.match(markdown, /^# No response\n[^]*## Waiting[^]*Not ended: query select/)

  for (const end of endings) end()
  t.equal(await (await response).text(), 'at last')
  await waitingView(origin, hasNone)
  const profile = await app.hindsight.profiler.find(token)
  t.match(profile, { token, status: 200 })
  t.notOk(profile?.collectors.waiting)
  t.match(profile?.collectors.request, { query: { api_key: '******' } }, 'what was recorded before its page was shown is complete')
  t.notMatch(await page(`${origin}/_profiler/`), '<tbody class="waiting">')
})

inBothProducts('the page of a request before its handler changes nothing that is recorded later', async (t, build) => {
  let next = (): void => {}
  const app = await build(async (app) => await app.register(async (scope) => {
    scope.addHook('preParsing', function wait (_request, _reply, _payload, done) { next = done })
    scope.post('/orders', () => 'done')
  }))
  const origin = `http://127.0.0.1:${await listen(app)}`
  const response = fetch(`${origin}/orders`, { method: 'POST', body: '{"item":1}', headers: { 'content-type': 'application/json' } })
  const { waiting: [request] } = await waitingView(origin, hasOne)
  t.match(request?.sentences, [/^In the preParsing hook wait, /])
  const unfinished = await (await fetch(`${origin}/_profiler/${request?.token}.json`)).json() as Profile
  t.equal(unfinished.route?.name, 'POST /orders')
  t.match(unfinished.events.filter(({ outcome }) => outcome !== 'skipped').at(-1), { listener: 'wait', outcome: 'running' })
  next()
  await (await response).text()
  await waitingView(origin, hasNone)
  const profile = await app.hindsight.profiler.find(request?.token ?? '')
  t.match(profile, { status: 200, route: { name: 'POST /orders' }, collectors: { request: { body: { item: 1 } } } })
  t.equal(profile?.events.find(({ listener }) => listener === 'wait')?.outcome, 'ran')
})

inBothProducts('a request whose client has left has what it waited for', async (t, build) => {
  const app = await build(declare)
  const origin = `http://127.0.0.1:${await listen(app)}`
  const client = http.get(`${origin}/orders/7`).on('error', () => {})
  const { waiting: [request] } = await waitingView(origin, hasOne)
  client.destroy()
  await waitingView(origin, hasNone)
  const profile = await app.hindsight.profiler.find(request?.token ?? '')
  t.match(profile, { status: 499, collectors: { waiting: { in: { name: 'the handler' }, for: [{ kind: 'query' }] } } })
  t.match(await page(`${origin}/_profiler/${request?.token}`), /What did it wait for\?[^]*In the handler/)
})

inBothProducts('event streams, other protocols and pages of the profiler are no requests that wait', async (t, build) => {
  const app = await build((app) => {
    app.get('/events', (_request, reply) => {
      reply.hijack()
      reply.raw.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
    })
    app.get('/socket', (request, reply) => {
      reply.hijack()
      request.raw.socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
    })
    app.get('/hang', () => new Promise(() => {}))
  }, {}, { forceCloseConnections: true })
  const origin = `http://127.0.0.1:${await listen(app)}`
  const headers = { accept: 'text/event-stream' }
  const clients = ['/events', '/_profiler/stream', '/hang'].map((path) => http.get(`${origin}${path}`, { headers }).on('error', () => {}))
  clients.push(http.get(`${origin}/socket`, { headers: { connection: 'upgrade', upgrade: 'echo' } }).on('error', () => {}))
  t.teardown(() => { for (const client of clients) client.destroy() })
  const { waiting } = await waitingView(origin, ({ waiting }) => waiting.length > 0)
  t.same(waiting.map(({ route }) => route), ['GET /hang'])
})

inBothProducts('the form begins and ends to trace what new requests wait for', async (t, build) => {
  const app = await build((app) => {
    app.get('/hang', async () => { await new Promise(() => {}) })
  }, {}, { forceCloseConnections: true })
  const origin = `http://127.0.0.1:${await listen(app)}`
  const clients = [http.get(`${origin}/hang`).on('error', () => {})]
  t.teardown(() => { for (const client of clients) client.destroy() })
  const { waiting: [first], formToken } = await waitingView(origin, hasOne)
  t.equal(first?.for.length, 0)
  const change = async (fields: Record<string, string>): Promise<Response> =>
    await fetch(`${origin}/_profiler/waiting`, { method: 'POST', body: new URLSearchParams(fields), headers: { accept: 'application/json' } })
  t.equal((await change({ trace: '1' })).status, 403, 'not without a token')
  t.equal((await change({ trace: 'yes', form_token: formToken })).status, 400)
  t.match(await page(`${origin}/_profiler/`), /name="trace" value="1"/)
  t.match(await (await change({ trace: '1', form_token: formToken })).json(), { tracing: true })
  t.match(await page(`${origin}/_profiler/`), /name="trace" value="0"/)
  clients.push(http.get(`${origin}/hang`).on('error', () => {}))
  const { waiting: [, second] } = await waitingView(origin, ({ waiting }) => waiting.length === 2)
  t.match(second?.for, [{ kind: 'await', source: /waiting\.test\.ts:\d+$/ }])
  t.match(await (await change({ trace: '0', form_token: formToken })).json(), { tracing: false })
})

inBothProducts('the stream has the tokens of requests that have not ended, when they change', async (t, build) => {
  let endings: Array<() => void> = []
  const app = await build((app) => { endings = declare(app) }, {}, { forceCloseConnections: true })
  const origin = `http://127.0.0.1:${await listen(app)}`
  const [stream] = await once(http.get(`${origin}/_profiler/stream`), 'response') as [IncomingMessage]
  t.teardown(() => stream.destroy())
  const response = fetch(`${origin}/orders/7`)
  const events: string[] = []
  for await (const chunk of stream.setEncoding('utf8')) {
    events.push(...String(chunk).split('\n\n').filter((event) => event.startsWith('event: waiting')))
    if (events.length === 1) for (const end of endings.splice(0)) end()
    if (events.length === 2) break
  }
  t.match(events, [/^event: waiting\ndata: \["[\da-f]{6}"\]$/, /^event: waiting\ndata: \[\]$/])
  await (await response).text()
})

inBothProducts('clients without access receive nothing about requests that have not ended', async (t, build) => {
  const app = await build(declare)
  const headers = { 'x-forwarded-for': '203.0.113.9' }
  for (const url of ['/_profiler/waiting.json', '/_profiler/waiting']) {
    const { statusCode, body } = await app.inject({ url, method: url.endsWith('json') ? 'GET' : 'POST', headers })
    t.equal(statusCode, 404, url)
    t.notMatch(body, 'tracing')
  }
})

import { EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { pluginOf } from '../../support/products.js'
import { executeCommand } from '../../../src/cli/run.js'
import type { HindsightOptions } from '../../../src/options.js'
import { replayRequest } from '../../../src/reading/replay/replay.js'
import { storedRequest } from '../../../src/reading/replay/stored-request.js'
import { MemoryStorage } from '../../../src/store/memory.js'
import { openStorage } from '../../../src/store/open.js'
import { recordOf } from '../../../src/store/summary.js'
import { HOSTILE } from '../../parts/hostile.js'
import { requested } from '../../reading/formats/stored.js'
import { sample } from '../../parts/sample.js'
import { build as buildService, listen, newest, profileOf } from '../../support/app.js'
import { testdir } from '../../support/folder.js'
import { htmlChecker } from '../../support/html-checker.js'
import { inBothProducts } from '../../support/products.js'
import { parseHtml } from '../../support/parse-html.js'

const html = { accept: 'text/html', 'sec-fetch-dest': 'document' }
const json = { accept: 'application/json' }

const orders: unknown[] = []
/** Emits `part` for each part of the response that does not end. */
const streams = new EventEmitter()

function declare (app: FastifyInstance): void {
  orders.length = 0
  app.get('/stock/:id', async ({ params, headers, ip }) => ({ params, user: headers.authorization, ip }))
  app.post('/orders', async ({ body, headers }) => { orders.push({ body, headers }); return { orders: orders.length } })
  app.get('/nested', async () => (await app.inject('/stock/1')).json() as unknown)
  app.get('/never', async () => await new Promise(() => {}))
  app.get('/always', async (_request, reply) => reply.send(new Readable({
    read () {
      setTimeout(() => {
        this.push('x')
        streams.emit('part')
      }, 5)
    }
  })))
}

async function formToken (app: FastifyInstance, token: string): Promise<string> {
  return (await app.inject({ url: `/_profiler/${token}/replay`, headers: json })).json().formToken
}

async function send (app: FastifyInstance, token: string, fields: Record<string, string>, headers: Record<string, string> = json) {
  const payload = new URLSearchParams({ form_token: await formToken(app, token), ...fields }).toString()
  return await app.inject(
    { method: 'POST', url: `/_profiler/${token}/replay`, headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers }, payload }
  )
}

inBothProducts('forms are accepted by all applications with the same store, also after a restart; otherwise by their own only', async (t, _build, product) => {
  const dataDir = join(testdir(t), product)
  const application = async (profiler: HindsightOptions['profiler']): Promise<FastifyInstance> => {
    const app = Fastify({ pluginTimeout: 60_000 })
    await app.register(pluginOf(product), { debug: true, profiler: profiler ?? {} })
    app.get('/stock', async () => 'stock')
    t.teardown(() => app.close())
    return app
  }
  const post = async (app: FastifyInstance, url: string, fields: Record<string, string>): Promise<number> => (await app.inject({
    method: 'POST', url, headers: { ...json, 'content-type': 'application/x-www-form-urlencoded' }, payload: new URLSearchParams(fields).toString()
  })).statusCode
  const statusesOf = async (app: FastifyInstance, token: string, form: string): Promise<number[]> => [
    await post(app, `/_profiler/${token}/replay`, { form_token: form }), await post(app, `/_profiler/${token}/pin`, { form_token: form, pinned: '1' })
  ]
  const [first, second] = [await application({ dataDir }), await application({ dataDir })]
  const { token } = await profileOf(first, await first.inject('/stock'))
  await first.hindsight.profiler.flush()
  const form = await formToken(first, token)
  t.same(await statusesOf(second, token, form), [200, 303], `${product}: another application`)
  t.same(await statusesOf(second, token, 'x'), [403, 403])
  await first.close()
  await second.close()
  t.same(await statusesOf(await application({ dataDir }), token, form), [200, 303], `${product}: after a restart`)
  t.same(await statusesOf(await application({ dataDir: join(dataDir, 'other') }), token, form), [403, 403], `${product}: another store`)

  // The store of an application without a secret, as `memory`.
  const storage = new MemoryStorage()
  const [third, fourth] = [await application({ storage }), await application({ storage })]
  const { token: another } = await profileOf(third, await third.inject('/stock'))
  const own = await formToken(third, another)
  t.same(await statusesOf(third, another, own), [200, 303], `${product}: in memory`)
  t.same(await statusesOf(fourth, another, own), [403, 403])
  const failing = await application({ storage: Object.assign(storage, { secret: async () => await Promise.reject(new Error('gone')) }) })
  t.same(await statusesOf(failing, another, await formToken(failing, another)), [200, 303], `${product}: the secret of the store is unavailable`)
})

inBothProducts('a safe request is sent again, has its own profile, and both are compared', async (t, build) => {
  const app = await build(declare)
  const first = await profileOf(app, await app.inject({ url: '/stock/7?x=1', headers: { 'x-kind': 'a' } }))
  const response = await send(app, first.token, {}, html)
  t.equal(response.statusCode, 303)
  const [, one, other = ''] = /^\/_profiler\/(\w{6})\/compare\/(\w{6})$/.exec(String(response.headers.location)) ?? []
  t.equal(one, first.token)
  const again = (await app.inject({ url: `/_profiler/${other}.json` })).json()
  t.match(again, { replayOf: first.token, status: 200, url: first.url, collectors: { request: { headers: { 'x-kind': 'a' } } } })
  t.equal(again.parent, undefined, 'it is nobody\'s child')
  const comparison = (await app.inject({ url: String(response.headers.location), headers: json })).json()
  t.same(comparison.sections.flatMap(({ name, differences }: { name: string, differences: unknown[] }) => name === 'times' ? [] : differences), [])
  const page = parseHtml((await app.inject({ url: `/_profiler/${other}`, headers: html })).body)
  t.match(page.querySelector('.panel')?.textContent, `This request replays ${first.token}: differences`)
  t.match((await app.inject({ url: `/_profiler/${first.token}`, headers: html })).body, `href="/_profiler/${first.token}/replay"`)
})

inBothProducts('the request of a client without access is replayed for the developer', async (t, build) => {
  const app = await build((app) => { app.get('/who', async ({ ip, host }) => ({ ip, host })) })
  const first = await app.inject({ url: '/who', remoteAddress: '203.0.113.9', headers: { host: 'shop.example' } })
  t.equal(first.headers['x-debug-token'], undefined)
  const { token } = await newest(app)
  const response = await send(app, token, {})
  t.equal(response.statusCode, 200, response.body)
  t.match(await newest(app), { replayOf: token, ip: '203.0.113.9', collectors: { request: { headers: { host: 'shop.example' } } } })
})

inBothProducts('JSON is shown with indentation, and sent as it was unless it is changed', async (t, build) => {
  const app = await build(declare)
  const { token } = await profileOf(app, await app.inject({ method: 'POST', url: '/orders', payload: { amount: 2, items: [1] } }))
  const { body } = await app.inject({ url: `/_profiler/${token}/replay`, headers: html })
  const shown = parseHtml(body).querySelector('textarea[name=body]')?.textContent ?? ''
  t.equal(shown, '{\n  "amount": 2,\n  "items": [\n    1\n  ]\n}')
  const lengthOf = (order: unknown) => (order as { headers: Record<string, unknown> }).headers['content-length']
  const sent = async (fields: Record<string, string>) => {
    await send(app, token, { confirm: '1', url: '/orders?again', ...fields })
    return lengthOf(orders.at(-1))
  }
  t.equal(await sent({ body: shown.replaceAll('\n', '\r\n') }), '24')
  t.equal(await sent({ body: shown.replace('2', '3') }), String(shown.length))
})

inBothProducts('an unsafe method needs a confirmation', async (t, build) => {
  const app = await build(declare)
  const first = await profileOf(
    app, await app.inject({ method: 'POST', url: '/orders', payload: { amount: 2, password: 'hunter2' }, headers: { cookie: 'sid=abc; theme=dark' } })
  )
  t.equal(orders.length, 1)
  const { body } = await app.inject({ url: `/_profiler/${first.token}/replay`, headers: html })
  const page = parseHtml(body)
  t.match(page.querySelector('.sent')?.textContent, /^POST \/orders\n[^]*\n\n\{\n {2}"amount": 2,\n {2}"password": "\*{6}"\n\}$/)
  t.match(page.querySelector('.confirm')?.textContent, /Replay this POST, which may have side effects$/)
  t.same(
    [...page.querySelectorAll('.masked-value input')].map((input) => input.getAttribute('name')),
    ['value.cookie.sid', 'value.cookie.theme', 'value.body.password']
  )
  t.same(await htmlChecker({ 'prefer-native-element': 'off' })(body), [])
  const refused = await send(app, first.token, {})
  t.match([refused.statusCode, refused.json().detail], [400, /^Invalid "confirm": POST is not safe/])
  t.equal(orders.length, 1, 'nothing was sent')
  const answer = (await send(app, first.token, { confirm: '1', 'value.body.password': 'hun"ter', 'value.cookie.sid': 'new', 'value.cookie.theme': '' })).json()
  t.match(answer, { replayOf: first.token, status: 200, comparison: { a: { token: first.token }, b: { token: answer.token } } })
  t.match(orders[1], { body: { amount: 2, password: 'hun"ter' }, headers: { cookie: 'sid=new' } })
  await send(app, first.token, { confirm: '1' })
  t.same((orders[2] as { body: object }).body, { amount: 2 }, 'what is left empty is not sent')
  t.equal((orders[2] as { headers: Record<string, unknown> }).headers.cookie, undefined)
})

inBothProducts('a request is changed in the form: what is masked keeps its place, and an unsafe method is asked for', async (t, build) => {
  const app = await build(declare)
  const first = await profileOf(app, await app.inject({
    method: 'POST', url: '/orders', payload: { amount: 2, password: 'hunter2' }, headers: { cookie: 'sid=abc', 'x-kind': 'a' }
  }))
  const load = (body: string): Document => parseHtml(body)
  const page = load((await app.inject({ url: `/_profiler/${first.token}/replay`, headers: html })).body)
  const valueOf = (document: Document, name: string): string => document.querySelector<HTMLInputElement>(`.replay form [name=${name}]`)?.value ?? ''
  const shown = Object.fromEntries(['method', 'url', 'headers', 'body'].map((name) => [name, valueOf(page, name)]))
  t.match(shown, { method: 'POST', url: '/orders', headers: /^x-kind: a$/m, body: '{\n  "amount": 2,\n  "password": "******"\n}' })
  const changes = {
    ...shown,
    headers: `${shown.headers}\r\nX-New: <b>one</b>\r\n`.replace('x-kind: a\n', ''),
    body: '{"amount":3,\r\n"password":"******"}',
    'value.body.password': 'hun"ter',
    'value.cookie.sid': 'new'
  }
  const asked = await send(app, first.token, changes, html)
  const question = load(asked.body)
  t.same([asked.statusCode, orders.length], [400, 1])
  t.match(question.querySelector('[role=alert]')?.textContent, 'POST is not safe')
  t.ok(question.querySelector('[name=confirm][required]'))
  t.match([valueOf(question, 'body'), valueOf(question, 'headers')], ['{"amount":3,\n"password":"******"}', /x-new: <b>one<\/b>/i])
  t.equal(question.querySelector<HTMLInputElement>('[name="value.cookie.sid"]')?.value, 'new')
  t.equal(question.querySelectorAll('main b').length, 0)
  const sent = await send(app, first.token, { ...changes, confirm: '1' }, html)
  t.match(sent.headers.location, new RegExp(`^/_profiler/${first.token}/compare/\\w{6}$`))
  t.match(orders[1], { body: { amount: 3, password: 'hun"ter' }, headers: { cookie: 'sid=new', 'x-new': '<b>one</b>' } })
  t.equal((orders[1] as { headers: Record<string, string> }).headers['x-kind'], undefined)

  const { token } = await profileOf(app, await app.inject({ url: '/stock/7?x=1', remoteAddress: '127.0.0.9' }))
  const answer = async (fields: Record<string, string>) => (await send(app, token, fields)).json()
  t.match(await answer({ url: '/stock/8?y=%20' }), { status: 200, replayOf: token })
  t.match(await newest(app), { url: /\/stock\/8\?y=%20$/, ip: '127.0.0.1' }, 'sent from the address of its sender')
  const odd = await profileOf(app, await app.inject({ method: 'POST', url: '/orders', payload: { note: 'a\u202eb' } }))
  const body = valueOf(load((await app.inject({ url: `/_profiler/${odd.token}/replay`, headers: html })).body), 'body') ?? ''
  t.match(body, '⟨U+202E⟩')
  await send(app, odd.token, { body: body.replace('a', 'c'), confirm: '1' })
  t.match(orders.at(-1), { body: { note: 'c\u202eb' } }, 'hidden characters are sent as they were')
  t.equal((await answer({ headers: 'host: localhost\nconstructor: x' })).status, 200)
  t.match(await answer({ method: 'post', url: '/orders' }), { detail: /^Invalid "confirm": POST is not safe/ })
  t.equal((await answer({ method: 'post', url: '/orders', body: 'not {json', headers: 'content-type: application/json', confirm: '1' })).status, 400)
  for (const [fields, status, detail] of [
    [{ url: 'http://evil.example/' }, 409, /Its URL has to begin with one "\/"/], [{ url: '//evil.example/' }, 409, /begin with one/],
    [{ url: '/_profiler/purge' }, 409, /a request of the profiler itself/], [{ headers: 'no colon' }, 409, /"no colon" is not "name: value"/],
    [{ headers: 'x-a: \u0001' }, 409, /The header x-a cannot be sent/], [{ method: 'A B' }, 409, /Its method cannot be sent/]
  ] as const) t.match(await answer(fields), { status, detail }, JSON.stringify(fields))
})

inBothProducts('a request that the options exclude is profiled when it is sent again, and only that', async (t, build) => {
  const app = await build(declare, { profiler: { matcher: '/nothing' } })
  app.hindsight.profiler.save(requested({ target: '/nested' }))
  const { token } = (await send(app, '3fa94c', {})).json()
  t.match((await app.inject(`/_profiler/${token}.json`)).json(), { replayOf: '3fa94c', status: 200 })
  const { profiles } = await app.hindsight.profiler.search({ limit: 10 })
  t.same(profiles.map((one) => one.token).sort(), ['3fa94c', token].sort(), 'the request that the handler injected is excluded')
})

inBothProducts('a request that a replayed handler injects is its child, and no replay', async (t, build) => {
  const app = await build(declare)
  app.hindsight.profiler.save(requested({ target: '/nested' }))
  const { token } = (await send(app, '3fa94c', {})).json()
  const child = await app.hindsight.profiler.latest({ parent: token })
  const profile = await app.hindsight.profiler.find(String(child?.token))
  t.match(profile?.url, /\/stock\/1$/)
  t.equal(profile?.replayOf, undefined)
})

inBothProducts('the client address is the original one, unless headers change it', async (t, build) => {
  const app = await build(declare)
  app.hindsight.profiler.save(requested({ target: '/stock/1' }, { ip: '10.1.2.3' }))
  const { token } = (await send(app, '3fa94c', {})).json()
  t.equal((await app.inject(`/_profiler/${token}.json`)).json().ip, '10.1.2.3')
})

inBothProducts('a request that cannot be sent, or an invalid field, is an error', async (t, build) => {
  const app = await build(declare)
  app.hindsight.profiler.save({
    ...requested({ target: '/orders', headers: { 'content-type': 'application/json' }, body: { a: 1, '…': '9 more fields' } }, { method: 'POST' }),
    token: '00000a'
  })
  app.hindsight.profiler.save({ ...requested({ target: '/stock/******', headers: { 'x-key': '******' } }), token: '00000b' })
  app.hindsight.profiler.save({ ...requested({ rawMessage: 'X' }), token: '00000c' })
  app.hindsight.profiler.save({ ...requested({ target: '/%5Fprofiler/purge' }, { method: 'POST' }), token: '00000d' })
  for (const [token, fields, status, message] of [
    ['00000a', { confirm: '1' }, 409, 'The request of this profile cannot be sent again: Its body is not stored as a whole: it was truncated.'],
    ['00000b', {}, 400, 'Invalid "path.2": it is masked in the profile, and the request requires it.'],
    ['00000b', { 'value.nix': 'x' }, 400, 'Invalid "nix": nothing of that name is masked; masked are path.2, x-key.'],
    ['00000b', { 'value.path.2': 'x', 'value.x-key': 'a\r\nb: c' }, 400, 'Invalid "x-key": it has a line break.'],
    ['00000d', { confirm: '1' }, 409, /It is a request of the profiler itself\.$/]
  ] as const) {
    const response = await send(app, token, fields)
    t.match([response.statusCode, response.json().detail], [status, message], token)
  }
  t.match((await app.inject({ url: '/_profiler/00000c/replay', headers: json })).json(), { status: 409, detail: /refused by the HTTP parser/ })
  t.match((await app.inject({ url: '/_profiler/ffffff/replay', headers: json })).json(), { status: 404 })
  const page = parseHtml((await app.inject({ url: '/_profiler/00000a/replay', headers: html })).body)
  t.match(page.querySelector('.replay form .warning')?.textContent,
    'The profile does not have the whole body: it was truncated. Paste the body that is to be sent.')
  t.equal(page.querySelector('[name=body]')?.hasAttribute('required'), true)
  const empty = await send(app, '00000a', { confirm: '1', body: '' }, html)
  t.match([empty.statusCode, empty.body], [409, 'Its body is not stored as a whole: it was truncated.'])
  const own = parseHtml((await app.inject({ url: '/_profiler/00000d/replay', headers: html })).body)
  t.equal(own.querySelector('.replay form'), null)
  t.equal(orders.length, 0)
  t.match((await send(app, '00000a', { confirm: '1', body: '{"amount":3}' })).json(), { status: 200 })
  t.match(orders, [{ body: { amount: 3 } }], 'with a body that was pasted')
})

t.test('requests of the profiler are not replayed below a prefix of the application either', async (t) => {
  for (const product of ['package', 'service'] as const) {
    const app = Fastify({ pluginTimeout: 60_000 }) as unknown as FastifyInstance
    t.teardown(() => app.close())
    let profiler: FastifyInstance['hindsight']['profiler'] | undefined
    await app.register(async (scope) => {
      await scope.register(pluginOf(product), { debug: true, profiler: { storage: 'memory' } })
      scope.get('/_errors', () => 'of the application')
      profiler = scope.hindsight.profiler
    }, { prefix: '/api' })
    for (const [target, problem] of [['/api/_error/500', 'It is a request of the profiler itself.'], ['/api/_errors', undefined]] as const) {
      profiler?.save(requested({ target }))
      const view = (await app.inject({ url: '/api/_profiler/3fa94c/replay', headers: json })).json()
      t.equal(view.problem, problem, `${product} ${target}`)
      const form = new URLSearchParams({ form_token: view.formToken }).toString()
      const { statusCode } = await app.inject({
        method: 'POST', url: '/api/_profiler/3fa94c/replay', headers: { ...json, 'content-type': 'application/x-www-form-urlencoded' }, payload: form
      })
      t.equal(statusCode, problem === undefined ? 200 : 409)
    }
  }
})

inBothProducts('a response that does not end is aborted', async (t, build) => {
  const app = await build(declare)
  // The timeout does not keep a process running.
  await listen(app)
  await t.rejects(
    replayRequest(app, storedRequest(requested({ target: '/never' })), 100), { message: 'The replay failed: No response within 0.1 seconds.' }
  )
  // Its time ends while the response is being sent.
  const ending = new AbortController()
  t.intercept(AbortSignal, 'timeout', { value: () => ending.signal })
  const replayed = replayRequest(app, storedRequest(requested({ target: '/always' })))
  for (let parts = 0; parts < 3; parts++) await once(streams, 'part')
  ending.abort()
  t.match(await replayed, { url: /\/always$/ })
})

inBothProducts('only forms of the profiler, from clients with access, send a request', async (t, build) => {
  const app = await build(declare)
  const port = await listen(app)
  app.hindsight.profiler.save(requested({ target: '/orders' }, { method: 'POST' }))
  const form = { method: 'POST', url: '/_profiler/3fa94c/replay', headers: { ...json, 'content-type': 'application/x-www-form-urlencoded' } } as const
  t.equal((await app.inject({ ...form, payload: 'confirm=1' })).statusCode, 403)
  t.equal((await app.inject({ ...form, payload: 'confirm=1&form_token=x' })).statusCode, 403)
  const payload = `confirm=1&form_token=${encodeURIComponent(await formToken(app, '3fa94c'))}`
  t.equal((await app.inject(
    { ...form, headers: { ...form.headers, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }, payload }
  )).statusCode, 403)
  const stranger = await fetch(
    `http://127.0.0.1:${port}/_profiler/3fa94c/replay`, { method: 'POST', headers: { ...form.headers, origin: 'https://evil.example' }, body: payload }
  )
  t.equal(stranger.status, 404)
  t.equal(orders.length, 0)
})

t.test('in production no request is sent again, not even by operators', async (t) => {
  const app = await buildService({
    debug: false,
    profiler: { production: true },
    profilerRole: 'ROLE_OPERATOR',
    security: {
      firewalls: [{ name: 'main', authenticators: { basic: true } }],
      providers: { users: async (identifier: string) => ({ identifier, password: 'x', roles: ['ROLE_OPERATOR'] }) },
      hasher: { verify: async () => true, hash: async () => 'x' }
    } as never,
    declare: (app) => app.get('/a', async () => 'a')
  })
  t.teardown(() => app.close())
  app.hindsight.profiler.save(requested({ target: '/a' }))
  const headers = { ...json, authorization: `Basic ${Buffer.from('op:op').toString('base64')}` }
  const { statusCode, body } = await app.inject({ url: '/_profiler/3fa94c', headers: { ...headers, ...html } })
  t.equal(statusCode, 200)
  t.notMatch(body, /replay/)
  t.equal((await app.inject({ url: '/_profiler/3fa94c/replay', headers })).statusCode, 404)
  t.equal((await app.inject({ method: 'POST', url: '/_profiler/3fa94c/replay', headers })).statusCode, 404)
})

inBothProducts('text of a request is escaped on the page', async (t, build) => {
  const app = await build(declare)
  app.hindsight.profiler.save({
    ...sample(HOSTILE),
    collectors: { request: { target: `/${HOSTILE}`, headers: { 'x-a': `${HOSTILE}******`, [HOSTILE]: HOSTILE, 'content-type': 'text/plain' }, body: HOSTILE } }
  })
  const { body, statusCode } = await app.inject({ url: '/_profiler/3fa94c/replay', headers: html })
  t.equal(statusCode, 200)
  t.equal(parseHtml(body).querySelectorAll('main :is(script, img, b, iframe, [onerror], [style])').length, 0)
})

inBothProducts('the command sends the request through the service', async (t, build) => {
  const app = await build(declare)
  const url = `http://127.0.0.1:${await listen(app)}`
  const { token } = await profileOf(app, await app.inject({ method: 'POST', url: '/orders', payload: { amount: 2, password: 'hunter2' } }))
  const command = async (...args: string[]): Promise<{ code: number, out: string, err: string }> => await commandAt({}, ...args)
  const commandAt = async (screen: object, ...args: string[]): Promise<{ code: number, out: string, err: string }> => {
    const [out, err] = [Object.assign(new PassThrough(), screen), new PassThrough()]
    const code = await executeCommand(['replay', ...args], out, err)
    return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') }
  }
  t.match(await command(token, '--url', url), { code: 1, err: /"POST \/orders" may repeat side effects: --yes replays it\./ })
  t.equal(orders.length, 1)
  t.match(await command(token, '--url', url, '--yes'), { code: 0, out: /\nNot sent, because it is masked: --set body\.password=…\n$/ })
  t.match(orders.pop(), { body: { amount: 2, password: undefined } })
  t.match(await command(token, '--url', `${url}/`, '--yes', '--set', 'body.password=a=b'), { code: 0, out: /^A [0-9a-f]{6} {2}200 .* POST \/orders\n/ })
  t.match(orders[1], { body: { amount: 2, password: 'a=b' } })
  const { out } = await command(token, '--url', url, '--yes', '--json')
  t.match(JSON.parse(out), { replayOf: token, status: 200 })
  const path = `/missing?${'filter[city]=Amsterdam&'.repeat(20)}page=7`
  const refused = await profileOf(app, await app.inject({ url: path, headers: { 'x-long': 'a value '.repeat(20) } }))
  const narrow = await commandAt({ isTTY: true, columns: 80 }, refused.token, '--url', url)
  t.match(narrow, { code: 2, out: /^A [0-9a-f]{6} {2}404 .*…/ })
  t.same(narrow.out.split('\n').filter((line) => line.length > 80), [], '80 columns')
  const dataDir = testdir(t)
  const store = await openStorage({ dataDir })
  const serverUrl = url.replace('127.0.0.1', 'localhost')
  const at = (token: string, address: string, request: object) => ({ ...sample(), token, url: address, collectors: { request } })
  // With a host that a client has chosen, of an injected request, of another machine, and not as Hindsight stores it.
  await store.put([at('000001', 'http://localhost:2/orders', { serverUrl }), at('000002', 'http://localhost:2/', {}),
    at('000003', 'https://shop.example:8443/', { serverUrl: 'http://localhost:2' }),
    at('000004', 'http://localhost/', { serverUrl: 'http://localhost:2@shop.example' })].map(recordOf))
  await store.close()
  t.match(await command(refused.token, '--data-dir', dataDir), { code: 2, out: /^A / }, 'the service of the newest request on this machine')
  for (const [args, message] of [
    [['x', '--url', url], /The service answered 404: Token "x" was not found\./],
    [['ffffff', '--url', url], /The service answered 404: Token "ffffff" was not found\./],
    ...['nix', 'u:secret@127.0.0.1', 'http://u:secret@127.0.0.1:1', 'http://secret@127.0.0.1:1', 'htp:/u:secret@h'].map((url) =>
      [
        [token, '--url', url], /^fastify-hindsight: --url is not an address such as http:\/\/127\.0\.0\.1:3000, without a user and a password\.\n$/
      ] as [string[], RegExp]),
    [[token, '--url', 'http://127.0.0.1:1'], /The service at http:\/\/127\.0\.0\.1:1 cannot be reached/],
    [[token, '--url', url, '--yes', '--set', 'nix=1'], /Invalid "nix": nothing of that name is masked; masked are body\.password\./]
  ] as const) {
    const done = await command(...args)
    t.match(done, { code: 1, err: message }, args.join(' '))
  }
})

import Fastify, { type FastifyInstance } from 'fastify'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { hindsight } from '../../../src/hindsight.js'
import type { ShownDifference } from '../../../src/reading/compare/last-success.js'
import { get, listen, statusOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import { htmlChecker } from '../../support/html-checker.js'
import { parseHtml } from '../../support/parse-html.js'

const json = { accept: 'application/json' }

/** An application with the package and a route that fails as the request says. */
async function observed (t: Test): Promise<FastifyInstance> {
  let status = 200
  const stock = createServer((_request, response) => {
    response.statusCode = status
    response.end('{}')
  })
  await new Promise<void>((resolve) => { stock.listen(0, '127.0.0.1', resolve) })
  const { port } = stock.address() as AddressInfo
  const app = Fastify()
  t.teardown(async () => { await app.close(); stock.close() })
  await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
  app.decorateRequest('user', null)
  app.addHook('preHandler', async (request) => {
    Object.assign(request, { user: { name: request.headers['x-name'] ?? 'ann', password: 'hidden', token: () => 1 } })
  })
  app.post('/stock', async (request) => { status = (request.body as { status: number }).status })
  app.post('/orders', async (request) => {
    const { count } = request.body as { count?: number }
    const answer = await fetch(`http://127.0.0.1:${port}/items`)
    const user = request.user as unknown as { name: string }
    if (count !== 1 || !answer.ok || request.headers['x-tenant'] === undefined || user.name !== 'ann') throw new TypeError('it failed')
    return {}
  })
  await app.ready()
  return app
}

t.test('a failure is compared with the last success, with any difference', async (t) => {
  const app = await observed(t)
  const send = async (payload: object, headers: Record<string, string> = { 'x-tenant': 'one' }): Promise<string> => {
    const response = await app.inject({ method: 'POST', url: '/orders', payload, headers })
    return String(response.headers['x-debug-token'])
  }
  const differencesOf = async (token: string): Promise<ShownDifference[]> => {
    const response = await app.inject({ url: `/_profiler/${token}/differences`, headers: json })
    t.equal(response.json().lastSuccess.token, success)
    return response.json().differences.slice(0, 3)
  }
  const success = await send({ count: 1 })
  t.match(await differencesOf(await send({ count: 2 })), [{ what: 'request body count', before: '1', now: '2' }])
  t.match(await differencesOf(await send({})), [{ what: 'request body count', before: '1', now: 'absent' }])
  t.match(await differencesOf(await send({ count: 1 }, {})), [{ what: 'header x-tenant', before: 'one', now: 'absent' }])
  const other = await differencesOf(await send({ count: 1 }, { 'x-tenant': 'one', 'x-name': 'bob' }))
  t.ok(other.some(({ what, before, now }) => what === 'user name' && before === 'ann' && now === 'bob'), JSON.stringify(other))
  await app.inject({ method: 'POST', url: '/stock', payload: { status: 500 } })
  t.match(await differencesOf(await send({ count: 1 })), [{ what: /^outgoing GET http:\/\/127/, before: '200', now: '500' }])
  const markdown = await app.inject('/_profiler/latest.md?error=1')
  const { body } = await app.inject(String(markdown.headers.location))
  t.match(body, /## What happened\n[^]*## Differences from the last success\n\n```text from: code or input\noutgoing GET [^\n]*: 200 → 500\n```\n/)
  t.match(body, /\n\(from: code or input\) Compared with profile `[0-9a-f]{6}`, 200, /)
  t.match(body, /\n\(from: code or input\) Replay: `fastify-hindsight replay [0-9a-f]{6}`\. Compare: /)
  t.notMatch(body, 'hidden')
})

t.test('what validation has converted and removed is no difference: both bodies are as the client sent them', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
  const integer = { type: 'integer' }
  const objectOf = (properties: object): object => ({ type: 'object', additionalProperties: false, properties })
  const body = { ...objectOf({ book: integer, tags: { type: 'array', items: integer }, member: {} }), required: ['member'] }
  const headers = { type: 'object', properties: { 'x-depth': integer } }
  const schema = { body, querystring: objectOf({ page: integer }), params: objectOf({ id: integer }), headers }
  app.post('/loans/:id', { schema }, async (request) => {
    if (request.headers['x-fail'] === 'yes') throw new Error('it failed')
    return {}
  })
  const sent = { book: '7', tags: '4', extra: 'dropped', password: 'hidden' }
  const send = async (payload: object, fail: string): Promise<string> => {
    const response = await app.inject({ method: 'POST', url: '/loans/5?page=2&more=1', payload, headers: { 'x-depth': '3', 'x-fail': fail } })
    return String(response.headers['x-debug-token'])
  }
  const success = await send({ ...sent, member: 'Ada' }, 'no')
  const jsonOf = async (path: string): Promise<any> => (await app.inject({ url: `/_profiler/${path}`, headers: json })).json()
  const member = { what: 'request body member', before: '"Ada"', now: 'absent' }
  const header = { what: 'header x-fail', before: 'no', now: 'yes' }
  const cases: Array<[token: string, ShownDifference, section: string]> = [
    [await send(sent, 'no'), member, 'body'], [await send({ ...sent, member: 'Ada' }, 'yes'), header, 'request']
  ]
  for (const [token, expected, section] of cases) {
    t.same((await jsonOf(`${token}/differences`)).differences, [expected])
    const { sections } = await jsonOf(`${success}/compare/${token}`)
    const names = sections.flatMap((one: { name: string, differences: object[] }) => one.differences.map(() => one.name))
    t.same(names.filter((name: string) => name !== 'times'), ['outcome', 'exceptions', section])
    t.notMatch((await app.inject(`/_profiler/${token}.md`)).body, /(?:book|extra|password): .* → /)
  }
})

t.test('the fragment is HTML by default, valid and without scripts', async (t) => {
  const app = await observed(t)
  const of = async (count: number): Promise<string> =>
    String((await app.inject({ method: 'POST', url: '/orders', payload: { count }, headers: { 'x-tenant': 'a' } })).headers['x-debug-token'])
  const early = await of(3)
  const [success, failure] = [await of(1), await of(2)]
  for (const headers of [{}, { accept: '*/*' }, { accept: 'text/html' }]) {
    const {
      body, headers: { 'content-type': type, 'cache-control': cache, 'content-security-policy': policy }
    } = await app.inject({ url: `/_profiler/${failure}/differences`, headers })
    t.same([type, cache], ['text/html; charset=utf-8', 'no-store'])
    t.match(policy, "default-src 'none'")
    const document = parseHtml(body)
    t.same(
      [...document.querySelectorAll('tbody tr')].map((row) => [...row.children].map(({ textContent }) => textContent))[0], ['request body count', '1', '2']
    )
    t.same(
      [...document.querySelectorAll('a')].map((link) => link.getAttribute('href')),
      [`/_profiler/${success}`, `/_profiler/${success}/compare/${failure}`, `/_profiler/${failure}/replay`]
    )
    t.same(await htmlChecker({ 'aria-label-misuse': 'off', 'prefer-native-element': 'off' })(
      `<!DOCTYPE html><html lang="en"><head><title>x</title></head><body><h1>x</h1>${body}</body></html>`
    ), [])
  }
  t.match((await app.inject(`/_profiler/${early}/differences`)).body, 'No success of the same route is stored before this request.')
  t.same((await app.inject(`/_profiler/${early}/differences.json`)).json(), { token: early, lastSuccess: null, differences: [] })
  t.equal((await app.inject('/_profiler/ffffff/differences')).statusCode, 404)
})

inBothProducts('the fragment is sent only to clients with access', async (t, build) => {
  const app = await build((app) => { app.get('/fail', async () => { throw new Error('it failed') }) })
  const token = String((await app.inject('/fail')).headers['x-debug-token'])
  const port = await listen(app)
  for (const path of [`/_profiler/${token}/differences`, '/_profiler/latest/differences.json']) {
    t.equal(statusOf(await get(port, path, { Host: 'stranger.example' })), 404, path)
    t.equal(statusOf(await get(port, path, { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors' })), 403, path)
    t.equal(statusOf(await get(port, path)), 200, path)
  }
})

t.test('`latest` is accepted in place of a token', async (t) => {
  const app = await observed(t)
  t.equal((await app.inject('/_profiler/latest/differences')).statusCode, 404)
  const token = String((await app.inject({ method: 'POST', url: '/orders', payload: { count: 1 } })).headers['x-debug-token'])
  for (const path of ['as/curl', 'replay', 'differences', `compare/${token}`]) t.equal((await app.inject(`/_profiler/latest/${path}`)).statusCode, 200, path)
  t.equal((await app.inject(`/_profiler/${token}/compare/latest`)).statusCode, 200)
  const { statusCode, headers } = await app.inject('/_profiler/latest?panel=request&status=500')
  t.same([statusCode, headers.location], [302, `/_profiler/${token}?panel=request`])
})

t.test('JSON escapes characters that reorder text', async (t) => {
  const app = await observed(t)
  const payload = { count: 1, text: 'a\u202eb\u2066c\u200bd\u009be' }
  const token = String((await app.inject({ method: 'POST', url: '/orders', payload })).headers['x-debug-token'])
  for (const path of [`${token}.json`, `${token}/compare/${token}.json`, `${token}/differences.json`, 'search.json']) {
    const { body, statusCode } = await app.inject(`/_profiler/${path}`)
    t.equal(statusCode, 200)
    t.notMatch(body, /[\u0080-\u009f\u200b\u202e\u2066]/, path)
  }
  const { body } = await app.inject(`/_profiler/${token}.json`)
  t.match(body, 'a\\u202eb\\u2066c\\u200bd\\u009be')
  t.equal(JSON.parse(body).collectors.request.body.text, payload.text)
})

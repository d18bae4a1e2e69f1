import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { HOSTILE } from '../../parts/hostile.js'
import { build as buildService } from '../../support/app.js'
import { htmlChecker } from '../../support/html-checker.js'
import { inBothProducts } from '../../support/products.js'
import { parseHtml } from '../../support/parse-html.js'

const html = { accept: 'text/html' }
const json = { accept: 'application/json' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }

const orders: unknown[] = []

const body = { type: 'object', properties: { amount: { type: 'integer', minimum: 2 }, note: { $ref: 'note#' } } }

async function declare (app: FastifyInstance): Promise<void> {
  app.addSchema({ $id: 'note', type: 'string' })
  orders.length = 0
  app.addHook('onRequest', async function authenticate () {})
  app.addHook('preHandler', async function loadUser () {})
  app.get('/fine/:id', { config: { name: HOSTILE }, preHandler: async function checkStock () {} }, async () => 'fine')
  app.get('/broken', async () => { throw new Error('broken') })
  await app.register(async (scope) => {
    scope.addHook('onSend', async function sign (_request, _reply, payload) { return payload })
    const options = { schema: { body }, onError: async function undo () {}, onResponse: async function count () {} }
    scope.post('/orders', options, async ({ body, headers }) => { orders.push({ body, headers }); return { orders: orders.length } })
  })
}

const load = async (app: FastifyInstance, url: string): Promise<Document> =>
  parseHtml((await app.inject({ url, headers: html })).body)

inBothProducts('each route has its hooks in order, its place and the numbers of recent profiles', async (t, build) => {
  const app = await build(declare)
  const empty = await load(app, '/_profiler/')
  t.equal(empty.querySelectorAll('.routes tbody tr').length, 3, 'the list without profiles has the routes')
  t.notMatch(empty.body.textContent, 'The numbers come from')
  for (const page of [empty, await load(app, '/_profiler/routes')]) t.ok(page.querySelector('.top nav a[href="/_profiler/routes"]'))
  for (const url of ['/fine/1', '/fine/2', '/broken', '/nowhere']) await app.inject(url)
  t.equal((await load(app, '/_profiler/')).querySelector('.routes'), null)
  const view = (await app.inject({ url: '/_profiler/routes', headers: json })).json()
  t.match([view.all, view.profiles, view.isBounded], [3, 4, false])
  t.match(view.routes, [
    { pattern: '/fine/:id', count: 2, failures: 0, lastStatus: 200, p50: Number, p95: Number, source: /routes\.test\.ts:\d+$/ },
    { name: 'GET /broken', count: 1, failures: 1, lastStatus: 500 },
    { name: 'POST /orders', count: 0, failures: 0, queries: 0 }
  ])
  type Hooks = Array<{ stage: string, name: string, source?: string }>
  const hooks = (i: number): string[] => (view.routes[i].hooks as Hooks).map(({ stage, name }) => `${stage} ${name}`)
  t.same(hooks(0), ['onRequest authenticate', 'preHandler loadUser', 'preHandler checkStock'])
  t.same(hooks(1), ['onRequest authenticate', 'preHandler loadUser'])
  t.same(hooks(2), ['onRequest authenticate', 'preHandler loadUser', 'onSend sign', 'onError undo', 'onResponse count'])
  t.match(view.routes[0].hooks[0].source, /routes\.test\.ts:\d+$/)
  const { body } = await app.inject({ url: '/_profiler/routes', headers: html })
  const document = parseHtml(body)
  t.equal(document.querySelectorAll('main :is(script, img, b, [style], [onerror])').length, 0)
  t.match(document.querySelector('main .note')?.textContent, 'The numbers come from 4 profiles.')
  t.same(await htmlChecker({ 'prefer-native-element': 'off' })(body), [])
  const shown = async (query: string) => {
    const cells = (await load(app, `/_profiler/routes?${query}`)).querySelectorAll('.routes tbody td.text')
    return [...cells].map(({ textContent }) => /\/(?:broken|fine|orders)/.exec(textContent)?.[0])
  }
  t.same(await shown('sort=Failures'), ['/broken', '/fine', '/orders'])
  t.same(await shown('sort=Requests'), ['/fine', '/broken', '/orders'])
  t.same(await shown('q=ORDERS&sort=p95'), ['/orders'])
  t.equal((await load(app, '/_profiler/routes?q=nothing')).querySelector('.note')?.textContent, 'No route matches.')
  const wrong = await app.inject({ url: '/_profiler/routes?sort=name', headers: json })
  t.equal(wrong.statusCode, 400)
  t.match(wrong.body, /the routes can be ordered by Requests, Failures, p50, p95, Queries/)
})

inBothProducts('a route of all methods has one link, another one a link for each method', async (t, build) => {
  const app = await build((app) => {
    app.all('/files/*', async () => 'ok')
    app.route({ method: ['GET', 'POST'], url: '/notes', handler: async () => 'ok' })
  })
  const page = await load(app, '/_profiler/routes')
  const rows = [...page.querySelectorAll('.routes tbody tr')]
  const names = rows.map((row) => row.querySelector('td.text')?.firstChild?.textContent?.trim())
  t.same(names, ['ALL /files/*', 'GET|POST /notes'])
  const links = rows.map((row) => [...row.querySelectorAll('a[aria-label]')].map((link) => link.getAttribute('aria-label')))
  t.same(links, [['Send… GET /files/*'], ['GET… /notes', 'POST… /notes']])
})

inBothProducts('a request of a route can be written and sent; an unsafe method is asked for', async (t, build) => {
  const app = await build(declare)
  const page = await load(app, '/_profiler/routes')
  const link = page.querySelector('.routes a[aria-label="Send… POST /orders"]')
  const shown = await load(app, link?.getAttribute('href') ?? '')
  const valueOf = (name: string): string => shown.querySelector<HTMLInputElement>(`form [name=${name}]`)?.value ?? ''
  t.same([valueOf('method'), valueOf('url'), valueOf('body')], ['POST', '/orders', '{\n  "amount": 2,\n  "note": "t"\n}'])
  t.match(valueOf('headers'), /^content-type: application\/json$/m)
  const send = async (fields: Record<string, string>, headers: Record<string, string> = html) => await app.inject({
    method: 'POST',
    url: '/_profiler/routes/try',
    headers: { ...headers, ...form },
    payload: new URLSearchParams({ method: 'POST', url: '/orders', headers: valueOf('headers'), body: '{"a":1}', ...fields }).toString()
  })
  t.equal((await send({ confirm: '1' })).statusCode, 403, 'without a token of the form')
  const token = { form_token: valueOf('form_token') }
  const asked = await send(token)
  t.match([asked.statusCode, asked.body], [400, /name="confirm" value="1" required/])
  t.equal(orders.length, 0)
  const sent = await send({ ...token, confirm: '1' })
  t.match(sent.headers.location, /^\/_profiler\/[0-9a-f]{6}$/)
  t.match(orders, [{ body: { a: 1 }, headers: { 'content-type': 'application/json' } }])
  const profile = (await app.inject(`${sent.headers.location}.json`)).json()
  t.match(profile, { method: 'POST', status: 200, url: /\/orders$/ })
  t.equal(profile.replayOf, undefined)
  t.match((await send({ ...token, method: 'GET', url: '/broken', body: '' }, json)).json(), { status: 500, token: /^[0-9a-f]{6}$/ })
  t.match((await send({ ...token, url: '/_profiler/purge', confirm: '1' }, json)).json(), { status: 409 })
})

t.test('outside of debug mode there is no page of routes, and no link to it', async (t) => {
  const app = await buildService({
    debug: false,
    profiler: { production: true },
    profilerRole: 'ROLE_OPERATOR',
    declare: (app) => app.get('/a', async () => 'a'),
    security: {
      firewalls: [{ name: 'main', authenticators: { basic: true } }],
      providers: { users: async (identifier: string) => ({ identifier, password: 'x', roles: ['ROLE_OPERATOR'] }) },
      hasher: { verify: async () => true, hash: async () => 'x' }
    } as never
  })
  t.teardown(() => app.close())
  const headers = { ...html, authorization: `Basic ${Buffer.from('op:op').toString('base64')}` }
  t.equal((await app.inject({ url: '/_profiler/routes', headers })).statusCode, 404)
  const list = await app.inject({ url: '/_profiler/', headers })
  t.equal(list.statusCode, 200)
  t.notMatch(list.body, /_profiler\/routes/)
})

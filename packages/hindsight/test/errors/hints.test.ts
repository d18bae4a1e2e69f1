import t from 'tap'
import Fastify, { type FastifyInstance, type InjectOptions } from 'fastify'
import ts from 'typescript'
import { pluginOf, routeCode, type Hint, type RouteCode } from '../../src/errors/hints.js'
import { build } from '../support/app.js'
import { inBothProducts } from '../support/products.js'
import { parseHtml } from '../support/parse-html.js'

function declare (app: FastifyInstance): void {
  app.get('/orders/:id', async () => 'x')
  app.route({ method: ['PUT', 'DELETE'], url: '/orders/:id', handler: async () => 'x' })
  app.get('/About/Team', async () => 'x')
  app.post('/contact', { bodyLimit: 10 }, async () => 'x')
  app.get('/fails', async () => { throw Object.assign(new Error('gone'), { statusCode: 404 }) })
}

async function hints (t: Parameters<typeof build>[0], request: InjectOptions | string, options = {}): Promise<Hint[]> {
  const app = await build(t, options, declare)
  const { headers, ...rest } = typeof request === 'string' ? { url: request, headers: {} } : request
  return (await app.inject({ ...rest, headers: { accept: 'application/json', ...headers } })).json<{ hints: Hint[] }>().hints
}

t.test('routes that differ by a few characters are suggested', async (t) => {
  const [near, others, missing] = await hints(t, '/order/1042')
  t.same(near, {
    title: 'Similar routes',
    text: '',
    routes: [
      { methods: ['GET'], pattern: '/orders/:id', why: 'segment 1 is "orders", not "order"', path: '/orders/1042', source: near?.routes?.[0]?.source },
      { methods: ['PUT', 'DELETE'], pattern: '/orders/:id', why: 'segment 1 is "orders", not "order"', source: near?.routes?.[1]?.source }
    ]
  })
  t.match(near?.routes?.[0]?.source, /hints\.test\.ts:\d+$/)
  t.equal(others?.title, 'Other routes')
  t.match(missing, { title: 'Add a route', text: 'To answer this request, save these lines as routes/order.ts:', code: /app\.get\('\/order\/:id'/ })
})

t.test('paths are compared segment by segment', async (t) => {
  t.match(
    (await hints(t, '/oders'))[0]?.routes, [{ methods: ['GET'], pattern: '/orders/:id', path: undefined, source: /hints\.test\.ts:\d+$/ }, {}],
    'a parameter is missing'
  )
  t.match((await hints(t, '/oders/7'))[0]?.routes, [{ pattern: '/orders/:id', path: '/orders/7' }, {}])
  t.match((await hints(t, '/orders/7/lines'))[0]?.routes, [{ pattern: '/orders/:id', why: 'the path continues after segment 2: "lines"' }, {}])
  t.match((await hints(t, '/oders/7/lines/2'))[0]?.title, 'Routes', 'two segments more are another path')
})

inBothProducts('the page of a failure has its hints, and a route to declare', async (t, build, product) => {
  const app = await build((app) => {
    declare(app)
    app.get('/gone', (_request, reply) => { reply.callNotFound() })
  })
  const page = async (request: InjectOptions, expected = 404): Promise<Document> => {
    const { statusCode, body } = await app.inject({ ...request, headers: { accept: 'text/html', ...request.headers } })
    t.equal(statusCode, expected)
    return parseHtml(body)
  }
  const first = async (request: InjectOptions, expected?: number) => (await page(request, expected)).querySelector('.hint')?.textContent
  const near = await page({ url: '/oders/7' })
  t.match(near.querySelector('.hint')?.textContent, /Similar routes\s.*GET \/orders\/:id/s)
  t.ok(near.querySelector('.hint a[href="/orders/7"]'))
  t.match(near.querySelector('main')?.textContent, product === 'service'
    ? /To answer this request, save these lines as routes\/oders\.ts:.*app\.get\('\/oders\/:id'/s
    : /To answer this request, add this route to your application:\s*app\.get\('\/oders\/:id'/)
  t.match(await first({ url: '/about/team' }), /Similar route\s.*segment 1 is "About", not "about"/s)
  t.match(await first({ method: 'POST', url: '/contact/' }), /the trailing slash/)
  const json = { 'content-type': 'application/json' }
  t.match(await first({ method: 'POST', url: '/contact', headers: json, payload: '"0123456789"' }, 413), /Why was this refused\?\s.*bodyLimit here, 10\sbytes/s)
  t.equal(await first({ url: '/fails' }), undefined, 'a handler that calls itself not found')
  t.match(await first({ url: `/${'x'.repeat(300)}` }), /^\s*Routes\s/, 'no route to paste for an implausible path')
  if (product === 'service') return
  t.match(await first({ method: 'POST', url: '/orders/7' }), /The path has routes, but not for POST\s.*the method is GET, not POST/s)
  t.equal(await first({ url: '/gone' }), undefined, 'the route exists')
})

t.test('a hint names a difference in case or in the trailing slash', async (t) => {
  t.match((await hints(t, '/about/team'))[0], {
    title: 'Similar route',
    routes: [{ pattern: '/About/Team', why: 'segment 1 is "About", not "about"' }]
  })
  t.match((await hints(t, { method: 'POST', url: '/contact/' }))[0]?.routes, [{ pattern: '/contact', why: /^the trailing slash/ }])
})

t.test('a hint names the methods of the path and the code for a new route', async (t) => {
  t.match(await hints(t, { method: 'PATCH', url: '/orders/7' }), [
    {
      title: 'The path has routes, but not for PATCH',
      routes: [{ methods: ['GET'], pattern: '/orders/:id', why: 'the method is GET, not PATCH' }, { methods: ['PUT', 'DELETE'] }]
    },
    { title: 'Add a route', code: /app\.patch\('\/orders\/:id'/ }
  ])
})

t.test('the hint names the option that decides', async (t) => {
  const title = 'Why was this refused?'
  const json = { 'content-type': 'application/json' }
  t.match(await hints(t, { method: 'POST', url: '/contact', headers: json, payload: '"0123456789"' }), [{ title, text: /bodyLimit here, 10 bytes/ }])
  t.match(await hints(t, { method: 'POST', url: '/contact', headers: { 'content-type': 'a/b' }, payload: 'x' }), [{ title, text: /addContentTypeParser/ }])
})

t.test('a handler\'s own 404 has no hint, and an unlike path has no similar route', async (t) => {
  t.same(await hints(t, '/fails'), [], 'a handler that calls itself not found')
  t.same((await hints(t, '/nothing/like/it')).map(({ title }) => title), ['Routes', 'Add a route'])
  const [routes, ...others] = await hints(t, `/${'x'.repeat(300)}`)
  t.same(others, [], 'no route to paste for an implausible path')
  t.match(routes?.routes, [{ pattern: '/orders/:id', path: undefined, source: /hints\.test\.ts:\d+$/ }, {}, { pattern: '/About/Team', path: '/About/Team' }])
  t.equal(routes?.text, '')
  const many = await build(t, {}, (app) => { for (let i = 0; i < 1_001; i++) app.get(`/route/${i}/:id`, async () => i) })
  const { hints: [first] } = (await many.inject({ url: '/nothing/like/it', headers: { accept: 'application/json' } })).json<{ hints: Hint[] }>()
  t.match(first, { title: 'Routes', text: 'The first 20 of 1,001.', routes: { length: 21 } })
})

t.test('a new service without routes shows the first steps', async (t) => {
  const app = await build(t)
  const { hints: [hint] } = (await app.inject({ url: '/', headers: { accept: 'application/json' } })).json<{ hints: Hint[] }>()
  t.match(hint, { title: 'Welcome to Hindsight', text: / save these lines as routes\/home\.ts:$/, code: /app\.get\('\/', async \(request, reply\) =>/ })
})

inBothProducts('the first page has a route to save and a link to the profiles', async (t, build, product) => {
  const app = await build()
  const get = async (accept: string): Promise<string> => (await app.inject({ url: '/', headers: { accept } })).body
  const card = parseHtml(await get('text/html')).querySelector('.hint')
  t.equal(card?.querySelector('h2')?.textContent, 'Welcome to Hindsight')
  t.equal(card?.querySelector('p')?.textContent, product === 'service'
    ? 'The application runs, and has no route for / yet. It must be restarted after each change: npm run dev does that, and npm start does not. ' +
      'To answer this request, save these lines as routes/home.ts:'
    : 'The application runs, and has no route for / yet. To answer this request, add this route to your application:')
  const link = card?.querySelector('a')
  t.equal(link?.getAttribute('href'), '/_profiler/')
  t.ok(card?.querySelector('pre + ul')?.contains(link ?? null), 'after the source')
  t.equal((await app.inject({ url: '/_profiler/', headers: { accept: 'text/html' } })).statusCode, 200)
  const other = await build(undefined, { profiler: false })
  const { headers, body } = await other.inject({ url: '/', headers: { accept: 'text/html' } })
  t.match(headers['content-type'], 'text/html')
  const [found] = parseHtml(body).querySelectorAll('.hint a')
  t.equal(found?.getAttribute('href'), product === 'service' ? '/_profiler/' : undefined, 'no link to pages that do not exist')
  if (product === 'service') t.match(await get('text/markdown'), /\n```\n\n- `GET \/_profiler\/`: shows the profile of every request\.\n/)
})

t.test('the suggested route has the method and the parameters of the path', async (t) => {
  t.same(routeCode('GET', '/orders/1042'), {
    file: 'orders',
    code: `app.get('/orders/:id', async (request, reply) => {
  return request.params
})
`
  })
  t.equal(routeCode('PROPFIND', '/'), null, 'a method without a function of the instance')
  const health = routeCode('POST', '/health') as RouteCode
  t.equal(pluginOf(health, false), `export default async function routes (app) {
  app.post('/health', async (request, reply) => {
    return { hello: 'world' }
  })
}
`)
  t.match(pluginOf(health, true), /^import type \{ FastifyInstance \} from 'fastify'\n\nexport default async function routes \(app: FastifyInstance\) \{$/m)
})

t.test('for any path the generated source is a matching route, or null', async (t) => {
  const cases: Array<[path: string, pattern: string | null]> = [
    ['/', '/'],
    ['/users/7/posts/9', '/users/:id/posts/:id2'],
    ['/7/8/9', '/:id/:id2/:id3'],
    ['/files/550e8400-e29b-41d4-a716-446655440000/', '/files/:id/'],
    ['/caf%C3%A9', '/café'],
    ["/it's", null],
    ["/'+process.exit()+'", null],
    ['/a:b', '/a::b'],
    ['/a%20b', '/a b'],
    ['/`$%7B1%7D`', '/`${' + '1}`'],
    ['/%5Cu0027', null],
    ['/%0A%E2%80%A8%E2%80%AE', null],
    ['/</script>', '/</script>'],
    ['/%', null],
    [`/${'x'.repeat(300)}`, null]
  ]
  for (const [path, pattern] of cases) {
    const written = routeCode('GET', path)
    if (written === null) {
      t.equal(pattern, null, path)
      continue
    }
    const code = pluginOf(written, false)
    t.match(written.file, /^[a-z][\w-]*$/, `a name for the file of ${path}`)
    t.notMatch(code, /[\u2028\u202e]/, 'no invisible character')
    const declared: string[] = []
    const app = Fastify()
    app.addHook('onRoute', ({ url, method }) => { if (method === 'GET') declared.push(url) })
    const { default: routes } = await import(`data:text/javascript,${encodeURIComponent(code)}`) as { default: Parameters<typeof app.register>[0] }
    await app.register(routes)
    t.same(declared, [pattern], path)
    t.equal((await app.inject(path)).statusCode, 200, `${path} is answered`)
    await app.close()
    const { diagnostics = [] } = ts.transpileModule(pluginOf(written, true), { reportDiagnostics: true })
    t.same(diagnostics, [], 'the same holds for TypeScript')
  }
})

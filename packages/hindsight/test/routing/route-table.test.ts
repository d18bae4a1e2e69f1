import t from 'tap'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyRequest, FastifyServerOptions } from 'fastify'
import { inBothProducts } from '../support/products.js'
import { RouteTable } from '../../src/routing/route-table.js'

async function tableOf (
  declare: (app: FastifyInstance) => unknown, options: FastifyServerOptions = {}
): Promise<{ app: FastifyInstance, look: (path: string, headers?: object) => ReturnType<RouteTable['lookup']> }> {
  const app = Fastify(options)
  const routeTable = new RouteTable(app)
  routeTable.observe(app, true)
  app.decorate('hindsight', { routeTable } as never)
  await declare(app)
  await app.ready()
  return { app, look: (path, headers = {}) => app.hindsight.routeTable.lookup(path, { headers } as FastifyRequest, false) }
}

t.test('methods are in the order of declaration, without the HEAD that Fastify adds', async t => {
  const { look } = await tableOf(app => {
    app.put('/a', () => '')
    app.get('/a', () => '')
    app.route({ method: ['DELETE', 'PATCH'], url: '/a', handler: () => '' })
    app.head('/own', () => '')
    app.get('/b/:c', () => '')
    app.get('/files/*', () => '')
  })
  for (const [path, allowed, redirect] of [
    ['/a', ['PUT', 'GET', 'DELETE', 'PATCH'], null],
    ['/a/', [], '/a'],
    ['/own', ['HEAD'], null],
    ['/b/1', ['GET'], null],
    ['/b/1/', [], '/b/1'],
    ['/files/x/y/', ['GET'], null],
    ['/nix', [], null],
    ['/', [], null],
    ['', [], null]
  ] as const) t.same(look(path), { allowed, redirect: redirect && { path: redirect, httpsOnly: false } }, path)
})

t.test('a path with another trailing slash and only other methods is not a redirect', async t => {
  const { look } = await tableOf(app => { app.post('/a', () => '') })
  t.same(look('/a/'), { allowed: [], redirect: null })
})

t.test('routes are found by their constraints', async t => {
  const { look } = await tableOf(app => {
    app.get('/a', { constraints: { host: 'one.test' } }, () => '')
    app.post('/a', { constraints: { host: 'two.test' } }, () => '')
  })
  t.same(look('/a', { host: 'one.test' }).allowed, ['GET'])
  t.same(look('/a', { host: 'two.test' }).allowed, ['POST'])
  t.same(look('/a', { host: 'three.test' }).allowed, [])
  t.same(look('/a/', { host: 'one.test' }).redirect, { path: '/a', httpsOnly: false })
})

t.test('the options of the router are respected', async t => {
  const {
    look
  } = await tableOf(app => { app.get('/Abc', () => '') }, { routerOptions: { caseSensitive: false, ignoreTrailingSlash: true } } as FastifyServerOptions)
  t.same(look('/aBC/').allowed, ['GET'])
})

t.test('routes have names and the place of their declaration', async t => {
  const { app } = await tableOf(app => {
    app.get('/a', { config: { name: 'first' } }, () => '')
    app.route({ method: ['GET', 'POST'], url: '/b', handler: () => '' })
    app.get('/_hidden', { config: { name: '_hidden' } }, () => '')
  })
  t.same(app.hindsight.routeTable.routes.map(({ name }) => name), ['first', 'GET|POST /b'])
  const get = (method: string) => app.hindsight.routeTable.of({ method, routeOptions: { url: '/a' } } as FastifyRequest)
  t.match(get('HEAD'), { name: 'first', pattern: '/a' })
  t.equal(get('PUT'), null)
  t.match(get('GET')?.declaredAt?.stack, /route-table\.test\.ts/)
})

inBothProducts('a name that is no text is left to the application', async (t, build) => {
  const app = await build((app) => { app.get('/a', { config: { name: 7 as never } }, async () => 'a') })
  t.equal((await app.inject('/a')).body, 'a')
  t.same(app.hindsight.routeTable.routes.map(({ name }) => name), ['GET /a'])
})

inBothProducts('a route for all methods has a short name', async (t, build) => {
  const app = await build((app) => {
    app.all('/all', async () => 'all')
    app.route({ method: ['DELETE', 'GET', 'PATCH', 'POST', 'PUT'], url: '/five', handler: async () => 'five' })
  })
  await app.ready()
  t.same(app.hindsight.routeTable.routes.map(({ name }) => name), ['ALL /all', 'DELETE|GET|PATCH|POST|PUT /five'])
})

t.test('the route of a request is found', async t => {
  const shared = {}
  const { app, look } = await tableOf(app => {
    const name = (request: FastifyRequest): string[] =>
      [app.hindsight.routeTable.of(request)?.name ?? 'none', ...app.hindsight.routeTable.of(request)?.methods ?? []]
    app.route({ method: ['GET', 'POST'], url: '/con', constraints: { host: 'a.test' }, config: shared, handler: name })
    app.get('/con', { constraints: { host: 'b.test' }, config: shared }, name)
    app.register(async app => { app.get('/', name) }, { prefix: '/both' })
    app.setNotFoundHandler(name as never)
    app.head('/head', (request, reply) => reply.header('x-name', name(request).join(' ')).send())
    app.addHook('onSend', async (request, reply) => { reply.header('x-name', name(request).join(' ')) })
    app.get('/get', name)
  })
  for (const [method, url, host, expected] of [
    ['GET', '/con', 'a.test', 'GET|POST /con GET POST'],
    ['POST', '/con', 'a.test', 'GET|POST /con GET POST'],
    ['HEAD', '/con', 'a.test', 'GET|POST /con GET POST'],
    ['GET', '/con', 'b.test', 'GET /con GET'],
    ['HEAD', '/con', 'b.test', 'GET /con GET'],
    ['GET', '/both', 'a.test', 'GET /both GET'],
    ['GET', '/both/', 'a.test', 'GET /both GET'],
    ['HEAD', '/get', 'a.test', 'GET /get GET'],
    ['HEAD', '/head', 'a.test', 'HEAD /head HEAD'],
    ['GET', '/con', 'c.test', 'none']
  ] as const) t.equal((await app.inject({ method, url, headers: { host } })).headers['x-name'], expected, `${method} ${host}${url}`)
  t.same([look('/both').allowed, look('/both/').allowed], [['GET'], ['GET']], 'both forms of a prefix')
  t.same(Reflect.ownKeys(shared), [], 'the given options are unchanged')
  t.same(
    app.hindsight.routeTable.routes.map(({ name }) => name).sort(), ['GET /both', 'GET /con', 'GET /get', 'GET|POST /con', 'HEAD /head'], 'no route is lost'
  )
})

t.test('a HEAD route that an application declares is one of the methods', async t => {
  const { look } = await tableOf(app => {
    app.get('/x', { exposeHeadRoute: false }, () => 'x')
    app.head('/x', () => '')
    app.get('/y', () => 'y')
    app.head('/z', () => '')
    app.get('/z', () => 'z')
  })
  t.same(look('/x').allowed, ['GET', 'HEAD'])
  t.same(look('/y').allowed, ['GET'])
  t.same(look('/z').allowed, ['HEAD', 'GET'])
})

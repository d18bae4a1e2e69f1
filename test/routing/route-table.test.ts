import t from 'tap'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyRequest, FastifyServerOptions } from 'fastify'
import { openRouteTable, type LookupResult } from '../../plugins/routing/route-table.js'

async function tableOf (declare: (app: FastifyInstance) => unknown, options: FastifyServerOptions = {}): Promise<{ app: FastifyInstance, look: (path: string, headers?: object) => LookupResult }> {
  const app = Fastify(options)
  openRouteTable(app, true)
  await declare(app)
  await app.ready()
  return { app, look: (path, headers = {}) => app.routeTable.lookup(path, { headers } as FastifyRequest) }
}

t.test('methods in the order of declaration, without the HEAD that Fastify implies', async t => {
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
  ] as const) t.same(look(path), { allowed, redirect }, path)
})

t.test('a path that only other methods have in its other form is no redirect', async t => {
  const { look } = await tableOf(app => { app.post('/a', () => '') })
  t.same(look('/a/'), { allowed: [], redirect: null })
})

t.test('constraints', async t => {
  const { look } = await tableOf(app => {
    app.get('/a', { constraints: { host: 'one.test' } }, () => '')
    app.post('/a', { constraints: { host: 'two.test' } }, () => '')
  })
  t.same(look('/a', { host: 'one.test' }).allowed, ['GET'])
  t.same(look('/a', { host: 'two.test' }).allowed, ['POST'])
  t.same(look('/a', { host: 'three.test' }).allowed, [])
  t.same(look('/a/', { host: 'one.test' }).redirect, '/a')
})

t.test('the router\'s own options', async t => {
  const { look } = await tableOf(app => { app.get('/Abc', () => '') }, { routerOptions: { caseSensitive: false, ignoreTrailingSlash: true } } as FastifyServerOptions)
  t.same(look('/aBC/').allowed, ['GET'])
})

t.test('names, and where a route was declared', async t => {
  const { app } = await tableOf(app => {
    app.get('/a', { config: { name: 'first' } }, () => '')
    app.route({ method: ['GET', 'POST'], url: '/b', handler: () => '' })
    app.get('/_hidden', { config: { name: '_hidden' } }, () => '')
  })
  t.same(app.routeTable.own().map(({ name }) => name), ['first', 'GET|POST /b'])
  t.match(app.routeTable.get('HEAD', '/a'), { name: 'first', pattern: '/a' })
  t.equal(app.routeTable.get('PUT', '/a'), null)
  t.match(app.routeTable.get('GET', '/a')?.declaredAt?.stack, /route-table\.test\.ts/)
})

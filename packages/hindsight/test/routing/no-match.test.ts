import Fastify from 'fastify'
import FindMyWay from 'find-my-way'
import t from 'tap'
import type { DeclaredRoute } from '../../src/routing/route-table.js'
import { patternSegments, RouteTree } from '../../src/routing/route-pattern.js'
import { compareRoutes } from '../../src/routing/no-match.js'
import { profileOf } from '../support/app.js'
import { inBothProducts } from '../support/products.js'

const instance = Fastify()
const route = (pattern: string, methods = ['GET'], constraints = {}): DeclaredRoute => {
  const name = `${methods.join('|')} ${pattern}`
  return { name, methods, pattern, segments: patternSegments(pattern), constraints, declaredAt: null, hooks: [], instance, pluginName: '', options: {} }
}
const tableOf = (routes: DeclaredRoute[]) => ({ routes })
const wanted = (path: string, method = 'GET') => ({ method, path })

t.test('each route has the reason why it did not match', async t => {
  for (const [pattern, path, why, isNear] of [
    ['/users', '/usres', 'segment 1 is "users", not "usres"', true],
    ['/users', '/uesrx', 'segment 1 is "users", not "uesrx"', false],
    ['/users/:id', '/user/7', 'segment 1 is "users", not "user"', true],
    ['/users/:id', '/users', 'the path ends before segment 2: ":id"', true],
    ['/users/:id', '/users/7/edit', 'the path continues after segment 2: "edit"', true],
    ['/users/:id(^\\d+$)', '/users/ada', 'segment 2 is ":id(^\\d+$)", not "ada"', true],
    ['/users/:id?', '/user', 'segment 1 is "users", not "user"', true],
    ['/users', '/users/', 'the trailing slash: it is declared without one', true],
    ['/users/', '/users', 'the trailing slash: it is declared with one', true],
    ['/Users/list', '/users/list', 'segment 1 is "Users", not "users"', true],
    ['/:a-:b', '/x', 'segment 1 is ":a-:b", not "x"', false],
    ['/files/:name.png', '/files/a.jpg', 'segment 2 is ":name.png", not "a.jpg"', false],
    ['/static/*', '/statics/a/b', 'segment 1 is "static", not "statics"', true],
    ['/a::b', '/a:c', 'segment 1 is "a::b", not "a:c"', false],
    ['/:f(^(?:a/b|c)$)/d', '/x/d', 'segment 1 is ":f(^(?:a/b|c)$)", not "x"', true],
    ['/api/v1/users', '/users', 'the prefix "/api/v1" is missing in the path', true],
    ['/api/users/:id', '/users/7', 'the prefix "/api" is missing in the path', true],
    ['/api/a::b', '/a:b', 'the prefix "/api" is missing in the path', true],
    ['/api/users/:id/parts/*', '/users/7/parts/1', 'the prefix "/api" is missing in the path', true],
    ['/api/v1/users/:id', '/api/users/7', '"/v1" is missing in the path', true],
    ['/api/users/:id', '/api/v1/users/7', '"/v1" is too much in the path', true],
    ['/users/:id', '/api/v1/users/7', '"/api/v1" is too much in the path', true],
    ['/:lang/users/:id', '/users/7', 'the prefix "/:lang" is missing in the path', true],
    ['/orders/new', '/products/7/new', 'segment 1 is "orders", not "products"', false],
    ['/api/:id', '/7', 'segment 1 is "api", not "7"', false],
    ['/api/users/', '/', 'segment 1 is "api", not ""', false],
    ['/caf%C3%A9', '/caf%C3', 'segment 1 is "caf%C3%A9", not "caf%C3"', true]
  ] as const) {
    t.same(compareRoutes(tableOf([route(pattern)]), wanted(path)).tried.map(({ why, isNear }) => [why, isNear]), [[why, isNear]], `${pattern} for ${path}`)
  }
})

t.test('the reason can be a method or a constraint', async t => {
  for (const [declared, asked, why] of [
    [route('/a', ['GET', 'PUT']), wanted('/a', 'POST'), 'the method is GET or PUT, not POST'],
    [route('/:id?', ['PUT']), wanted('/', 'GET'), 'the method is PUT, not GET'],
    [route('/a/*', ['PUT']), wanted('/a/b/c', 'GET'), 'the method is PUT, not GET'],
    [route('/a', ['GET'], { host: 'b.test' }), wanted('/a'), 'it is only for host b.test'],
    [route('/a', ['GET'], { host: /^c/, version: '1.2.0' }), wanted('/a', 'HEAD'), 'it is only for host /^c/, version 1.2.0']
  ] as const) t.same(compareRoutes(tableOf([declared]), asked).tried.map(({ why, isNear }) => [why, isNear]), [[why, true]], why)
})

t.test('the nearest routes come first, 50 at most', async t => {
  const many = Array.from({ length: 200 }, (_, i) => route(`/far/away/${i}`))
  const { tried, more } = compareRoutes(tableOf([...many, route('/users'), route('/users/:id', ['PUT'])]), wanted('/users/7'))
  t.equal(tried.length, 50)
  t.equal(more, 152)
  t.same(tried.slice(0, 2).map(({ route }) => route.pattern), ['/users/:id', '/users'])
})

t.test('the nearest forms of a path come first', async t => {
  const patterns = ['/*', '/users/:id?', '/Users', '/user', '/users/', '/:any', '/orders/:id(^\\d+$)', '/users/:id/parts/:part']
  const table = tableOf(patterns.map(pattern => route(pattern)))
  for (const [path, near] of [
    ['/users', ['/*', '/users/:id?', '/:any', '/users/', '/Users', '/user']],
    ['/users/7', ['/*', '/users/:id?', '/users/', '/Users', '/user']],
    ['/userz', ['/*', '/:any', '/Users', '/user', '/users/:id?', '/users/']],
    ['/orders/x', ['/*', '/orders/:id(^\\d+$)']],
    ['/orders/7', ['/*', '/orders/:id(^\\d+$)']]
  ] as const) {
    t.same(compareRoutes(table, wanted(path)).tried.filter(({ isNear }) => isNear).map(({ route }) => route.pattern), near, path)
  }
})

t.test('an expression of many routes is compared once', async t => {
  const tree = new RouteTree(Array.from({ length: 300 }, (_, i) => route(`/thing${i}/:id(^\\d+$)`)))
  const on = t.capture(FindMyWay.prototype, 'on')
  t.same(tree.similarTo(['thing7', 'x'], 50).map(({ pattern }) => pattern), ['/thing7/:id(^\\d+$)'])
  t.equal(on().length, 1)
})

// With a comparison of quadratic cost, this test exceeds the time limit of its file.
t.test('a hostile path is compared in linear time', async t => {
  const routes = Array.from({ length: 2_000 }, (_, i) => route(`/${'a/'.repeat(10)}:x-:y-:z/${i}`))
  const { tried, more } = compareRoutes(tableOf(routes), wanted(`/${'a/'.repeat(10)}${'-'.repeat(60_000)}`))
  t.equal(tried.length + more, 2_000)
})

inBothProducts('no router is made to compare a parameter', async (t, build) => {
  const app = await build((app) => { for (let i = 0; i < 300; i++) app.get(`/things-${i}/:id/parts/:part?`, async () => i) })
  // The first search fills the router with all routes.
  await app.inject('/nothing')
  const on = t.capture(FindMyWay.prototype, 'on')
  const response = await app.inject({ url: '/things-7/x/part/7', headers: { accept: 'text/html' } })
  t.match(response.body, /Similar route/)
  const { collectors } = await profileOf(app, response)
  t.match(collectors.router, { tried: [{ pattern: '/things-7/:id/parts/:part?', isNear: true }], more: 250 })
  t.same(on().map(({ args }) => (args as unknown[])[1]), ['/things-7/x/part/:id'], 'the route to paste')
})

inBothProducts('few of thousands of routes are read for a 404', async (t, build) => {
  const app = await build((app) => {
    for (let i = 0; i < 2_000; i++) app.get(`/api/v1/things-${i >> 2}/${['', ':id', 'list', ':id/parts'][i % 4]}`, async () => i)
  })
  const { routes } = app.hindsight.routeTable
  // The first search makes the tree.
  await profileOf(app, await app.inject('/nothing'))
  let read = 0
  for (const route of routes) {
    const { segments } = route
    Object.defineProperty(route, 'segments', {
      get () {
        read++
        return segments
      }
    })
  }
  for (const [url, first] of [
    ['/nothing', '/api/v1/things-0/'],
    ['/api/v1/thing-7/8', '/api/v1/things-7/:id'],
    ['/v1/things-7/8', '/api/v1/things-7/:id']
  ] as const) {
    read = 0
    const { collectors } = await profileOf(app, await app.inject(url))
    t.match(collectors.router, { tried: [{ pattern: first }], more: 1_950 })
    t.ok(read < 200, `${url}: ${read}`)
  }
})

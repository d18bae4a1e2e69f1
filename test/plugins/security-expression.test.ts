import t from 'tap'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { SecuritySettings } from '../../lib/options.js'
import { basic, build, HTML, profileOf, recordOf, refusal, users } from '../lib/security/support.js'

const settings: SecuritySettings = {
  providers: { people: users },
  roleHierarchy: { ROLE_ADMIN: 'ROLE_EDITOR' },
  firewalls: [{ name: 'main', authenticators: { basic: true }, throttling: false }]
}

const ada = basic('ada', 'lovelace')
const bob = basic('bob', 'builder')

t.test('the expression decides about access', async t => {
  const table: Array<[string, string, { url?: string, headers?: Record<string, string> }, number]> = [
    ['a role', '"ROLE_ADMIN" in roles', { headers: ada }, 200],
    ['an inherited role', '"ROLE_EDITOR" in roles', { headers: ada }, 200],
    ['a role that is missing', '"ROLE_ADMIN" in roles', { headers: bob }, 403],
    ['nobody', '"ROLE_ADMIN" in roles', {}, 401],
    ['a parameter', 'user.identifier == params.name', { url: '/p/ada', headers: ada }, 200],
    ['another parameter', 'user.identifier == params.name', { url: '/p/bob', headers: ada }, 403],
    ['a parameter that nobody can have', 'user.identifier == params.name', { url: '/p/ada' }, 401],
    ['nobody, in so many words', 'user == null', {}, 200],
    ['an attribute', 'user.attributes.age >= 18', { headers: ada }, 200],
    ['an attribute that is missing', 'user.attributes.age >= 18', { headers: bob }, 403],
    ['an attribute that may be missing', 'has(user.attributes.age) && user.attributes.age >= 18', { headers: bob }, 403],
    ['the method and the path', 'request.method == "GET" && request.path.startsWith("/p/")', {}, 200],
    ['the path as the router reads it', 'request.path == "/p/x"', { url: '/%70/%78' }, 200],
    ['the address', 'request.ip == "127.0.0.1"', {}, 200],
    ['the host', 'request.host == "localhost" && request.scheme == "http"', {}, 200],
    ['a header', 'request.headers["x-key"] == "1"', { headers: { 'x-key': '1' } }, 200],
    ['a header that is missing', 'request.headers["x-key"] == "1"', {}, 401],
    ['the query', 'request.query.q == "1"', { url: '/p/x?q=1' }, 200],
    ['the query, twice', 'request.query.q == "1"', { url: '/p/x?q=1&q=2' }, 401],
    [
      'what every object has', 'has(user.constructor) || has(request.query.constructor) || has(params.__proto__)', { url: '/p/x?__proto__=1', headers: ada },
      403
    ],
    ['something else than true', 'dyn(user.identifier)', { headers: ada }, 403]
  ]
  for (const [name, security, { url = '/p/x', headers = {} }, status] of table) {
    const app = await build(t, settings, app => app.get('/p/:name', { config: { security } }, async () => 'x'))
    t.equal((await app.inject({ url, headers: { host: 'localhost', ...headers } })).statusCode, status, `${name}: ${security}`)
  }
})

t.test('whole numbers are integers of the expression', async t => {
  const people = {
    users: [{ ...users.users[0], identifier: 'ada', attributes: { age: 36, id: 5n, share: 0.5, grades: [1, 2, { best: 3 }], since: new Date(0), none: null } }]
  }
  const numbers: SecuritySettings = { ...settings, providers: { people } }
  for (const [security, status] of [
    ['params.id + 1 == 7', 200],
    ['params.id + 1 == 8', 403],
    ['params.id % 2 == 0', 200],
    ['params.id % 2 == 1', 403],
    ['params.id == 6 && params.id >= 5.5', 200],
    ['user.attributes.age + 1 == 37', 200],
    ['user.attributes.age - params.id == 30', 200],
    ['user.attributes.share * 2.0 == 1.0', 200],
    ['user.attributes.grades[1] * 2 == 4 && 2 in user.attributes.grades', 200],
    ['user.attributes.grades[2].best + 1 == 4', 200],
    ['timestamp(user.attributes.since) < timestamp("2000-01-01T00:00:00Z")', 200],
    ['user.attributes.id == 5', 200],
    ['user.attributes.none == null', 200],
    ['user.attributes.age + "1" == "361"', 403]
  ] as const) {
    const app = await build(t, numbers, app => app.get(
      '/n/:id', { config: { params: { id: 'int' }, security } },
      async request => typeof (request.params as { id: unknown }).id + typeof request.user?.attributes.age
    ))
    const response = await app.inject({ url: '/n/6', headers: ada })
    t.equal(response.statusCode, status, security)
    if (status === 200) t.equal(response.body, 'numbernumber', 'the handler has numbers')
  }
})

t.test('an expression that fails logs a warning', async t => {
  const warnings: unknown[] = []
  const app = await build(t, settings, app => {
    app.addHook('onRequest', async request => {
      (request.log as { warn: FastifyBaseLogger['warn'] }).warn = ((...args: unknown[]) => {
        if ((args[0] as { channel?: string }).channel === 'security') {
          warnings.push(args)
        }
      }) as FastifyBaseLogger['warn']
    })
    app.get('/p/:name', { config: { security: 'user.attributes.age >= 18' } }, async () => 'x')
    app.get('/no', { config: { security: '"ROLE_NONE" in roles' } }, async () => 'x')
  })
  t.equal((await app.inject({ url: '/no', headers: ada })).statusCode, 403)
  t.equal((await app.inject({ url: '/p/x', headers: ada })).statusCode, 200)
  t.same(warnings, [])
  t.equal((await app.inject({ url: '/p/x', headers: bob })).statusCode, 403)
  t.same(warnings, [[{ channel: 'security', expression: 'user.attributes.age >= 18', reason: 'No such key: age' }, 'Expression cannot be evaluated.']])
})

t.test('a refused request does not run the handler, and its profile has the reason', async t => {
  let ran = 0
  const app = await build(t, settings, app => app.get('/p/:name', { config: { security: 'user.attributes.age >= 18' } }, async () => { ran++; return 'x' }))
  const refused = await app.inject({ url: '/p/x', headers: { ...bob, accept: 'application/json' } })
  t.same(refused.json<{ exceptions: Array<{ name: string, message: string }> }>().exceptions.map(({ name, message }) => `${name}: ${message.split('\n')[0]}`), [
    'EvaluationError: No such key: age', 'AccessDeniedError: Access Denied.'
  ])
  t.equal(ran, 0)
  const { expression } = await recordOf(app, refused)
  t.match(expression, { expression: 'user.attributes.age >= 18', result: false, error: 'No such key: age' })
  const { events } = await profileOf(app, refused)
  t.same(events.filter(({ listener }) => listener === 'security-expression').map(({ pass, outcome, reason }) => [pass, outcome, reason]), [
    ['main', 'raised', undefined], ['error', 'skipped', 'not in an error pass']
  ])
  t.same((await recordOf(app, await app.inject({ url: '/p/x', headers: ada }))).expression, { expression: 'user.attributes.age >= 18', result: true })
  t.equal(ran, 1)
})

t.test('a browser is redirected to the login', async t => {
  const app = await build(t, { ...settings, firewalls: [{ name: 'main', authenticators: { login: true } }] }, app => {
    app.get('/login', async () => 'x')
    app.get('/', { config: { security: 'user != null' } }, async () => 'x')
  })
  const response = await app.inject({ url: '/', headers: { ...HTML, host: 'shop.test' } })
  t.equal(response.statusCode, 302)
  t.equal(response.headers.location, 'http://shop.test/login')
  const { events } = await profileOf(app, response)
  t.equal(events.find(({ listener }) => listener === 'security-expression')?.outcome, 'answered')
})

t.test('invalid expressions stop the start, and name the route', async t => {
  const declare = (security: unknown) => (app: FastifyInstance) => { app.get('/p/:name', { config: { security: security as string } }, async () => 'x') }
  const first = async (...args: Parameters<typeof refusal>) => (await refusal(...args)).split('\n')[0]
  t.equal(await first(settings, declare('1 +')), 'Route GET /p/:name: config.security: Unexpected token: EOF')
  t.equal(await first(settings, declare('usr == null')), 'Route GET /p/:name: config.security: Unknown variable: usr')
  t.equal(await first(settings, declare('request.methd == "GET"')), 'Route GET /p/:name: config.security: No such key: methd')
  t.equal(await first(settings, declare('roles')), 'Route GET /p/:name: config.security: The expression returns list<string>, not bool')
  t.equal(await first(settings, declare('params.name + 1 == 2 || "a" + 1 == "b"')), 'Route GET /p/:name: config.security: no such overload: string + int')
  t.equal(await first(settings, declare(true)), 'Route "GET /p/:name": Option "config.security" must be an expression (CEL), not a boolean')
  t.equal(await first(undefined, declare('user == null')), 'Route GET /p/:name: config.security needs the option security, which is not configured')
})

t.test('a route without an expression skips the listener', async t => {
  const app = await build(t, settings, app => app.get('/', async () => 'x'))
  const { events } = await profileOf(app, await app.inject('/'))
  t.same(events.filter(({ stage }) => stage === 'kernel.controller_arguments').slice(1).map(({ listener, outcome, reason }) => [listener, outcome, reason]), [
    ['security-expression', 'skipped', 'not configured'], ['is-granted', 'skipped', 'not configured']
  ])
})

t.test('functions that take exponential or cubic time stop the start', async t => {
  for (const [security, name] of [
    ['request.query.q.matches("(a+)+$")', 'matches'],
    ['request.query.q.exists(x, x . matches ("a"))', 'matches'],
    ['duration(request.query.q) > duration("1m")', 'duration']
  ] as const) {
    const message = await refusal(settings, app => app.get('/q', { config: { security } }, async () => 'x'))
    t.equal(message, `Route GET /q: config.security: The function ${name} is not available`)
  }
  t.equal(await refusal(settings, app => app.get('/:duration', { config: { security: 'params.duration == "matches"' } }, async () => 'x')), 'it started')
})

import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { FastifyInstance } from 'fastify'
import { service } from '../../app/service.js'
import type { SecuritySettings } from '../../lib/options.js'
import { AuthenticationError } from '../../lib/security/errors.js'
import { basic, build, HTML, profileOf, recordOf, refusal, TOKEN, users } from '../lib/security/support.js'

const settings: SecuritySettings = {
  providers: { people: users },
  roleHierarchy: { ROLE_ADMIN: ['ROLE_USER', 'ROLE_EDITOR'] },
  firewalls: [
    { name: 'assets', pattern: '/assets', security: false },
    { name: 'api', pattern: /^\/api/, authenticators: { bearer: { realm: 'The API', verify: (token) => token === TOKEN ? 'token-only' : null } } },
    { name: 'main', authenticators: { basic: { realm: 'Secured Area' } }, throttling: false }
  ],
  accessControl: [
    { path: '/admin/open', roles: 'PUBLIC_ACCESS' },
    { path: '/admin', roles: ['ROLE_ADMIN'] },
    { path: '/members', roles: 'IS_AUTHENTICATED' },
    { path: '/write', methods: ['POST'], roles: 'ROLE_EDITOR' },
    { path: '/read', methods: ['GET'], roles: 'ROLE_EDITOR' },
    { path: '/local', ips: ['10.0.0.0/8'], roles: 'PUBLIC_ACCESS' },
    { path: '/local', roles: 'ROLE_NOBODY' },
    { path: '/assets', roles: 'ROLE_ADMIN' },
    { path: '/api/secret', roles: 'ROLE_ADMIN' },
    { path: '/users/@me', roles: 'ROLE_ADMIN' },
    { path: '/%2Fodd', roles: 'ROLE_ADMIN' }
  ]
}

function routes (app: FastifyInstance): void {
  const who = async (request: { user: { identifier: string } | null }) => ({ user: request.user?.identifier ?? null })
  for (const url of [
    '/', '/admin', '/admin/open', '/admin/x', '/administration', '/members', '/read', '/local', '/assets/a', '/api/me', '/api/secret', '/users/:name',
    '/files/*'
  ]) app.get(url, who)
  app.post('/write', who)
  app.get('/write', who)
}

const CHALLENGE = 'Basic realm="Secured Area"'
const FULL = 'Full authentication is required to access this resource.'

type CaseRequest = { method?: 'GET' | 'POST' | 'HEAD', url: string, headers?: Record<string, string>, remoteAddress?: string }
type Case = [name: string, request: CaseRequest, status: number, challenge?: string]

const cases: Case[] = [
  ['a public path', { url: '/' }, 200],
  ['a public path, with credentials', { url: '/', headers: basic('ada', 'lovelace') }, 200],
  ['a public path, with wrong ones', { url: '/', headers: basic('ada', 'nope') }, 401, CHALLENGE],
  ['wrong ones, and no route', { url: '/robots.txt', headers: basic('ada', 'nope') }, 404],
  ['no route behind a rule', { url: '/admin/nothing' }, 404],
  ['nobody at a guarded path', { url: '/admin' }, 401, CHALLENGE],
  ['nobody with a browser, and no login to send it to', { url: '/admin', headers: HTML }, 401, CHALLENGE],
  ['the right user', { url: '/admin', headers: basic('ada', 'lovelace') }, 200],
  ['the scheme in another case', { url: '/admin', headers: { authorization: basic('ada', 'lovelace').authorization.replace('Basic', 'bAsIc') } }, 200],
  ['a user without the role', { url: '/admin', headers: basic('bob', 'builder') }, 403],
  ['a wrong password', { url: '/admin', headers: basic('ada', 'nope') }, 401, CHALLENGE],
  ['an unknown user', { url: '/admin', headers: basic('eve', 'nope') }, 401, CHALLENGE],
  ['a user without a password', { url: '/admin', headers: basic('token-only', '') }, 401, CHALLENGE],
  ['base64 of nothing', { url: '/admin', headers: { authorization: 'Basic ' } }, 401, CHALLENGE],
  ['no base64', { url: '/admin', headers: { authorization: 'Basic <script>' } }, 401, CHALLENGE],
  ['no colon', { url: '/admin', headers: { authorization: `Basic ${Buffer.from('ada').toString('base64')}` } }, 401, CHALLENGE],
  ['a control character', { url: '/admin', headers: basic('ada', 'lovelace\0') }, 401, CHALLENGE],
  ['a scheme that nobody knows', { url: '/admin', headers: { authorization: 'Digest x' } }, 401, CHALLENGE],
  ['the first rule decides', { url: '/admin/open' }, 200],
  ['a path below', { url: '/admin/x' }, 401, CHALLENGE],
  ['a path that only begins alike', { url: '/administration' }, 200],
  ['a path in percent-encoding', { url: '/%61dmin' }, 401, CHALLENGE],
  ['a parameter in percent-encoding', { url: '/users/%40me' }, 401, CHALLENGE],
  ['the same in the clear', { url: '/users/@me' }, 401, CHALLENGE],
  ['another user', { url: '/users/me' }, 200],
  ['an encoded slash separates nothing', { url: '/users/%2Fadmin' }, 200],
  ['every user', { url: '/members', headers: basic('bob', 'builder') }, 200],
  ['nobody is no user', { url: '/members' }, 401, CHALLENGE],
  ['an inherited role', { method: 'POST', url: '/write', headers: basic('ada', 'lovelace') }, 200],
  ['a rule for another method', { url: '/write' }, 200],
  ['a rule for this method', { method: 'POST', url: '/write' }, 401, CHALLENGE],
  ['a rule for GET is for HEAD too', { method: 'HEAD', url: '/read' }, 401, CHALLENGE],
  ['a rule for another network', { url: '/local' }, 401, CHALLENGE],
  ['a rule for this network', { url: '/local', remoteAddress: '10.1.2.3' }, 200],
  ['without security no rule holds', { url: '/assets/a' }, 200],
  ['without security nobody is recognised', { url: '/assets/a', headers: basic('ada', 'nope') }, 200],
  ['a token', { url: '/api/me', headers: { authorization: `Bearer ${TOKEN}` } }, 200],
  ['a wrong token', { url: '/api/me', headers: { authorization: 'Bearer nope' } }, 401, 'Bearer realm="The API", error="invalid_token"'],
  ['no token at all', { url: '/api/me', headers: { authorization: 'Bearer' } }, 401, 'Bearer realm="The API", error="invalid_token"'],
  ['a token where basic is wanted', { url: '/admin', headers: { authorization: `Bearer ${TOKEN}` } }, 401, CHALLENGE],
  ['nobody where a token is wanted', { url: '/api/secret' }, 401, 'Bearer realm="The API"'],
  ['a token that does not reach', { url: '/api/secret', headers: { authorization: `Bearer ${TOKEN}` } }, 403],
  ['the profiler is without security', { url: '/_profiler/nothing', headers: basic('ada', 'nope') }, 404]
]

t.test('access depends on path, method, credentials and roles', async t => {
  const app = await build(t, settings, routes)
  for (const [name, request, status, challenge] of cases) {
    const response = await app.inject(request)
    t.equal(response.statusCode, status, name)
    t.equal(response.headers['www-authenticate'], challenge, `${name}: the challenge`)
  }
})

t.test('access is the same outside debug mode', async t => {
  const app = await build(t, settings, routes, { debug: false })
  for (const [name, request, status, challenge] of cases) {
    const response = await app.inject(request)
    t.equal(response.statusCode, status, name)
    t.equal(response.headers['www-authenticate'], challenge, `${name}: the challenge`)
  }
})

t.test('access is the same over a socket', async t => {
  const app = await build(t, settings, routes)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  for (const [name, { method = 'GET', url, headers = {}, remoteAddress }, status, challenge] of cases) {
    if (remoteAddress !== undefined) continue
    const lines = Object.entries(headers).map(([key, value]) => `${key}: ${value}\r\n`).join('')
    const answer = await exchange(port, `${method} ${url} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\nContent-Length: 0\r\n${lines}\r\n`)
    t.equal(Number(answer.slice(9, 12)), status, name)
    t.equal(/^www-authenticate: (.*)\r$/im.exec(answer)?.[1], challenge, `${name}: the challenge`)
  }
  const target = await exchange(port, `GET http://x/admin HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`)
  t.equal(target.slice(9, 12), '401', 'a target in absolute form is the same path')
})

t.test('a router that ignores case and slashes does not bypass a rule', async t => {
  const lax = { routerOptions: { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true } }
  const { default: Fastify } = await import('fastify')
  const app = Fastify(lax)
  t.teardown(() => app.close())
  await app.register(service, {
    debug: false,
    session: false,
    security: { ...settings, accessControl: [{ path: '/Admin', roles: 'ROLE_ADMIN' }, { path: /^\/files\/secret/, roles: 'ROLE_ADMIN' }] }
  })
  app.get('/admin', () => 'x').get('/files/:name', () => 'x').get('/admin/:name', () => 'x')
  for (const url of [
    '/admin', '/ADMIN', '/admin/', '//admin', '/aDmIn/x', '//ADMIN//x', '/files/secret', '/FILES/SECRET', '/files//SECRET', '/files/%73ecret'
  ]) {
    t.equal((await app.inject(url)).statusCode, 401, url)
  }
  t.equal((await app.inject('/files/other')).statusCode, 200)
})

t.test('a refusal is readable for scripts of an allowed origin', async t => {
  const app = await build(t, settings, routes, { cors: [{ path: '/admin', origin: ['http://localhost:3000'], exposedHeaders: ['link'] }] })
  const { statusCode, headers } = await app.inject({ url: '/admin', headers: { origin: 'http://localhost:3000' } })
  t.equal(statusCode, 401)
  t.match(headers, { 'access-control-allow-origin': 'http://localhost:3000', 'access-control-expose-headers': 'link', 'www-authenticate': CHALLENGE })
})

t.test('a refusal has its error, code and message', async t => {
  const app = await build(t, settings, routes)
  const told = async (url: string, headers: Record<string, string>) => {
    const { statusCode, body } = await app.inject({ url, headers: { ...headers, accept: 'application/json' } })
    const { exceptions } = JSON.parse(body) as { exceptions: Array<{ name: string, message: string, code: string }> }
    return [statusCode, ...exceptions.map(({ name, message, code }) => `${name} ${code} ${message}`)]
  }
  t.same(await told('/admin', {}), [401, `AuthenticationError HINDSIGHT_AUTHENTICATION ${FULL}`])
  t.same(await told('/admin', basic('bob', 'builder')), [403, 'AccessDeniedError HINDSIGHT_ACCESS_DENIED Access Denied.'])
  const invalid = [401, 'AuthenticationError HINDSIGHT_AUTHENTICATION Invalid credentials.']
  t.same(await told('/admin', basic('ada', 'nope')), invalid)
  t.same(await told('/admin', basic('eve', 'nope')), invalid)
  t.same(await told('/api/me', { authorization: 'Bearer nope' }), invalid)
  const page = await app.inject({ url: '/admin', headers: HTML })
  t.match(page.body, FULL)
  t.match(page.headers['x-debug-exception'], 'Full%20authentication')
})

t.test('custom authenticators are called', async t => {
  const custom = (name: string, answer: unknown) => ({
    name,
    supports: ({ headers }: { headers: Record<string, unknown> }) => headers[`x-${name}`] !== undefined,
    authenticate: () => { if (answer instanceof Error) throw answer; return answer as never },
    challenge: () => `X-${name}`
  })
  const app = await build(t, {
    providers: { people: users },
    firewalls: [{
      name: 'main',
      throttling: false,
      authenticators: {
        basic: true,
        custom: [
          custom('user', { identifier: 'carl', roles: ['ROLE_ADMIN'] }),
          custom('name', 'bob'),
          custom('unknown', 'nobody'),
          custom('none', null),
          custom('refuses', new AuthenticationError('The card has expired.')),
          custom('broken', new TypeError('no connection')),
          custom('nameless', { id: 'ada' })
        ]
      }
    }],
    accessControl: [{ path: '/admin', roles: 'ROLE_ADMIN' }]
  }, routes)
  const table = [
    ['x-user', 200, '{"user":"carl"}'], ['x-name', 403], ['x-unknown', 401], ['x-none', 401], ['x-refuses', 401], ['x-broken', 500], ['x-nameless', 500]
  ] as const
  for (const [header, status, body] of table) {
    const response = await app.inject({ url: '/admin', headers: { [header]: '1', ...basic('eve', 'never asked') } })
    t.equal(response.statusCode, status, header)
    if (body !== undefined) t.equal(response.body, body)
    if (status === 401) {
      t.equal(response.headers['www-authenticate'], 'X-user, X-name, X-unknown, X-none, X-refuses, X-broken, X-nameless, Basic realm="Secured Area"')
    }
    const { authenticators } = await recordOf(app, response)
    t.equal(authenticators.find(({ name }) => `x-${name}` === header)?.outcome, status === 200 || status === 403 ? 'succeeded' : 'failed')
  }
  const { authenticators } = await recordOf(app, await app.inject({ url: '/', headers: { 'x-refuses': '1' } }))
  t.same(authenticators.filter(({ outcome }) => outcome === 'failed'), [{ name: 'refuses', outcome: 'failed', reason: 'The card has expired.' }])
})

t.test('an identifier needs a provider that finds its user', async t => {
  const badge = { name: 'badge', supports: () => true, authenticate: () => 'bob' }
  for (const providers of [{}, { people: users, robots: users }]) {
    const app = await build(t, { providers, firewalls: [{ name: 'door', authenticators: { custom: [badge] } }] }, routes)
    const response = await app.inject('/')
    t.equal(response.statusCode, 500)
    const { authenticators } = await recordOf(app, response)
    t.match(
      authenticators,
      [{ name: 'badge', outcome: 'failed', reason: /there is no provider that finds its user: set provider of the firewall "door", or return a user$/ }]
    )
  }
})

t.test('a function can verify a token', async t => {
  const app = await build(t, {
    providers: { people: users },
    firewalls: [{
      name: 'main',
      authenticators: { bearer: { verify: (token, request) => token === 'a' ? 'bob' : token === 'b' ? { identifier: request.headers.host ?? '' } : null } }
    }]
  }, routes)
  const get = async (token: string) => (await app.inject({ url: '/', headers: { authorization: `Bearer ${token}`, host: 'x.test' } })).body
  t.equal(await get('a'), '{"user":"bob"}')
  t.equal(await get('b'), '{"user":"x.test"}')
  t.equal((await app.inject({ url: '/', headers: { authorization: 'Bearer c' } })).statusCode, 401)
})

t.test('a rule without a firewall refuses without a challenge', async t => {
  const app = await build(t, {
    firewalls: [{ name: 'api', pattern: '/api', authenticators: { bearer: { verify: () => null } } }], accessControl: [{ path: '/admin', roles: 'ROLE_ADMIN' }]
  }, routes)
  const response = await app.inject('/admin')
  t.equal(response.statusCode, 403)
  t.equal(response.headers['www-authenticate'], undefined)
  t.equal((await app.inject('/')).statusCode, 200)
})

t.test('the profile has the decisions of the firewall', async t => {
  const app = await build(t, settings, routes)
  const response = await app.inject({ url: '/admin', headers: basic('ada', 'lovelace') })
  t.strictSame(await recordOf(app, response), {
    firewall: { name: 'main', pattern: '/', security: true },
    authenticators: [{ name: 'basic', outcome: 'succeeded' }],
    user: { identifier: 'ada', attributes: { age: 36, apiKey: '******' } },
    authenticatedBy: 'basic',
    roles: ['ROLE_ADMIN'],
    inheritedRoles: ['ROLE_USER', 'ROLE_EDITOR'],
    rule: { index: 1, path: '/admin', methods: [], ips: [], roles: ['ROLE_ADMIN'], granted: true },
    decisions: [{
      by: 'access_control', attribute: 'ROLE_ADMIN', subject: null, granted: true, votes: [{ voter: 'role', vote: 'granted', reason: 'the user has the role' }]
    }],
    expression: null
  })
  const wrong = await recordOf(app, await app.inject({ url: '/admin', headers: basic('eve', 'hunter2') }))
  t.same(wrong.authenticators, [{ name: 'basic', outcome: 'failed', reason: 'no such user' }])
  for (const [url, headers] of [
    ['/admin', basic('ada', 'lovelace')], ['/admin', basic('ada', 'hunter2')], ['/api/me', { authorization: `Bearer ${TOKEN}` }]
  ] as const) {
    const profile = JSON.stringify(await profileOf(app, await app.inject({ url, headers })))
    t.notMatch(profile, /lovelace|hunter2|\$argon2|do not show|tok-0123/)
    t.notMatch(profile, headers.authorization.split(' ')[1] as string)
  }
})

t.test('the Events panel has the outcomes', async t => {
  const app = await build(t, settings, routes)
  const outcomes = async (url: string, headers = {}) => {
    const { events } = await profileOf(app, await app.inject({ url, headers }))
    return events.filter(({ listener }) => listener === 'firewall' || listener === 'logout-url').map(
      ({ stage, listener, outcome, reason }) => [stage, listener, outcome, reason].join(' ').trim()
    )
  }
  const finish = 'kernel.finish_request firewall ran'
  t.same(await outcomes('/'), [
    'kernel.request logout-url skipped the URL is made when the handler calls logoutUrl() or logoutPath()',
    'kernel.request firewall skipped the request has no credentials, and needs none', finish
  ])
  t.same(await outcomes('/assets/a'), [
    'kernel.request logout-url skipped the URL is made when the handler calls logoutUrl() or logoutPath()',
    'kernel.request firewall skipped the firewall has security: false', finish
  ])
  t.same(
    await outcomes('/admin'),
    ['kernel.request logout-url skipped the URL is made when the handler calls logoutUrl() or logoutPath()', 'kernel.request firewall raised', finish]
  )
  t.same(
    await outcomes('/admin', basic('ada', 'lovelace')),
    ['kernel.request logout-url skipped the URL is made when the handler calls logoutUrl() or logoutPath()', 'kernel.request firewall ran', finish]
  )
  t.same(await outcomes('/nowhere'), [finish])
})

t.test('the user of a request is reset at its end, and never that of another request', async t => {
  const seen: unknown[] = []
  const app = await build(t, settings, app => {
    routes(app)
    app.addHook('onResponse', async request => { seen.push(request.user) })
    app.get('/slow', async request => {
      const before = request.user?.identifier
      await new Promise(resolve => setTimeout(resolve, Math.random() * 10))
      return { before, after: request.user?.identifier, granted: await request.isGranted('ROLE_ADMIN') }
    })
  })
  const names = Array.from({ length: 60 }, (_, i) => [['ada', 'lovelace'], ['bob', 'builder'], null][i % 3] as [string, string] | null)
  const answers = await Promise.all(names.map(async who => (await app.inject({ url: '/slow', headers: who === null ? {} : basic(...who) })).json<object>()))
  answers.forEach(
    (answer, i) => t.same(answer, names[i] === null ? { granted: false } : { before: names[i]?.[0], after: names[i]?.[0], granted: names[i]?.[0] === 'ada' })
  )
  t.same(new Set(seen), new Set([null]))
})

t.test('a public response remains public', async t => {
  const app = await build(t, { ...settings, firewalls: [{ name: 'main', authenticators: { login: true } }] }, app => {
    app.get('/login', () => 'x').get('/cached', (_request, reply) => { reply.header('cache-control', 'public, max-age=60'); return 'x' })
  })
  for (const headers of [{}, { cookie: 'other=1' }, { cookie: 'sessionId=forged.x' }]) {
    const response = await app.inject({ url: '/cached', headers })
    t.equal(response.headers['cache-control'], 'public, max-age=60', JSON.stringify(headers))
    t.equal(response.headers['set-cookie'], undefined)
  }
})

t.test('invalid options stop the start', async t => {
  const main = (more: object) => ({ providers: { people: users }, firewalls: [{ name: 'main', ...more }] })
  const table: Array<[string, unknown, string]> = [
    ['no firewalls', {}, 'Option "security.firewalls" is missing'],
    [
      'an unknown key', { firewalls: [], acces: [] },
      'Unknown option "security.acces"; use one of firewalls, providers, accessControl, roleHierarchy, voters, hasher'
    ],
    ['no name', { firewalls: [{}] }, 'Option "security.firewalls[0].name" is missing'],
    [
      'a name with a space', { firewalls: [{ name: 'a b' }] },
      'Option "security.firewalls[0].name" must be a name of letters, digits, ".", "_" or "-", not another string'
    ],
    ['a name twice', { firewalls: [{ name: 'a' }, { name: 'a' }] }, 'security.firewalls: the name "a" is used twice'],
    [
      'an unknown key of a firewall', main({ form: {} }),
      'Unknown option "security.firewalls[0].form"; use one of name, pattern, security, provider, authenticators, logout, throttling'
    ],
    [
      'an unknown authenticator', main({ authenticators: { digest: {} } }),
      'Unknown option "security.firewalls[0].authenticators.digest"; use one of custom, basic, bearer, login'
    ],
    [
      'a relative pattern', main({ pattern: 'admin' }),
      'Option "security.firewalls[0].pattern" must be a path that starts with "/", or a RegExp, not another string'
    ],
    [
      'an unknown provider', main({ provider: 'persons', authenticators: { basic: true } }),
      'security.firewalls.main.provider: one of security.providers is required: people'
    ],
    [
      'no provider', { firewalls: [{ name: 'main', authenticators: { basic: true } }] },
      'security.firewalls.main.provider: one of security.providers is required: there are none'
    ],
    [
      'two providers', { ...main({ authenticators: { basic: true } }), providers: { a: users, b: users } },
      'security.firewalls.main.provider: one of security.providers is required: a, b'
    ],
    [
      'a password in the clear',
      { providers: { p: { users: [{ identifier: 'ada', password: 'lovelace' }] } }, firewalls: [{ name: 'main', authenticators: { basic: true } }] },
      'security.providers.p: a password is not in the form of a hash that can be verified; make one with hashPassword()'
    ],
    [
      'a user twice', { providers: { p: { users: [{ identifier: 'a' }, { identifier: 'a' }] } }, firewalls: [] },
      'security.providers.p: an identifier is used twice'
    ],
    ['a bearer without tokens', main({ authenticators: { bearer: {} } }), 'Option "security.firewalls[0].authenticators.bearer.verify" is missing'],
    [
      'a login path of another firewall',
      { providers: { people: users }, firewalls: [{ name: 'a', pattern: '/login', security: false }, { name: 'b', authenticators: { login: true } }] },
      'security.firewalls.b: its path "/login" belongs to an earlier firewall, or to none'
    ],
    [
      'a login path of none', main({ pattern: '/admin', authenticators: { login: true } }),
      'security.firewalls.main: its path "/login" belongs to an earlier firewall, or to none'
    ],
    [
      'half an authenticator', main({ authenticators: { custom: [{ name: 'x' }] } }),
      'Option "security.firewalls[0].authenticators.custom[0].supports" must be a function'
    ],
    ['a rule with an empty list of roles', { firewalls: [], accessControl: [{ roles: [] }] }, 'it started'],
    ['a rule without roles', { firewalls: [], accessControl: [{ path: '/x' }] }, 'Option "security.accessControl[0].roles" is missing'],
    [
      'a rule with a relative path', { firewalls: [], accessControl: [{ path: 'x', roles: 'A' }] },
      'Option "security.accessControl[0].path" must be a path that starts with "/", or a RegExp, not another string'
    ],
    [
      'a rule for no network', { firewalls: [], accessControl: [{ roles: 'A', ips: ['10.0.0.0/99'] }] },
      'security.accessControl[0].ips: invalid range on address: 10.0.0.0/99; use addresses, CIDR ranges, loopback, linklocal or uniquelocal'
    ],
    ['half a voter', { firewalls: [], voters: [{ supports: () => true }] }, 'Option "security.voters[0].vote" must be a function'],
    [
      'throttling by nothing', main({ authenticators: { basic: true }, throttling: { maxAttempts: 0 } }),
      'Option "security.firewalls[0].throttling.maxAttempts" must be a whole number from 1, not 0'
    ],
    [
      'a slip in a login', main({ authenticators: { login: { csfr: true } } }),
      'Unknown option "security.firewalls[0].authenticators.login.csfr"; did you mean "csrf"?'
    ],
    [
      'a word for no', main({ authenticators: { login: { csrf: 'no' } } }),
      'Option "security.firewalls[0].authenticators.login.csrf" must be a boolean, not a string'
    ],
    [
      'a slip in basic', main({ authenticators: { basic: { relm: 'x' } } }),
      'Unknown option "security.firewalls[0].authenticators.basic.relm"; did you mean "realm"?'
    ],
    [
      'a slip in bearer', main({ authenticators: { bearer: { verfy: () => null, verify: () => null } } }),
      'Unknown option "security.firewalls[0].authenticators.bearer.verfy"; did you mean "verify"?'
    ],
    [
      'a bearer that verifies by nothing', main({ authenticators: { bearer: { verify: 'x' } } }),
      'Option "security.firewalls[0].authenticators.bearer.verify" must be a function, not a string'
    ],
    [
      'a bearer of nothing', main({ authenticators: { bearer: true } }),
      'Option "security.firewalls[0].authenticators.bearer" must be an object or false, not a boolean'
    ],
    [
      'a user without an identifier', { firewalls: [], providers: { p: { users: [{ roles: [] }] } } },
      'Option "security.providers.p.users[0].identifier" is missing'
    ],
    ['a provider without users', { firewalls: [], providers: { p: {} } }, 'Option "security.providers.p.users" is missing'],
    [
      'a realm of two lines', main({ authenticators: { basic: { realm: 'x\r\ny' } } }),
      'Option "security.firewalls[0].authenticators.basic.realm" must be a string without control characters, not another string'
    ],
    [
      'a realm of two lines for tokens', main({ authenticators: { bearer: { realm: 'x\ny', verify: () => null } } }),
      'Option "security.firewalls[0].authenticators.bearer.realm" must be a string without control characters, not another string'
    ],
    [
      'a login elsewhere', main({ authenticators: { login: { loginPath: '//evil.example' } } }),
      'Option "security.firewalls[0].authenticators.login.loginPath" must be a path of this application, which starts with one "/" and has no "//", ' +
        'backslash or control character, not another string'
    ],
    [
      'a target elsewhere', main({ authenticators: { login: { defaultTargetPath: 'https://evil' } } }),
      'Option "security.firewalls[0].authenticators.login.defaultTargetPath" must be a path of this application, which starts with one "/" and has no "//", ' +
        'backslash or control character, not another string'
    ],
    [
      'a target that a browser reads as elsewhere', main({ authenticators: { login: { defaultTargetPath: '/\t/evil' } } }),
      'Option "security.firewalls[0].authenticators.login.defaultTargetPath" must be a path of this application, which starts with one "/" and has no "//", ' +
        'backslash or control character, not another string'
    ],
    ['a slip in a logout', main({ logout: { csfr: true } }), 'Unknown option "security.firewalls[0].logout.csfr"; did you mean "csrf"?'],
    ['a logout to nowhere', main({ logout: { target: 5 } }), 'Option "security.firewalls[0].logout.target" must be a path of this application, which starts ' +
      'with one "/" and has no "//", backslash or control character, not a number'],
    ['a logout to elsewhere', main({ logout: { target: '//evil' } }), 'Option "security.firewalls[0].logout.target" must be a path of this application, ' +
      'which starts with one "/" and has no "//", backslash or control character, not another string'],
    [
      'a slip in the throttling', main({ authenticators: { basic: true }, throttling: { maxAttempt: 1 } }),
      'Unknown option "security.firewalls[0].throttling.maxAttempt"; did you mean "maxAttempts"?'
    ],
    [
      'a method that is none', { firewalls: [], accessControl: [{ roles: 'A', methods: ['GET', 'DELTE'] }] },
      'Option "security.accessControl[0].methods[1]" must be "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE" or "QUERY", not "DELTE"'
    ],
    [
      'a method that is no name', { firewalls: [], accessControl: [{ roles: 'A', methods: [5] }] },
      'Option "security.accessControl[0].methods[0]" must be "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE" or "QUERY", not a number'
    ],
    [
      'a slip in a user', { firewalls: [], providers: { p: { users: [{ identifier: 'a', pasword: 'x' }] } } },
      'Unknown option "security.providers.p.users[0].pasword"; did you mean "password"?'
    ],
    [
      'one role as if it were several', { firewalls: [], providers: { p: { users: [{ identifier: 'a', role: 'x' }] } } },
      'Unknown option "security.providers.p.users[0].role"; did you mean "roles"?'
    ],
    ['a provider of another type', { firewalls: [], providers: { p: 5 } }, 'Option "security.providers.p" must be an object or a function, not a number'],
    ['a hierarchy of numbers', { firewalls: [], roleHierarchy: { A: 5 } }, 'Option "security.roleHierarchy.A" must be a string or an array, not a number'],
    ['a hierarchy of lists of numbers', { firewalls: [], roleHierarchy: { A: [5] } }, 'Option "security.roleHierarchy.A[0]" must be a string, not a number']
  ]
  for (const [name, security, message] of table) t.equal(await refusal(security), message, name)
  const off: Array<[string, object]> = [
    ['basic', { authenticators: { basic: false } }], [
      'bearer', { authenticators: { bearer: false } }
    ], ['login', { authenticators: { login: false } }], ['logout', { logout: false }]
  ]
  for (const [name, more] of off) {
    const app = await build(
      t, { providers: { people: users }, firewalls: [{ name: 'main', ...more }], accessControl: [{ path: '/admin', roles: 'ROLE_ADMIN' }] }, routes
    )
    const response = await app.inject({ url: '/admin', headers: basic('ada', 'lovelace') })
    t.same([response.statusCode, response.headers['www-authenticate']], [403, undefined], `${name}: false is off`)
    t.same([app.hasRoute({ method: 'POST', url: '/login' }), app.hasRoute({ method: 'GET', url: '/logout' })], [false, false], `${name}: false makes no route`)
  }
  t.equal(
    await refusal(main({ authenticators: { login: true } }), () => {}, { session: false }),
    'security.firewalls.main: its login needs the option session, which is not set'
  )
})

t.test('a second decorator `request.user` stops the start', async t => {
  const { default: Fastify } = await import('fastify')
  const app = Fastify()
  t.teardown(() => app.close().catch(() => {}))
  app.decorateRequest('user', null as never)
  await t.rejects(async () => { await app.register(service, { session: false, security: { firewalls: [] } }) }, {
    message: "The decorator 'user' has already been added!"
  })
  const plain = await build(t, undefined, app => app.get('/', request => String('user' in request)))
  t.equal((await plain.inject('/')).body, 'false', 'without security the name is free')
})

function exchange (port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(port, '127.0.0.1', () => socket.write(Buffer.from(bytes, 'latin1')))
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()))
  })
}

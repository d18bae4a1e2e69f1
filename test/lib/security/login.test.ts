import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { FastifyInstance } from 'fastify'
import type { SecuritySettings } from '../../../lib/options.js'
import type { LoginForm } from '../../../lib/security/login.js'
import type { StoredUser } from '../../../lib/security/users.js'
import { basic, build, countingHasher, HTML, Jar, passwords, recordOf, users } from './support.js'

const main = { name: 'main', authenticators: { login: true as const }, logout: true as const }
const settings: SecuritySettings = {
  providers: { people: users },
  firewalls: [main],
  accessControl: [{ path: '/account', roles: 'IS_AUTHENTICATED' }]
}

function routes (app: FastifyInstance): void {
  app.get('/', async request => ({ user: request.user?.identifier ?? null, cart: request.session.get('cart' as never) ?? null }))
  app.get('/cart', async request => { request.session.set('cart' as never, 3 as never); return {} })
  app.get('/login', async request => request.loginForm())
  app.get('/account', async request => ({ user: request.user?.identifier, logout: request.logoutUrl() }))
  app.get('/account/*', async request => ({ user: request.user?.identifier }))
  app.get('/static', async () => 'the same for all')
  app.get('/logout-path', async request => ({ path: request.logoutPath(), url: request.logoutUrl() }))
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** A browser: cookies are kept, redirects are not followed. */
function browser (app: FastifyInstance, more: Record<string, string> = {}) {
  const jar = new Jar()
  const send = async (request: { method?: 'GET' | 'POST', url: string, headers?: Record<string, string>, payload?: string }) => {
    const response = await app.inject({ ...request, headers: { ...HTML, host: 'shop.test', ...jar.header, ...more, ...request.headers } })
    jar.take(response)
    return response
  }
  const form = async () => (await send({ url: '/login' })).json<LoginForm>()
  return {
    jar,
    form,
    get: (url: string, headers = {}) => send({ url, headers }),
    post: (url: string, fields: Record<string, string>, headers = {}) =>
      send({ method: 'POST', url, payload: new URLSearchParams(fields).toString(), headers: { ...FORM, ...headers } }),
    json: (url: string, body: unknown, headers = {}) =>
      send({ method: 'POST', url, payload: JSON.stringify(body), headers: { 'content-type': 'application/json', accept: 'application/json', ...headers } }),
    async login (name = 'ada', password = 'lovelace') {
      const { csrfToken } = await form()
      return this.post('/login', { _username: name, _password: password, _csrf_token: csrfToken })
    }
  }
}

t.test('a form login redirects to the requested page, and the logout ends the session', async t => {
  const app = await build(t, settings, routes)
  const visitor = browser(app)
  await visitor.get('/cart')
  const sent = await visitor.get('/account/orders?page=2')
  t.equal(sent.statusCode, 302)
  t.equal(sent.headers.location, 'http://shop.test/login')
  const before = visitor.jar.session
  const form = await visitor.form()
  t.match(form, { action: '/login', error: null })
  const answer = await visitor.login()
  t.equal(answer.statusCode, 302)
  t.equal(answer.headers.location, 'http://shop.test/account/orders?page=2')
  t.match(answer.headers['cache-control'], 'private')
  t.not(visitor.jar.session, before, 'the session has a new id')
  t.same((await visitor.get('/')).json(), { user: 'ada', cart: 3 }, 'values of the application are still in the session')
  t.equal(
    (await app.inject({ url: '/', headers: { cookie: `sessionId=${encodeURIComponent(before ?? '')}` } })).json<{ user: null }>().user, null,
    'the old id has no user'
  )
  t.equal((await visitor.login()).headers.location, 'http://shop.test/', 'a second login redirects to the default page')

  const { logout } = (await visitor.get('/account')).json<{ logout: string }>()
  t.match(logout, /^http:\/\/shop\.test\/logout\?_csrf_token=/)
  const kept = visitor.jar.session
  const out = await visitor.get(logout.slice('http://shop.test'.length))
  t.equal(out.statusCode, 302)
  t.equal(out.headers.location, 'http://shop.test/')
  t.equal(visitor.jar.session, undefined, 'the cookie is deleted')
  t.equal(
    (await app.inject({ url: '/account', headers: { cookie: `sessionId=${encodeURIComponent(kept ?? '')}`, accept: 'application/json' } })).statusCode, 401,
    'the session is destroyed'
  )
})

t.test('the form login works over a socket, with its cookies', async t => {
  const app = await build(t, settings, routes)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  let cookie = ''
  const send = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(base + path, { redirect: 'manual', ...init, headers: { ...HTML, cookie, ...init.headers } })
    const set = response.headers.get('set-cookie')
    if (set !== null) cookie = set.split(';', 1)[0] as string
    return response
  }
  const refused = await send('/account')
  t.equal(refused.headers.get('location'), `${base}/login`)
  t.match(refused.headers.get('set-cookie'), /; HttpOnly; SameSite=Lax/)
  const { csrfToken } = await (await send('/login')).json() as LoginForm
  const answer = await send('/login', { method: 'POST', body: new URLSearchParams({ _username: 'ada', _password: 'lovelace', _csrf_token: csrfToken }) })
  t.equal(answer.status, 302)
  t.equal(answer.headers.get('location'), `${base}/account`)
  t.same((await (await send('/account')).json() as { user: string }).user, 'ada')
})

t.test('a login by JSON checks its token and its credentials', async t => {
  const app = await build(t, settings, routes)
  const visitor = browser(app, { accept: 'application/json' })
  const { csrfToken } = await visitor.form()
  const table: Array<[string, unknown, Record<string, string>, number]> = [
    ['no token', { _username: 'ada', _password: 'lovelace' }, {}, 403],
    ['a wrong token', { _username: 'ada', _password: 'lovelace', _csrf_token: 'x-y' }, {}, 403],
    ['a token that is no text', { _username: 'ada', _password: 'lovelace', _csrf_token: { a: 1 } }, {}, 403],
    ['a wrong password', { _username: 'ada', _password: 'x' }, { 'x-csrf-token': csrfToken }, 401],
    ['a password that is no text', { _username: 'ada', _password: ['lovelace'] }, { 'x-csrf-token': csrfToken }, 401],
    ['a name that is no text', { _username: { $ne: null }, _password: 'lovelace' }, { 'x-csrf-token': csrfToken }, 401],
    ['no object', null, { 'x-csrf-token': csrfToken }, 401],
    ['a list', ['ada'], { 'x-csrf-token': csrfToken }, 401],
    ['all right', { _username: 'ada', _password: 'lovelace' }, { 'x-csrf-token': csrfToken }, 200]
  ]
  for (const [name, body, headers, status] of table) {
    const response = await visitor.json('/login', body, headers)
    t.equal(response.statusCode, status, name)
    if (status === 401) t.equal(response.headers['www-authenticate'], 'Cookie realm="main", form-action="/login"')
    if (status === 200) t.same(response.json(), { identifier: 'ada', roles: ['ROLE_ADMIN'] })
  }
  t.equal((await visitor.get('/')).json<{ user: string }>().user, 'ada')
})

t.test('a failed login redirects to the form with a message', async t => {
  const app = await build(t, settings, routes)
  const visitor = browser(app)
  for (const [name, password] of [['ada', 'nope'], ['eve', 'nope'], ['token-only', ''], ['', '']] as const) {
    const answer = await visitor.login(name, password)
    t.equal(answer.statusCode, 302, name)
    t.equal(answer.headers.location, 'http://shop.test/login')
    t.match(await visitor.form(), { error: 'Invalid credentials.' })
    t.match(await visitor.form(), { error: null }, 'the message is shown once')
  }
  const forged = await visitor.post('/login', { _username: 'ada', _password: 'lovelace', _csrf_token: 'forged' })
  t.equal(forged.headers.location, 'http://shop.test/login')
  t.match(await visitor.form(), { error: 'Invalid CSRF token.' })
  t.equal((await visitor.get('/')).json<{ user: null }>().user, null)
  const other = await browser(app).form()
  await visitor.post('/login', { _username: 'ada', _password: 'lovelace', _csrf_token: other.csrfToken })
  t.equal((await visitor.get('/')).json<{ user: null }>().user, null, 'a token of another session')
  const { path } = (await visitor.get('/logout-path')).json<{ path: string }>()
  await visitor.post('/login', { _username: 'ada', _password: 'lovelace', _csrf_token: new URLSearchParams(path.split('?')[1]).get('_csrf_token') ?? '' })
  t.equal((await visitor.get('/')).json<{ user: null }>().user, null, 'a token for the logout')
})

t.test('clients other than browsers receive the status of a failed login, and no redirect', async t => {
  const app = await build(t, { ...settings, firewalls: [{ ...main, authenticators: { login: { csrf: false } } }] }, routes)
  const payload = '_username=ada&_password=nope'
  for (const headers of [{ accept: '*/*' }, { ...HTML, 'x-requested-with': 'XMLHttpRequest' }, { accept: 'application/json, text/html;q=0.5' }]) {
    t.equal((await app.inject({ method: 'POST', url: '/login', headers: { ...FORM, ...headers }, payload })).statusCode, 401, JSON.stringify(headers))
    t.equal((await app.inject({ url: '/account', headers })).statusCode, 401)
  }
  t.equal((await app.inject({ method: 'POST', url: '/account', headers: HTML })).statusCode, 405)
  t.equal((await app.inject({ method: 'POST', url: '/login', headers: { 'content-type': 'text/xml' }, payload: '<a/>' })).statusCode, 415)
  t.equal(
    (await app.inject({ method: 'POST', url: '/login', headers: { ...FORM, accept: '*/*' }, payload: `_username=${'a'.repeat(20_000)}` })).statusCode, 413
  )
})

t.test('a login never redirects to another origin', async t => {
  const app = await build(t, { ...settings, accessControl: [{ roles: 'IS_AUTHENTICATED' }] }, app => {
    routes(app)
    app.get('//*', () => 'x').get('/\\*', () => 'x').get('/a/*', () => 'x')
  })
  for (const [url, location] of [
    ['//evil.test/x', 'http://shop.test/'],
    ['/\\evil.test/x', 'http://shop.test/'],
    ['/a/%0d%0aLocation:%20evil', 'http://shop.test/a/%0d%0aLocation:%20evil'],
    ['/a/?_target_path=http://evil.test', 'http://shop.test/a/?_target_path=http://evil.test'],
    [`/a/${'x'.repeat(3000)}`, 'http://shop.test/']
  ] as const) {
    const visitor = browser(app)
    await visitor.get(url)
    t.equal((await visitor.login()).headers.location, location, url.slice(0, 40))
  }
  const visitor = browser(app)
  const { csrfToken } = await visitor.form()
  const answer = await visitor.post(
    '/login?_target_path=http://evil.test', { _username: 'ada', _password: 'lovelace', _csrf_token: csrfToken, _target_path: 'http://evil.test' }
  )
  t.equal(answer.headers.location, 'http://shop.test/')
})

t.test('a logout needs its token, and ends the session', async t => {
  const app = await build(t, settings, routes)
  const visitor = browser(app)
  await visitor.login()
  for (const url of ['/logout', '/logout?_csrf_token=forged', '/logout?_csrf_token=a&_csrf_token=b']) {
    t.equal((await visitor.get(url)).statusCode, 403, url)
  }
  t.equal((await visitor.get('/')).json<{ user: string }>().user, 'ada')
  const { csrfToken } = await visitor.form()
  t.equal((await visitor.post('/logout', { _csrf_token: csrfToken })).statusCode, 403, 'a token for the login')
  const { path, url } = (await visitor.get('/logout-path')).json<{ path: string, url: string }>()
  t.match(path, /^\/logout\?_csrf_token=[\w-]+$/)
  t.match(url, /^http:\/\/shop\.test\/logout\?_csrf_token=[\w-]+$/)
  t.equal((await app.inject({ method: 'HEAD', url: path })).statusCode, 405, 'HEAD ends no session')
  const token = new URLSearchParams(path.split('?')[1]).get('_csrf_token') ?? ''
  t.equal((await visitor.post('/logout', { _csrf_token: token })).statusCode, 302)
  t.equal((await visitor.get('/')).json<{ user: null }>().user, null)

  const open = await build(t, { ...settings, firewalls: [{ ...main, logout: { path: '/bye', target: '/goodbye', csrf: false } }] }, routes)
  t.same((await open.inject({ url: '/logout-path', headers: { host: 'shop.test' } })).json(), { path: '/bye', url: 'http://shop.test/bye' })
  const bye = await open.inject({ url: '/bye', headers: { host: 'shop.test' } })
  t.equal(bye.headers.location, 'http://shop.test/goodbye')
  t.equal(bye.headers['set-cookie'], undefined, 'no user was logged in')
  const none = await build(t, { ...settings, firewalls: [{ name: 'main' }] }, routes)
  t.same((await none.inject('/logout-path')).json(), { path: null, url: null })
})

t.test('every response of a logged-in request is private', async t => {
  const app = await build(t, settings, routes)
  const visitor = browser(app)
  await visitor.login()
  t.equal((await visitor.get('/static')).headers['cache-control'], 'no-cache, private')
  t.equal((await visitor.get('/static')).headers['set-cookie'], undefined)
  t.equal((await visitor.get('/')).headers['cache-control'], 'max-age=0, must-revalidate, private')
  t.equal((await visitor.get('/account')).headers['cache-control'], 'max-age=0, must-revalidate, private')
})

t.test('a session ends when its user is removed, and when the password changes', async t => {
  const people = new Map<string, StoredUser>([['ada', { identifier: 'ada', password: passwords.ada, roles: ['ROLE_ADMIN'] }]])
  const app = await build(t, { ...settings, providers: { people: async name => people.get(name) ?? null } }, routes)
  const visitor = browser(app)
  const now = async () => (await visitor.get('/')).json<{ user: string | null }>().user
  await visitor.login()
  t.equal(await now(), 'ada')
  people.set('ada', { identifier: 'ada', password: passwords.ada, roles: [] })
  t.equal(await now(), 'ada', 'other roles')
  people.set('ada', { identifier: 'ada', password: passwords.bob })
  t.equal(await now(), null, 'another password')
  people.set('ada', { identifier: 'ada', password: passwords.ada })
  t.equal(await now(), null, 'the session remains ended')
  await visitor.login()
  t.equal(await now(), 'ada')
  people.clear()
  const response = await visitor.get('/')
  t.equal(response.json<{ user: null }>().user, null, 'no user any more')
  t.same((await recordOf(app, response)).authenticators, [{ name: 'session', outcome: 'failed', reason: 'the user does not exist any more' }])
})

t.test('two firewalls have separate logins', async t => {
  const app = await build(t, {
    providers: { people: users },
    firewalls: [
      { name: 'back', pattern: '/back', authenticators: { login: { loginPath: '/back/login', csrf: false, defaultTargetPath: '/back' } } },
      { name: 'front', authenticators: { login: { csrf: false } } }
    ],
    accessControl: [{ path: '/back', roles: 'ROLE_ADMIN' }]
  }, app => { routes(app); app.get('/back', async request => ({ user: request.user?.identifier })) })
  const visitor = browser(app)
  await visitor.post('/login', { _username: 'ada', _password: 'lovelace' })
  t.equal((await visitor.get('/')).json<{ user: string }>().user, 'ada')
  t.equal((await visitor.get('/back')).headers.location, 'http://shop.test/back/login')
  t.equal((await visitor.post('/back/login', { _username: 'ada', _password: 'lovelace' })).headers.location, 'http://shop.test/back')
  t.equal((await visitor.get('/back')).json<{ user: string }>().user, 'ada')
})

t.test('verifying an unknown user takes as many hashes as a known one', async t => {
  for (const debug of [true, false]) {
    const hasher = countingHasher()
    const app = await build(
      t, { ...settings, hasher, firewalls: [{ ...main, authenticators: { basic: true, login: { csrf: false } }, throttling: false }] }, routes, { debug }
    )
    const bodies = new Set<string>()
    for (const name of ['ada', 'eve', 'token-only', '']) {
      hasher.verified.length = 0
      const answer = await app.inject(
        { method: 'POST', url: '/login', headers: { ...FORM, accept: 'application/json' }, payload: `_username=${name}&_password=nope` }
      )
      t.equal(answer.statusCode, 401)
      t.equal(hasher.verified.length, 1, `one verification for "${name}" by form`)
      t.match(hasher.verified[0], /^\$argon2id\$v=19\$m=64,t=1,p=1\$/, 'the hash has the cost of a real one')
      if (!debug) bodies.add(answer.body)
      hasher.verified.length = 0
      t.equal((await app.inject({ url: '/', headers: basic(name, 'nope') })).statusCode, 401)
      t.equal(hasher.verified.length, 1, `one verification for "${name}" by header`)
    }
    if (!debug) t.equal(bodies.size, 1, 'the answer is the same')
  }
})

t.test('concurrent requests with the same credentials are one attempt', async t => {
  const hasher = countingHasher()
  const app = await build(t, { ...settings, hasher, firewalls: [{ name: 'main', authenticators: { basic: true }, throttling: { maxAttempts: 2 } }] }, routes)
  const together = await Promise.all(Array.from({ length: 20 }, () => app.inject({ url: '/account', headers: basic('ada', 'lovelace') })))
  t.same(new Set(together.map(({ statusCode }) => statusCode)), new Set([200]))
  t.ok(hasher.verified.length < 20)
})

t.test('a login is throttled after too many failures', async t => {
  const hasher = countingHasher()
  const app = await build(t, {
    ...settings, hasher, firewalls: [{ ...main, authenticators: { basic: true, login: { csrf: false } }, throttling: { maxAttempts: 3, interval: 60_000 } }]
  }, routes, { debugClients: ['10.0.0.1'] })
  const attempt = (name: string, password: string, remoteAddress = '10.0.0.1') => app.inject({ url: '/', remoteAddress, headers: basic(name, password) })
  for (const name of ['ada', 'eve']) {
    for (let i = 0; i < 3; i++) t.equal((await attempt(name, `nope ${i}`)).statusCode, 401)
    hasher.verified.length = 0
    const refused = await attempt(name, 'lovelace')
    t.equal(refused.statusCode, 429, 'the correct password is not verified')
    t.same(hasher.verified, [])
    const seconds = Number(refused.headers['retry-after'])
    t.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60, `Retry-After: ${seconds}`)
    t.match(refused.body, 'Too many failed login attempts, please try again later.')
    t.equal((await attempt(name.toUpperCase(), 'nope')).statusCode, 429, 'the name in capitals is the same')
    t.equal((await app.inject(
      { method: 'POST', url: '/login', remoteAddress: '10.0.0.1', headers: { ...FORM, ...HTML }, payload: `_username=${name}&_password=x` }
    )).statusCode, 429, 'a login by form is throttled, too')
  }
  t.equal((await attempt('ada', 'lovelace', '10.0.0.2')).statusCode, 200, 'a login from another address is possible')
  t.equal((await attempt('bob', 'builder')).statusCode, 200, 'other users can log in')
  for (let i = 0; i < 10; i++) t.equal((await attempt('bob', 'builder')).statusCode, 200, 'success is not counted')
  for (let i = 0; i < 15; i++) await attempt(`name ${i}`, 'nope', '10.0.0.3')
  t.equal((await attempt('bob', 'builder', '10.0.0.3')).statusCode, 429, 'many names from one address')
  for (let i = 0; i < 3; i++) await attempt('ada', `nope ${i}`, `2001:db8::${i}`)
  t.equal((await attempt('ada', 'nope', '2001:db8::ffff')).statusCode, 429, 'a /64 is one address')
  t.equal((await attempt('ada', 'lovelace', '2001:db8:0:1::1')).statusCode, 200)
  const many = await Promise.all(Array.from({ length: 20 }, (_, i) => attempt('ada', `at once ${i}`, '10.0.0.9')))
  t.equal(many.filter(({ statusCode }) => statusCode === 401).length, 3, 'concurrent attempts are counted')
})

t.test('different spellings of a name share a counter', async t => {
  const app = await build(t, { ...settings, firewalls: [{ name: 'main', authenticators: { login: { csrf: false } }, throttling: { maxAttempts: 1 } }] }, routes)
  const attempt = async (_username: string, remoteAddress: string) =>
    (await app.inject({
      method: 'POST',
      url: '/login',
      remoteAddress,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      payload: JSON.stringify({ _username, _password: 'wrong' })
    })).statusCode
  for (const [i, [name, other]] of [
    ['ada', 'ADA'], ['ada', ' ada'], ['ada', 'ada\t'], ['ada', '\u00a0ada\u3000'], ['ada', '\uff41\uff44\uff41'], [
      'ångström', 'a\u030angstro\u0308m'
    ], ['ångström', '\u212bNGSTRÖM']
  ].entries() as Iterable<[number, [string, string]]>) {
    const address = `10.0.${i}.1`
    t.same([await attempt(name, address), await attempt(other, address), await attempt('grace', address)], [401, 429, 401], JSON.stringify(other))
  }
})

t.test('failures at other addresses do not lock out a user', async t => {
  const app = await build(t, { ...settings, firewalls: [{ name: 'main', authenticators: { basic: true }, throttling: { maxAttempts: 5 } }] }, routes)
  const attempt = async (password: string, remoteAddress: string) =>
    (await app.inject({ url: '/account', remoteAddress, headers: basic('ada', password) })).statusCode
  for (let i = 0; i < 7; i++) t.equal(await attempt(`wrong ${i}`, '10.0.0.1'), i < 5 ? 401 : 429)
  t.equal(await attempt('lovelace', '10.0.0.1'), 429)
  t.equal(await attempt('lovelace', '10.0.0.2'), 200)
})

t.test('without a login there is no login page', async t => {
  const app = await build(t, { firewalls: [{ name: 'api', pattern: '/login' }] }, app => { routes(app); app.get('/x', async request => request.loginForm()) })
  t.match((await app.inject('/login')).body, 'request.loginForm(): no firewall with a login protects this path')
  t.match((await app.inject('/x')).body, 'request.loginForm(): no firewall with a login protects this path')
})

import fastifySession from '@fastify/session'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import type { ServiceOptions } from '../../../lib/options.js'
import type { SecuritySettings } from '../../../lib/options.js'
import type { LoginForm } from '../../../lib/security/login.js'
import { get, listen, statusOf } from '../../../packages/hindsight/test/support/app.js'
import { build, HTML, Jar, users } from './support.js'

const SECRET = 'a secret for tests, 32 letters or more'
const main = { name: 'main', authenticators: { login: true as const }, logout: true as const }
const settings: SecuritySettings = { providers: { people: users }, firewalls: [main], accessControl: [{ path: '/account', roles: 'IS_AUTHENTICATED' }] }

/** Where requests of a test wait for it to go on. */
class Gate {
  readonly reached: Promise<void>
  readonly #opened: Promise<void>
  #reach = (): void => {}
  open = (): void => {}

  constructor () {
    this.reached = new Promise(resolve => { this.#reach = resolve })
    this.#opened = new Promise(resolve => { this.open = resolve })
  }

  async pass (): Promise<void> {
    this.#reach()
    await this.#opened
  }
}

const gates = new Map<string, Gate>()

/** Begins a request that waits where its session is changed; the function lets it go on, and answers when it is answered. */
async function waiting<T> (begin: (query: string) => Promise<T>): Promise<() => Promise<T>> {
  const [name, gate] = [`g${gates.size}`, new Gate()]
  gates.set(name, gate)
  const answer = begin(`?wait=${name}`)
  await gate.reached
  return async () => { gate.open(); return await answer }
}

function routes (app: FastifyInstance): void {
  app.get('/login', async request => request.loginForm())
  app.get('/who', async request => ({ user: request.user?.identifier ?? null }))
  app.get('/account', async request => ({ user: request.user?.identifier, logout: request.logoutPath() }))
  app.get('/set/:key/:value', async request => {
    const { key, value } = request.params as { key: string, value: string }
    request.session.set(key as never, value as never)
    const { wait } = request.query as { wait?: string }
    if (wait !== undefined) await gates.get(wait)?.pass()
    return {}
  })
  app.get('/drop/:key', async request => { Reflect.deleteProperty(request.session, (request.params as { key: string }).key); return {} })
  app.get('/session', async request => Object.fromEntries(Object.entries(request.session).filter(([key]) => key !== 'cookie' && !key.startsWith('_'))))
}

type SessionOption = NonNullable<ServiceOptions['session']>
type Request = { url: string, method?: 'GET' | 'POST', headers?: Record<string, string>, payload?: string, remoteAddress?: string }

function browser (app: FastifyInstance, more: Omit<Request, 'url'> = {}, jar = new Jar()) {
  const send = async (request: Request) => {
    const response = await app.inject({ ...more, ...request, headers: { ...HTML, host: 'shop.test', ...jar.header, ...more.headers, ...request.headers } })
    jar.take(response)
    return response
  }
  const body = async <T>(url: string): Promise<T> => (await send({ url })).json<T>()
  return {
    jar,
    send,
    body,
    who: async () => (await body<{ user: string | null }>('/who')).user,
    async login (name = 'ada', password = 'lovelace') {
      const { csrfToken } = await body<LoginForm>('/login')
      const payload = new URLSearchParams({ _username: name, _password: password, _csrf_token: csrfToken }).toString()
      return await send({ method: 'POST', url: '/login', payload, headers: { 'content-type': 'application/x-www-form-urlencoded' } })
    }
  }
}

const cookieOf = (response: { headers: Record<string, unknown> }): string =>
  [response.headers['set-cookie']].flat().map(String).find(cookie => cookie.startsWith('sessionId=')) ?? ''

t.test('a login replaces a session that another client has planted', async t => {
  const app = await build(t, settings, routes)
  const attacker = browser(app)
  const { csrfToken } = await attacker.body<LoginForm>('/login')
  await attacker.send({ url: '/set/cart/1' })
  const planted = attacker.jar.session
  // The victim's browser was made to have the attacker's cookie.
  const victim = browser(app, {}, Object.assign(new Jar()))
  victim.jar.take({ cookies: [{ name: 'sessionId', value: String(planted) }] })
  t.same(await victim.body('/session'), { cart: '1' }, 'the session was planted')
  t.equal((await victim.login()).statusCode, 302)
  t.not(victim.jar.session, planted, 'the id differs')
  t.equal(await victim.who(), 'ada')
  t.equal(await attacker.who(), null, 'the planted id opens no session')
  t.same(await attacker.body('/session'), {}, 'its values are gone, too')
  const stale = await attacker.send(
    { method: 'POST', url: '/logout', payload: `_csrf_token=${csrfToken}`, headers: { 'content-type': 'application/x-www-form-urlencoded' } }
  )
  t.equal(stale.statusCode, 403, 'earlier tokens are invalid')
  const second = victim.jar.session
  t.equal((await victim.login('bob', 'builder')).statusCode, 302)
  t.not(victim.jar.session, second, 'at every login')
})

t.test('a session id that a client has invented is not used', async t => {
  const app = await build(t, settings, routes)
  for (const value of [
    'made-up', 'made-up.', '.', 'made-up.c2lnbmF0dXJl', `${'a'.repeat(32)}.${'b'.repeat(43)}`, '__proto__', 'constructor.x', 'logins-x', '%00', '%', '"',
    'a%0d%0ab'
  ]) {
    const response = await app.inject({ url: '/set/key/value', headers: { cookie: `sessionId=${value}` } })
    t.equal(response.statusCode, 200, value)
    const id = decodeURIComponent(/^sessionId=([^;]*)/.exec(cookieOf(response))?.[1] ?? '').split('.')[0] ?? ''
    t.ok(id.length >= 32 && !value.startsWith(id), `${value}: the session has an id of its own`)
  }
})

t.test('a cookie that is changed at any position opens no session', async t => {
  const app = await build(t, settings, routes)
  const visitor = browser(app)
  await visitor.login()
  const value = String(visitor.jar.session)
  const dot = value.lastIndexOf('.')
  for (let at = 0; at < value.length; at += 3) {
    const changed = `${value.slice(0, at)}${value[at] === 'x' ? 'y' : 'x'}${value.slice(at + 1)}`
    // The last character of a signature has bits that say nothing.
    if (at === value.length - 1) continue
    const response = await app.inject({ url: '/account', headers: { accept: 'application/json', cookie: `sessionId=${encodeURIComponent(changed)}` } })
    t.equal(response.statusCode, 401, `character ${at}`)
  }
  for (const [name, cookie] of [
    ['its id alone', value.slice(0, dot)],
    ['its signature alone', value.slice(dot)],
    ['another signature', `${value.slice(0, dot)}.${value.slice(dot + 1).split('').reverse().join('')}`],
    ['two of it', `${value}${value}`],
    ['cut', value.slice(0, -1)]
  ] as const) {
    t.equal(
      (await app.inject({ url: '/account', headers: { accept: 'application/json', cookie: `sessionId=${encodeURIComponent(cookie)}` } })).statusCode, 401, name
    )
  }
  t.equal(
    (await app.inject({ url: '/account', headers: { accept: 'application/json', cookie: `sessionId=${encodeURIComponent(value)}` } })).statusCode, 200,
    'as it was given it does'
  )
})

t.test('cookies of any size are answered', async t => {
  const app = await build(t, settings, routes)
  const port = await listen(app)
  for (const [name, cookie, status] of [
    ['60 KiB in one', `sessionId=${'x'.repeat(60 * 1024)}`, 200],
    ['60 KiB in many', Array.from({ length: 5_000 }, (_, n) => `c${n}=${n}`).join('; '), 200],
    ['the same a thousand times', Array.from({ length: 1_000 }, () => 'sessionId=x.y').join('; '), 200],
    ['more than a header section has', `sessionId=${'x'.repeat(70 * 1024)}`, 431],
    ['names of prototypes', '__proto__=1; constructor=2; toString=3; hasOwnProperty=4', 200],
    ['no names', '=; ==; ;;; =x', 200],
    ['octets', 'sessionId=\u00ff\u0080\u00e4; \u00ff=1', 200]
  ] as const) t.equal(statusOf(await get(port, '/who', { Cookie: cookie })), status, name)
})

t.test('an expired session is not restored, and its id is not used again', async t => {
  const store = new fastifySession.MemoryStore()
  for (const [name, session] of [
    ['in memory', { secret: SECRET, cookie: { maxAge: 40 } }],
    ['in a store that forgets nothing', { secret: SECRET, cookie: { maxAge: 40 }, store }]
  ] as Array<[string, SessionOption]>) {
    const app = await build(t, settings, routes, { session })
    const cookie = cookieOf(await app.inject('/set/cart/1')).split(';', 1)[0] as string
    await new Promise(resolve => setTimeout(resolve, 60))
    const response = await app.inject({ url: '/session', headers: { cookie } })
    t.same(response.json(), {}, name)
    const again = await app.inject({ url: '/set/cart/2', headers: { cookie } })
    t.not(cookieOf(again).split(';', 1)[0], cookie, `${name}: the next has another`)
    t.not(cookieOf(again), '', name)
  }
})

const STORES: Array<[string, () => SessionOption]> = [
  ['in memory', () => ({ secret: SECRET })],
  ['in a store that answers later', () => ({ secret: SECRET, store: laterStore() })]
]

function laterStore (): NonNullable<Exclude<SessionOption, false>['store']> {
  const sessions = new Map<string, string>()
  return {
    get (id, done) { setTimeout(() => { const found = sessions.get(id); done(null, found === undefined ? null : JSON.parse(found)) }, 1) },
    set (id, session, done) { sessions.set(id, JSON.stringify(session)); setTimeout(done, 1) },
    destroy (id, done) { sessions.delete(id); setTimeout(done, 1) }
  }
}

t.test('of two concurrent requests that change a session, the last one to be saved wins', async t => {
  for (const [name, session] of STORES) {
    const app = await build(t, settings, routes, { session: session() })
    const visitor = browser(app)
    await visitor.send({ url: '/set/kept/0' })
    const slow = await waiting(query => visitor.send({ url: `/set/slow/1${query}` }))
    await visitor.send({ url: '/set/quick/2' })
    await slow()
    t.same(await visitor.body('/session'), { kept: '0', slow: '1' }, name)
  }
})

t.test('a request that began before a login does not restore the old session', async t => {
  for (const [name, session] of STORES) {
    const app = await build(t, settings, routes, { session: session() })
    const visitor = browser(app)
    await visitor.send({ url: '/set/cart/1' })
    const before = new Jar()
    before.take({ cookies: [{ name: 'sessionId', value: String(visitor.jar.session) }] })
    const other = browser(app, {}, before)
    const slow = await waiting(query => other.send({ url: `/set/late/1${query}` }))
    await visitor.login()
    t.equal(cookieOf(await slow()), '', `${name}: it is given no cookie`)
    t.equal(await other.who(), null, `${name}: its session is destroyed`)
    t.equal(await visitor.who(), 'ada', `${name}: and the new one is there`)
  }
})

t.test('a session that was signed with an older secret and is destroyed stays destroyed', async t => {
  const store = new fastifySession.MemoryStore()
  const older = 'an older secret of thirty-two letters'
  const first = await build(t, settings, routes, { session: { secret: older, store } })
  const cookie = cookieOf(await first.inject('/set/cart/1')).split(';', 1)[0] as string
  const app = await build(
    t, settings, app => { routes(app); app.get('/end', async request => { await request.session.destroy(); return {} }) },
    { session: { secret: [SECRET, older], store } }
  )
  const slow = await waiting(query => app.inject({ url: `/set/late/1${query}`, headers: { cookie } }))
  await app.inject({ url: '/end', headers: { cookie } })
  t.equal(cookieOf(await slow()), '')
  t.same((await app.inject({ url: '/session', headers: { cookie } })).json(), {})
})

t.test('a logout ends only its own session', async t => {
  const app = await build(t, settings, routes)
  const [phone, desk] = [browser(app), browser(app)]
  await phone.login()
  await desk.login()
  await phone.send({ url: (await phone.body<{ logout: string }>('/account')).logout })
  t.same([await phone.who(), await desk.who()], [null, 'ada'])
})

t.test('the flags of the cookie depend on the scheme of the request', async t => {
  const proxied = (proto: string): Omit<Request, 'url'> => ({ remoteAddress: '10.0.0.1', headers: { 'x-forwarded-proto': proto } })
  const flags = (cookie: string): string => cookie.split('; ').slice(1).filter(flag => !/^Expires=/.test(flag)).sort().join(' ')
  for (const [name, cookie, more, expected] of [
    ['http', {}, {}, 'HttpOnly Path=/ SameSite=Lax'],
    ['https behind a proxy that is trusted', {}, proxied('https'), 'HttpOnly Path=/ SameSite=Lax Secure'],
    ['http behind one', {}, proxied('http'), 'HttpOnly Path=/ SameSite=Lax'],
    ['https that anybody claims', {}, { remoteAddress: '10.0.0.2', headers: { 'x-forwarded-proto': 'https' } }, 'HttpOnly Path=/ SameSite=Lax'],
    ['strict on http', { sameSite: 'strict' }, {}, 'HttpOnly Path=/ SameSite=Strict'],
    ['strict on https', { sameSite: 'strict' }, proxied('https'), 'HttpOnly Path=/ SameSite=Strict Secure'],
    ['none on https', { sameSite: 'none' }, proxied('https'), 'HttpOnly Path=/ SameSite=None Secure'],
    ['secure alone, on https', { secure: true }, proxied('https'), 'HttpOnly Path=/ SameSite=Lax Secure'],
    ['secure alone, on http', { secure: true }, {}, '']
  ] as Array<[string, object, Omit<Request, 'url'>, string]>) {
    const app = await build(t, settings, routes, { trustedProxies: ['10.0.0.1'], session: { secret: SECRET, cookie } })
    const visitor = browser(app, more)
    t.equal(flags(cookieOf(await visitor.send({ url: '/set/cart/1' }))), expected, name)
    if (expected !== '') t.equal(flags(cookieOf(await visitor.login())), expected, `${name}: at a login`)
  }
})

t.test('a session that began over http and is logged in over https has a Secure cookie', async t => {
  const app = await build(t, settings, routes, { trustedProxies: ['10.0.0.1'] })
  const visitor = browser(app)
  t.notMatch(cookieOf(await visitor.send({ url: '/set/cart/1' })), /Secure/)
  const secure = browser(app, { remoteAddress: '10.0.0.1', headers: { 'x-forwarded-proto': 'https' } }, visitor.jar)
  t.match(cookieOf(await secure.login()), /; Secure/, 'at the login')
  t.match(cookieOf(await secure.send({ url: '/set/cart/2' })), /; Secure/, 'and from then on')
  t.equal(cookieOf(await visitor.send({ url: '/set/cart/3' })), '', 'it is not sent over http')
})

import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import type { ServiceOptions } from '../../../lib/options.js'
import type { SecuritySettings } from '../../../lib/options.js'
import { argon2 } from '../../../lib/security/users.js'
import type { LoginForm } from '../../../lib/security/login.js'
import { build, HTML, Jar, users } from './support.js'

const SECRET = 'a secret for tests, 32 letters or more'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
type Callback = (error?: unknown, session?: unknown) => void
type Stored = Map<string, unknown>

/** What works until it is broken. */
class Broken {
  at = ''
  check (place: string): void {
    if (this.at === place) throw new Error(`broken: ${place}`)
  }
}

function storeOf (broken: Broken, sessions: Stored = new Map()) {
  const answer = (place: string, callback: Callback, value: () => unknown): void => {
    setImmediate(() => {
      try {
        broken.check(place)
      } catch (error) {
        return callback(error)
      }
      callback(null, value())
    })
  }
  return {
    get: (id: string, callback: Callback) => answer('store.get', callback, () => sessions.get(id) ?? null),
    set: (id: string, session: unknown, callback: Callback) => answer('store.set', callback, () => sessions.set(id, JSON.parse(JSON.stringify(session)))),
    destroy: (id: string, callback: Callback) => answer('store.destroy', callback, () => sessions.delete(id))
  }
}

function settings (broken: Broken): SecuritySettings {
  const load = async (identifier: string) => {
    broken.check('provider')
    return users.users.find((user) => user.identifier === identifier) ?? null
  }
  return {
    providers: { people: load },
    hasher: {
      ...argon2, verify: async (hash, password) => { broken.check('hasher'); return await argon2.verify(hash, password) }
    } as NonNullable<SecuritySettings['hasher']>,
    firewalls: [
      {
        name: 'door',
        pattern: '/door',
        authenticators: {
          custom: [{
            name: 'badge',
            supports: (request) => { broken.check('supports'); return request.headers['x-badge'] !== undefined },
            authenticate: () => { broken.check('authenticate'); return 'ada' },
            challenge: () => { broken.check('challenge'); return 'Badge' }
          }],
          bearer: { verify: () => { broken.check('bearer'); return 'ada' } }
        }
      },
      { name: 'main', authenticators: { login: true }, logout: true }
    ],
    accessControl: [{ path: '/door/inner', roles: 'IS_AUTHENTICATED' }],
    voters: [{ name: 'article', supports: (attribute) => attribute === 'EDIT', vote: () => { broken.check('voter'); return true } }]
  }
}

function routes (app: FastifyInstance): void {
  app.get('/', async (request) => ({ user: request.user?.identifier ?? null, logout: request.logoutPath() }))
  app.get('/login', async (request) => request.loginForm())
  app.get('/door', async (request) => ({ user: request.user?.identifier ?? null }))
  app.get('/door/inner', async () => 'inside')
  app.get('/edit', { config: { isGranted: 'EDIT' } }, async () => 'edited')
}

async function start (t: Test, options: ServiceOptions = {}, declare = routes) {
  const broken = new Broken()
  const app = await build(t, settings(broken), declare, { session: { secret: SECRET, store: storeOf(broken) as never }, ...options })
  const jar = new Jar()
  const send = async (method: 'GET' | 'POST', url: string, headers: Record<string, string> = {}, payload?: string) => {
    const answer = await app.inject({ method, url, headers: { ...HTML, ...jar.header, ...headers }, ...(payload !== undefined && { payload }) })
    jar.take(answer)
    return answer
  }
  const login = async () => {
    broken.at = ''
    const form = (await send('GET', '/login')).json<LoginForm>()
    return new URLSearchParams({ _username: 'ada', _password: 'lovelace', _csrf_token: form.csrfToken }).toString()
  }
  return { app, broken, send, login }
}

type Started = Awaited<ReturnType<typeof start>>

const atLogin = async ({ broken, send, login }: Started, place: string) => {
  const payload = await login()
  broken.at = place
  return await send('POST', '/login', FORM, payload)
}
const loggedIn = async ({ broken, send, login }: Started, place: string, url: string, method: 'GET' | 'POST' = 'GET') => {
  const answer = await send('POST', '/login', FORM, await login())
  if (answer.statusCode !== 302) throw new Error(`no login: ${answer.statusCode}`)
  const { logout } = (await send('GET', '/')).json<{ logout: string }>()
  broken.at = place
  return await send(method, url === 'logout' ? logout : url)
}
const asked = async ({ broken, send }: Started, place: string, url: string, headers: Record<string, string> = {}) => {
  broken.at = place
  return await send('GET', url, headers)
}

const FAILURES: ReadonlyArray<readonly [name: string, place: string, status: number, act: (started: Started, place: string) => ReturnType<Started['send']>]> = [
  ['the provider, at a login', 'provider', 500, atLogin],
  ['the hasher, at a login', 'hasher', 500, atLogin],
  ['the store, where a login is read', 'store.get', 503, atLogin],
  ['the store, where a login is written', 'store.set', 503, atLogin],
  ['the store, where the session before a login ends', 'store.destroy', 503, atLogin],
  ['the store, at a logout', 'store.destroy', 503, async (started, place) => await loggedIn(started, place, 'logout')],
  ['the store, where a logout is read', 'store.get', 503, async (started, place) => await loggedIn(started, place, 'logout')],
  ['the provider, for a session', 'provider', 500, async (started, place) => await loggedIn(started, place, '/')],
  ['a custom authenticator, when it is asked whether', 'supports', 500, async (started, place) => await asked(started, place, '/door')],
  ['a custom authenticator', 'authenticate', 500, async (started, place) => await asked(started, place, '/door', { 'x-badge': '1' })],
  ['the challenge of one', 'challenge', 500, async (started, place) => await asked(started, place, '/door/inner')],
  ['the check of a bearer token', 'bearer', 500, async (started, place) => await asked(started, place, '/door', { authorization: 'Bearer x' })],
  ['a voter', 'voter', 500, async (started, place) => await asked(started, place, '/edit')]
]

t.test('debug mode: a failure has the diagnostic page, and a profile with the exception', async (t) => {
  const started = await start(t)
  for (const [name, place, status, act] of FAILURES) {
    const answer = await act(started, place)
    started.broken.at = ''
    t.equal(answer.statusCode, status, name)
    t.match(answer.body, /^<!DOCTYPE html>/, name)
    t.ok(answer.body.includes(`broken: ${place}`), `${name}: the page has the message`)
    const profile = await started.app.hindsight.profiler.find(String(answer.headers['x-debug-token']))
    t.equal(profile?.status, status, name)
    t.ok(profile?.exceptions.some(({ message }) => message.includes(`broken: ${place}`)), `${name}: so does the profile`)
    t.equal(profile?.events.filter(({ pass, listener }) => pass === 'error' && listener === 'error').length, 1, `${name}: one error pass`)
    t.notMatch(answer.body, 'while another one was being answered', name)
  }
})

t.test('production: a failure has the short page without its reason, and is stored if failures are', async (t) => {
  const started = await start(t, { debug: false, profiler: { storage: 'memory', production: true, onlyExceptions: true, minStatus: 500 } })
  for (const [name, place, status, act] of FAILURES) {
    const answer = await act(started, place)
    started.broken.at = ''
    t.equal(answer.statusCode, status, name)
    t.match(answer.headers['content-type'], 'text/html', name)
    t.notMatch(answer.body, /broken: |store\.|node_modules/, `${name}: nothing of why`)
    const token = /Reference: (?:<[^>]+>)*([0-9a-f]{6})/.exec(answer.body)?.[1]
    t.ok(
      (await started.app.hindsight.profiler.find(token ?? ''))?.exceptions.some(({ message }) => message.includes(`broken: ${place}`)),
      `${name}: the operator reads it`
    )
  }
})

t.test('an unreadable body is answered in the format that the client accepts', async (t) => {
  const { app } = await start(t)
  for (const [name, accept, type, body, status] of [
    ['JSON that is none, as a problem', 'application/problem+json', 'application/problem+json', '{', 400],
    ['the same, for clients that take anything', '*/*', 'text/html', '{', 400],
    ['too much of it', 'text/plain', 'text/plain', JSON.stringify('x'.repeat(20_000)), 413]
  ] as const) {
    const answer = await app.inject({ method: 'POST', url: '/login', headers: { accept, 'content-type': 'application/json' }, payload: body })
    t.equal(answer.statusCode, status, name)
    t.match(answer.headers['content-type'], type, name)
    t.equal((await app.hindsight.profiler.find(String(answer.headers['x-debug-token'])))?.status, status, name)
  }
})

t.test('the error handler of the application handles failures in these routes', async (t) => {
  const started = await start(t, {}, (app) => {
    routes(app)
    app.setErrorHandler((error: Error, _request, reply) => reply.code(418).send(`own: ${error.message}`))
  })
  const answer = await atLogin(started, 'provider')
  t.same([answer.statusCode, answer.body], [418, 'own: broken: provider'])
  const profile = await started.app.hindsight.profiler.find(String(answer.headers['x-debug-token']))
  t.same(profile?.exceptions.map(({ message }) => message), ['broken: provider'])
  t.equal(profile?.events.filter(({ pass, listener }) => pass === 'error' && listener === 'error').length, 1)
  t.match(await loggedIn(started, 'store.destroy', 'logout'), { statusCode: 418, body: /^own: / })
})

t.test('a failure of the error handler is answered with its message', async (t) => {
  const started = await start(t, {}, (app) => {
    routes(app)
    app.setErrorHandler(() => { throw new Error('the handler is broken') })
  })
  const answer = await atLogin(started, 'provider')
  t.equal(answer.statusCode, 500)
  t.match(answer.body, 'the handler is broken')
})

import { EventEmitter, once } from 'node:events'
import fastifySession from '@fastify/session'
import t from 'tap'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { SessionSettings } from '../../lib/options.js'
import { MemorySessionStore } from '../../lib/session/session-store.js'
import { build, eventOf, newest, profileOf, refusal, SECRET } from '../../packages/hindsight/test/support/app.js'

declare module 'fastify' {
  interface Session {
    count?: number
    user?: string
  }
}

function routes (app: FastifyInstance): void {
  app.get('/plain', () => 'x')
  app.get('/look', request => ({ count: request.session.count ?? null }))
  app.get('/count', request => { request.session.count = (request.session.count ?? 0) + 1; return { count: request.session.count } })
  app.get('/public', (request, reply) => { request.session.count = 1; return reply.header('cache-control', 'public, max-age=600').send('x') })
  app.get('/no-store', (request, reply) => { request.session.count = 1; return reply.header('cache-control', 'no-store').send('x') })
  app.get('/login', async request => { await request.session.regenerate(); request.session.user = 'anna'; return { user: 'anna' } })
  app.get('/logout', async request => { await request.session.destroy(); return 'bye' })
  app.get('/who', request => ({ user: request.session.user ?? null }))
  app.get('/cookie', (_request, reply) => reply.setCookie('theme', 'dark', { path: '/' }).send('x'))
  app.get('/both', (request, reply) => { request.session.count = 1; return reply.setCookie('theme', 'dark').send('x') })
  app.get('/boom', request => { request.session.count = 7; throw new Error('boom') })
  app.get('/cookies', request => request.cookies)
}

const cookieOf = (response: { headers: Record<string, unknown> }): string =>
  [response.headers['set-cookie']].flat().map(String).find(cookie => cookie.startsWith('sessionId=')) ?? ''
const pairOf = (response: { headers: Record<string, unknown> }): string => cookieOf(response).split(';', 1)[0] ?? ''

t.test('an unused session sets no cookie, and its listener is skipped', async t => {
  const app = await build(t, {}, routes)
  for (const [url, cacheControl] of [['/plain', 'no-cache, private'], ['/nix', 'no-store']] as const) {
    const response = await app.inject(url)
    t.equal(response.headers['set-cookie'], undefined, url)
    const profile = await profileOf(app, response)
    t.match(eventOf(profile, 'kernel.request', 'session'), { outcome: 'skipped', reason: 'the request has no cookies' })
    t.match(eventOf(profile, 'kernel.response', 'session'), { outcome: 'skipped', reason: 'the session was not used, no cookie is set' })
    t.equal(response.headers['cache-control'], cacheControl)
  }
})

t.test('a session that was only read and is empty sets no cookie', async t => {
  const app = await build(t, {}, routes)
  const response = await app.inject('/look')
  t.equal(response.headers['set-cookie'], undefined)
  t.equal(response.headers['cache-control'], 'max-age=0, must-revalidate, private', 'the response is private')
})

t.test('the store is not read before the session is used', async t => {
  const { prototype } = MemorySessionStore
  const original = prototype.get
  let reads = 0
  prototype.get = function (...args) { reads++; return original.apply(this, args) }
  t.teardown(() => { prototype.get = original })
  const app = await build(t, {}, routes)
  const cookie = pairOf(await app.inject('/count'))
  for (const [url, expected] of [['/plain', 0], ['/nix', 0], ['/cookie', 0], ['/look', 1], ['/count', 2]] as const) {
    reads = 0
    await app.inject({ url, headers: { cookie } })
    t.equal(reads, expected, url)
  }
})

t.test('a session is available in the next request', async t => {
  const app = await build(t, {}, routes)
  const first = await app.inject('/count')
  const cookie = pairOf(first)
  t.same(first.json(), { count: 1 })
  t.same((await app.inject({ url: '/count', headers: { cookie } })).json(), { count: 2 })
  t.same((await app.inject({ url: '/look', headers: { cookie } })).json(), { count: 2 })
  t.same((await app.inject('/look')).json(), { count: null }, 'a client without the cookie has another session')
})

t.test('the attributes of the cookie depend on the scheme of the request', async t => {
  const proxied = (remoteAddress: string, proto: string) => ({ url: '/count', remoteAddress, headers: { 'x-forwarded-proto': proto } })
  for (const [name, server, request, secure] of [
    ['http', {}, { url: '/count' }, false],
    ['https behind a trusted proxy', {}, proxied('10.0.0.1', 'https'), true],
    ['http behind a trusted proxy', {}, proxied('10.0.0.1', 'http'), false],
    ['https in the header of RFC 7239', {}, { url: '/count', remoteAddress: '10.0.0.1', headers: { forwarded: 'proto=https' } }, true],
    ['https claimed by anyone', {}, proxied('10.0.0.2', 'https'), false],
    ['https behind a proxy that Fastify trusts too', { trustProxy: ['10.0.0.1'] }, proxied('10.0.0.1', 'https'), true]
  ] as const) {
    const app = await build(t, { trustedProxies: ['10.0.0.1'] }, routes, { ...server } as never)
    const response = await app.inject(request)
    t.same(cookieOf(response).split('; ').slice(1).sort(), ['HttpOnly', 'Path=/', 'SameSite=Lax', ...(secure ? ['Secure'] : [])].sort(), name)
  }
})

t.test('the cookie is as configured', async t => {
  const app = await build(
    t, { session: { secret: SECRET, cookieName: 'sid', cookie: { sameSite: 'strict', path: '/app', maxAge: 60_000, secure: false } } },
    app => app.get('/app', request => { request.session.count = 1; return 'x' })
  )
  const cookie = String((await app.inject('/app')).headers['set-cookie'])
  t.match(cookie, /^sid=[^;]+\.[^;]+; /)
  t.match(cookie, /; Path=\/app/)
  t.match(cookie, /; SameSite=Strict/)
  t.match(cookie, /; Expires=|; Max-Age=/)
})

t.test('a login changes the session id, and the old id is invalid', async t => {
  const app = await build(t, {}, routes)
  const before = pairOf(await app.inject('/count'))
  const login = await app.inject({ url: '/login', headers: { cookie: before } })
  const after = pairOf(login)
  t.not(after, '')
  t.not(after, before)
  t.same((await app.inject({ url: '/who', headers: { cookie: after } })).json(), { user: 'anna' })
  t.same((await app.inject({ url: '/who', headers: { cookie: before } })).json(), { user: null })
  await app.inject({ url: '/logout', headers: { cookie: after } })
  t.same((await app.inject({ url: '/who', headers: { cookie: after } })).json(), { user: null })
})

t.test('a cookie that was tampered with opens no session', async t => {
  const app = await build(t, {}, routes)
  const cookie = pairOf(await app.inject('/count'))
  const [, id = '', signature = ''] = /^sessionId=([^.]+)\.(.+)$/.exec(cookie) ?? []
  for (const [name, value] of [
    ['another identifier', `x${id}.${signature}`],
    ['another signature', `${id}.${signature.startsWith('x') ? 'y' : 'x'}${signature.slice(1)}`],
    ['no signature', id],
    ['nothing', ''],
    ['an unknown identifier', 'abc.def'],
    ['garbage', '%00%ff;;=='],
    ['very long', 'x'.repeat(8000)]
  ] as const) {
    const response = await app.inject({ url: '/look', headers: { cookie: `sessionId=${value}` } })
    t.same([response.statusCode, response.json()], [200, { count: null }], name)
  }
})

t.test('the first secret signs, and all secrets are accepted', async t => {
  const old = 'an older secret of thirty-two letters'
  const store = new fastifySession.MemoryStore()
  const before = await build(t, { session: { secret: old, store } }, routes)
  const cookie = pairOf(await before.inject('/count'))
  const after = await build(t, { session: { secret: [SECRET, old], store } }, routes)
  t.same((await after.inject({ url: '/look', headers: { cookie } })).json(), { count: 1 })
  const without = await build(t, { session: { secret: SECRET, store } }, routes)
  t.same((await without.inject({ url: '/look', headers: { cookie } })).json(), { count: null })
})

type Store = NonNullable<SessionSettings['store']>

function asynchronousStore (failing: { get?: boolean, set?: boolean } = {}): Store & { reads: number } {
  const sessions = new Map<string, string>()
  return {
    reads: 0,
    get (id, done) {
      this.reads++
      setTimeout(() => {
        if (failing.get === true) return done(new Error('the store cannot be read'))
        const found = sessions.get(id)
        done(null, found === undefined ? null : JSON.parse(found))
      }, 2)
    },
    set (id, session, done) {
      setTimeout(() => {
        if (failing.set === true) return done(new Error('the store cannot be written'))
        sessions.set(id, JSON.stringify(session))
        done()
      }, 2)
    },
    destroy (id, done) { sessions.delete(id); setTimeout(done, 2) }
  }
}

t.test('an asynchronous store works', async t => {
  const store = asynchronousStore()
  const app = await build(t, { session: { secret: SECRET, store } }, routes)
  const cookie = pairOf(await app.inject('/count'))
  t.equal(store.reads, 0, 'without a cookie the store is not read')
  t.same((await app.inject({ url: '/count', headers: { cookie } })).json(), { count: 2 })
  t.same((await app.inject({ url: '/look', headers: { cookie } })).json(), { count: 2 })
  t.same((await app.inject({ url: '/look', headers: { cookie: 'other=1' } })).json(), { count: null })
})

t.test('the page has the error of a failing store', async t => {
  const cookie = pairOf(await (await build(t, {}, routes)).inject('/count'))
  const unreadable = await build(t, { session: { secret: SECRET, store: asynchronousStore({ get: true }) } }, routes)
  const read = await unreadable.inject({ url: '/look', headers: { cookie } })
  t.equal(read.statusCode, 503)
  t.ok(read.body.includes('the store cannot be read'))
  t.match(eventOf(await profileOf(unreadable, read), 'kernel.request', 'session'), { outcome: 'skipped', reason: 'the session store is unavailable' })
  t.equal((await unreadable.inject({ url: '/plain', headers: { cookie } })).statusCode, 200, 'requests that do not use the session are answered')
  const unwritable = await build(t, { session: { secret: SECRET, store: asynchronousStore({ set: true }) } }, routes)
  const written = await unwritable.inject('/count')
  t.equal(written.statusCode, 503)
  t.ok(written.body.includes('the store cannot be written'))
  const profile = await newest(unwritable)
  t.equal(profile.status, 503)
  t.equal(profile.exceptions.at(-1)?.message, 'The session store failed: the store cannot be written')
  t.ok(profile.events.some(
    ({ stage, listener, outcome, pass }) => stage === 'kernel.response' && listener === 'session' && outcome === 'raised' && pass === 'main'
  ))
})

t.test('a response that used a session is private', async t => {
  const app = await build(t, {}, routes)
  for (const [url, expected] of [
    ['/plain', 'no-cache, private'],
    ['/count', 'max-age=0, must-revalidate, private'],
    ['/public', 'max-age=0, must-revalidate, private'],
    ['/no-store', 'no-store'],
    ['/boom', 'no-store']
  ] as const) t.equal((await app.inject(url)).headers['cache-control'], expected, url)
})

t.test('HEAD sets the same cookie as GET', async t => {
  const app = await build(t, {}, routes)
  const response = await app.inject({ method: 'HEAD', url: '/count' })
  t.same([response.statusCode, response.body], [200, ''])
  t.same((await app.inject({ url: '/look', headers: { cookie: pairOf(response) } })).json(), { count: 1 })
})

t.test('a failed request stores its session', async t => {
  const app = await build(t, {}, routes)
  const response = await app.inject('/boom')
  t.equal(response.statusCode, 500)
  t.same((await app.inject({ url: '/look', headers: { cookie: pairOf(response) } })).json(), { count: 7 })
})

t.test('handlers can set cookies', async t => {
  const app = await build(t, {}, routes)
  t.match((await app.inject('/cookie')).headers['set-cookie'], /^theme=dark; Path=\//)
  const both = (await app.inject('/both')).headers['set-cookie'] as string[]
  t.equal(both.length, 2)
  t.ok(both.some(cookie => cookie.startsWith('theme=dark')))
  t.ok(both.some(cookie => cookie.startsWith('sessionId=')))
  t.same((await app.inject({ url: '/cookies', headers: { cookie: 'a=1; b=%C3%BC' } })).json(), { a: '1', b: 'ü' })
})

t.test('a request without a route and with a cookie is answered', async t => {
  const app = await build(t, {}, routes)
  const cookie = pairOf(await app.inject('/count'))
  const response = await app.inject({ url: '/nix', headers: { cookie } })
  t.equal(response.statusCode, 404)
  t.equal(response.headers['set-cookie'], undefined)
  t.same((await app.inject({ url: '/look', headers: { cookie } })).json(), { count: 1 })
  t.match(eventOf(await profileOf(app, response), 'kernel.request', 'session'), { outcome: 'ran' })
})

t.test('the profile shows whether the session was used, and not its id', async t => {
  const app = await build(t, {}, routes)
  const cookie = pairOf(await app.inject('/count'))
  const used = await profileOf(app, await app.inject({ url: '/look', headers: { cookie } }))
  t.match(used.collectors.request, { session: { used: true } })
  const id = cookie.slice('sessionId='.length, 40)
  t.notOk(JSON.stringify(used).includes(id))
  const made = await app.inject('/both')
  const cookies = made.headers['set-cookie'] as string[]
  t.equal(cookies.length, 2)
  const profile = JSON.stringify(await profileOf(app, made))
  for (const cookie of cookies) t.notOk(profile.includes(String(/=([^;]{4,30})/.exec(cookie)?.[1])), 'nor what a listener is said to have changed')
  t.match((await profileOf(app, await app.inject({ url: '/plain', headers: { cookie } }))).collectors.request, { session: { used: false } })
})

t.test('concurrent requests have separate sessions', async t => {
  const app = await build(t, { session: { secret: SECRET, store: asynchronousStore() } }, app => {
    app.get('/set/:n', request => { request.session.count = Number((request.params as { n: string }).n); return 'x' })
    app.get('/get', request => ({ count: request.session.count }))
  })
  const cookies = await Promise.all(Array.from({ length: 50 }, async (_, n) => pairOf(await app.inject(`/set/${n}`))))
  t.equal(new Set(cookies).size, 50)
  const read = await Promise.all(cookies.map(async cookie => (await app.inject({ url: '/get', headers: { cookie } })).json<{ count: number }>().count))
  t.same(read, cookies.map((_, n) => n))
})

t.test('sessions in memory hold no references to requests', async t => {
  const app = await build(t, {}, app => {
    app.get('/set', request => { request.session.count = 1; return 'x' })
    app.get('/again', request => {
      request.sessionStore.get(request.session.sessionId, (_error, session) => { kept = session })
      return 'x'
    })
  })
  let kept: object | null | undefined
  const cookie = pairOf(await app.inject('/set'))
  await app.inject({ url: '/again', headers: { cookie } })
  t.match(kept, { count: 1 })
  t.same(Object.getOwnPropertySymbols(kept), [], 'plain data')
})

t.test('a missing or short secret stops the start', async t => {
  const message = 'session.secret (SESSION_SECRET) is missing or too short: at least 32 characters are needed'
  for (const session of [{}, { secret: 'short' }, { secret: [SECRET, 'short'] }, { secret: '' }]) {
    t.equal(await refusal({ session }), message, JSON.stringify(session))
  }
  t.equal(await refusal({ session: undefined }), 'it started', 'without the option there are no sessions')
})

t.test('without the option there are no cookies and no `request.session`', async t => {
  const app = await build(t, { session: false }, app => app.get('/', request => ({ session: 'session' in request, cookies: 'cookies' in request })))
  const response = await app.inject({ url: '/', headers: { cookie: 'theme=dark' } })
  t.same(response.json(), { session: false, cookies: false })
  const profile = await profileOf(app, response)
  t.same((profile.collectors.request as { cookies: object }).cookies, { theme: '******' }, 'the profile has their names')
  for (const stage of ['kernel.request', 'kernel.response']) t.match(eventOf(profile, stage, 'session'), { outcome: 'skipped', reason: 'not configured' })
})

t.test('a session that is destroyed during a request stays destroyed', async t => {
  for (const [name, touch] of [
    ['a request that reads', (request: FastifyRequest) => request.session.get('count' as never)],
    ['a request that writes', (request: FastifyRequest) => request.session.set('count' as never, Date.now() as never)]
  ] as const) {
    const steps = new EventEmitter()
    const [touched, ended] = [once(steps, 'touched'), once(steps, 'ended')]
    const app = await build(t, {}, app => {
      app.get('/begin', async request => { request.session.set('count' as never, 1 as never) })
      app.get('/end', async request => { await request.session.destroy() })
      app.get('/slow', async request => {
        touch(request)
        steps.emit('touched')
        await ended
      })
      app.get('/count', async request => ({ count: request.session.get('count' as never) ?? null }))
    })
    const cookie = pairOf(await app.inject('/begin'))
    const slow = app.inject({ url: '/slow', headers: { cookie } })
    await touched
    await app.inject({ url: '/end', headers: { cookie } })
    steps.emit('ended')
    t.equal((await slow).headers['set-cookie'], undefined, `${name} gives no cookie`)
    t.same((await app.inject({ url: '/count', headers: { cookie } })).json(), { count: null }, name)
  }
})

const CONTROLS: Readonly<Record<string, string>> = {
  '/kept-1': 'private, max-age=60',
  '/kept-2': 'no-store',
  '/public-1': 'public, max-age=9',
  '/public-2': 'public, no-cache="set-cookie", private="x"',
  '/public-3': 'max-age=9, ext="a, private"'
}

t.test('whether a response is private depends on its directives, not on parts of their names', async t => {
  const app = await build(t, {}, app => {
    for (const [path, control] of Object.entries(CONTROLS)) {
      app.get(path, async (request, reply) => {
        request.session.set('count' as never, 1 as never)
        reply.header('cache-control', control)
        return ''
      })
    }
  })
  for (const [path, control] of Object.entries(CONTROLS)) {
    const { headers } = await app.inject(path)
    t.equal(headers['cache-control'], path.startsWith('/kept') ? control : 'max-age=0, must-revalidate, private', control)
  }
})

t.test('the profile has the changes of a session, and its values but for secrets', async t => {
  const app = await build(t, {}, app => {
    app.get(
      '/set', request => { request.session.set('password' as never, 's3cret' as never); request.session.set('cart' as never, [{ id: 7 }] as never); return 'x' }
    )
    app.get('/look', request => String(request.session.get('cart' as never) !== undefined))
    app.get('/end', async request => { await request.session.destroy(); return 'x' })
    app.get('/none', () => 'x')
  })
  const first = await app.inject('/set')
  const headers = { cookie: pairOf(first) }
  const values = { password: '******', cart: [{ id: 7 }] }
  for (const [name, answer, expected] of [
    ['new', first, { used: true, origin: 'new', changed: true, values }],
    ['loaded', await app.inject({ url: '/look', headers }), { used: true, origin: 'loaded', changed: false, values }],
    ['not used', await app.inject({ url: '/none', headers }), { used: false, origin: null, changed: false, values: {} }],
    ['forged', await app.inject({ url: '/look', headers: { cookie: 'sessionId=nix' } }), { used: true, origin: 'new', changed: false, values: {} }],
    ['ended', await app.inject({ url: '/end', headers }), { used: true, origin: 'ended', changed: false, values: {} }]
  ] as const) {
    const profile = await profileOf(app, answer)
    t.same(profile.collectors.session, expected, name)
    t.notMatch(JSON.stringify([profile.collectors, profile.logs]), /s3cret/, name)
  }
})

t.test('a cookie that cannot be set is an error of the listener, even one that cannot be logged', async t => {
  const app = await build(t, {}, app => app.get('/', (_request, reply) => {
    const encode = (): never => { throw Object.defineProperty(new Error('no cookie'), 'value', { enumerable: true, get () { throw new Error('no value') } }) }
    reply.setCookie('theme', 'dark', { encode })
    throw new Error('first')
  }), { logger: { level: 'info', stream: { write () {} } } })
  const response = await app.inject('/')
  t.equal(response.statusCode, 500)
  t.match(eventOf(await profileOf(app, response), 'kernel.response', 'session'), { pass: 'error', outcome: 'raised' })
})

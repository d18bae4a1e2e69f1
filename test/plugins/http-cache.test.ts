import t, { type Test } from 'tap'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { CacheOutcome, Validators } from '../../lib/state.js'
import { entityTag, evaluatePreconditions } from '../../plugins/http-cache.js'
import { build, listen, profileOf, raw, type BuildOptions } from '../../packages/hindsight/test/support/app.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Only of these tests. */
    visits?: number
  }
}

const CHANGED = new Date(Date.UTC(2026, 0, 15, 12, 0, 0, 750))
const CHANGED_AT = 'Thu, 15 Jan 2026 12:00:00 GMT'
const EARLIER = 'Thu, 15 Jan 2026 11:59:59 GMT'
const PRIVATE = 'max-age=0, must-revalidate, private'
const DEFAULT = 'no-cache, private'

let handled = 0

function declare (app: FastifyInstance): void {
  const handler = async (): Promise<object> => { handled++; return { fine: true } }
  app.get('/plain', handler)
  app.get('/cached', { config: { cache: { public: true, sMaxAge: 600, vary: ['Accept-Language'] } } }, handler)
  app.get('/shared', { config: { cache: { sMaxAge: '10 minutes' } } }, handler)
  app.get('/browser', { config: { cache: { maxAge: '1 hour', mustRevalidate: true } } }, handler)
  app.get('/private', { config: { cache: { private: true, maxAge: 5 } } }, handler)
  app.get('/contradictory', { config: { cache: { public: true, private: true, maxAge: 5 } } }, handler)
  app.get('/secret', { config: { cache: { noStore: true } } }, handler)
  app.get(
    '/all',
    { config: { cache: { public: true, maxAge: 60, sMaxAge: 120, staleWhileRevalidate: 30, staleIfError: '1 day', mustRevalidate: true, immutable: true } } },
    handler
  )
  app.get('/none', { config: { cache: { public: false, immutable: false } } }, handler)
  app.get('/expires', { config: { cache: { expires: '1 hour' } } }, handler)
  app.get('/expires-at', { config: { cache: { public: true, expires: new Date(Date.UTC(2030, 0, 1)) } } }, handler)
  app.get('/etag', { config: { cache: { etag: () => 'abc' } } }, handler)
  app.get('/weak', { config: { cache: { etag: async () => 'W/"abc"' } } }, handler)
  app.get('/dated', { config: { cache: { lastModified: () => CHANGED } } }, handler)
  app.get('/future', { config: { cache: { lastModified: () => new Date(Date.now() + 86_400_000) } } }, handler)
  app.get('/both', { config: { cache: { public: true, maxAge: 60, etag: () => 'abc', lastModified: async () => CHANGED, vary: ['Accept'] } } }, handler)
  app.put('/both', { config: { cache: { etag: () => 'abc', lastModified: () => CHANGED } } }, handler)
  app.get('/number-etag', { config: { cache: { etag: () => 3 as unknown as string } } }, handler)
  app.get('/wrong-date', { config: { cache: { lastModified: () => new Date(NaN) } } }, handler)
  app.get('/throws', { config: { cache: { etag: async () => { throw new Error('no database') } } } }, handler)
  app.get('/session', { config: { cache: { public: true, maxAge: 600, expires: 600, etag: () => 'abc' } } }, async (request) => {
    request.session.set('visits' as never, 1 as never)
    return { fine: true }
  })
  app.get('/session-browser', { config: { cache: { maxAge: 600 } } }, async (request) => ({ used: request.session !== null }))
  app.get('/own', {
    config: { cache: { public: true, maxAge: 600, expires: 600, etag: () => 'abc', lastModified: () => CHANGED, vary: ['Accept'] } }
  }, async (_request, reply) =>
    reply.headers({ 'cache-control': 'max-age=1', etag: '"own"', 'last-modified': EARLIER, expires: EARLIER, vary: 'Cookie' }).send({ fine: true }))
  app.get(
    '/own-default', { config: { cache: { public: true, maxAge: 600 } } }, async (_request, reply) => reply.header('cache-control', DEFAULT).send({ fine: true })
  )
  app.get('/status/:status', { config: { cache: { public: true, maxAge: 600, etag: () => 'abc' } } }, async (request, reply) => {
    const { status } = request.params as { status: string }
    if (Number(status) >= 300) reply.header('location', '/')
    return reply.code(Number(status)).send(status === '204' ? undefined : { fine: true })
  })
  app.get('/boom', { config: { cache: { public: true, maxAge: 600 } } }, async () => { throw new Error('boom') })
  app.post('/cached', { config: { cache: { public: true, maxAge: 600 } } }, handler)
  app.get('/handler-etag', async (_request, reply) => reply.header('etag', '"own"').type('text/html').send('<p>fine</p>'))
  app.get('/handler-dated', async (_request, reply) => reply.header('last-modified', CHANGED_AT).send('fine'))
  app.get('/guarded', {
    config: { cache: { public: true, etag: () => 'abc' } },
    preHandler: async (request, reply) => {
      if (request.headers['x-key'] !== 'k') {
        return reply.code(401).send('who?')
      }
    }
  }, handler)
}

async function start (t: Test, options: BuildOptions = {}): Promise<FastifyInstance> {
  const app = await build({ declare, ...options })
  t.teardown(() => app.close())
  return app
}

t.test('the attribute sets the caching headers', async (t) => {
  const app = await start(t)
  const cases: Array<[name: string, url: string, headers: Record<string, string>, expected: Record<string, string | undefined>]> = [
    ['no attribute', '/plain', {}, { 'cache-control': DEFAULT, etag: undefined, vary: undefined }],
    ['the observed case', '/cached', {}, { 'cache-control': 'public, s-maxage=600', vary: 'Accept-Language' }],
    ['s-maxage makes public', '/shared', {}, { 'cache-control': 'public, s-maxage=600' }],
    ['max-age does not', '/browser', {}, { 'cache-control': 'max-age=3600, must-revalidate, private' }],
    ['private', '/private', {}, { 'cache-control': 'max-age=5, private' }],
    ['private beside public', '/contradictory', {}, { 'cache-control': 'max-age=5, private' }],
    ['no-store', '/secret', {}, { 'cache-control': 'no-store, private' }],
    [
      'every directive', '/all', {},
      { 'cache-control': 'immutable, max-age=60, must-revalidate, public, s-maxage=120, stale-if-error=86400, stale-while-revalidate=30' }
    ],
    ['false is as good as nothing', '/none', {}, { 'cache-control': DEFAULT }],
    ['Expires alone', '/expires', {}, { 'cache-control': 'private, must-revalidate' }],
    ['Expires at a date', '/expires-at', {}, { 'cache-control': 'public', expires: 'Tue, 01 Jan 2030 00:00:00 GMT' }],
    ['a tag alone', '/etag', {}, { 'cache-control': DEFAULT, etag: '"abc"' }],
    ['a weak tag', '/weak', {}, { etag: 'W/"abc"' }],
    ['a date alone', '/dated', {}, { 'cache-control': 'private, must-revalidate', 'last-modified': CHANGED_AT }],
    ['both', '/both', {}, { 'cache-control': 'max-age=60, public', etag: '"abc"', 'last-modified': CHANGED_AT, vary: 'Accept' }],
    [
      'what the handler has set stays', '/own', {},
      { 'cache-control': 'max-age=1', etag: '"own"', 'last-modified': EARLIER, expires: EARLIER, vary: 'Cookie, Accept' }
    ],
    ['even where it reads like the default', '/own-default', {}, { 'cache-control': DEFAULT }],
    ['with an Authorization', '/cached', { authorization: 'Bearer x' }, { 'cache-control': PRIVATE, vary: 'Accept-Language' }],
    ['with an Authorization, Expires would contradict', '/expires-at', { authorization: 'Bearer x' }, { 'cache-control': PRIVATE, expires: undefined }],
    ['with a session', '/session', {}, { 'cache-control': PRIVATE, expires: undefined, etag: '"abc"' }],
    ['with a session, private before', '/session-browser', {}, { 'cache-control': 'max-age=600, private' }]
  ]
  for (const [name, url, headers, expected] of cases) {
    const response = await app.inject({ url, headers })
    t.equal(response.statusCode, 200, name)
    for (const [header, value] of Object.entries(expected)) t.equal(response.headers[header], value, `${name}: ${header}`)
    const head = await app.inject({ method: 'HEAD', url, headers })
    for (const [header, value] of Object.entries(expected)) t.equal(head.headers[header], value, `${name}: ${header} of HEAD`)
  }
  const before = Date.now()
  const response = Date.parse(String((await app.inject('/expires')).headers.expires)) - 3_600_000
  // The header has whole seconds.
  t.ok(response > before - 1_000 && response <= Date.now(), 'Expires is counted from the response')
  t.ok(Date.parse(String((await app.inject('/future')).headers['last-modified'])) <= Date.now(), 'Last-Modified is never later than the message')
})

t.test('only cacheable responses get the headers', async (t) => {
  const app = await start(t)
  for (const [status, cacheControl, etag] of [
    [200, 'max-age=600, public', '"abc"'], [203, 'max-age=600, public', '"abc"'], [204, 'max-age=600, public', undefined],
    [301, 'max-age=600, public', undefined], [302, 'max-age=600, public', undefined],
    [201, DEFAULT, undefined], [303, DEFAULT, undefined], [404, DEFAULT, undefined], [410, DEFAULT, undefined], [500, DEFAULT, undefined]
  ] as const) {
    const response = await app.inject(`/status/${status}`)
    t.equal(response.statusCode, status)
    t.equal(response.headers['cache-control'], cacheControl, `${status}`)
    t.equal(response.headers.etag, etag, `${status}: ETag`)
  }
  t.equal((await app.inject('/boom')).headers['cache-control'], 'no-store', 'an error page')
  t.equal((await app.inject('/cached/nothing')).headers['cache-control'], 'no-store', 'no route')
  t.equal((await app.inject({ method: 'POST', url: '/cached' })).headers['cache-control'], DEFAULT, 'POST')
})

t.test('conditional requests are answered by the attribute, before the handler runs', async (t) => {
  const app = await start(t)
  const cases: Array<[name: string, method: 'GET' | 'HEAD' | 'PUT', url: string, headers: Record<string, string>, status: number]> = [
    ['the tag', 'GET', '/both', { 'if-none-match': '"abc"' }, 304],
    ['the tag, HEAD', 'HEAD', '/both', { 'if-none-match': '"abc"' }, 304],
    ['weakly', 'GET', '/both', { 'if-none-match': '"x", W/"abc"' }, 304],
    ['a weak one', 'GET', '/weak', { 'if-none-match': '"abc"' }, 304],
    ['any', 'GET', '/both', { 'if-none-match': '*' }, 304],
    ['another tag', 'GET', '/both', { 'if-none-match': '"x"', 'if-modified-since': CHANGED_AT }, 200],
    ['the date', 'GET', '/both', { 'if-modified-since': CHANGED_AT }, 304],
    ['an earlier date', 'GET', '/both', { 'if-modified-since': EARLIER }, 200],
    ['a malformed date', 'GET', '/both', { 'if-modified-since': 'yesterday' }, 200],
    ['only GET and HEAD are conditional', 'PUT', '/both', { 'if-none-match': '"abc"', 'if-match': '"x"' }, 200],
    ['nothing to compare', 'GET', '/cached', { 'if-none-match': '"abc"' }, 200]
  ]
  for (const [name, method, url, headers, status] of cases) {
    handled = 0
    const response = await app.inject({ method, url, headers })
    t.equal(response.statusCode, status, name)
    t.equal(handled, status === 200 ? 1 : 0, `${name}: the handler ${status === 200 ? 'ran' : 'did not run'}`)
    if (status !== 304) continue
    t.equal(response.body, '', name)
    t.notOk(
      ['content-type', 'content-length', 'content-encoding', 'transfer-encoding'].some((header) => header in response.headers), `${name}: no content headers`
    )
  }
})

t.test('routes may share the object of their attribute, though one of them has a check of its own', async (t) => {
  const app = await build(t, {}, (app) => {
    const cache = { etag: () => 'abc' }
    app.get('/shared', { config: { cache } }, () => 'ok')
    app.put('/shared', { config: { cache }, preHandler: async () => {} }, () => 'ok')
  })
  t.equal((await app.inject({ url: '/shared', headers: { 'if-none-match': '"abc"' } })).statusCode, 304)
  t.equal((await app.inject({ url: '/shared', headers: { 'if-none-match': '"x"' } })).statusCode, 200)
})

t.test('a 304 has the headers of RFC 9110, section 15.4.5', async (t) => {
  const app = await start(t)
  const tagged = await app.inject({ url: '/both', headers: { 'if-none-match': '"abc"' } })
  t.match(tagged.headers, { etag: '"abc"', 'cache-control': 'max-age=60, public', vary: 'Accept', date: /GMT$/ })
  t.notOk('last-modified' in tagged.headers, 'the entity tag is sufficient')
  const dated = await app.inject({ url: '/dated', headers: { 'if-modified-since': CHANGED_AT } })
  t.match(dated.headers, { 'last-modified': CHANGED_AT, 'cache-control': 'private, must-revalidate' })
})

t.test('the 304 of a private response is private', async (t) => {
  const app = await start(t)
  const first = await app.inject('/session')
  const { value } = first.cookies[0] as { value: string }
  const again = await app.inject({ url: '/session', headers: { 'if-none-match': '"abc"' }, cookies: { sessionId: value } })
  t.equal(again.statusCode, 304)
  t.equal(again.headers['cache-control'], PRIVATE)
  t.match((await profileOf(app, again)).collectors.cache, { outcome: 'fresh', private: 'the client has a session, and the handler was not called' })
  const authorized = await app.inject({ url: '/both', headers: { 'if-none-match': '"abc"', authorization: 'Bearer x' } })
  t.equal(authorized.headers['cache-control'], PRIVATE)
  t.equal((await app.inject({ url: '/both', headers: { 'if-none-match': '"abc"' }, cookies: { other: '1' } })).headers['cache-control'], 'max-age=60, public')
})

t.test('a request with other credentials has a private response, too', async (t) => {
  const { stateOf } = await import('../../lib/state.js')
  const app = await start(t, {
    declare (app) {
      app.addHook('preHandler', async (request) => { stateOf(request).credentialsUsed = request.headers['x-api-key'] !== undefined })
      declare(app)
    }
  })
  t.equal((await app.inject({ url: '/cached', headers: { 'x-api-key': 'k' } })).headers['cache-control'], PRIVATE)
  t.equal((await app.inject('/cached')).headers['cache-control'], 'public, s-maxage=600')
})

t.test('validators of the handler are sent, and not compared', async (t) => {
  const app = await start(t)
  const tagged = await app.inject({ url: '/handler-etag', headers: { 'if-none-match': '"own"' } })
  t.match([tagged.statusCode, tagged.headers.etag], [200, '"own"'])
  const dated = await app.inject({ url: '/handler-dated', headers: { 'if-modified-since': CHANGED_AT } })
  t.match([dated.statusCode, dated.headers['last-modified']], [200, CHANGED_AT])
})

t.test('a number is an entity tag, an invalid date is none, and an error of a validator is answered', async (t) => {
  const app = await start(t)
  t.equal((await app.inject('/number-etag')).headers.etag, '"3"')
  t.equal((await app.inject('/wrong-date')).headers['last-modified'], undefined)
  const response = await app.inject({ url: '/throws', headers: { accept: 'application/json' } })
  t.match([response.statusCode, response.json()], [500, { exceptions: [{ message: 'no database' }] }])
})

t.test('access is checked before a precondition is answered', async (t) => {
  const app = await start(t)
  const cases: Array<[name: string, method: 'GET' | 'PUT', headers: Record<string, string>, status: number]> = [
    ['refused', 'GET', { 'if-none-match': '"abc"' }, 401],
    ['let through, fresh', 'GET', { 'x-key': 'k', 'if-none-match': '"abc"' }, 304],
    ['let through, stale', 'GET', { 'x-key': 'k', 'if-none-match': '"x"' }, 200]
  ]
  for (const [name, method, headers, status] of cases) {
    handled = 0
    const response = await app.inject({ method, url: '/guarded', headers })
    t.equal(response.statusCode, status, name)
    t.equal(handled, status === 200 ? 1 : 0, `${name}: the handler`)
    if (status === 304) {
      t.match(response.headers, { etag: '"abc"', 'cache-control': 'public' })
      t.match((await profileOf(app, response)).collectors.cache, { outcome: 'fresh' })
    }
  }
})

t.test('the profile has the result of the cache', async (t) => {
  const app = await start(t)
  const cases: Array<[name: string, url: string, headers: Record<string, string>, cache: object | undefined, outcomes: string[]]> = [
    ['nothing declared', '/plain', {}, undefined, ['skipped: not configured', 'skipped: not configured']],
    [
      'no validators', '/cached', {}, { outcome: 'unconditional', private: null, cacheControl: 'public, s-maxage=600', vary: 'Accept-Language', etag: null },
      ['skipped: the route declares neither etag nor lastModified', 'ran']
    ],
    ['fresh', '/both', { 'if-none-match': '"abc"' }, { outcome: 'fresh', etag: '"abc"', lastModified: CHANGED_AT, private: null }, ['answered', 'ran']],
    ['stale', '/both', { 'if-modified-since': EARLIER }, { outcome: 'stale' }, ['ran', 'ran']],
    [
      'private', '/cached', { authorization: 'Bearer x' }, { private: 'the request has an Authorization header', cacheControl: PRIVATE },
      ['skipped: the route declares neither etag nor lastModified', 'ran']
    ],
    ['session', '/session', {}, { private: 'the session was used', cacheControl: PRIVATE }, ['ran', 'ran']],
    ['declared so', '/browser', {}, { private: 'the route does not declare it public' }, ['skipped: the route declares neither etag nor lastModified', 'ran']]
  ]
  for (const [name, url, headers, cache, outcomes] of cases) {
    const profile = await profileOf(app, await app.inject({ url, headers }))
    if (cache === undefined) t.notOk('cache' in profile.collectors, name)
    else t.match(profile.collectors.cache, cache, name)
    t.strictSame(profile.events.filter(({ listener }) => listener === 'http-cache')
      .map(({ outcome, reason }) => reason === undefined ? outcome : `${outcome}: ${reason}`), outcomes, name)
    if (name === 'fresh') t.match(profile.collectors.response, { status: 304, size: null })
  }
})

t.test('caching works over a socket, also in production', async (t) => {
  for (const debug of [true, false]) {
    const app = await start(t, { debug })
    const port = await listen(app)
    const url = `http://127.0.0.1:${port}`
    const first = await fetch(`${url}/both`)
    t.equal(first.headers.get('cache-control'), 'max-age=60, public')
    t.strictSame(await first.json(), { fine: true })
    const again = await fetch(`${url}/both`, { headers: { 'if-none-match': first.headers.get('etag') ?? '' } })
    t.equal(again.status, 304)
    t.equal(await again.text(), '')
    // The bytes after a 304 are the next response, not a body.
    const wire = await raw(port, `GET /both HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nIf-None-Match: "abc"\r\nConnection: close\r\n\r\n`)
    t.equal(wire?.status, 304)
    t.equal(wire?.headers.etag, '"abc"')
    t.notOk(wire !== null && ('content-length' in wire.headers || 'content-type' in wire.headers || 'transfer-encoding' in wire.headers))
    // Two lines of one list (RFC 9110, section 5.3).
    const lists = await raw(port, `GET /both HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nIf-None-Match: "x"\r\nIf-None-Match: "abc"\r\n\r\n`)
    t.equal(lists?.status, 304)
  }
})

t.test('with a firewall, requests with a custom header are authenticated, refused or let through', async (t) => {
  const app = await build({
    security: {
      firewalls: [{
        name: 'main',
        authenticators: {
          custom: [{
            name: 'key',
            supports: ({ headers }) => headers['x-key'] !== undefined,
            authenticate: async ({ headers }) => ({ identifier: String(headers['x-key']), roles: ['ROLE_USER'] })
          }]
        }
      }]
    },
    declare (app) {
      app.get('/open', { config: { cache: { public: true, maxAge: 60 } } }, async () => ({}))
      app.get('/granted', { config: { cache: { public: true, etag: () => 'abc' }, isGranted: 'ROLE_USER' } }, async () => ({}))
    }
  })
  t.teardown(() => app.close())
  t.equal((await app.inject('/open')).headers['cache-control'], 'max-age=60, public')
  t.equal((await app.inject({ url: '/open', headers: { 'x-key': 'a' } })).headers['cache-control'], PRIVATE)
  t.equal((await app.inject({ url: '/granted', headers: { 'if-none-match': '"abc"' } })).statusCode, 403)
  const fresh = await app.inject({ url: '/granted', headers: { 'x-key': 'a', 'if-none-match': '"abc"' } })
  t.equal(fresh.statusCode, 304)
  t.equal(fresh.headers['cache-control'], PRIVATE)
})

t.test('the redirect to the login is never public, for any attribute', async (t) => {
  const app = await build({
    security: {
      providers: { people: { users: [] } },
      firewalls: [{ name: 'main', authenticators: { login: true } }],
      accessControl: [{ path: '/ruled', roles: 'IS_AUTHENTICATED' }]
    },
    declare (app) {
      const cache = { public: true, maxAge: 60, sMaxAge: 600, vary: ['Accept-Language'] }
      app.get('/login', async () => 'x')
      app.get('/granted', { config: { cache, isGranted: 'ROLE_USER' } }, async () => ({}))
      app.get('/expression', { config: { cache, security: 'user != null' } }, async () => ({}))
      app.get('/ruled', { config: { cache } }, async () => ({}))
      app.get('/own-guard', { config: { cache }, preHandler: async (_request, reply) => reply.redirect('/login', 302) }, async () => ({}))
      app.get('/moved', { config: { cache } }, async (_request, reply) => reply.redirect('/login', 302))
    }
  })
  t.teardown(() => app.close())
  const headers = { accept: 'text/html' }
  for (const path of ['/granted', '/expression', '/ruled']) {
    for (const [name, method, url, cacheControl] of [
      ['HEAD', 'HEAD', path, DEFAULT],
      ['a target with a backslash', 'GET', `${path}?a=\\b`, DEFAULT],
      ['a target that is too long', 'GET', `${path}?a=${'b'.repeat(2_048)}`, DEFAULT],
      ['a target that is remembered', 'GET', path, PRIVATE]
    ] as const) {
      const response = await app.inject({ method, url, headers })
      t.equal(response.statusCode, 302, `${path}: ${name}`)
      t.equal(response.headers['cache-control'], cacheControl, `${path}: ${name}`)
      t.match(response.headers.vary, /^Accept, Cookie\b/, `${path}: ${name}`)
      t.notOk('expires' in response.headers)
    }
  }
  const guarded = await app.inject('/own-guard')
  t.match([guarded.statusCode, guarded.headers['cache-control'], guarded.headers.vary], [302, DEFAULT, undefined], 'nor is what a guard of the route answers')
  t.match(
    (await profileOf(app, guarded)).events.filter(({ listener, stage }) => listener === 'http-cache' && stage === 'kernel.response'),
    [{ outcome: 'skipped', reason: 'the response is not the handler\'s' }]
  )
  t.equal((await app.inject('/moved')).headers['cache-control'], 'max-age=60, public, s-maxage=600', 'a redirect of the handler is')
})

t.test('responses to credentials are private, even if the handler made them public', async (t) => {
  const app = await build({
    security: {
      firewalls: [{
        name: 'main',
        authenticators: {
          custom: [{ name: 'key', supports: ({ headers }) => headers['x-key'] !== undefined, authenticate: async () => ({ identifier: 'a' }) }]
        }
      }]
    },
    declare (app) {
      const own = (value: string) => async (_request: unknown, reply: FastifyReply) => reply.header('cache-control', value).send({})
      app.get('/public', own('public, max-age=60'))
      app.post('/public', own('public, max-age=60'))
      app.get('/attribute', { config: { cache: { public: true, maxAge: 5 } } }, own('public, max-age=60'))
      app.get('/silent', own('max-age=60'))
      app.get('/fields', own('public, private="set-cookie"'))
      app.get('/private', own('Private, max-age=60'))
      app.get('/no-store', own('no-store'))
      app.get('/moved', async (_request, reply) => reply.redirect('/public', 301))
      app.get('/plain', async () => ({}))
      app.get('/gone', async (_request, reply) => reply.code(410).header('cache-control', 'public, max-age=60').send({}))
    }
  })
  t.teardown(() => app.close())
  for (const [method, url, anonymous, known] of [
    ['GET', '/public', 'public, max-age=60', PRIVATE],
    ['HEAD', '/public', 'public, max-age=60', PRIVATE],
    ['POST', '/public', 'public, max-age=60', PRIVATE],
    ['GET', '/attribute', 'public, max-age=60', PRIVATE],
    ['GET', '/silent', 'max-age=60', PRIVATE],
    ['GET', '/fields', 'public, private="set-cookie"', PRIVATE],
    ['GET', '/gone', 'public, max-age=60', PRIVATE],
    ['GET', '/moved', undefined, PRIVATE],
    ['GET', '/private', 'Private, max-age=60', 'Private, max-age=60'],
    ['GET', '/no-store', 'no-store', 'no-store'],
    ['GET', '/plain', DEFAULT, DEFAULT]
  ] as const) {
    t.equal((await app.inject({ method, url })).headers['cache-control'], anonymous, `${method} ${url}: nobody`)
    t.equal((await app.inject({ method, url, headers: { 'x-key': 'a' } })).headers['cache-control'], known, `${method} ${url}: somebody`)
  }
  const { collectors, events } = await profileOf(app, await app.inject({ url: '/public', headers: { 'x-key': 'a' } }))
  t.match(collectors.cache, { private: 'the request has credentials', cacheControl: PRIVATE })
  t.match(events.find(({ listener, stage }) => listener === 'http-cache' && stage === 'kernel.response'), { outcome: 'ran' })
})

const AFTER = 'Thu, 15 Jan 2026 12:00:01 GMT'
const STRONG: Validators = { etag: '"xyzzy"', lastModified: CHANGED_AT }
const WEAK: Validators = { etag: 'W/"xyzzy"', lastModified: CHANGED_AT }
const TAG_ONLY: Validators = { etag: '"xyzzy"', lastModified: null }
const DATE_ONLY: Validators = { etag: null, lastModified: CHANGED_AT }

type Precondition = [name: string, headers: Record<string, string>, validators: Validators, outcome: CacheOutcome]

const preconditions: Precondition[] = [
  ['no precondition', {}, STRONG, 'unconditional'],
  ['If-Range is about ranges', { 'if-range': '"xyzzy"' }, STRONG, 'unconditional'],

  ['If-None-Match: the tag', { 'if-none-match': '"xyzzy"' }, STRONG, 'fresh'],
  ['If-None-Match: for HEAD', { 'if-none-match': '"xyzzy"' }, STRONG, 'fresh'],
  ['If-None-Match: another tag', { 'if-none-match': '"r2d2"' }, STRONG, 'stale'],
  ['If-None-Match: case matters', { 'if-none-match': '"XYZZY"' }, STRONG, 'stale'],
  ['If-None-Match: weak against strong', { 'if-none-match': 'W/"xyzzy"' }, STRONG, 'fresh'],
  ['If-None-Match: strong against weak', { 'if-none-match': '"xyzzy"' }, WEAK, 'fresh'],
  ['If-None-Match: weak against weak', { 'if-none-match': 'W/"xyzzy"' }, WEAK, 'fresh'],
  ['If-None-Match: one of a list', { 'if-none-match': '"r2d2", W/"xyzzy" ,"c3piozzzz"' }, STRONG, 'fresh'],
  ['If-None-Match: a list without it', { 'if-none-match': 'W/"r2d2", "c3piozzzz"' }, STRONG, 'stale'],
  ['If-None-Match: half of a tag with a comma', { 'if-none-match': '"b' }, { etag: '"b,c"', lastModified: null }, 'stale'],
  ['If-None-Match: *', { 'if-none-match': '*' }, STRONG, 'fresh'],
  ['If-None-Match: * where only a date is known', { 'if-none-match': '*' }, DATE_ONLY, 'fresh'],
  ['If-None-Match: * where nothing is known', { 'if-none-match': '*' }, { etag: null, lastModified: null }, 'unconditional'],
  ['If-None-Match: unquoted', { 'if-none-match': 'xyzzy' }, STRONG, 'stale'],
  ['If-None-Match: the empty tag', { 'if-none-match': '""' }, { etag: '""', lastModified: null }, 'fresh'],

  ['If-Modified-Since: the same second', { 'if-modified-since': CHANGED_AT }, STRONG, 'fresh'],
  ['If-Modified-Since: later', { 'if-modified-since': AFTER }, STRONG, 'fresh'],
  ['If-Modified-Since: earlier', { 'if-modified-since': EARLIER }, STRONG, 'stale'],
  ['If-Modified-Since: malformed', { 'if-modified-since': 'yesterday' }, STRONG, 'stale'],
  ['If-Modified-Since: without a date of the resource', { 'if-modified-since': AFTER }, TAG_ONLY, 'stale'],
  ['If-Modified-Since: ignored beside If-None-Match', { 'if-none-match': '"r2d2"', 'if-modified-since': AFTER }, STRONG, 'stale'],
  ['If-Modified-Since: even where there is no tag', { 'if-none-match': '"r2d2"', 'if-modified-since': AFTER }, DATE_ONLY, 'stale']
]

t.test('preconditions have the order of RFC 9110, section 13.2.2', async (t) => {
  for (const [name, headers, validators, outcome] of preconditions) {
    t.equal(evaluatePreconditions(headers, validators), outcome, name)
  }
})

t.test('a hostile list matches nothing', async (t) => {
  for (const list of ['"'.repeat(60_000), 'W/'.repeat(30_000), `"${'a'.repeat(60_000)}`]) {
    t.equal(evaluatePreconditions({ 'if-none-match': list }, STRONG), 'stale')
  }
})

t.test('an entity tag is quoted if its characters allow that, and hashed otherwise', async (t) => {
  const cases: Array<[text: string, expected: string | RegExp]> = [
    ['v1', '"v1"'],
    ['"v1"', '"v1"'],
    ['W/"v1"', 'W/"v1"'],
    ['two words', /^"[\w-]{43}"$/],
    ['a,b', /^"[\w-]{43}"$/],
    ['"a,b"', /^"[\w-]{43}"$/],
    ['a"b', /^"[\w-]{43}"$/],
    ['naïve', /^"[\w-]{43}"$/],
    ['a\r\nSet-Cookie: x=1', /^"[\w-]{43}"$/],
    ['x'.repeat(129), /^"[\w-]{43}"$/]
  ]
  for (const [text, expected] of cases) t.match(entityTag(text), expected, JSON.stringify(text).slice(0, 40))
})

t.test('an entity tag with a comma matches only itself', async (t) => {
  t.equal(evaluatePreconditions({ 'if-none-match': '"a", "b"' }, { etag: '"a,b"', lastModified: null }), 'stale')
})

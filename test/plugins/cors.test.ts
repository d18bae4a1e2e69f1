import t from 'tap'
import type { CorsRule } from '../../lib/options.js'
import { build, eventOf, listen, profileOf, rawText as raw, headerOf, statusOf } from '../../packages/hindsight/test/support/app.js'
import type { FastifyInstance } from 'fastify'

const ORIGIN = 'https://a.test'
const preflight = (url: string, method = 'GET', more: Record<string, string> = {}) => ({
  method: 'OPTIONS' as const, url, headers: { origin: ORIGIN, 'access-control-request-method': method, ...more }
})
const corsHeaders = (headers: object) => Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')))

function routes (app: FastifyInstance): void {
  app.get('/api', () => ({ a: 1 }))
  app.get('/api/boom', () => { throw new Error('boom') })
  app.get('/other', () => 'x')
  app.options('/own', () => 'own options')
}

t.test('a preflight is answered, even without a route', async t => {
  const app = await build(
    t, { cors: [{ origin: [ORIGIN], maxAge: 600, allowedHeaders: ['X-One', 'Content-Type'], credentials: true, exposedHeaders: ['X-Total'] }] }, routes
  )
  for (const url of ['/api', '/no/such/route', '/own']) {
    const response = await app.inject(preflight(url, 'POST', { 'access-control-request-headers': 'x-one, content-type' }))
    t.equal(response.statusCode, 200, url)
    t.equal(response.body, '', url)
    t.same(corsHeaders(response.headers), {
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': 'X-One, Content-Type',
      'access-control-max-age': '600'
    }, url)
    const profile = await profileOf(app, response)
    t.equal(eventOf(profile, 'kernel.request', 'cors')?.outcome, 'answered', url)
    t.match(eventOf(profile, 'kernel.response', 'cors'), { outcome: 'skipped', reason: 'answered as a preflight' })
    t.equal(eventOf(profile, 'kernel.request', 'session'), undefined, 'later listeners do not run')
    t.same(profile.exceptions, [])
    t.match(response.headers.vary, /\bOrigin\b/i)
  }
})

t.test('a preflight that requests more than the rule allows is refused', async t => {
  const app = await build(t, { cors: [{ origin: [ORIGIN], methods: ['GET', 'PUT'], allowedHeaders: ['X-One'] }] }, routes)
  for (const [method, wanted, status, body] of [
    ['GET', '', 200, ''],
    ['get', '', 200, ''],
    ['PUT', 'X-One', 200, ''],
    ['PUT', 'x-one, X-ONE', 200, ''],
    ['DELETE', '', 405, 'CORS: the method DELETE is not allowed here; allowed are GET, PUT.'],
    ['PUT', 'X-Two', 400, 'CORS: the header x-two is not allowed here; allowed are X-One.'],
    ['PUT', 'X-One, X-Two', 400, 'CORS: the header x-two is not allowed here; allowed are X-One.'],
    ['MKCOL', '', 405, 'CORS: the method MKCOL is not allowed here; allowed are GET, PUT.'],
    ['DELETE', 'X-Two', 405, 'CORS: the method DELETE is not allowed here; allowed are GET, PUT.']
  ] as const) {
    const response = await app.inject(preflight('/api', method, wanted === '' ? {} : { 'access-control-request-headers': wanted }))
    t.same([response.statusCode, response.body, response.headers['content-type']], [status, body, 'text/plain; charset=utf-8'], `${method} ${wanted}`)
    t.equal(response.headers.allow, status === 405 ? 'GET, PUT' : undefined, `${method} ${wanted}: Allow`)
  }
})

t.test('without a list, all requested headers are allowed', async t => {
  const app = await build(t, { cors: [{ origin: [ORIGIN] }] }, routes)
  const response = await app.inject(preflight('/api', 'GET', { 'access-control-request-headers': 'x-any' }))
  t.equal(response.headers['access-control-allow-headers'], 'x-any')
})

t.test('an origin that no rule allows receives no CORS headers', async t => {
  const app = await build(t, { cors: [{ origin: [ORIGIN], credentials: true, exposedHeaders: ['X-Total'] }] }, routes)
  const foreign = { origin: 'https://evil.test' }
  const actual = await app.inject({ url: '/api', headers: foreign })
  t.equal(actual.statusCode, 200)
  t.same(corsHeaders(actual.headers), {})
  const asked = await app.inject(preflight('/api', 'GET', foreign))
  for (const name of ['access-control-allow-origin', 'access-control-allow-credentials', 'access-control-expose-headers']) {
    t.equal(asked.headers[name], undefined, name)
  }
})

t.test('an origin is allowed by a list, a string, a pattern or a function', async t => {
  const later = <T>(value: T) => new Promise<T>(resolve => setTimeout(() => resolve(value), 5))
  for (const [name, origin, sent, expected] of [
    ['list, in it', ['https://a.test', 'https://b.test'], 'https://b.test', 'https://b.test'],
    ['list, not in it', ['https://a.test'], 'https://b.test', undefined],
    ['list, prefix only', ['https://a.test'], 'https://a.test.evil.test', undefined],
    ['lone string', 'https://a.test', 'https://a.test', 'https://a.test'],
    ['lone string, another origin', 'https://a.test', 'https://b.test', undefined],
    ['any', '*', 'https://b.test', '*'],
    ['true', true, 'https://b.test', 'https://b.test'],
    ['false', false, 'https://a.test', undefined],
    ['none given', undefined, 'https://a.test', undefined],
    ['pattern', /^https:\/\/[a-z]+\.test$/, 'https://b.test', 'https://b.test'],
    ['pattern, no match', /^https:\/\/[a-z]+\.test$/, 'http://b.test', undefined],
    ['list with a pattern', ['https://x.test', /b\.test$/], 'https://b.test', 'https://b.test'],
    ['null', ['https://a.test'], 'null', undefined],
    [
      'function with callback', (_origin: unknown, done: (error: Error | null, allowed: boolean) => void) => done(null, true), 'https://b.test',
      'https://b.test'
    ],
    [
      'function with callback, refused', (_origin: unknown, done: (error: Error | null, allowed: boolean) => void) => done(null, false), 'https://b.test',
      undefined
    ],
    [
      'function that calls back later',
      (origin: string | undefined, done: (error: Error | null, allowed: boolean) => void) => { setTimeout(() => done(null, origin === 'https://b.test'), 5) },
      'https://b.test', 'https://b.test'
    ],
    ['asynchronous function', async (origin: string | undefined) => later(origin === 'https://b.test'), 'https://b.test', 'https://b.test'],
    ['asynchronous function, refused', async () => later(false), 'https://b.test', undefined]
  ] as Array<[string, CorsRule['origin'], string, string | undefined]>) {
    const app = await build(t, { cors: [origin === undefined ? {} : { origin }] as CorsRule[] }, routes)
    const actual = await app.inject({ url: '/api', headers: { origin: sent } })
    t.same([actual.statusCode, actual.headers['access-control-allow-origin']], [200, expected], name)
    const asked = await app.inject(preflight('/api', 'GET', { origin: sent }))
    t.same([asked.statusCode, asked.headers['access-control-allow-origin']], [200, expected], `${name}, preflight`)
    await app.close()
  }
})

t.test('an origin function that fails is answered as an error', async t => {
  for (const [name, origin] of [
    ['callback', (_origin: unknown, done: (error: Error | null, allowed: boolean) => void) => done(new Error('no list of origins'), false)],
    ['rejection', async () => { throw new Error('no list of origins') }],
    ['throws', () => { throw new Error('no list of origins') }]
  ] as Array<[string, NonNullable<CorsRule['origin']>]>) {
    const app = await build(t, { cors: [{ origin }] }, routes)
    for (const request of [{ url: '/api', headers: { origin: ORIGIN } }, preflight('/api')]) {
      const response = await app.inject(request)
      t.equal(response.statusCode, 500, name)
      t.ok(response.body.includes('no list of origins'), name)
      t.equal(response.headers['access-control-allow-origin'], undefined)
    }
  }
})

t.test('failures have the CORS headers, so that scripts can read them', async t => {
  const app = await build(t, { cors: [{ origin: [ORIGIN], credentials: true, exposedHeaders: ['X-Debug-Token'] }] }, routes)
  for (const [url, status] of [['/nix', 404], ['/api/boom', 500], ['/own', 405], ['/%', 400]] as const) {
    const response = await app.inject({ url, headers: { origin: ORIGIN } })
    t.equal(response.statusCode, status, url)
    t.same(corsHeaders(response.headers), {
      'access-control-allow-origin': ORIGIN, 'access-control-allow-credentials': 'true', 'access-control-expose-headers': 'X-Debug-Token'
    }, url)
  }
  const port = await listen(app)
  const answer = await raw(port, `GET /%zz HTTP/1.1\r\nHost: a\r\nOrigin: ${ORIGIN}\r\nConnection: close\r\n\r\n`)
  t.same([statusOf(answer), headerOf(answer, 'access-control-allow-origin')], [400, ORIGIN])
})

t.test('requests of the same origin need no CORS headers', async t => {
  const app = await build(t, { cors: [{ origin: true }], trustedProxies: ['10.0.0.1'], debugClients: ['10.0.0.1'] }, routes)
  for (const [name, request] of [
    ['plain', { url: '/api', headers: { host: 'a.test', origin: 'http://a.test' } }],
    ['port', { url: '/api', headers: { host: 'a.test:3000', origin: 'http://a.test:3000' } }],
    ['behind a proxy', {
      url: '/api',
      remoteAddress: '10.0.0.1',
      headers: { host: 'inner', 'x-forwarded-host': 'a.test', 'x-forwarded-proto': 'https', 'x-forwarded-prefix': '/app', origin: 'https://a.test' }
    }]
  ] as const) {
    const response = await app.inject(request)
    t.same(corsHeaders(response.headers), {}, name)
    t.match(eventOf(await profileOf(app, response), 'kernel.response', 'cors'), { outcome: 'skipped', reason: 'same origin' }, name)
  }
  t.equal(
    (await app.inject({ url: '/api', headers: { host: 'a.test', origin: 'https://a.test' } })).headers['access-control-allow-origin'], 'https://a.test',
    'another scheme is another origin'
  )
})

t.test('rules apply to their paths, and the first match decides', async t => {
  const app = await build(t, { cors: [{ path: '/api/boom', origin: 'https://boom.test' }, { path: /^\/api/, origin: [ORIGIN], methods: ['PUT'] }] }, routes)
  for (const [url, origin, expected, reason] of [
    ['/api', ORIGIN, ORIGIN, undefined],
    ['/api?x=1', ORIGIN, ORIGIN, undefined],
    ['/api/boom', ORIGIN, undefined, undefined],
    ['/api/boom', 'https://boom.test', 'https://boom.test', undefined],
    ['/other', ORIGIN, undefined, 'no CORS rule for this path'],
    ['/other?/api', ORIGIN, undefined, 'no CORS rule for this path'],
    ['/api', undefined, undefined, 'the request has no Origin']
  ] as const) {
    const response = await app.inject({ url, headers: origin === undefined ? {} : { origin } })
    t.equal(response.headers['access-control-allow-origin'], expected, `${url} ${origin}`)
    t.match(eventOf(await profileOf(app, response), 'kernel.response', 'cors'), reason === undefined ? { outcome: 'ran' } : { outcome: 'skipped', reason })
  }
  t.equal((await app.inject(preflight('/api', 'GET'))).statusCode, 405, 'a rule without this method')
  t.equal((await app.inject(preflight('/other', 'GET'))).statusCode, 405, 'no rule: an OPTIONS request like any other')
  t.equal((await app.inject(preflight('/nix', 'GET'))).statusCode, 404)
})

t.test('no rule applies to a route that allows its own origin only', async t => {
  const app = await build(t, { cors: [{ origin: [ORIGIN] }] }, app => app.get('/own-only', { config: { sameOriginOnly: true } }, () => 'x'))
  for (const headers of [{}, { origin: ORIGIN }]) {
    const response = await app.inject({ url: '/own-only', headers })
    t.same(corsHeaders(response.headers), {})
    const profile = await profileOf(app, response)
    t.match(eventOf(profile, 'kernel.response', 'cors'), { outcome: 'skipped', reason: 'the profiler allows its own origin only' })
    t.equal(profile.collectors.cors, undefined)
  }
})

t.test('an OPTIONS request that is not a preflight reaches its route', async t => {
  const app = await build(t, { cors: [{ origin: [ORIGIN] }] }, routes)
  for (const [name, headers] of [
    ['no Origin', { 'access-control-request-method': 'GET' }],
    ['no method', { origin: ORIGIN }],
    ['neither', {}]
  ] as const) {
    const response = await app.inject({ method: 'OPTIONS', url: '/own', headers })
    t.same([response.statusCode, response.body], [200, 'own options'], name)
    t.same(Object.keys(corsHeaders(response.headers)), 'origin' in headers ? ['access-control-allow-origin'] : [], name)
    t.match(eventOf(await profileOf(app, response), 'kernel.request', 'cors'), { outcome: 'skipped', reason: 'not a preflight' })
  }
})

t.test('without rules no CORS headers are sent', async t => {
  for (const options of [{}, { cors: [] }]) {
    const app = await build(t, options, routes)
    const response = await app.inject({ url: '/api', headers: { origin: ORIGIN } })
    t.same(corsHeaders(response.headers), {})
    const profile = await profileOf(app, response)
    t.match(eventOf(profile, 'kernel.request', 'cors'), { outcome: 'skipped', reason: 'not configured' })
    t.match(eventOf(profile, 'kernel.response', 'cors'), { outcome: 'skipped', reason: 'not configured' })
  }
})

t.test('two applications in one process have separate rules', async t => {
  const one = await build(t, { cors: [{ origin: 'https://one.test' }] }, routes)
  const two = await build(t, { cors: [{ origin: 'https://two.test' }] }, routes)
  for (const [app, origin, expected] of [
    [one, 'https://one.test', true], [one, 'https://two.test', false], [two, 'https://two.test', true], [two, 'https://one.test', false]
  ] as const) {
    t.equal((await app.inject({ url: '/api', headers: { origin } })).headers['access-control-allow-origin'] === origin, expected)
  }
})

t.test('the profile has the decision', async t => {
  const app = await build(t, { cors: [{ path: '/api', origin: [ORIGIN], methods: ['GET'], credentials: true }] }, routes)
  const from = (origin: string) => ({ headers: { origin } })
  const rule = { index: 0, path: '/api', origin: ORIGIN, methods: ['GET'], credentials: true }
  for (const [name, request, expected] of [
    ['allowed', { url: '/api', ...from(ORIGIN) }, { rule, origin: ORIGIN, preflight: false, allowed: true, why: 'the rule allows this origin' }],
    ['refused', { url: '/api', ...from('https://b.test') }, { rule, allowed: false, why: `the origin is not allowed here; allowed are ${ORIGIN}` }],
    ['no rule', { url: '/other', ...from(ORIGIN) }, { rule: null, allowed: false, why: 'no rule of the option cors has this path' }],
    ['no origin', { url: '/api' }, { origin: null, allowed: null, why: 'the request has no Origin: it is not from a page of another origin' }],
    ['own origin', { url: '/api', ...from('http://localhost') }, { allowed: null, why: 'the request is from the same origin' }],
    ['preflight', preflight('/api'), { preflight: true, wanted: { method: 'GET', headers: '' }, allowed: true }],
    [
      'preflight refused', preflight('/api', 'PUT'),
      { preflight: true, wanted: { method: 'PUT', headers: '' }, allowed: false, why: 'CORS: the method PUT is not allowed here; allowed are GET.' }
    ]
  ] as const) {
    const { collectors } = await profileOf(app, await app.inject(request))
    t.match(collectors.cors, expected, name)
  }
})

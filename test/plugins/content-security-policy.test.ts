import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import t from 'tap'
import { DEFAULT_DIRECTIVES } from '../../plugins/content-security-policy.js'
import { build, eventOf, profileOf, refusal } from '../../packages/hindsight/test/support/app.js'

const DEFAULT = "default-src 'self';base-uri 'self';form-action 'self';frame-ancestors 'none';img-src 'self' data:;object-src 'none';script-src " +
  "'self';style-src 'self'"
const HEADER = 'content-security-policy'
const REPORT_ONLY = 'content-security-policy-report-only'

t.test('a response carries the default policy, as the table of directives has it', async t => {
  const app = await build(t, {}, app => app.get('/', () => 'x'))
  const { headers } = await app.inject('/')
  t.equal(headers[HEADER], DEFAULT)
  t.equal(headers[REPORT_ONLY], undefined)
  t.same(DEFAULT.split(';').map(part => part.split(' ', 1)[0]), Object.keys(DEFAULT_DIRECTIVES))
})

t.test('no random byte is drawn for a response that uses no nonce', async t => {
  const app = await build(t, { debug: false }, app => {
    app.get('/none', () => 'x')
    app.get('/looked', (_request, reply) => { Object.keys(reply.cspNonce); return 'x' })
    app.get('/one', (_request, reply) => reply.cspNonce.script)
    app.get('/both', (_request, reply) => [reply.cspNonce.script, reply.cspNonce.style, reply.cspNonce.script])
  })
  const { randomBytes } = crypto
  let draws = 0
  crypto.randomBytes = ((...args: [number]) => { draws++; return randomBytes(...args) }) as typeof crypto.randomBytes
  syncBuiltinESMExports()
  t.teardown(() => { Object.assign(crypto, { randomBytes }); syncBuiltinESMExports() })
  for (const [url, expected] of [['/none', 0], ['/looked', 0], ['/one', 1], ['/both', 2]] as const) {
    draws = 0
    await app.inject(url)
    t.equal(draws, expected, url)
  }
})

t.test('no two responses have the same nonce', async t => {
  const app = await build(t, { debug: false }, app => app.get('/', (_request, reply) => [reply.cspNonce.script, reply.cspNonce.style]))
  const nonces: string[] = []
  for (let i = 0; i < 200; i++) nonces.push(...(await app.inject('/')).json<string[]>())
  t.equal(new Set(nonces).size, 400)
  for (const nonce of nonces) t.match(nonce, /^[\w+/]{22}==$/)
})

t.test('the policy has a nonce only if it was read', async t => {
  const app = await build(t, {}, app => {
    app.get('/script', (_request, reply) => ({ script: reply.cspNonce.script }))
    app.get('/style', (_request, reply) => ({ style: reply.cspNonce.style }))
    app.get('/both', (_request, reply) => ({ script: reply.cspNonce.script, style: reply.cspNonce.style }))
  })
  for (const url of ['/script', '/style', '/both']) {
    const response = await app.inject(url)
    const { script, style } = response.json<{ script?: string, style?: string }>()
    const parts = String(response.headers[HEADER]).split(';')
    t.equal(parts.find(part => part.startsWith('script-src')), script === undefined ? "script-src 'self'" : `script-src 'self' 'nonce-${script}'`, url)
    t.equal(parts.find(part => part.startsWith('style-src')), style === undefined ? "style-src 'self'" : `style-src 'self' 'nonce-${style}'`, url)
    for (const nonce of [script, style]) if (nonce !== undefined) t.equal(Buffer.from(nonce, 'base64').length, 16)
  }
})

t.test('each request has its own nonces, which do not change', async t => {
  const app = await build(t, {}, app => app.get('/', (_request, reply) => [reply.cspNonce.script, reply.cspNonce.script, reply.cspNonce.style]))
  const drawn = await Promise.all(Array.from({ length: 20 }, async () => (await app.inject('/')).json<string[]>()))
  for (const [first, second, style] of drawn) {
    t.equal(first, second)
    t.not(first, style)
  }
  t.equal(new Set(drawn.flat()).size, 40)
})

t.test('the nonce is added to the directive that allows it', async t => {
  for (const [name, enforce, expected] of [
    [
      'beside its sources', { 'default-src': ["'self'"], 'script-src': ["'self'", 'https://a.test'] },
      "default-src 'self';script-src 'self' https://a.test 'nonce-N'"
    ],
    ["instead of 'none'", { 'default-src': ["'self'"], 'script-src': ["'none'"] }, "default-src 'self';script-src 'nonce-N'"],
    ['beside what the fallback allows', { 'default-src': ["'self'"] }, "default-src 'self';script-src 'self' 'nonce-N'"],
    ['alone where the fallback allows nothing', { 'default-src': ["'none'"] }, "default-src 'none';script-src 'nonce-N'"],
    [
      'not into script-src-attr', { 'default-src': ["'self'"], 'script-src-attr': ["'none'"], 'script-src': ["'self'"] },
      "default-src 'self';script-src-attr 'none';script-src 'self' 'nonce-N'"
    ],
    ['a directive in camel case', { defaultSrc: ["'self'"], scriptSrc: ["'self'"] }, "default-src 'self';script-src 'self' 'nonce-N'"]
  ] as const) {
    const app = await build(t, { contentSecurityPolicy: { enforce } }, app => app.get('/', (_request, reply) => reply.cspNonce.script))
    const response = await app.inject('/')
    t.equal(String(response.headers[HEADER]).replace(response.body, 'N'), expected, name)
  }
})

t.test('the policy is enforced, report-only, both or absent', async t => {
  const one = { 'default-src': ["'self'"] }
  const other = { 'default-src': ["'none'"], 'report-uri': ['/csp'] }
  for (const [name, contentSecurityPolicy, enforced, reported] of [
    ['enforced', { enforce: one }, "default-src 'self'", undefined],
    ['reported', { reportOnly: other }, undefined, "default-src 'none';report-uri /csp"],
    ['both', { enforce: one, reportOnly: other }, "default-src 'self'", "default-src 'none';report-uri /csp"],
    ['one directive alone', { enforce: { 'frame-ancestors': ["'none'"] } }, "frame-ancestors 'none'", undefined],
    ['enforce: false', { enforce: false, reportOnly: one }, undefined, "default-src 'self'"],
    ['none', false, undefined, undefined],
    ['no directives', { enforce: {} }, undefined, undefined],
    ['no policies', {}, undefined, undefined]
  ] as const) {
    const app = await build(t, { contentSecurityPolicy }, app => app.get('/', () => 'x'))
    const response = await app.inject('/')
    t.equal(response.headers[HEADER], enforced, name)
    t.equal(response.headers[REPORT_ONLY], reported, name)
    const event = eventOf(await profileOf(app, response), 'kernel.response', 'content-security-policy')
    if (enforced === undefined && reported === undefined) t.match(event, { outcome: 'skipped', reason: 'not configured' }, name)
    else t.match(event, { outcome: 'ran' }, name)
  }
})

t.test('a policy of the route is kept', async t => {
  const app = await build(t, {}, app => app.get('/', (_request, reply) => reply.header(HEADER, "default-src 'none'").send(reply.cspNonce.script)))
  const response = await app.inject('/')
  t.equal(response.headers[HEADER], "default-src 'none'")
  t.match(
    eventOf(await profileOf(app, response), 'kernel.response', 'content-security-policy'),
    { outcome: 'skipped', reason: 'the route has set a policy of its own' }
  )
})

t.test('of two policies the one of the route is kept, and the other one is set', async t => {
  const app = await build(t, { contentSecurityPolicy: { enforce: { 'default-src': ["'self'"] }, reportOnly: { 'default-src': ["'none'"] } } },
    app => app.get('/', (_request, reply) => reply.header(HEADER, 'sandbox').send('x')))
  const { headers } = await app.inject('/')
  t.equal(headers[HEADER], 'sandbox')
  t.equal(headers[REPORT_ONLY], "default-src 'none'")
})

t.test('a redirect has no policy', async t => {
  const app = await build(t, {}, app => {
    app.get('/', (_request, reply) => reply.redirect('/x'))
    app.get('/choices', (_request, reply) => reply.code(300).send('x'))
  })
  const response = await app.inject('/')
  t.equal(response.statusCode, 302)
  t.equal(response.headers[HEADER], undefined)
  t.match(eventOf(await profileOf(app, response), 'kernel.response', 'content-security-policy'), { outcome: 'skipped', reason: 'not on redirects' })
  t.equal((await app.inject('/choices')).headers[HEADER], DEFAULT, 'a 3xx without Location is a document')
})

t.test('a bad directive stops the start with the name of the option', async t => {
  for (const [name, contentSecurityPolicy, expected] of [
    ['name', { enforce: { 'bad thing': ["'self'"] } }, 'contentSecurityPolicy: Content-Security-Policy received an invalid directive name "bad thing"'],
    [
      'value that splits the header', { enforce: { 'default-src': ["'self'; script-src *"] } },
      'contentSecurityPolicy: Content-Security-Policy received an invalid directive value for "default-src"'
    ],
    [
      'unquoted keyword', { enforce: { 'default-src': ['self'] } },
      'contentSecurityPolicy: Content-Security-Policy received an invalid directive value for "default-src". "self" should be quoted'
    ],
    [
      'twice', { enforce: { 'default-src': ["'self'"], defaultSrc: ["'self'"] } },
      'contentSecurityPolicy: Content-Security-Policy received a duplicate directive "default-src"'
    ],
    [
      'in the one that is reported', { reportOnly: { 'a;b': ["'self'"] } },
      'contentSecurityPolicy: Content-Security-Policy received an invalid directive name "a;b"'
    ]
  ] as const) t.equal(await refusal({ contentSecurityPolicy }), expected, name)
})

t.test('a 304 has no policy, so that the stored page keeps its own', async t => {
  const app = await build(t, {}, app => app.get('/', { config: { cache: { etag: () => 'a' } } }, (_request, reply) => reply.cspNonce.script))
  t.match((await app.inject('/')).headers[HEADER], 'nonce-')
  const response = await app.inject({ url: '/', headers: { 'if-none-match': '"a"' } })
  t.equal(response.statusCode, 304)
  t.equal(response.headers[HEADER], undefined)
})

t.test('the profile has the origin of the policy', async t => {
  const app = await build(t, {}, app => {
    app.get('/', () => 'x')
    app.get('/nonce', (_request, reply) => reply.header('x-nonce', reply.cspNonce.script).send('x'))
    app.get('/own', (_request, reply) => reply.header('content-security-policy', "default-src 'none'").send('x'))
  })
  for (const [url, expected] of [
    ['/', { nonces: [] }], ['/nonce', { nonces: ['script-src'] }], ['/own', { ofRoute: ['content-security-policy'], nonces: [] }]
  ] as const) t.same((await profileOf(app, await app.inject(url))).collectors.csp, expected, url)
  t.match((await profileOf(app, await app.inject('/nix'))).collectors.csp, { ofDiagnosticPage: true })
})

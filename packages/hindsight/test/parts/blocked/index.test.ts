import { PassThrough } from 'node:stream'
import createError from '@fastify/error'
import t, { type Test } from 'tap'
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { ServiceOptions } from '../../../../../lib/options.js'
import { executeCommand } from '../../../src/cli/run.js'
import { droppedCookies, type CookieContext } from '../../../src/parts/blocked/index.js'
import { openStorage } from '../../../src/store/open.js'
import { recordOf } from '../../../src/store/summary.js'
import { build, TOKEN, users } from '../../../../../test/lib/security/support.js'
import { testdir } from '../../support/folder.js'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import { parseHtml } from '../../support/parse-html.js'
import { withoutMarks } from '../../support/marks.js'

const OPTIONS: ServiceOptions = {
  cors: [
    { path: '/api', origin: ['https://app.example'], methods: ['GET'], allowedHeaders: ['X-One'] },
    { path: '/open', origin: '*' }, { path: '/cookie', origin: true, credentials: true }
  ],
  security: {
    firewalls: [
      { name: 'machines', pattern: '/machine', authenticators: { basic: true, bearer: { verify: (token) => token === TOKEN ? 'token-only' : null } } },
      { name: 'main', pattern: '/', authenticators: { login: true }, logout: true, throttling: { maxAttempts: 1 } }
    ],
    providers: { all: users },
    accessControl: [{ path: '/machine', roles: 'ROLE_ADMIN' }, { path: '/admin', roles: ['ROLE_ADMIN', 'ROLE_ROOT'] }]
  }
}
const page = (html: string) => parseHtml(html)
const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` })
const bearer = { authorization: `Bearer ${TOKEN}` }
const json = { accept: 'application/json', 'content-type': 'application/json' }
const from = (origin: string, more = {}) => ({ origin, 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'cross-site', ...more })

async function application (t: Parameters<typeof build>[0]) {
  return await build(t, OPTIONS.security, (app) => {
    for (const url of ['/api', '/open', '/cookie', '/elsewhere', '/machine', '/admin']) app.get(url, async () => 'x')
    app.get('/granted', { config: { isGranted: 'ROLE_ADMIN', name: 'granted' } }, async () => 'x')
    app.get('/expression', { config: { security: 'user != null' } }, async () => 'x')
    app.get('/dropped', async (_request, reply) => reply.setCookie('a', 'hidden', { sameSite: 'none', secure: true }).send('x'))
    app.get('/session', async (request) => { (request.session as unknown as { a: number }).a = 1; return 'x' })
  }, { cors: OPTIONS.cors ?? [], debugClients: ['127.0.0.1'], debugHosts: ['app.example'] })
}

/** The kind of the first reason that a profile has, its sentence and its option. */
type Reason = [name: string, request: InjectOptions, kind: string, sentence: RegExp | string, option: RegExp | null]

async function hasReasons (t: Test, app: FastifyInstance, requests: Reason[]): Promise<void> {
  for (const [name, request, kind, sentence, option] of requests) {
    const { collectors } = await profileOf(app, await app.inject(request))
    const [first] = collectors.blocked as Array<Record<string, unknown>> ?? []
    t.match(first, { kind, sentence, option }, name)
    t.notMatch(JSON.stringify(collectors.blocked ?? ''), 'hidden', name)
  }
}

t.test('the profile of a request that Hindsight refused has the reason in one sentence', async (t) => {
  const app = await application(t)
  const preflight = (url: string, origin: string, method = 'GET', headers = '') => ({
    method: 'OPTIONS', url, headers: { origin, 'access-control-request-method': method, ...(headers !== '' && { 'access-control-request-headers': headers }) }
  }) as const
  await hasReasons(t, app, [
    [
      'wrong password', { url: '/machine', headers: { ...json, ...basic('ada:wrong') } }, 'credentials',
      /^The authenticator basic of the firewall "machines" refused the credentials \(.+\): the option security\.firewalls\["machines"\]\.auth\w+ decides\.$/,
      /authenticators/
    ],
    [
      'a request without credentials', { url: '/machine', headers: json }, 'credentials',
      'Rule 0 of security.accessControl (path /machine) requires ROLE_ADMIN, and no user is logged in: the request has no credentials that the firewall ' +
        '"machines" reads (basic, bearer): the option security.accessControl[0].roles decides.',
      /accessControl\[0\]/
    ],
    [
      'not the role', { url: '/machine', headers: { ...json, ...bearer } }, 'access', /requires ROLE_ADMIN, and token-only is logged in with ROLE_API: /,
      /accessControl\[0\]\.roles/
    ],
    [
      'isGranted', { url: '/granted', headers: json }, 'credentials',
      /^ROLE_ADMIN, which config\.isGranted of the route granted requires, was denied \(role: \w+ .*is logged in\), and no user is logged in/,
      /config\.isGranted/
    ],
    [
      'an expression', { url: '/expression', headers: json }, 'credentials',
      /^The expression "user != null" of the route GET \/expression is false, and no user/, /config\.security/
    ],
    [
      'the method', { method: 'DELETE', url: '/api', headers: json }, 'method',
      /^No route accepts DELETE at this path: its routes accept GET: the option method/, /method of the route/
    ],
    [
      'CSRF', { method: 'POST', url: '/login', headers: json, payload: '{"_username":"ada","_password":"x"}' }, 'access',
      /^The request has no CSRF token .*security\.firewalls\["main"\]\.authenticators\.login\.csrf decides\.$/, /csrf/
    ],
    [
      'an origin', { url: '/api', headers: from('https://evil.example') }, 'cors',
      'The page of https://evil.example may not read the response: the origin is not allowed here; allowed are https://app.example (rule 0 of cors, ' +
        'path /api); the option cors[0].origin decides.',
      /^cors\[0\]\.origin$/
    ],
    [
      'no rule', { url: '/elsewhere', headers: from('https://app.example') }, 'cors', /no rule of the option cors has this path; the option cors decides/,
      /cors/
    ],
    [
      'credentials', { url: '/open', headers: from('https://app.example', { cookie: 'a=1' }) }, 'cors',
      /may not read the response: it sent cookies, and credentials are not allowed .* the option cors\[1\]\.credentials decides/, /^cors\[1\]\.credentials$/
    ],
    [
      'a preflight, by its method', preflight('/api', 'https://app.example', 'PUT'), 'cors',
      'The preflight of https://app.example was refused: the method PUT is not allowed here; allowed are GET (rule 0 of cors, path /api); the option ' +
        'cors[0].methods decides.',
      /methods/
    ],
    [
      'a preflight, by a header', preflight('/api', 'https://app.example', 'GET', 'x-two'), 'cors', /the header x-two is not allowed here/,
      /^cors\[0\]\.allowedHeaders$/
    ],
    [
      'a preflight, by its origin', preflight('/api', 'https://evil.example'), 'cors',
      /^The preflight of https:\/\/evil\.example was refused: the origin is not allowed here.* cors\[0\]\.origin decides/, /origin/
    ],
    [
      'a cookie', { url: '/dropped', headers: { host: 'app.example', 'x-forwarded-proto': 'http' } }, 'cookie',
      /^The browser drops the cookie "a": it is Secure, and the request came by http; the option secure of the cookie decides\.$/, /secure/
    ]
  ])
})

inBothProducts('the profile of a request that Fastify or the application refused has the reason in one sentence', async (t, build) => {
  const app = await build((app) => {
    app.post('/small', { bodyLimit: 10 }, async () => 'x')
    app.post('/any', async () => 'x')
    app.addContentTypeParser('text/csv', { parseAs: 'string', bodyLimit: 5 }, (_request, body, done) => { done(null, body) })
    app.register(async (part) => {
      part.removeAllContentTypeParsers()
      part.post('/none', async () => 'x')
    })
    app.get('/own', async () => { throw Object.assign(new Error('not yours'), { statusCode: 403 }) })
    app.get('/sent', async (_request, reply) => reply.code(401).send('no'))
    app.register(async (part) => {
      part.addHook('preHandler', async function requireAdmin (_request, reply) { await reply.code(403).send('no') })
      part.get('/admin', async () => 'x')
    })
    app.get('/limited', async () => { throw Object.assign(new Error('slow down'), { statusCode: 429 }) })
    app.get('/created', async () => { throw new (createError('E_LIMIT', 'slower', 429))() })
    app.get('/header', async (_request, reply) => reply.header('set-cookie', 'b=hidden; Secure; SameSite=None').send('x'))
  }, { debugClients: ['127.0.0.1'], debugHosts: ['app.example'] })
  await hasReasons(t, app, [
    [
      'the limit of a route', { method: 'POST', url: '/small', headers: json, payload: '"0123456789"' }, 'size',
      'The body is larger than the bodyLimit here, 10 bytes, or than that of its parser: the option bodyLimit of Fastify, of addContentTypeParser or of ' +
        'the route decides.',
      /^bodyLimit of Fastify/
    ],
    [
      'that of the server', { method: 'POST', url: '/any', headers: json, payload: `"${'x'.repeat(1_048_576)}"` }, 'size',
      /^The body is larger than the bodyLimit here, 1,048,576 bytes, or than that of its parser: /,
      /^bodyLimit of Fastify, of addContentTypeParser or of the route$/
    ],
    [
      'that of a parser', { method: 'POST', url: '/any', headers: { ...json, 'content-type': 'text/csv' }, payload: '0123456789' }, 'size',
      /^The body is larger than the bodyLimit here, 1,048,576 bytes, or than that of its parser: /, /addContentTypeParser/
    ],
    [
      'the type', { method: 'POST', url: '/any', headers: { ...json, 'content-type': 'application/xml' }, payload: '<a/>' }, 'type',
      /^No parser accepts a body of the type "application\/xml" here: addContentTypeParser\(\) of Fastify adds one\.$/,
      /^addContentTypeParser of Fastify$/
    ],
    [
      'no type', { method: 'POST', url: '/any', headers: { accept: 'application/json' }, payload: Buffer.from('x') }, 'type',
      /^No parser accepts a body without a Content-Type here: addContentTypeParser/, /addContentTypeParser/
    ],
    [
      'the type, without any parser', { method: 'POST', url: '/none', headers: { ...json, 'content-type': 'application/xml' }, payload: '<a/>' }, 'type',
      /^No parser accepts a body of the type "application\/xml" here: addContentTypeParser/, /addContentTypeParser/
    ],
    [
      'a cookie of a header', { url: '/header', headers: { host: 'app.example', 'x-forwarded-proto': 'http' } }, 'cookie',
      /^The browser drops the cookie "b": it is Secure, and the request came by http; the option secure of the cookie decides\.$/, /secure/
    ]
  ])
  const line = '\\S+index\\.test\\.ts:\\d+'
  for (const [url, sentence] of [
    ['/own', `^Error: not yours \\(${line}\\)\\. The handler of GET /own `],
    ['/sent', `^GET returned 401 .* ${line} sent the response\\.$`],
    ['/admin', `The preHandler hook "requireAdmin" sent the response \\(${line}\\)\\.$`],
    ['/limited', `^Error: slow down \\(${line}\\)`],
    ['/created', `^FastifyError: slower \\(${line}\\)`]
  ] as const) {
    const response = await app.inject({ url, headers: { accept: 'text/html' } })
    t.notMatch(response.body, 'Why was this refused?', 'the sentence about the failure says it')
    const overview = page((await app.inject(`/_profiler/${String(response.headers['x-debug-token'])}`)).body)
    t.match(overview.querySelector('.lead')?.textContent.trim(), new RegExp(sentence))
    t.notOk(overview.querySelector('.blocked'))
  }
})

t.test('requests that pass have no reason', async (t) => {
  const app = await application(t)
  for (const [name, request] of [
    ['plain', { url: '/api' }], ['an allowed origin', { url: '/api', headers: from('https://app.example') }], [
      'credentials, allowed', { url: '/cookie', headers: from('https://app.example', { cookie: 'a=1' }) }
    ],
    [
      'a form of elsewhere', { url: '/elsewhere', headers: { origin: 'https://evil.example', 'sec-fetch-mode': 'navigate' } }
    ], ['not found', { url: '/nowhere' }], ['a session of its own', { url: '/session' }],
    ['the same origin', { url: '/elsewhere', headers: { origin: 'http://localhost', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' } }]
  ] as Array<[string, InjectOptions]>) t.equal((await profileOf(app, await app.inject(request))).collectors.blocked, undefined, name)
})

t.test('the profile has the reason for a throttled login, and for a foreign origin without CORS', async (t) => {
  const app = await build(
    t, { firewalls: [{ name: 'api', authenticators: { login: { csrf: false } }, throttling: { maxAttempts: 1 } }], providers: { all: users } },
    (app) => { app.get('/a', async () => 'x') }
  )
  const login = () => app.inject({ method: 'POST', url: '/login', headers: json, payload: '{"_username":"ada","_password":"x"}' })
  await login()
  const throttled = await profileOf(app, await login())
  t.match(throttled.collectors.blocked, [{ kind: 'rate', sentence: /^Too many logins have failed .* security\.firewalls\["api"\]\.throttling decides\.$/ }])
  const other = await profileOf(app, await app.inject({ url: '/a', headers: from('https://evil.example') }))
  t.match(
    other.collectors.blocked,
    [{ kind: 'cors', sentence: 'The page of https://evil.example may not read the response: no rule is configured; the option cors decides.', option: 'cors' }]
  )
})

t.test('the reason is on the diagnostic page, on the profile page and in the output of the command', async (t) => {
  const app = await application(t)
  const failed = await app.inject({ url: '/machine', headers: { accept: 'text/html', ...bearer } })
  t.match(
    page(failed.body).querySelector('.hint')?.textContent, /Why was this refused\?\s+Rule 0 of security\.accessControl .* token-only is logged in with ROLE_API/
  )
  const profile = await profileOf(app, failed)
  const { profilePage } = await import('../../../src/reading/pages/profile.js')
  const { parts } = await import('../../../src/parts/index.js')
  const { request } = await import('../../../src/parts/request/index.js')
  const hostile = { ...profile, collectors: { ...profile.collectors, blocked: [{ sentence: '<script>\u202e' }, null, { sentence: 1 }] } }
  const html = (shown: typeof profile) => page(String(profilePage(shown, request,
    {
      base: '',
      nonce: { script: 'a', style: 'b' },
      assets: { style: '', script: '', icons: [] },
      formToken: '',
      pinned: false,
      children: [],
      previous: null,
      lastSuccess: null,
      query: {},
      editor: null,
      parts
    } as never)))
  t.match(html(profile).querySelector('.blocked')?.textContent, /Why was it refused\?Rule 0 of security/)
  t.same([...html(hostile).querySelectorAll('.blocked li')].map(({ textContent }) => textContent), ['<script>⟨U+202E⟩'])
  const dataDir = testdir(t)
  const store = await openStorage({ dataDir })
  await store.put([recordOf(profile)])
  await store.close()
  const out = new PassThrough()
  t.equal(await executeCommand(['show', profile.token, '--data-dir', dataDir], out, new PassThrough()), 0)
  t.match(withoutMarks(String(out.read())), /\nRule 0 of security\.accessControl/)
})

const HTTPS: CookieContext = { scheme: 'https', host: 'app.example', site: undefined, mode: undefined, sessionCookie: 'sid' }
const HTTP: CookieContext = { ...HTTPS, scheme: 'http' }
const CROSS: CookieContext = { ...HTTPS, site: 'cross-site', mode: 'cors' }

t.test('valid cookies are not reported', async (t) => {
  for (const [name, line, context] of [
    ['plain', 'a=1', HTTP], ['secure by https', 'a=1; Secure', HTTPS], ['None with Secure', 'a=1; SameSite=None; Secure', HTTPS],
    ['the host itself', 'a=1; Domain=app.example', HTTPS], ['above it, with a dot', 'a=1; Domain=.app.example', { ...HTTPS, host: 'www.app.example' }],
    ['__Host-', '__Host-a=1; Secure; Path=/', HTTPS], [
      '__Host- with an empty Domain', '__Host-a=1; Secure; Path=/; Domain=', HTTPS
    ], ['__Secure-', '__Secure-a=1; Secure', HTTPS],
    ['Secure by http on localhost', 'a=1; Secure', { ...HTTP, host: 'localhost' }], ['Secure by http on ::1', 'a=1; Secure', { ...HTTP, host: '[::1]' }],
    ['a cross-site navigation', 'a=1', { ...CROSS, mode: 'navigate' }], ['None, cross-site', 'a=1; SameSite=None; Secure', CROSS],
    ['the last of two', 'a=1; Domain=other.example; Domain=app.example', HTTPS], ['localhost', 'a=1; Domain=localhost', { ...HTTP, host: 'localhost' }],
    ['same-site', 'a=1', { ...CROSS, site: 'same-site' }], [
      'an address', 'a=1; Domain=127.0.0.1', { ...HTTP, host: '127.0.0.1' }
    ], ['no header at all', undefined, HTTPS]
  ] as const) t.same(droppedCookies(line, context), [], name)
})

t.test('a cookie that browsers reject is reported with the rule and the option', async (t) => {
  for (const [name, line, context, why, option] of [
    [
      'Secure by http', 'a=secret; Secure', HTTP,
      /^The browser drops the cookie "a": it is Secure, and the request came by http; the option secure of the cookie decides\.$/, /secure/
    ],
    ['the session\'s', 'sid=secret; Secure', HTTP, /"sid": it is Secure/, /^session\.cookie\.secure$/],
    ['None without Secure', 'a=secret; samesite=NONE', HTTPS, /SameSite=None without Secure/, /secure/],
    ['__Secure-', '__secure-a=secret', HTTPS, /prefix of its name needs Secure/, /secure/],
    ['__Host- without Secure', '__Host-a=secret; Path=/', HTTPS, /needs Secure/, /secure/],
    ['__Host- without Path', '__Host-a=secret; Secure', HTTPS, /needs Path=\//, /path/],
    ['__Host- with another Path', 'sid=1; Path=/; Path=/b'.replace('sid', '__Host-a') + '; Secure', HTTPS, /needs Path=\//, /path/],
    ['__Host- with Domain', '__Host-a=secret; Secure; Path=/; Domain=app.example', HTTPS, /allows no Domain/, /domain/],
    ['another Domain', 'a=secret; Domain=other.example', HTTPS, /its Domain other\.example is neither the host app\.example/, /domain/],
    ['a Domain below', 'a=secret; Domain=www.app.example', HTTPS, /Domain/, /domain/],
    ['a name that only ends so', 'a=secret; Domain=app.example', { ...HTTPS, host: 'myapp.example' }, /Domain/, /domain/],
    ['a public suffix', 'a=secret; Domain=example', HTTPS, /Domain example/, /domain/],
    ['cross-site', 'a=secret', CROSS, /its SameSite is lax/, /sameSite/],
    ['cross-site, strict', 'sid=secret; SameSite=Strict', CROSS, /its SameSite is strict/, /^session\.cookie\.sameSite$/]
  ] as const) {
    const [refusal, ...more] = droppedCookies(line, context)
    t.match(refusal, { kind: 'cookie', sentence: why, option }, name)
    t.same(more, [], name)
    t.notMatch(JSON.stringify(refusal), 'secret', name)
  }
  t.equal(droppedCookies(['a=1; Secure', 'b=1', 'c=1; Secure'], HTTP).length, 2)
  t.match(droppedCookies(`\u001b[31m${'x'.repeat(200)}=1; Secure`, HTTP)[0]?.sentence, /"␛\[31mx+… \(\d+ more characters\)"/)
})

t.test('the diagnostic page and the profile have the right that was denied', async (t) => {
  const firewalls = [{ name: 'api', authenticators: { bearer: { verify: (token: string) => token === TOKEN ? 'token-only' : null } } }]
  const app = await build(t, { firewalls, providers: { all: users } }, (app) => {
    app.get('/granted', { config: { isGranted: 'ROLE_ADMIN', name: 'granted' } }, async () => 'x')
  })
  const response = await app.inject({ url: '/granted', headers: { accept: 'text/html', ...bearer } })
  const sentence = /ROLE_ADMIN, which config\.isGranted of the route granted requires, was denied .*token-only is logged in with ROLE_API/
  t.match(page(response.body).querySelector('.hint')?.textContent, sentence)
  t.match((await profileOf(app, response)).collectors.blocked, [{ kind: 'access', sentence, option: 'config.isGranted of the route' }])
})

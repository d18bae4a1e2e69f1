import http from 'node:http'
import type { AddressInfo } from 'node:net'
import formbody from '@fastify/formbody'
import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest, InjectOptions } from 'fastify'
import t from 'tap'
import { createMask } from '../../src/mask/mask.js'
import { build, listen, newest, profileOf, rawText as raw } from '../support/app.js'
import { inBothProducts, type TestedProduct } from '../support/products.js'
import { traceOf } from '../../src/recording/trace.js'
import type { ServiceOptions } from '../../../../lib/options.js'

// Drawn afresh: the excerpts of a profile show this very source.
const marker = (): string => `zq${Math.random().toString(36).slice(2, 8)}${Math.random().toString(36).slice(2, 8)}`

const server = http.createServer((_request, response) => response.setHeader('set-cookie', 'sid=x').end('x'))
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
t.teardown(() => server.close())
const upstream = `127.0.0.1:${(server.address() as AddressInfo).port}`

const nested = (value: unknown, depth: number): unknown => depth === 0 ? value : { a: nested(value, depth - 1) }
const form = (...parts: string[]): string => [...parts.flatMap(part => ['--b', part]), '--b--', ''].join('\r\n')
const formHeaders = { 'content-type': 'multipart/form-data; boundary=b' }

/** What a request brings, where `s` is the secret. */
const brought: Array<[name: string, make: (s: string) => InjectOptions]> = [
  ['Authorization: Basic', s => ({ headers: { authorization: `Basic ${Buffer.from(`ada:${s}`).toString('base64')}` } })],
  ['Authorization: Bearer', s => ({ headers: { authorization: `Bearer ${s}` } })],
  ['Authorization of another scheme', s => ({ headers: { authorization: `Digest username="a", response="${s}"` } })],
  ['Proxy-Authorization', s => ({ headers: { 'proxy-authorization': s } })],
  ['Cookie', s => ({ headers: { cookie: `theme=${s}; sid=${s}; ${s}` } })],
  ['X-Api-Key and its like', s => ({ headers: { 'x-api-key': s, 'x-auth-token': s, 'x-csrf-token': s, 'x-amz-security-token': s, 'x-client-secret': s } })],
  ['Referer', s => ({ headers: { referer: `https://user:${s}@a.test/x?access_token=${s}#id_token=${s}` } })],
  ['a header that holds a credential', s => ({ headers: { 'x-forwarded-note': `upstream said Bearer ${s}`, 'x-dsn': `redis://:${s}@host` } })],
  ['query', s => ({ url: `/echo?password=${s}&api_key=${s}&user[secret]=${s}&pass%77ord=${s}&next=%2Freset%3Ftoken%3D${s}` })],
  ['query of a path that is not found', s => ({ url: `/nix?token=${s}` })],
  ['form', s => ({ method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, payload: `user=ada&password=${s}&card[cvv_token]=${s}` })],
  ['JSON', s => ({ method: 'POST', payload: { password: s, list: [{ clientSecret: s }], credentials: { any: { thing: s } } } })],
  ['JSON at depth 20', s => ({ method: 'POST', payload: nested({ password: s, apiKey: s }, 20) as object })],
  ['JSON at depth 9', s => ({ method: 'POST', payload: nested({ password: s, apiKey: s }, 9) as object })],
  ['JSON as text within JSON', s => ({ method: 'POST', payload: { body: JSON.stringify({ password: s, note: JSON.stringify({ token: s }) }) } })],
  ['pairs in JSON', s => ({ method: 'POST', payload: [{ name: 'password', value: s }, ['authorization', s], ['Cookie', s, 'Host', 'a']] })],
  ['text', s => ({ method: 'POST', headers: { 'content-type': 'text/plain' }, payload: `password=${s}\nAuthorization: Bearer ${s}\nuse https://x:${s}@h/` })],
  ['XML', s => ({ method: 'POST', headers: { 'content-type': 'text/xml' }, payload: `<login><password>${s}</password><apiKey a="b">${s}</apiKey></login>` })],
  ['a body that is no JSON', s => ({ method: 'POST', headers: { 'content-type': 'application/json' }, payload: `{"password":"${s}",` })],
  [
    'multipart fields',
    s => ({ method: 'POST', url: '/upload', headers: formHeaders, payload: form(`Content-Disposition: form-data; name="password"\r\n\r\n${s}`) })
  ],
  [
    'multipart contents',
    s => ({ method: 'POST', url: '/upload', headers: formHeaders, payload: form(`Content-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\n${s}`) })
  ],
  ['a file name', s => ({
    method: 'POST', url: '/upload', headers: formHeaders, payload: form(`Content-Disposition: form-data; name="f"; filename="backup?token=${s}"\r\n\r\nx`)
  })],
  ['path parameter', s => ({ url: `/reset/${s}` })],
  ['path parameter, percent-encoded', s => ({ url: `/reset/${[...s].map(char => `%${char.charCodeAt(0).toString(16)}`).join('')}` })],
  ['path parameter that is redirected with', s => ({ url: `/reset/${s}?then=redirect` })],
  ['path parameter of a failure', s => ({ url: `/reset/${s}?then=fail` })],
  ['origin', s => ({ headers: { origin: `https://a:${s}@b.test` } })],
  ['traceparent beside a secret', s => ({ headers: { traceparent: `password=${s}` } })],
  ['request id', s => ({ headers: { 'x-request-id': `token=${s}` } })],
  ['Accept-Language', s => ({ headers: { 'accept-language': `en, password=${s}` } })]
]

/** What a handler does with a secret. */
const done: Array<[name: string, act: (s: string, request: FastifyRequest) => unknown]> = [
  ['logs a field', (s, request) => request.log.info({ password: s, deep: { list: [{ apiKey: s }] } }, 'login')],
  ['logs a message', (s, request) => request.log.info(`login with password=${s} at postgres://app:${s}@db/x, then Bearer ${s}`)],
  [
    'logs an error',
    (s, request) => request.log.error({ err: Object.assign(new Error(`token=${s}`), { config: { headers: { Authorization: s } }, cookies: { a: s } }) }, 'no')
  ],
  [
    'logs headers', (s, request) => request.log.info({ headers: { authorization: s, cookie: `a=${s}` }, rawHeaders: ['Authorization', s, 'Cookie', s] }, 'sent')
  ],
  ['logs a huge line', (s, request) => request.log.info({ password: s.repeat(10_000), blob: `redis://:${s.repeat(10_000)}` }, `password=${s.repeat(4_000)}`)],
  ['throws a connection string', s => { throw new Error(`connect ECONNREFUSED postgres://app:${s}@db:5432/x?password=${s}`) }],
  ['throws with properties', s => { throw Object.assign(new Error('no'), { password: s, response: { headers: { 'set-cookie': s } }, code: `token=${s}` }) }],
  [
    'throws with a cause',
    s => { throw new Error('no', { cause: new AggregateError([new Error(`apiKey: "${s}"`)], `secret=${s}`, { cause: `Authorization: Bearer ${s}` }) }) }
  ],
  ['throws an object', s => { throw { password: s, nested: { token: s } } as unknown }], // eslint-disable-line no-throw-literal
  ['throws a text', s => { throw `redis://:${s}@host` }], // eslint-disable-line no-throw-literal
  ['asks others by fetch', async s =>
    await (await fetch(`http://${upstream}/?access_token=${s}`, { headers: { authorization: `Bearer ${s}`, cookie: `a=${s}`, 'x-api-key': s } })).text()],
  ['asks others by http', async s => await new Promise(
    resolve => http.get(`http://ada:${s}@${upstream}/a?token=${s}`, { headers: { 'x-auth-token': s } }, answer => answer.resume().on('end', resolve))
  )],
  ['asks others who are not there', async s => await fetch(`http://127.0.0.1:65000/?token=${s}`, { headers: { authorization: s } })],
  ['keeps it in the session', (s, request) => { request.session.set('user' as never, { name: 'ada', password: s } as never) }],
  ['sets a cookie', async (s, request) => { request.server.hindsight.recorder?.profileOf(traceOf(request)) }],
  ['warns', async s => { process.emitWarning(`password=${s}`, 'TestWarning'); await new Promise(resolve => setImmediate(resolve)) }],
  ['injects', async (s, request) => await request.server.inject({ url: `/echo?token=${s}`, headers: { authorization: s } })]
]

function routes (app: FastifyInstance): void {
  app.register(formbody)
  app.register(multipart, { attachFieldsToBody: true })
  app.addContentTypeParser('text/xml', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.all('/echo', { config: { pagination: true } }, () => 'x')
  app.post('/upload', () => 'x')
  app.get('/reset/:token', async (request, reply) => {
    const { token } = request.params as { token: string }
    const { then } = request.query as { then?: string }
    reply.header('x-token-was', 'x').header('content-location', `/reset/${token}/done`).header('link', `</reset/${token}>; rel="self"`)
    request.log.info(`resetting ${token}`)
    if (then === 'fail') throw new Error(`cannot reset ${token}`)
    return then === 'redirect' ? reply.redirect(`/reset/${token}/done`) : 'x'
  })
  for (const [i, [, act]] of done.entries()) {
    app.get(`/do/${i}`, async (request, reply) => {
      reply.header('set-cookie', `kept=${secrets[i]}; Path=/`).header('x-upstream', `Bearer ${secrets[i]}`)
      await act(secrets[i] as string, request)
      return 'x'
    })
  }
}

const secrets = done.map(marker)
const options = { mask: ['mine'], debugClients: ['127.0.0.1'] }
const ofService: ServiceOptions = {
  ...options,
  session: { secret: marker() + marker() + marker() + marker() },
  cors: [{ origin: ['https://a.test'] }],
  acceptLanguage: true,
  enabledLocales: ['en', 'fr']
}
const optionsOf = (product: TestedProduct): ServiceOptions => product === 'service' ? ofService : options

inBothProducts('no secret of a request is stored', async (t, build, product) => {
  const app = await build(routes, optionsOf(product))
  for (const [name, make] of brought) {
    const secret = marker()
    const request = { url: '/echo', ...make(secret) }
    const stored = JSON.stringify(await profileOf(app, await app.inject(request)))
    t.notOk(stored.includes(secret), `${name}: ${where(stored, secret)}`)
    t.ok(stored.includes('******') || /depth 20|contents|scheme|no JSON|traceparent|origin|request id/.test(name), `${name} is masked rather than lost`)
    t.notOk(stored.includes(Buffer.from(`ada:${secret}`).toString('base64')), name)
  }
})

inBothProducts('no secret that a handler uses is stored', async (t, build, product) => {
  const app = await build(routes, optionsOf(product))
  for (const [i, [name]] of done.entries()) {
    const secret = secrets[i] as string
    const stored = JSON.stringify(await profileOf(app, await app.inject(`/do/${i}`)))
    t.notOk(stored.includes(secret), `${name}: ${where(stored, secret)}`)
  }
})

t.test('no secret of a message that the parser refused is stored', async (t) => {
  const app = await build(t, ofService, routes)
  const secret = marker()
  await raw(
    await listen(app),
    `POST /echo?token=${secret} HTTP/1.1\r\nHost: localhost\r\nCookie: a=${secret}\r\nX-Api-Key: ${secret}\r\nBad Header: x\r\n\r\npassword=${secret}`
  )
  const stored = JSON.stringify(await newest(app))
  t.notOk(stored.includes(secret), where(stored, secret))
})

t.test('no secret of the options is stored', async (t) => {
  const secret = marker()
  const app = await build(t, {
    ...ofService,
    session: { secret: [secret.repeat(4), secret.repeat(5)] },
    security: {
      firewalls: [{ name: 'main', authenticators: { bearer: { verify: () => null } }, provider: 'p' }],
      providers: { p: { users: [{ identifier: 'ada', password: `$argon2id$v=19$m=1$${secret}` }] } }
    }
  }, routes)
  const profile = await profileOf(app, await app.inject('/echo'))
  const text = JSON.stringify(profile)
  t.notOk(text.includes(secret), where(text, secret))
})

inBothProducts('names that the application configures are masked at every place', async (t, build) => {
  const app = await build(routes, { mask: ['iban'] })
  const secret = marker()
  const stored = JSON.stringify(await profileOf(
    app, await app.inject({ method: 'POST', url: `/echo?iban=${secret}`, headers: { iban: secret }, payload: { a: { IBAN: secret }, text: `iban=${secret}` } })
  ))
  t.notOk(stored.includes(secret), where(stored, secret))
})

inBothProducts('values that are not secret are stored', async (t, build, product) => {
  const app = await build(routes, optionsOf(product))
  const stored = JSON.stringify(
    await profileOf(app, await app.inject({ method: 'POST', url: '/echo?kept=query', headers: { 'x-kept': 'header' }, payload: { kept: 'body' } }))
  )
  for (const kept of ['kept=query', '"x-kept":"header"', '"kept":"body"']) t.ok(stored.includes(kept), kept)
  t.equal(createMask().text('a plain sentence, with a token of thanks'), 'a plain sentence, with a token of thanks')
})

function where (text: string, secret: string): string {
  const at = text.indexOf(secret)
  return at === -1 ? 'nowhere' : text.slice(Math.max(0, at - 80), at + 40)
}

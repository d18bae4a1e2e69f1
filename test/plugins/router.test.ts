import { METHODS } from 'node:http'
import t from 'tap'
import type { FastifyInstance } from 'fastify'
import { build, eventOf, get, headerOf, listen, newest, problem, profileOf, rawText as raw, statusOf } from '../../packages/hindsight/test/support/app.js'

function routes (app: FastifyInstance): void {
  app.get('/ok', () => 'ok')
  app.post('/form', () => 'posted')
  app.get('/form', () => 'form')
  app.delete('/form', () => 'gone')
  app.get('/users/:id', request => request.attributes)
  app.get('/named', { config: { name: 'my_route' } }, request => request.route?.name)
  app.get('/dir/', () => 'dir')
  app.get('/:a/:b/deep', () => 'deep')
}

t.test('the messages of a missing route are those of the observed document', async t => {
  const app = await build(t, { debugHosts: ['example.com'] }, routes)
  for (const [request, messages] of [
    [{ url: '/nix' }, ['No routes found for "/nix/"', 'No route found for "GET http://localhost/nix"']],
    [{ url: '/nix/' }, ['No routes found for "/nix/"', 'No route found for "GET http://localhost/nix/"']],
    [{ url: '/' }, ['No routes found for "/"', 'No route found for "GET http://localhost/"']],
    [{ url: '/nix?a=b&c=/d' }, ['No routes found for "/nix/"', 'No route found for "GET http://localhost/nix"']],
    [{ url: '/n%C3%AFx%20y' }, ['No routes found for "/n%C3%AFx%20y/"', 'No route found for "GET http://localhost/n%C3%AFx%20y"']],
    [{ url: '/nix', method: 'POST' }, ['No routes found for "/nix/"', 'No route found for "POST http://localhost/nix"']],
    [{ url: '/nix', headers: { host: 'EXAMPLE.com:8080' } }, ['No routes found for "/nix/"', 'No route found for "GET http://example.com:8080/nix"']],
    [
      { url: '/nix', headers: { referer: 'http://a.test/?x=1' } },
      ['No routes found for "/nix/"', 'No route found for "GET http://localhost/nix" (from "http://a.test/?x=1")']
    ],
    [{ url: '/nix', headers: { referer: '' } }, ['No routes found for "/nix/"', 'No route found for "GET http://localhost/nix"']],
    [{ url: '/nix', headers: { referer: '   ' } }, ['No routes found for "/nix/"', 'No route found for "GET http://localhost/nix"']],
    [{ url: '/_fragment?_hash=abc' }, ['No routes found for "/_fragment/"', 'No route found for "GET http://localhost/_fragment"']],
    [{ url: '//nix//nax' }, ['No routes found for "//nix//nax/"', 'No route found for "GET http://localhost//nix//nax"']]
  ] as const) {
    const found = await problem(app, request)
    t.same(found, { status: 404, messages, names: ['ResourceNotFoundError', 'NotFoundError'] }, JSON.stringify(request))
  }
})

t.test('the referer in the message is the received value', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  for (const [name, lines, expected] of [
    ['twice', 'Referer: one\r\nReferer: two\r\n', ' (from "one, two")'],
    ['utf-8', 'Referer: http://\u00c3\u00bc/\r\n', ' (from "http://ü/")'],
    ['not utf-8', 'Referer: a\u00ffb\r\n', ' (from "a\ufffdb")'],
    ['empty', 'Referer:\r\n', ''],
    ['other case', 'rEFERER: x\r\n', ' (from "x")'],
    ['markup', 'Referer: "><script>alert(1)</script>\r\n', ' (from ""><script>alert(1)</script>")']
  ] as const) {
    const answer = await raw(port, `GET /nix HTTP/1.1\r\nHost: a.test\r\nAccept: application/json\r\nConnection: close\r\n${lines}\r\n`)
    t.equal(statusOf(answer), 404)
    const profile = await profileOf(app, answer)
    t.equal(profile.exceptions.at(-1)?.message, `No route found for "GET http://a.test/nix"${expected}`, name)
  }
})

t.test('every method that Node.js parses is answered', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  for (const method of METHODS.filter((method) => method !== 'CONNECT')) {
    const answer = await raw(port, `${method} /nix HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)
    const [, body = ''] = answer.split('\r\n\r\n')
    t.equal(statusOf(answer), 404, method)
    const profile = await profileOf(app, answer)
    t.equal(profile.method, method)
    t.equal(profile.exceptions.at(-1)?.message, `No route found for "${method} http://a.test/nix"`, method)
    if (method === 'HEAD') {
      t.equal(body, '')
      t.ok(Number(headerOf(answer, 'content-length')) > 0, 'HEAD has the length of the body of GET')
    } else t.ok(body.includes('No route found for'), method)
    t.match(eventOf(profile, 'kernel.request', 'router'), { outcome: 'raised', pass: 'main' }, method)
  }
})

t.test('a method that the path does not support is a 405', async t => {
  const app = await build(t, {}, routes)
  for (const [method, url, allow] of [
    ['PUT', '/form', 'POST, GET, DELETE'],
    ['PUT', '/form?x=1', 'POST, GET, DELETE'],
    ['OPTIONS', '/form', 'POST, GET, DELETE'],
    ['POST', '/ok', 'GET'],
    ['PROPFIND', '/ok', 'GET'],
    ['POST', '/users/1', 'GET']
  ] as const) {
    const path = url.split('?')[0]
    const response = await app.inject({ method: method as 'PUT', url, headers: { accept: 'application/json' } })
    t.same([response.statusCode, response.headers.allow], [405, allow], `${method} ${url}`)
    const { exceptions } = response.json<{ exceptions: Array<{ name: string, message: string }> }>()
    t.same(exceptions.map(({ name, message }) => [name, message]), [
      ['MethodLookupError', `No routes found for "${method} ${path}/": the path has routes for ${allow}`],
      ['MethodNotAllowedError', `No route found for "${method} http://localhost${path}": Method Not Allowed (Allow: ${allow})`]
    ])
  }
})

t.test('HEAD is answered as GET, without a body', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  const answer = await raw(port, 'HEAD /ok HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  t.same([statusOf(answer), headerOf(answer, 'content-length'), answer.split('\r\n\r\n')[1]], [200, '2', ''])
  const { route } = await profileOf(app, answer)
  t.match(route, { name: 'GET /ok', pattern: '/ok' })
})

t.test('a path with another trailing slash is redirected, never to another host', async t => {
  const app = await build(t, { trustedProxies: ['10.0.0.1'] }, routes)
  for (const [method, url, status, location] of [
    ['GET', '/ok/', 301, 'http://localhost/ok'],
    ['HEAD', '/ok/', 301, 'http://localhost/ok'],
    ['GET', '/ok/?a=b&c=%2F', 301, 'http://localhost/ok?a=b&c=%2F'],
    ['GET', '/dir', 301, 'http://localhost/dir/'],
    ['GET', '/dir?x=/y', 301, 'http://localhost/dir/?x=/y'],
    ['GET', '/users/%C3%BC/', 301, 'http://localhost/users/%C3%BC'],
    ['POST', '/ok/', 404, undefined],
    ['GET', '/ok//', 404, undefined],
    ['GET', '//evil.example/', 404, undefined],
    ['GET', '//evil.example/x/deep/', 404, undefined]
  ] as const) {
    const response = await app.inject({ method, url })
    t.same([response.statusCode, response.headers.location], [status, location], `${method} ${url}`)
    if (status !== 301) continue
    t.match(eventOf(await profileOf(app, response), 'kernel.request', 'router'), { outcome: 'answered' })
    if (method === 'HEAD') t.equal(response.body, '')
  }
  const proxied = await app.inject(
    { url: '/ok/', remoteAddress: '10.0.0.1', headers: { 'x-forwarded-host': 'outer.test', 'x-forwarded-proto': 'https', 'x-forwarded-prefix': '/app' } }
  )
  t.equal(proxied.headers.location, 'https://outer.test/app/ok')
})

t.test('an HTTPS-only route redirects GET and HEAD in one step; other methods are a 404', async t => {
  const app = await build(t, { trustedProxies: ['10.0.0.1'], debugClients: ['10.0.0.1'] }, app => {
    app.all('/safe', { config: { httpsOnly: true } }, ({ method }) => method)
    app.get('/dir/', { config: { httpsOnly: true } }, () => 'dir')
    app.get('/open', () => 'open')
  })
  const https = { host: 'outer.test:8080', 'x-forwarded-proto': 'https', 'x-forwarded-port': '8443', 'x-forwarded-prefix': '/app' }
  for (const [method, url, status, location, headers] of [
    ['GET', '/safe', 301, 'https://localhost/safe'],
    ['GET', '/safe?a=b&c=%2F', 301, 'https://localhost/safe?a=b&c=%2F'],
    ['HEAD', '/safe', 301, 'https://localhost/safe'],
    ['GET', '/safe/?a=b', 301, 'https://localhost/safe?a=b'],
    ['GET', '/dir', 301, 'https://localhost/dir/'],
    ['GET', '/safe/', 301, 'https://a.test/safe', { host: 'A.test:8100' }],
    ['GET', '/safe', 200, undefined, https],
    ['GET', '/safe/', 301, 'https://outer.test:8443/app/safe', https],
    ['GET', '/open/', 301, 'http://localhost/open'],
    ['POST', '/safe', 404, undefined],
    ['DELETE', '/safe', 404, undefined],
    ['POST', '/safe/', 404, undefined],
    ['POST', '/safe', 200, undefined, https]
  ] as const) {
    const response = await app.inject({ method, url, remoteAddress: headers === https ? '10.0.0.1' : '127.0.0.1', ...(headers !== undefined && { headers }) })
    t.same([response.statusCode, response.headers.location], [status, location], `${method} ${url}`)
    if (status === 301) t.match(eventOf(await profileOf(app, response), 'kernel.request', 'router'), { outcome: 'answered' })
  }
  t.same(await problem(app, { method: 'POST', url: '/safe' }), {
    status: 404,
    messages: ['No routes found for "/safe/": the path has routes for HTTPS only', 'No route found for "POST http://localhost/safe"'],
    names: ['ResourceNotFoundError', 'NotFoundError']
  })
})

t.test('a wildcard route never redirects to another host', async t => {
  const app = await build(t, {}, app => {
    app.get('/:a/:b', () => 'x')
    app.get('/:a/:b/:c', () => 'x')
  })
  const port = await listen(app)
  for (const target of [
    '//evil.example/', '//evil.example/x/', '/\\evil.example/x/', '/%2F%2Fevil.example/x/', '///evil.example/', '/..//evil.example/', 'http://evil.example/a/b/'
  ]) {
    const answer = await get(port, target)
    const location = headerOf(answer, 'location')
    if (location !== undefined) t.equal(new URL(location, `http://127.0.0.1:${port}/`).host, `127.0.0.1:${port}`, target)
    else t.ok([200, 404, 400].includes(statusOf(answer)), target)
  }
})

t.test('the absolute URL uses headers of trusted proxies only', async t => {
  const app = await build(t, { trustedProxies: ['10.0.0.1'], debugClients: ['10.0.0.0/8'] }, routes)
  const headers = {
    'x-forwarded-host': 'outer.test', 'x-forwarded-proto': 'https', 'x-forwarded-prefix': '/app', 'x-original-url': '/other', 'x-rewrite-url': '/other'
  }
  for (const [remoteAddress, expected] of [
    ['10.0.0.1', 'No route found for "GET https://outer.test/app/nix"'],
    ['10.0.0.2', 'No route found for "GET http://localhost/nix"']
  ] as const) t.equal((await problem(app, { url: '/nix', remoteAddress, headers })).messages.at(-1), expected)
})

t.test('the matched route is published and logged', async t => {
  const app = await build(t, {}, routes)
  for (const [url, name, pattern, params] of [
    ['/ok', 'GET /ok', '/ok', {}],
    ['/named', 'my_route', '/named', {}],
    ['/users/7?x=1', 'GET /users/:id', '/users/:id', { id: '7' }]
  ] as const) {
    const response = await app.inject(url)
    const profile = await profileOf(app, response)
    t.match(profile.route, { name, pattern, params }, url)
    t.ok(profile.logs.some(({ message, channel, level }) => message === `Matched route "${name}".` && channel === 'router' && level === 'debug'), url)
  }
  t.same((await app.inject('/users/7')).json(), { _route: 'GET /users/:id', id: '7' })
  t.equal((await app.inject('/named')).body, 'my_route')
})

t.test('the log line of the match is between the notifications of the router and of the next listener', async t => {
  const app = await build(t, {}, routes)
  await app.inject('/ok')
  const { logs } = await profileOf(app, await app.inject('/ok'))
  const messages = logs.map(({ message }) => message)
  const at = messages.indexOf('Notified event "kernel.request" to listener "router".')
  t.equal(messages[at + 1], 'Matched route "GET /ok".')
  const offsets = logs.map(({ offset = -1 }) => offset)
  t.same(offsets, offsets.toSorted((a, b) => a - b))
  t.ok(offsets.every((offset) => offset >= 0 && Number.isInteger(Math.round(offset * 1e6) / 1e3)), 'microseconds')
})

t.test('the attributes of concurrent requests are separate', async t => {
  const app = await build(t, {}, app => app.get('/users/:id', async request => {
    request.attributes.seen = (request.attributes.seen as number | undefined ?? 0) + 1
    await new Promise(resolve => setTimeout(resolve, 5))
    return request.attributes
  }))
  const answers = await Promise.all(['1', '2', '3'].map(async id => (await app.inject(`/users/${id}`)).json<object>()))
  t.same(answers, ['1', '2', '3'].map(id => ({ _route: 'GET /users/:id', id, seen: 1 })))
})

t.test('the route is removed when the request is finished', async t => {
  let held: unknown = 'nothing yet'
  const app = await build(t, {}, app => {
    app.addHook('onResponse', async request => { held = request.route })
    app.get('/ok', () => 'ok')
  })
  const response = await app.inject('/ok')
  await profileOf(app, response)
  t.equal(held, null)
  t.match((await newest(app)).route, { name: 'GET /ok' }, 'the profile has the route')
})

t.test('routes with one path and different constraints are distinguished', async t => {
  const app = await build(t, {}, app => {
    app.route({ method: ['GET', 'POST'], url: '/con', constraints: { host: 'a.test' }, handler: request => request.route?.name })
    app.get('/con', { constraints: { host: 'b.test' } }, request => request.route?.name)
    app.get('/con', { constraints: { host: 'c.test' }, config: { name: 'third' } }, request => request.route?.name)
  })
  for (const [method, host, name] of [
    ['GET', 'a.test', 'GET|POST /con'], ['POST', 'a.test', 'GET|POST /con'], ['GET', 'b.test', 'GET /con'], ['GET', 'c.test', 'third']
  ] as const) t.equal((await app.inject({ method, url: '/con', headers: { host } })).body, name, `${method} ${host}`)
})

t.test('routes match by host and version', async t => {
  const app = await build(t, {}, app => {
    app.get('/h', { constraints: { host: 'a.test' } }, () => 'a')
    app.post('/h', { constraints: { host: 'b.test' } }, () => 'b')
    app.get('/v', { constraints: { version: '1.2.0' } }, () => 'v1')
  })
  for (const [method, url, headers, status, allow] of [
    ['GET', '/h', { host: 'a.test' }, 200, undefined],
    ['POST', '/h', { host: 'a.test' }, 405, 'GET'],
    ['GET', '/h', { host: 'b.test' }, 405, 'POST'],
    ['GET', '/h', { host: 'c.test' }, 404, undefined],
    ['GET', '/h/', { host: 'a.test' }, 301, undefined],
    ['GET', '/h/', { host: 'c.test' }, 404, undefined],
    ['GET', '/v', { 'accept-version': '1.x' }, 200, undefined],
    ['GET', '/v', { 'accept-version': '2.x' }, 404, undefined]
  ] as const) {
    const response = await app.inject({ method, url, headers })
    t.same([response.statusCode, response.headers.allow], [status, allow], `${method} ${url} ${JSON.stringify(headers)}`)
  }
})

t.test('reply.callNotFound() is a 404 that names its caller', async t => {
  const app = await build(t, {}, app => {
    app.get('/maybe', (_request, reply) => reply.callNotFound())
    app.get('/guarded', { preHandler: async (_request, reply) => { reply.callNotFound() } }, async () => 'x')
  })
  t.same((await problem(app, '/guarded')).messages, ['GET /guarded declined: a hook or its handler called reply.callNotFound()'])
  t.same(await problem(app, '/maybe'), {
    status: 404,
    messages: ['GET /maybe declined: its handler called reply.callNotFound()'],
    names: ['NotFoundError']
  })
})

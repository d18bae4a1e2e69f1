import type { FastifyInstance, InjectOptions } from 'fastify'
import t from 'tap'
import { readServerOptions } from '../../app/environment.js'
import type { ServiceOptions } from '../../lib/options.js'
import { validatedMessages } from '../../lib/malformed.js'
import { serverOptions } from '../../lib/server-options.js'
import { build, eventOf, get, headerOf, listen, newest, profileOf, rawText as raw, refusal, statusOf } from '../../packages/hindsight/test/support/app.js'

/** The errors of a request, from its profile: an invalid host and an unknown client have no access to the details. */
async function problem (app: FastifyInstance, request: InjectOptions): Promise<{ status: number, messages: string[], names: string[] }> {
  const { statusCode } = await app.inject(request)
  const { exceptions } = await newest(app)
  return { status: statusCode, messages: exceptions.map(({ message }) => message), names: exceptions.map(({ name }) => name) }
}

const invalid = (host: string): [number, string] => [400, `Invalid Host "${host}".`]

t.test('a message quotes the beginning of a long header', async t => {
  const app = await build(t, {})
  const { status, messages } = await problem(app, { url: '/', headers: { host: '<'.repeat(60_000) } })
  t.same([status, messages.at(-1)], [400, `Invalid Host "${'<'.repeat(1_986)}…`])
})

t.test('the host is validated and normalized', async t => {
  const app = await build(t, {}, app => app.get('/', request => app.hindsight.originOf(request).authority))
  for (const [host, expected] of [
    ['example.com', 'example.com'],
    ['EXAMPLE.Com', 'example.com'],
    ['example.com:80', 'example.com'],
    ['example.com:443', 'example.com:443'],
    ['example.com:8080', 'example.com:8080'],
    ['example.com.', 'example.com.'],
    ['127.0.0.1:3000', '127.0.0.1:3000'],
    ['[::1]', '[::1]'],
    ['[::1]:3000', '[::1]:3000'],
    ['[2001:DB8::1]', '[2001:db8::1]'],
    ['[::ffff:127.0.0.1]', '[::ffff:127.0.0.1]'],
    ['my_service', 'my_service'],
    ['xn--mnchen-3ya.de', 'xn--mnchen-3ya.de'],
    [' example.com ', 'example.com'],
    ['', null], // falls back on the address
    ['user@example.com', invalid('user@example.com')],
    ['user:pass@example.com', invalid('user:pass@example.com')],
    ['exa mple.com', invalid('exa mple.com')],
    ['example.com/path', invalid('example.com/path')],
    ['example.com?x', invalid('example.com?x')],
    ['example.com#x', invalid('example.com#x')],
    ['example.com:80:80', invalid('example.com:80')],
    ['example.com:port', invalid('example.com:port')],
    ['example..com', invalid('example..com')],
    ['.example.com', invalid('.example.com')],
    ['::1', invalid('::1')],
    ['2001:DB8::1', invalid('2001:db8::1')],
    ['[::1', invalid('[::1')],
    ['[2001:db8::1:80', invalid('[2001:db8::1:80')],
    ['[::1]x', invalid('[::1]x')],
    ['<script>', invalid('<script>')],
    ['a"b', invalid('a"b')],
    ['a,b', invalid('a,b')],
    ['%41.com', invalid('%41.com')],
    ['m\u00c3\u00bcnchen.de', invalid('münchen.de')]
  ] as const) {
    const request = { url: '/', headers: { host } }
    if (typeof expected === 'string') {
      const response = await app.inject(request)
      t.same([response.statusCode, response.body], [200, expected], host)
    } else if (expected !== null) {
      const { status, messages, names } = await problem(app, request)
      t.same([status, messages.at(-1)], expected, host)
      t.same(messages, [expected[1], expected[1]], host)
      t.same(names, ['SuspiciousOperationError', 'BadRequestError'])
    }
  }
})

t.test('an invalid host never becomes part of a URL', async t => {
  const app = await build(t, { debugHosts: ['*'] })
  const response = await app.inject({ url: '/some/where', headers: { host: '<b>evil' } })
  t.equal(response.statusCode, 400)
  t.equal(response.headers['x-debug-token-link'], `/_profiler/${String(response.headers['x-debug-token'])}`)
  t.notOk(response.body.includes('<b>evil'))
})

t.test('HTTP/1.1 needs a host, HTTP/1.0 does not', async t => {
  const app = await build(t, {}, app => app.get('/', request => app.hindsight.originOf(request).authority))
  const port = await listen(app)
  const missing = await raw(port, 'GET / HTTP/1.1\r\nAccept: text/plain\r\nConnection: close\r\n\r\n')
  t.equal(statusOf(missing), 400)
  const old = await raw(port, 'GET / HTTP/1.0\r\n\r\n')
  t.equal(statusOf(old), 200)
  t.ok(old.endsWith(`\r\n\r\n127.0.0.1:${port}`), 'and is about the address that it arrived at')
})

t.test('trusted hosts are matched by name, port and pattern', async t => {
  for (const [trustedHosts, host, expected] of [
    [['example.com'], 'example.com', 200],
    [['example.com'], 'EXAMPLE.COM:8080', 200],
    [['example.com'], 'example.com.', 400],
    [['example.com'], 'evil.com', 400],
    [['example.com'], 'example.com.evil.com', 400],
    [['example.com'], 'exampleXcom', 400],
    [['example.com'], 'a.example.com', 400],
    [['*.example.com'], 'a.example.com', 200],
    [['*.example.com'], 'a.b.example.com', 200],
    [['*.example.com'], 'example.com', 400],
    [['*.example.com'], 'evilexample.com', 400],
    [['*.example.com', 'example.com'], 'example.com', 200],
    [[/^api\d\.example\.com$/], 'api1.example.com', 200],
    [[/^api\d\.example\.com$/], 'apix.example.com', 400],
    [['[::1]'], '[::1]:3000', 200],
    [[], 'anything.at.all', 200]
  ] as const) {
    const app = await build(t, { trustedHosts: [...trustedHosts] }, app => app.get('/', () => 'x'))
    const { status, messages } = expected === 200
      ? { status: (await app.inject({ url: '/', headers: { host } })).statusCode, messages: [] }
      : await problem(app, { url: '/', headers: { host } })
    t.equal(status, expected, `${trustedHosts.join()} ${host}`)
    if (expected === 400) t.equal(messages.at(-1), `Untrusted Host "${host.toLowerCase()}".`)
  }
})

const via = (remoteAddress: string, headers: Record<string, string>) => ({ url: '/', remoteAddress, headers: { host: 'inner.test', ...headers } })

t.test('forwarding headers apply only if a trusted proxy sent them', async t => {
  for (const [name, options, request, expected] of [
    [
      'no proxy is trusted', {},
      via('10.0.0.1', { 'x-forwarded-host': 'outer.test', 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.9', 'x-forwarded-prefix': '/app' }),
      'http://inner.test 10.0.0.1'
    ],
    ['another one is', { trustedProxies: ['10.0.0.2'] }, via('10.0.0.1', { 'x-forwarded-host': 'outer.test' }), 'http://inner.test 10.0.0.1'],
    ['host', { trustedProxies: ['10.0.0.1'] }, via('10.0.0.1', { 'x-forwarded-host': 'outer.test' }), 'http://outer.test 10.0.0.1'],
    [
      'first of several hosts', { trustedProxies: ['10.0.0.1'] }, via('10.0.0.1', { 'x-forwarded-host': 'outer.test, middle.test' }),
      'http://outer.test 10.0.0.1'
    ],
    ['scheme', { trustedProxies: ['10.0.0.0/8'] }, via('10.0.0.1', { 'x-forwarded-proto': 'https' }), 'https://inner.test 10.0.0.1'],
    ['scheme, on', { trustedProxies: ['10.0.0.0/8'] }, via('10.0.0.1', { 'x-forwarded-proto': 'on' }), 'https://inner.test 10.0.0.1'],
    ['scheme, odd', { trustedProxies: ['10.0.0.0/8'] }, via('10.0.0.1', { 'x-forwarded-proto': 'javascript' }), 'http://inner.test 10.0.0.1'],
    [
      'port', { trustedProxies: ['10.0.0.0/8'] }, via('10.0.0.1', { 'x-forwarded-port': '8443', 'x-forwarded-proto': 'https' }),
      'https://inner.test:8443 10.0.0.1'
    ],
    [
      'port of the scheme', { trustedProxies: ['10.0.0.0/8'] }, via('10.0.0.1', { 'x-forwarded-port': '443', 'x-forwarded-proto': 'https' }),
      'https://inner.test 10.0.0.1'
    ],
    ['prefix', { trustedProxies: ['10.0.0.0/8'] }, via('10.0.0.1', { 'x-forwarded-prefix': '/app/' }), 'http://inner.test/app 10.0.0.1'],
    ['prefix that is none', { trustedProxies: ['10.0.0.0/8'] }, via('10.0.0.1', { 'x-forwarded-prefix': '//evil.test' }), 'http://inner.test 10.0.0.1'],
    ['client', { trustedProxies: ['10.0.0.0/8'] }, via('10.0.0.1', { 'x-forwarded-for': '203.0.113.9' }), 'http://inner.test 203.0.113.9'],
    [
      'the last hop that is not trusted', { trustedProxies: ['10.0.0.0/8'] }, via('10.0.0.1', { 'x-forwarded-for': '6.6.6.6, 203.0.113.9, 10.0.0.7' }),
      'http://inner.test 203.0.113.9'
    ],
    [
      'a client that is no address', { trustedProxies: ['10.0.0.0/8'] }, via('10.0.0.1', { 'x-forwarded-for': 'unknown' }), 'http://inner.test unknown'
    ], // RFC 7239, section 6.2
    [
      'RFC 7239', { trustedProxies: ['10.0.0.0/8'] }, via('10.0.0.1', { forwarded: 'for="[2001:db8::17]:4711";proto=https;host=outer.test' }),
      'https://outer.test 2001:db8::17'
    ],
    [
      'both that agree', { trustedProxies: ['10.0.0.0/8'] },
      via('10.0.0.1', { forwarded: 'for=203.0.113.9;host=outer.test', 'x-forwarded-host': 'outer.test' }), 'http://outer.test 203.0.113.9'
    ],
    ['loopback by name', { trustedProxies: ['loopback'] }, via('127.0.0.1', { 'x-forwarded-host': 'outer.test' }), 'http://outer.test 127.0.0.1'],
    [
      'an IPv4-mapped proxy', { trustedProxies: ['127.0.0.1'] }, via('::ffff:127.0.0.1', { 'x-forwarded-host': 'outer.test' }),
      'http://outer.test ::ffff:127.0.0.1'
    ]
  ] as Array<[string, ServiceOptions, ReturnType<typeof via>, string]>) {
    const app = await build(t, options, app => app.get('/', request => {
      const { scheme, authority, prefix, ip } = app.hindsight.originOf(request)
      return `${scheme}://${authority}${prefix} ${ip}`
    }))
    t.equal((await app.inject(request)).body, expected, name)
  }
})

t.test('a forwarded host is validated like any other', async t => {
  const app = await build(t, { trustedProxies: ['10.0.0.1'], trustedHosts: ['outer.test'] }, app => app.get('/', () => 'x'))
  t.same((await problem(app, via('10.0.0.1', { 'x-forwarded-host': 'a b' }))).messages.at(-1), 'Invalid Host "a b".')
  t.same((await problem(app, via('10.0.0.1', { 'x-forwarded-host': 'evil.test' }))).messages.at(-1), 'Untrusted Host "evil.test".')
  t.equal((await app.inject(via('10.0.0.1', { 'x-forwarded-host': 'outer.test' }))).statusCode, 200)
})

t.test('conflicting forwarding headers are refused', async t => {
  const conflict = (name: string) =>
    `The request has both a trusted "FORWARDED" header and a trusted "X_FORWARDED_${name}" header, conflicting with each other. You should either configure ` +
      'your proxy to remove one of them, or configure your project to distrust the offending one.'
  const app = await build(t, { trustedProxies: ['10.0.0.1'] }, app => app.get('/', () => 'x'))
  for (const [headers, name] of [
    [{ forwarded: 'for=1.1.1.1', 'x-forwarded-for': '2.2.2.2' }, 'FOR'],
    [{ forwarded: 'host=a.test', 'x-forwarded-host': 'b.test' }, 'HOST'],
    [{ forwarded: 'proto=http', 'x-forwarded-proto': 'https' }, 'PROTO']
  ] as const) {
    const { status, messages } = await problem(app, via('10.0.0.1', headers))
    t.same([status, messages.at(-1)], [400, conflict(name)])
    t.equal((await app.inject(via('10.0.0.2', headers))).statusCode, 200, 'other clients are not affected')
  }
})

t.test('an invalid forwarding header of a trusted proxy is refused', async t => {
  const app = await build(t, { trustedProxies: ['10.0.0.1'] }, app => app.get('/', request => app.hindsight.originOf(request).ip))
  for (const [headers, message] of [
    [{ forwarded: '", for=8.8.8.8' }, 'Invalid Forwarded header "", for=8.8.8.8" (RFC 7239, section 4): Unexpected character \'"\' at index 0.'],
    [{ forwarded: 'for=8.8.8.8;' }, 'Invalid Forwarded header "for=8.8.8.8;" (RFC 7239, section 4): Unexpected end of input.'],
    [
      { 'x-forwarded-for': '[2001:db8::1' },
      'Invalid client "[2001:db8::1" in the forwarding header of a trusted proxy: it is neither an address nor "unknown" (RFC 7239, section 6).'
    ],
    [{ 'x-forwarded-for': '' }, 'Invalid client "" in the forwarding header of a trusted proxy: it is neither an address nor "unknown" (RFC 7239, section 6).'],
    [
      { 'x-forwarded-for': '8.8.8.8, ' },
      'Invalid client "" in the forwarding header of a trusted proxy: it is neither an address nor "unknown" (RFC 7239, section 6).'
    ],
    [
      { forwarded: 'for=some.host' },
      'Invalid client "some.host" in the forwarding header of a trusted proxy: it is neither an address nor "unknown" (RFC 7239, section 6).'
    ]
  ] as const) {
    const { status, messages } = await problem(app, via('10.0.0.1', headers))
    t.same([status, messages.at(-1)], [400, message])
    const elsewhere = await app.inject(via('10.0.0.2', headers))
    t.same([elsewhere.statusCode, elsewhere.body], [200, '10.0.0.2'], 'other clients are not affected')
  }
  for (const [headers, ip] of [
    [{ 'x-forwarded-for': 'garbage of the client, 203.0.113.9' }, '203.0.113.9'],
    [{ 'x-forwarded-for': '203.0.113.9:4711' }, '203.0.113.9'],
    [{ 'x-forwarded-for': '[2001:db8::17]:4711' }, '2001:db8::17'],
    [{ 'x-forwarded-for': '2001:db8::17' }, '2001:db8::17'],
    [{ forwarded: 'for=_hidden' }, '_hidden'],
    [{ forwarded: 'for="unknown:_port"' }, 'unknown'],
    [{ forwarded: 'for=6.6.6.6, proto=https' }, 'unknown'],
    [{ forwarded: 'proto=https' }, '10.0.0.1'],
    [{ forwarded: 'for="203.0.113.9:1"', 'x-forwarded-for': '203.0.113.9' }, '203.0.113.9']
  ] as const) {
    const response = await app.inject(via('10.0.0.1', headers))
    t.same([response.statusCode, response.body], [200, ip], JSON.stringify(headers))
  }
})

t.test('a conflict does not hide an invalid host', async t => {
  const app = await build(t, { trustedProxies: ['10.0.0.1'] })
  const response = await app.inject(via('10.0.0.1', { host: '<b>evil', forwarded: 'for=1.1.1.1', 'x-forwarded-for': '2.2.2.2' }))
  t.equal(response.statusCode, 400)
  t.equal((await newest(app)).url, '/')
})

t.test('an invalid forwarded port is refused', async t => {
  const app = await build(
    t, { trustedProxies: ['10.0.0.1'], debugClients: ['10.0.0.1'] }, app => app.get('/ok', request => app.hindsight.originOf(request).authority)
  )
  for (const [headers, port] of [
    [{ 'x-forwarded-host': 'x.test', 'x-forwarded-port': 'abc' }, 'abc'],
    [{ 'x-forwarded-port': '99999999999' }, '99999999999'],
    [{ 'x-forwarded-port': '65536' }, '65536'],
    [{ 'x-forwarded-port': '-1' }, '-1'],
    [{ 'x-forwarded-port': '1e3' }, '1e3'],
    [{ 'x-forwarded-port': '' }, ''],
    [{ 'x-forwarded-host': 'x.test:99999' }, '99999'],
    [{ host: '127.0.0.1:99999' }, '99999'],
    [{ host: 'x.test:99999999999' }, '99999999999']
  ] as const) {
    for (const url of ['/ok', '/ok/']) {
      const request = { ...via('10.0.0.1', headers as Record<string, string>), url }
      const { status, messages } = await problem(app, request)
      t.same([status, messages.at(-1)], [400, `Invalid port "${port}": a port is a number from 0 to 65535.`], JSON.stringify(headers))
      const { headers: { location, 'x-debug-token-link': link } } = await app.inject(request)
      t.equal(location, undefined)
      t.match(link, /^\/_profiler\//, 'no URL contains it')
    }
  }
  for (const [headers, authority] of [
    [{ host: 'x.test:65535' }, 'x.test:65535'],
    [{ host: 'x.test:0' }, 'x.test'],
    [{ 'x-forwarded-port': '8443, 80' }, 'inner.test:8443'],
    [{ 'x-forwarded-port': 'x.test:8443' }, 'inner.test:8443']
  ] as const) t.equal((await app.inject({ ...via('10.0.0.1', headers as Record<string, string>), url: '/ok' })).body, authority)
})

t.test('an invalid trusted proxy stops the start', async t => {
  t.equal(
    await refusal({ trustedProxies: ['nonsense'] }),
    'trustedProxies (TRUSTED_PROXIES): invalid IP address: nonsense; use addresses, CIDR ranges, loopback, linklocal or uniquelocal'
  )
})

function anyMethod (app: FastifyInstance): void {
  app.route({ method: ['GET', 'POST', 'PUT', 'DELETE'], url: '/', handler: request => request.method })
}

t.test('a method override replaces the method of a POST', async t => {
  const app = await build(t, {}, anyMethod, validatedMessages(true))
  for (const [method, url, override, expected] of [
    ['POST', '/', 'PUT', 'PUT'],
    ['POST', '/', 'delete', 'DELETE'],
    ['POST', '/?_method=PUT', undefined, 'PUT'],
    ['POST', '/?_method=PUT', 'DELETE', 'DELETE'],
    ['POST', '/', '', 'POST'],
    ['GET', '/', 'PUT', 'GET'],
    ['GET', '/?_method=DELETE', undefined, 'GET']
  ] as const) {
    const response = await app.inject({ method, url, headers: override === undefined ? {} : { 'x-http-method-override': override } })
    t.same([response.statusCode, response.body], [200, expected], `${method} ${url} ${override}`)
  }
  for (const [url, status, allow] of [['/', 405, 'GET, POST, PUT, DELETE'], ['/nowhere', 404, undefined]] as const) {
    for (const [target, headers] of [[url, { 'x-http-method-override': 'FooBar' }], [`${url}?_method=FOOBAR`, {}]] as const) {
      const response = await app.inject({ method: 'POST', url: target, headers: { accept: 'text/plain', ...headers } })
      t.same([response.statusCode, response.headers.allow], [status, allow], `an unknown method is like any other that no route has: ${target}`)
      const profile = await newest(app)
      t.same([profile.method, profile.url], ['FOOBAR', `http://localhost${target}`])
      t.match(profile.exceptions.at(-1)?.message, `No route found for "FOOBAR http://localhost${url}"`)
      t.match(eventOf(profile, 'kernel.request', 'router'), { outcome: 'raised' })
    }
  }
  for (const override of ['__construct', 'PUT POST', '../x', 'PUT\t', '1', 'X'.repeat(33), 'CONNECT', 'head']) {
    const { status, messages } = await problem(app, { method: 'POST', url: '/', headers: { 'x-http-method-override': override } })
    t.same([status, messages.at(-1)], [400, 'Invalid HTTP method override.'], override)
  }
})

t.test('the method override is off by default', async t => {
  const app = await build(t, {}, anyMethod)
  for (const headers of [{}, { 'x-http-method-override': 'DELETE' }, { 'x-http-method-override': 'HEAD' }, { 'x-http-method-override': '<script>' }]) {
    const { statusCode, body } = await app.inject({ method: 'POST', url: '/?_method=DELETE', headers })
    t.same([statusCode, body], [200, 'POST'], JSON.stringify(headers))
  }
  t.throws(() => serverOptions({ methodOverride: 'yes' } as never), { message: 'Option "methodOverride" must be a boolean, not a string' })
  t.equal(readServerOptions({ METHOD_OVERRIDE: 'on' }).methodOverride, true)
  for (const source of [{}, { METHOD_OVERRIDE: '' }, { METHOD_OVERRIDE: 'off' }]) t.equal(readServerOptions(source).methodOverride, false)
  t.throws(() => readServerOptions({ METHOD_OVERRIDE: 'maybe' }), { message: 'Environment: METHOD_OVERRIDE must be on or off, not "maybe"' })
})

t.test('a method override is refused for cross-site requests', async t => {
  const own = 'http://shop.test:3000'
  const message = 'Cross-site method override: send it from a page of the same origin, or send the method itself; behind a proxy, set trustedProxies ' +
    '(TRUSTED_PROXIES).'
  const app = await build(
    t, { trustedProxies: ['10.0.0.1'], debugClients: ['10.0.0.1'], debugHosts: ['*'] }, anyMethod, validatedMessages(true)
  )
  const proxied = { 'x-forwarded-host': 'shop.example', 'x-forwarded-proto': 'https' }
  for (const [headers, refused, remoteAddress] of [
    [{}, false],
    [{ origin: own }, false],
    [{ origin: own, 'sec-fetch-site': 'same-origin' }, false],
    [{ 'sec-fetch-site': 'none' }, false],
    [{ ...proxied, origin: 'https://shop.example' }, false, '10.0.0.1'],
    [{ 'sec-fetch-site': 'cross-site' }, true],
    [{ 'sec-fetch-site': 'same-site' }, true],
    [{ 'sec-fetch-site': 'Same-Origin' }, true],
    [{ 'sec-fetch-site': '' }, true],
    [{ 'sec-fetch-site': 'same-origin, cross-site' }, true],
    [{ origin: own, 'sec-fetch-site': 'cross-site' }, true],
    [{ origin: 'https://evil.example' }, true],
    [{ origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' }, true],
    [{ origin: 'null' }, true],
    [{ origin: '' }, true],
    [{ origin: 'https://shop.test:3000' }, true],
    [{ origin: 'http://shop.test' }, true],
    [{ origin: 'http://a.shop.test:3000' }, true],
    [{ origin: `${own}.evil.example` }, true],
    [{ origin: `${own}, ${own}` }, true],
    [{ ...proxied, origin: 'https://shop.example' }, true, '10.0.0.2'],
    [{ ...proxied, origin: own }, true, '10.0.0.1']
  ] as Array<[Record<string, string>, boolean, string?]>) {
    for (const [url, override] of [['/?_method=DELETE', {}], ['/', { 'x-http-method-override': 'DELETE' }]] as const) {
      const request = {
        method: 'POST',
        url,
        headers: {
          host: 'shop.test:3000', accept: 'application/json', ...headers, ...override
        },
        remoteAddress: remoteAddress ?? '127.0.0.1'
      } as const
      const response = await app.inject(request)
      const name = `${url} ${JSON.stringify(headers)}`
      if (!refused) t.same([response.statusCode, response.body], [200, 'DELETE'], name)
      else t.same([response.statusCode, (await newest(app)).exceptions.at(-1)?.message], [400, message], name)
    }
  }
  const plain = await app.inject({ method: 'POST', url: '/', headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' } })
  t.same([plain.statusCode, plain.body], [200, 'POST'], 'a POST without an override is as it was')
  const left = await build(t, { leave: ['request-validation'] }, anyMethod, validatedMessages(true))
  const { statusCode } = await left.inject({ method: 'POST', url: '/?_method=DELETE', headers: { origin: 'null' } })
  t.equal(statusCode, 404, 'without the listener that refuses it, it is not routed')
})

t.test('a URL that cannot be decoded is refused', async t => {
  const app = await build(t, {}, app => app.get('/a/:b', request => (request.params as { b: string }).b))
  const port = await listen(app)
  for (const [target, expected] of [
    ['/%', 'Invalid URL "/%": its percent-encoding cannot be decoded as UTF-8.'],
    ['/a/%zz', 'Invalid URL "/a/%zz": its percent-encoding cannot be decoded as UTF-8.'],
    ['/a/%ff?x=1', 'Invalid URL "/a/%ff?x=1": its percent-encoding cannot be decoded as UTF-8.'],
    ['/a/%c3%28', 'Invalid URL "/a/%c3%28": its percent-encoding cannot be decoded as UTF-8.']
  ] as const) {
    const answer = await raw(port, `GET ${target} HTTP/1.1\r\nHost: a\r\nAccept: text/plain\r\nConnection: close\r\n\r\n`)
    t.equal(statusOf(answer), 400, target)
    t.match(answer, expected, target)
    const profile = await profileOf(app, answer)
    t.match(eventOf(profile, 'kernel.request', 'request-validation'), { outcome: 'raised' })
    t.ok(profile.url.startsWith('http://a/'), profile.url)
  }
  t.match(await get(port, '/a/b?x=%zz'), /^HTTP\/1\.1 200/, 'the query is not validated')
  t.equal((await app.inject('/a/%C3%BC')).body, 'ü')
  // Node.js refuses these octets at its parser, or hands them to request validation.
  t.equal(statusOf(await get(port, '/a/ü')), 400)
})

t.test('a path parameter that is too long is refused', async t => {
  const app = await build(t, {}, app => app.get('/a/:b', () => 'x'))
  const response = await app.inject({ url: `/a/${'x'.repeat(101)}`, headers: { accept: 'text/plain' } })
  t.equal(response.statusCode, 414)
  const profile = await profileOf(app, response)
  t.match(eventOf(profile, 'kernel.request', 'request-validation'), { outcome: 'raised' })
  t.equal(profile.exceptions.at(-1)?.code, 'FST_ERR_MAX_PARAM_LENGTH')
  t.ok(profile.url.endsWith('x'.repeat(101)), 'the profile shows the target that was sent')
  t.equal((await app.inject(`/a/${'x'.repeat(100)}`)).statusCode, 200)
})

t.test('an HTTP version that the connection does not support is refused', async t => {
  const app = await build(t, {}, app => app.get('/', () => 'x'))
  const port = await listen(app)
  const answer = await raw(port, 'GET / HTTP/2.0\r\nHost: a\r\nAccept: text/plain\r\nConnection: close\r\n\r\n')
  t.equal(statusOf(answer), 400)
  t.match(answer, 'HTTP/2.0 is not supported on this connection; use HTTP/1.1.')
  t.equal(headerOf(answer, 'connection'), 'close')
})

t.test('a refused request runs no listener of session, CORS and router', async t => {
  const app = await build(t, { cors: [{ origin: '*' }] }, app => app.get('/', () => 'x'))
  await app.inject({ url: '/', headers: { host: 'a b' } })
  const { events } = await newest(app)
  t.same(events.filter(({ pass }) => pass === 'main').map(({ listener }) => listener), ['debug-handlers', 'content-security-policy', 'request-validation'])
})

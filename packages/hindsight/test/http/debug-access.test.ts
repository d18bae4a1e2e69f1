import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import Fastify, { type FastifyInstance, type InjectOptions } from 'fastify'
import { pluginOf } from '../support/products.js'
import type { ServiceOptions } from '../../../../lib/options.js'
import type { HindsightOptions } from '../../src/options.js'
import { build, get, headerOf, listen, newest, rawText as raw, refusal, statusOf } from '../support/app.js'
import { inBothProducts, PRODUCTS, type TestedProduct } from '../support/products.js'

const HTML = { accept: 'text/html' }

function routes (app: FastifyInstance): void {
  app.get('/boom', () => { throw new Error('the inner workings') })
  app.get('/ok', () => 'x')
}

const shown = (answer: string): boolean => headerOf(answer, 'x-debug-token') !== undefined

/**
 * A failure, with all debug data or with none: of the service, or of the plugin in a mode, which answers no malformed URL. The message of the error
 * is in the default answer of Fastify.
 */
async function failure (
  t: Test, port: number, headers: Record<string, string>, expected: boolean, name: string, host?: string, product?: TestedProduct
): Promise<void> {
  const isFull = product !== 'package'
  for (const path of ['/boom', '/ok', '/nix', ...product === undefined ? ['/%zz'] : []]) {
    const answer = await get(port, path, headers, host)
    t.equal(shown(answer), expected, `${name}: ${path}`)
    if (expected) continue
    t.notOk(/^x-debug/im.test(answer.split('\r\n\r\n', 1)[0] as string), `${name}: ${path} has no debug header`)
    for (const inside of [...isFull ? ['the inner workings'] : [], 'debug-access.test.ts', '    at ', process.cwd(), 'node_modules', 'No route found']) {
      t.notOk(answer.includes(inside), `${name}: ${path} does not tell "${inside}"`)
    }
    if (isFull && path !== '/ok' && statusOf(answer) !== 400) t.ok(answer.includes('An Error Occurred'), `${name}: ${path} is the short page`)
  }
  const surface = await get(port, '/_profiler/', headers, host)
  t.equal(statusOf(surface) === 200, expected, `${name}: the profiler's pages`)
}

/** Returns the function that gives the port of an application with some options: one application for equal options. */
function applications (t: Test): (options: HindsightOptions) => Promise<number> {
  const ports = new Map<string, Promise<number>>()
  return async (options) => {
    const key = JSON.stringify(options)
    const port = ports.get(key) ?? build(t, options, routes).then(async (app) => await listen(app))
    ports.set(key, port)
    return await port
  }
}

t.test('access depends on the address of the client', async t => {
  const portFor = applications(t)
  for (const [name, options, client, expected] of [
    ['loopback', {}, '127.0.0.1', true],
    ['all of loopback', {}, '127.8.9.10', true],
    ['IPv6 loopback', {}, '::1', true],
    ['IPv4-mapped loopback', {}, '::ffff:127.0.0.1', true],
    ['public', {}, '203.0.113.9', false],
    ['public IPv6', {}, '2001:db8::1', false],
    ['IPv4-mapped public', {}, '::ffff:203.0.113.9', false],
    ['private, while bound to loopback', {}, '192.168.1.5', false],
    ['unique local, while bound to loopback', {}, 'fd00::1', false],
    ['no address', {}, 'unknown', false],
    ['nonsense', {}, '127.0.0.1.evil.test', false],
    ['named', { debugClients: ['203.0.113.9'] }, '203.0.113.9', true],
    ['named, IPv4-mapped', { debugClients: ['203.0.113.9'] }, '::ffff:203.0.113.9', true],
    ['named by range', { debugClients: ['203.0.113.0/24'] }, '203.0.113.200', true],
    ['outside of the range', { debugClients: ['203.0.113.0/24'] }, '203.0.114.1', false],
    ['named IPv6', { debugClients: ['2001:db8::/32'] }, '2001:db8:1::1', true]
  ] as Array<[string, HindsightOptions, string, boolean]>) {
    await failure(t, await portFor({ trustedProxies: ['127.0.0.1'], ...options }), { 'X-Forwarded-For': client }, expected, name)
  }
})

t.test('forwarding headers of an untrusted peer can only remove access', async t => {
  const app = await build(t, { debugClients: ['198.51.100.7', '::127.0.0.1/128'], debugHosts: ['example.com'] }, routes)
  const port = await listen(app)
  const long = (value: string, count: number): string => Array<string>(count).fill(value).join()
  for (const [name, value, expected] of [
    ...['X-Forwarded-For', 'X-Real-IP', 'X-Client-IP', 'X-Cluster-Client-IP', 'True-Client-IP', 'CF-Connecting-IP',
      'CF-Connecting-IPv6', 'Fastly-Client-IP', 'Fly-Client-IP'].flatMap((name) => [
      [name, '203.0.113.9', false], [name, '127.0.0.1', true], [name, '198.51.100.7', true]
    ]),
    ...['X-Forwarded-Host', 'X-Forwarded-Server', 'X-Original-Host'].flatMap((name) => [
      [name, 'shop.example', false], [name, 'localhost', true], [name, 'example.com', true],
      [name, '203.0.113.9', false], [name, '198.51.100.7', true]
    ]),
    ...['127.0.0.1', '::1', '[::1]', '[::1]:4711', '127.0.0.1:4711', '127.0.0.1, ::1', '127.8.9.10', '::ffff:127.0.0.1',
      '::FFFF:7F00:1', '0:0:0:0:0:0:0:1'].map((value) => ['X-Forwarded-For', value, true]),
    ...['203.0.113.9, 127.0.0.1', '127.0.0.1, 203.0.113.9', '127.0.0.1,203.0.113.9,::1', '203.0.113.9:80',
      '[2001:db8::1]', '[2001:db8::1]:80', '2001:db8::1', '::ffff:203.0.113.9', 'unknown', '127.0.0.1, unknown', '_hidden',
      '127.0.0.1, _hidden', '', ' ', ',', '127.0.0.1,', ',127.0.0.1', 'localhost', '"127.0.0.1"', "'127.0.0.1'",
      '127.0.0.1 203.0.113.9', '127.0.0.1;203.0.113.9', '::127.0.0.1', '::7f00:1', '127.1', '0177.0.0.1', '0x7f.0.0.1',
      '2130706433', '64:ff9b::127.0.0.1', '::ffff:0:127.0.0.1', '2002:7f00:1::', '0.0.0.0', '::', '10.0.0.1',
      '[127.0.0.1', '127.0.0.1]', '127.0.0.1/8', '127.0.0.1.evil.example', long('127.0.0.1', 5_000)
    ].map((value) => ['X-Forwarded-For', value, false]),
    ...['for=127.0.0.1', 'for="[::1]:4711"', 'For=127.0.0.1;By=127.0.0.2;Host=localhost;Proto=http', 'proto=https',
      'for=127.0.0.1, for=::1', 'host=example.com', 'for="127.0.0.1:_port"'
    ].map((value) => ['Forwarded', value, true]),
    ...['for=203.0.113.9', 'for="[2001:db8::1]"', 'for=127.0.0.1;by=203.0.113.9', 'for=127.0.0.1;host=shop.example',
      'for=127.0.0.1, for=203.0.113.9', 'for=203.0.113.9, for=127.0.0.1', 'for=unknown', 'for=_hidden', 'by=_hidden',
      'host=_hidden', 'host=unknown', 'for=', 'for', '', 'for="127.0.0.1', 'for="127.0.0.1, for=203.0.113.9', ', for=127.0.0.1',
      'for=127.0.0.1 for=203.0.113.9', long('for=127.0.0.1', 5_000)
    ].map((value) => ['Forwarded', value, false]),
    ...['1.1 varnish', '1.1 nginx', 'HTTP/1.1 localhost:3000 (a comment, with a comma)', '1.0 fred, 1.1 localhost',
      '1.1 127.0.0.1:80', '1.1 example.com', '2 [::1]:80'].map((value) => ['Via', value, true]),
    ...['1.1 proxy.example', '1.1 proxy.example:80 (nginx)', '1.0 fred, 1.1 proxy.example', '1.1 proxy.example, 1.0 fred',
      '1.1 203.0.113.9', '1.1 [2001:db8::1]:80', '1.1', '', ',', '1.1 a b', '1.1 (fred', '1.1 _hidden', '1.1 unknown',
      long('1.1 a', 5_000)].map((value) => ['Via', value, false])
  ] as Array<[string, string, boolean]>) {
    const answer = await get(port, '/boom', { [name]: value })
    const told = answer.includes('the inner workings') || shown(answer)
    t.equal(told, expected, `${name}: ${value.slice(0, 80)}`)
  }
  await failure(t, port, { 'X-Forwarded-For': '203.0.113.9' }, false, 'every answer')
  await failure(t, port, { Host: 'shop.example', 'X-Forwarded-For': '127.0.0.1', 'X-Forwarded-Host': 'localhost' }, false, 'a name')
  const twice = await raw(port, 'GET /ok HTTP/1.1\r\nHost: a\r\nVia: 1.1 a\r\nVia: 1.1 b.example\r\nConnection: close\r\n\r\n')
  t.notOk(shown(twice), 'a header that is repeated')
  const wide = await build(t, { debugHosts: ['*'] }, routes)
  const any = await listen(wide)
  await failure(t, any, { 'X-Forwarded-Host': '203.0.113.9', Via: '1.1 proxy.example' }, true, 'with any host')
  await failure(t, any, { 'X-Forwarded-For': '203.0.113.9' }, false, 'any host is not any client')
})

inBothProducts('headers that a trusted proxy did not write can only remove access', async (t, build, product) => {
  const proxies = ['127.0.0.1', '203.0.113.0/24']
  const app = await build(routes, { trustedProxies: proxies, debugClients: ['198.51.100.7'] })
  const port = await listen(app)
  for (const [headers, expected] of [
    [{ 'X-Forwarded-For': '198.51.100.7' }, true],
    [{ 'X-Forwarded-For': '198.51.100.7, 203.0.113.9' }, true],
    [{ 'X-Forwarded-For': '198.51.100.7, 203.0.113.9', 'X-Real-IP': '203.0.113.9' }, true],
    [{ 'X-Forwarded-For': '198.51.100.7', 'X-Real-IP': '198.51.100.7' }, true],
    [{ 'X-Forwarded-For': '198.51.100.8, 198.51.100.7' }, false],
    [{ 'X-Forwarded-For': 'unknown, 198.51.100.7' }, false],
    [{ 'X-Forwarded-For': '198.51.100.7', 'X-Real-IP': '203.0.113.9' }, false],
    [{ 'X-Forwarded-For': '198.51.100.7', 'CF-Connecting-IP': '198.51.100.8' }, false],
    [{ 'X-Forwarded-For': '198.51.100.7', Via: '1.1 proxy.example' }, false],
    [{ 'X-Forwarded-For': '198.51.100.7', 'X-Forwarded-Host': '203.0.113.1' }, true],
    [{ 'X-Forwarded-For': '::127.0.0.1' }, false]
  ] as Array<[Record<string, string>, boolean]>) await failure(t, port, headers, expected, JSON.stringify(headers), undefined, product)
})

inBothProducts('a public address as host has access only if the client is known', async (t, build, product) => {
  for (const [options, headers, expected] of [
    [{}, { Host: '203.0.113.9' }, false],
    [{}, { Host: '203.0.113.9', 'X-Forwarded-For': '127.0.0.1' }, false],
    [{ trustedProxies: ['127.0.0.1'] }, { Host: '203.0.113.9', 'X-Forwarded-For': '127.0.0.1' }, true],
    [{ trustedProxies: ['127.0.0.1'] }, { Host: '203.0.113.9', 'X-Forwarded-For': '198.51.100.7' }, false],
    [{ trustedProxies: ['127.0.0.1'], debugClients: ['198.51.100.7'] }, { Host: '203.0.113.9', 'X-Forwarded-For': '198.51.100.7' }, true]
  ] as Array<[HindsightOptions, Record<string, string>, boolean]>) {
    const app = await build(routes, options)
    await failure(t, await listen(app), headers, expected, JSON.stringify([options, headers]), undefined, product)
    await app.close()
  }
})

t.test('a header of a proxy that does not name its client closes the debug surface, unless the proxy is trusted', async t => {
  const [untrusted, trusted, listed] = await Promise.all([{}, { trustedProxies: ['loopback'] }, { debugClients: ['127.0.0.1'] }].map(async (options) =>
    await listen(await build(t, options as HindsightOptions, routes))))
  for (const headers of [
    ...['X-Forwarded-Proto', 'X-Forwarded-Port', 'X-Forwarded-Ssl', 'X-Forwarded-Scheme', 'X-Forwarded-Prefix', 'X-Forwarded',
      'CloudFront-Forwarded-Proto', 'Front-End-Https', 'X-Scheme', 'X-Url-Scheme', 'X-Original-Proto', 'CDN-Loop'].map((name) => ({ [name]: '1' })),
    { 'X-Forwarded-Proto': '' },
    { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'localhost' },
    { 'CDN-Loop': 'cloudflare; loops=1' },
    { Forwarded: 'proto=https' },
    { Forwarded: 'host=localhost;proto=http' },
    { Forwarded: 'by=127.0.0.1' },
    { Forwarded: 'for=127.0.0.1, proto=https', 'X-Forwarded-For': '127.0.0.1' }
  ] as Array<Record<string, string>>) {
    const name = JSON.stringify(headers)
    await failure(t, untrusted as number, headers, false, name)
    t.ok(shown(await get(listed as number, '/ok', headers)), `of a listed client: ${name}`)
    // The elements of one `Forwarded` header are hops: the last one has no client.
    if (headers.Forwarded?.includes(',') === true) continue
    t.ok(shown(await get(trusted as number, '/ok', headers)), `of a trusted proxy: ${name}`)
  }
  for (const headers of [
    { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Port': '443', 'X-Forwarded-For': '127.0.0.1' },
    { 'X-Forwarded-Host': 'localhost:5173' },
    { Forwarded: 'host=localhost' },
    { Forwarded: 'for=127.0.0.1;proto=https;by=127.0.0.1' },
    { 'X-Request-Id': '1' }
  ] as Array<Record<string, string>>) await failure(t, untrusted as number, headers, true, JSON.stringify(headers))
})

t.test('HTTP/1.0 has access only if a trusted proxy names the client', async t => {
  const [untrusted, trusted] = await Promise.all([[], ['loopback']].map(async (trustedProxies) =>
    await listen(await build(t, { debugHosts: ['example.com'], trustedProxies }, routes))))
  for (const [headers, expected] of [
    ['', false],
    ['Host: localhost\r\n', false],
    ['Host: example.com\r\n', false],
    ['Host: localhost\r\nX-Forwarded-Host: localhost\r\n', false],
    ['Host: localhost\r\nX-Forwarded-For: 127.0.0.1\r\n', true],
    ['Host: localhost\r\nForwarded: for=127.0.0.1\r\n', true],
    ['X-Forwarded-For: 203.0.113.9\r\n', false]
  ] as const) {
    const message = `GET /ok HTTP/1.0\r\n${headers}\r\n`
    t.equal(shown(await raw(untrusted as number, message)), false, headers)
    t.equal(shown(await raw(trusted as number, message)), expected, `from a trusted proxy: ${headers}`)
  }
  for (const [options, expected] of [[{ debugHosts: ['*'] }, false], [{ debugClients: ['127.0.0.1'] }, true]] as const) {
    const port = await listen(await build(t, options as unknown as HindsightOptions, routes))
    t.equal(shown(await raw(port, 'GET /ok HTTP/1.0\r\nHost: localhost\r\n\r\n')), expected, JSON.stringify(options))
  }
})

t.test('headers of other proxies, and parameters that occur twice', async t => {
  const port = await listen(await build(t, {}, routes))
  for (const name of ['X-Azure-ClientIP', 'Client-IP', 'X-Envoy-External-Address', 'X-Remote-Addr', 'X-Originating-IP', 'CF-Connecting-IPv6', 'X-Source-IP',
    'X-Original-Forwarded-For', 'X-Azure-SocketIP', 'X-ProxyUser-Ip', 'Forwarded-For', 'X-Vercel-Forwarded-For', 'X-Vercel-Proxied-For', 'X-Original-For',
    'CloudFront-Viewer-Address', 'CDN-Src-IP', 'X-AppEngine-User-IP', 'X-Nf-Client-Connection-Ip', 'CF-Pseudo-IPv4', 'X-IP', 'X-Forward-For',
    'X-Coming-From', 'X-Peer-Addr', 'Fly-Client-IP', 'X-Forwarded-Client-IP']) {
    await failure(t, port, { [name]: '203.0.113.9' }, false, name)
    await failure(t, port, { [name]: '127.0.0.1' }, true, name)
  }
  await failure(t, port, { 'CloudFront-Viewer-Address': '203.0.113.9:46532' }, false, 'a port')
  await failure(t, port, { 'CloudFront-Viewer-Address': '127.0.0.1:46532' }, true, 'a port')
  for (const [name, value] of [
    ['CF-Ray', '8a1b2c3d4e5f-FRA'], ['CF-Visitor', '{"scheme":"https"}'], ['X-Amz-Cf-Id', 'a1b2'], ['X-Azure-Ref', 'a1b2'], ['X-Vercel-Id', 'fra1::a1b2'],
    ['X-NginX-Proxy', 'true']
  ] as const) {
    await failure(t, port, { [name]: value }, false, name)
    await failure(t, port, { [name]: value, 'X-Real-IP': '127.0.0.1' }, true, `${name} and the client`)
  }
  await failure(t, port, { 'X-Original-Forwarded-Host': 'shop.example' }, false, 'another host')
  await failure(t, port, { 'X-Zip': '12345', 'X-Relationship': 'x', 'X-Email-Address': 'ada@shop.example' }, true, 'headers about something else')
  await failure(t, port, { Forwarded: 'for=203.0.113.9;for=127.0.0.1' }, false, 'for twice')
  await failure(t, port, { Forwarded: 'for=127.0.0.1, for=127.0.0.1' }, true, 'two elements')
})

t.test('a tunnel has access if it forwards a local host, or a host of debugHosts', async t => {
  for (const [options, headers, expected] of [
    [{}, { 'X-Forwarded-Host': 'a1b2.tunnel.example' }, false],
    [{}, { 'X-Forwarded-Host': 'A1B2.tunnel.example:443' }, false],
    [{}, { 'X-Forwarded-Host': 'localhost, a1b2.tunnel.example' }, false],
    [{}, { Forwarded: 'for=203.0.113.9;host=a1b2.tunnel.example;proto=https' }, false],
    [{}, { Forwarded: 'host="a1b2.tunnel.example:443"' }, false],
    [{}, { Forwarded: 'host=localhost, Host = a1b2.tunnel.example' }, false],
    [{}, { 'X-Forwarded-Host': 'localhost:5173' }, true],
    [{}, { 'X-Forwarded-Host': '[::1]:5173', Forwarded: 'host="[::1]:5173"' }, true],
    [{}, { Forwarded: 'for=127.0.0.1;proto=http' }, true],
    [{ debugHosts: ['a1b2.tunnel.example'] }, { 'X-Forwarded-Host': 'a1b2.tunnel.example', Forwarded: 'host=a1b2.tunnel.example' }, true],
    [{ debugHosts: ['*'] }, { 'X-Forwarded-Host': 'a1b2.tunnel.example' }, true]
  ] as Array<[HindsightOptions, Record<string, string>, boolean]>) {
    const app = await build(t, options, routes)
    await failure(t, await listen(app), { Host: 'localhost', ...headers }, expected, JSON.stringify(headers))
    await app.close()
  }
})

t.test('IP addresses, local names and the names of debugHosts have access, and other hosts do not', async t => {
  const portFor = applications(t)
  for (const [options, host, expected] of [
    [{}, '127.0.0.1', true],
    [{}, '127.0.0.1:3000', true],
    [{}, '[::1]:3000', true],
    [{}, '192.168.1.5', true],
    [{}, '0.0.0.0:3000', true],
    [{}, '203.0.113.9', false],
    [{}, '203.0.113.9:3000', false],
    [{}, '203.0.113.9:', false],
    [{}, '[2001:db8::1]:3000', false],
    [{}, '[2001:db8::1]:', false],
    [{}, '[::ffff:203.0.113.9]', false],
    [{}, '[::ffff:127.0.0.1]', true],
    [{}, '[fd00::1]:3000', true],
    [{ debugClients: ['203.0.113.9'] }, '203.0.113.9', true],
    [{ debugClients: ['127.0.0.1'] }, '203.0.113.9', true],
    [{ debugHosts: ['203.0.113.9', '[2001:DB8::1]'] }, '203.0.113.9:3000', true],
    [{ debugHosts: ['203.0.113.9', '[2001:DB8::1]'] }, '[2001:db8::1]:3000', true],
    [{ debugHosts: ['2001:DB8::1'] }, '[2001:db8::1]:3000', true],
    [{ debugHosts: ['*'] }, '203.0.113.9', true],
    [{}, 'localhost', true],
    [{}, 'LOCALHOST:3000', true],
    [{}, 'localhost.', true],
    [{}, 'app.localhost', true],
    [{}, 'a.b.localhost:3000', true],
    [{}, 'shop.test', true],
    [{}, 'hindsight', true],
    [{}, 'hindsight:3000', true],
    [{}, 'example.com', false],
    [{}, 'example.com.', false],
    [{}, 'rebind.evil.example:3000', false],
    [{}, 'localhost.evil.example', false],
    [{}, 'notlocalhost.example', false],
    [{}, 'localhost.example', false],
    [{}, 'xtest.example', false],
    [{}, '127.0.0.1.evil.example', false],
    [{}, '127.0.0.1.nip.io', false],
    [{ debugHosts: ['example.com'] }, 'example.com', true],
    [{ debugHosts: ['EXAMPLE.com'] }, 'Example.COM:8080', true],
    [{ debugHosts: ['example.com'] }, 'example.com.', true],
    [{ debugHosts: ['example.com'] }, 'a.example.com', false],
    [{ debugHosts: ['*'] }, 'anything.example', true]
  ] as Array<[HindsightOptions, string, boolean]>) {
    await failure(t, await portFor(options), { Host: host }, expected, host)
  }
})

t.test('behind a trusted proxy the Host header and the forwarded host must both be allowed', async t => {
  const app = await build(t, { trustedProxies: ['127.0.0.1'] }, routes)
  const port = await listen(app)
  await failure(t, port, { Host: 'localhost', 'X-Forwarded-Host': 'example.com' }, false, 'foreign')
  await failure(t, port, { Host: 'example.com', 'X-Forwarded-Host': 'localhost' }, false, 'a local one does not hide the one that the page brought')
  await failure(t, port, { Host: 'EXAMPLE.com:3000', 'X-Forwarded-Host': 'localhost' }, false, 'nor in other letters, with a port')
  await failure(t, port, { Host: 'upstream:3000', 'X-Forwarded-Host': 'shop.test' }, true, 'both local')
  const named = await build(t, { trustedProxies: ['127.0.0.1'], debugHosts: ['example.com'] }, routes)
  await failure(t, await listen(named), { Host: 'example.com.', 'X-Forwarded-Host': 'localhost' }, true, 'both allowed')
})

t.test('a proxy that does not name its client has no access', async t => {
  const app = await build(t, { trustedProxies: ['loopback'] }, routes)
  const port = await listen(app)
  for (const headers of [
    { Forwarded: '", for=8.8.8.8' },
    { Forwarded: 'x, for=8.8.8.8' },
    { Forwarded: '=, for=8.8.8.8' },
    { Forwarded: '' },
    { Forwarded: 'for=' },
    { Forwarded: 'for=""' },
    { Forwarded: 'for=127.0.0.1, proto=https' },
    { Forwarded: 'for=localhost' },
    { Forwarded: '", for=8.8.8.8', 'X-Forwarded-For': '127.0.0.1' },
    { Forwarded: 'for=8.8.8.8', 'X-Forwarded-For': '127.0.0.1' },
    { Forwarded: 'for=127.0.0.1', 'X-Forwarded-For': 'unknown' },
    { 'X-Forwarded-For': '' },
    { 'X-Forwarded-For': '   ' },
    { 'X-Forwarded-For': ',' },
    { 'X-Forwarded-For': '8.8.8.8, ' },
    { 'X-Forwarded-For': '127.0.0.1,' },
    { 'X-Forwarded-For': 'localhost' },
    { 'X-Forwarded-For': '8.8.8.8:4711' }
  ] as Array<Record<string, string>>) await failure(t, port, headers, false, JSON.stringify(headers))
  for (const headers of [
    {},
    { Forwarded: 'for=127.0.0.1' },
    { Forwarded: 'for="[::1]:4711"' },
    { 'X-Forwarded-For': '127.0.0.1:4711' },
    { 'X-Forwarded-For': '::1' }
  ] as Array<Record<string, string>>) await failure(t, port, headers, true, JSON.stringify(headers))
  await get(port, '/ok', { Forwarded: 'x, for=8.8.8.8' })
  t.match(
    await newest(app),
    { ip: '', status: 400, exceptions: [{}, { message: /^Invalid Forwarded header "x, for=8\.8\.8\.8" \(RFC 7239, section 4\): Unexpected character/ }] },
    'the profile has the reason'
  )
})

t.test('a message that the parser refuses is answered without the debug surface, for any host', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  const long = 'a'.repeat(70_000)
  for (const [name, packets, status] of [
    ['a URL that is too long', [`GET /${long} HTTP/1.1\r\nHost: evil.example\r\n\r\n`], 431],
    ['a header that is too long, before the Host header', [`GET / HTTP/1.1\r\nX: ${long}\r\nHost: evil.example\r\n\r\n`], 431],
    ['a header that is too long, behind it', [`GET / HTTP/1.1\r\nHost: evil.example\r\nX: ${long}\r\n\r\n`], 431],
    ['in an earlier packet', ['GET / HTTP/1.1\r\nHost: evil.example\r\n', 'Bad Header: 1\r\n\r\n'], 400],
    ['in an earlier packet, with a header that ends alike', ['GET / HTTP/1.1\r\nHost: evil.example\r\nX-', 'Host: localhost\r\nBad Header: 1\r\n\r\n'], 400],
    [
      'in an earlier packet, with a body that says another', ['GET / HTTP/1.1\r\nHost: evil.example\r\n', 'Bad Header: 1\r\n\r\nx\r\nHost: localhost\r\n\r\n'],
      400
    ],
    ['a foreign one', ['GET / HTTP/1.1\r\nHost: evil.example\r\nBad Header: 1\r\n\r\n'], 400],
    ['none', ['GET / HTTP/1.1\r\nBad Header: 1\r\n\r\n'], 400],
    ['a local one', ['GET / HTTP/1.1\r\nHost: localhost\r\nBad Header: 1\r\n\r\n'], 400]
  ] as const) {
    const answer = await rawPackets(port, packets)
    t.equal(statusOf(answer), status, name)
    t.notOk(shown(answer), name)
    t.notMatch(answer, /MalformedMessageError|x-debug/i, `${name}: the answer`)
    t.match(await newest(app), { status }, `${name}: the profile`)
  }
  t.notOk(shown(await raw(port, 'GET /ok HTTP/1.0\r\n\r\n')), 'a message without a host may come from a proxy')
})

async function rawPackets (port: number, [first = '', ...others]: readonly string[]): Promise<string> {
  if (others.length === 0) return await raw(port, first)
  const socket = connect(port, '127.0.0.1').setNoDelay(true)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => {})
  socket.write(first)
  for (const packet of others) {
    await sleep(60)
    socket.write(packet)
  }
  await new Promise(resolve => socket.once('close', resolve))
  return Buffer.concat(chunks).toString('utf8')
}

inBothProducts('of an invalid host only the reason is shown, also of one that Chromium sends and URL refuses', async (t, build, product) => {
  const app = await build(routes, product === 'service' ? { trustedHosts: ['localhost', 'evil.example', '*.test'] } : {})
  const port = await listen(app)
  for (const [host, status, expected] of [
    ...['a b', '<script>', 'user@localhost', 'user@evil.example', 'user:pass@evil.example:80', 'localhost/x', 'evil.example/x', 'evil.example?x',
      'evil.example#x', 'evil.example\\x', '%41', '%41.example', 'evil%2eexample', 'evil.example:port', '[::1', '[2001:db8::1', '::1', '::1]',
      'evil!.example', 'a,evil.example', "'.example", 'a(b).example', 'evil"x.example', 'a!b.xn--a.example', 'xn--a.a!b.test', 'a!b', '*',
      '*.example', '*.test', '*.localhost', 'a..test', '.localhost', '[dead]', '[::1.]'
    ].map((host) => [host, 400, 'reason']),
    // These are names.
    ['127.1', 400, 'nothing'], ['0x7f.0.0.1', 400, 'nothing'], ['evil.example.', 400, 'nothing'], ['[2001:DB8::1]', 400, 'nothing'],
    // A name of one label, which is not among the trusted hosts.
    ['intranet', 400, 'all'], ['LOCALHOST:80', 200, 'all']
  ] as Array<[string, number, 'nothing' | 'reason' | 'all']>) {
    for (const path of ['/ok', '/_profiler/']) {
      const answer = await get(port, path, { Host: host, Accept: 'text/html' })
      if (path === '/ok') t.equal(statusOf(answer), product === 'service' ? status : 200, host)
      // In the service the profiler's routes refuse an untrusted host like all others.
      else t.equal(statusOf(answer) === 200, expected === 'all' && (product === 'package' || status === 200), `${host}: the profiler`)
      if (expected !== 'all') t.notMatch(answer, /x-debug|Stack Traces/i, `${host}: source and token at ${path}`)
      // Fastify's own error has the message.
      if (product === 'service' && status === 400) t.equal(answer.includes('SuspiciousOperationError'), expected !== 'nothing', `${host}: the reason`)
    }
  }
  for (const [first, second, expected] of [['localhost', 'localhost', true], ['localhost', 'evil.example', false], ['evil.example', 'localhost', false]]) {
    t.equal(shown(await raw(port, `GET /ok HTTP/1.1\r\nHost: ${first}\r\nHost: ${second}\r\nConnection: close\r\n\r\n`)), expected, `${first}, ${second}`)
  }
})

inBothProducts('client and host must both be allowed', async (t, build, product) => {
  const app = await build(routes, { trustedProxies: ['127.0.0.1'], debugClients: ['203.0.113.9'], debugHosts: ['example.com'] })
  const port = await listen(app)
  await failure(t, port, { Host: 'example.com', 'X-Forwarded-For': '203.0.113.9' }, true, 'client and host', undefined, product)
  await failure(t, port, { Host: 'other.example', 'X-Forwarded-For': '203.0.113.9' }, false, 'client only', undefined, product)
  await failure(t, port, { Host: 'example.com', 'X-Forwarded-For': '203.0.113.8' }, false, 'host only', undefined, product)
})

inBothProducts('bound beyond loopback, private networks are local too', async (t, build, product) => {
  const app = await build(routes, { trustedProxies: ['127.0.0.1'] })
  const port = await listen(app, '0.0.0.0')
  for (const [client, expected] of [
    ['10.1.2.3', true], ['172.16.0.1', true], ['192.168.1.5', true], ['169.254.1.1', true], ['fd00::1', true], ['fe80::1', true],
    ['172.32.0.1', false], ['203.0.113.9', false], ['2001:db8::1', false], ['::ffff:8.8.8.8', false]
  ] as const) await failure(t, port, { 'X-Forwarded-For': client }, expected, client, undefined, product)
})

inBothProducts('a client on the network, without any proxy', async (t, build, product) => {
  for (const [bound, client, visible] of [
    ['0.0.0.0', '192.168.1.20', true],
    ['0.0.0.0', '::ffff:10.0.0.7', true],
    ['0.0.0.0', 'fd00::7', true],
    ['0.0.0.0', '203.0.113.9', false],
    ['0.0.0.0', '2001:db8::1', false],
    ['127.0.0.1', '192.168.1.20', false]
  ] as const) {
    const app = await build(routes, {})
    // A machine need not have a network: the connection is real, and only its remote address is replaced.
    app.server.prependListener('connection', socket => Object.defineProperty(socket, 'remoteAddress', { value: client }))
    const port = await listen(app, bound)
    await failure(t, port, { Host: `127.0.0.1:${port}` }, visible, `${client} of a service bound to ${bound}`, undefined, product)
    await failure(t, port, { Host: 'example.com' }, false, `${client} with a foreign name`, undefined, product)
  }
})

inBothProducts('requests without access to the debug surface are profiled too', async (t, build) => {
  const app = await build(routes, { trustedProxies: ['127.0.0.1'] })
  const port = await listen(app)
  await get(port, '/boom', { 'X-Forwarded-For': '203.0.113.9' })
  t.match(await newest(app), { ip: '203.0.113.9', status: 500, exceptions: [{ message: 'the inner workings' }] })
})

inBothProducts('injected requests are judged like those of a socket', async (t, _build, product) => {
  const app = Fastify({ pluginTimeout: 60_000 }) as unknown as FastifyInstance
  t.teardown(() => app.close())
  await app.register(pluginOf(product), { debug: true, debugClients: ['198.51.100.7'], debugHosts: ['tools.example'], profiler: { storage: 'memory' } })
  routes(app)
  app.get('/inside', async () => (await app.inject({ url: '/boom', headers: HTML })).body)
  const isDetailed = (body: string): boolean => body.includes('debug-access.test.ts')
  for (const [name, request, expected] of [
    ['the default', {}, true],
    ['a listed client', { remoteAddress: '198.51.100.7' }, true],
    ['a listed host', { headers: { host: 'tools.example' } }, true],
    ['a public client', { remoteAddress: '203.0.113.9' }, false],
    ['a private client', { remoteAddress: '10.0.0.7' }, false],
    ['a public client in a header', { headers: { 'x-forwarded-for': '203.0.113.9' } }, false],
    ['a proxy without a client', { headers: { 'x-forwarded-proto': 'https' } }, false],
    ['a public host', { headers: { host: 'api.shop.example' } }, false],
    ['a public host as authority', { authority: 'api.shop.example' }, false],
    ['a public address as host', { headers: { host: '203.0.113.9' } }, false]
  ] as Array<[string, InjectOptions, boolean]>) {
    const given = { ...request, headers: { ...HTML, ...request.headers } }
    const { headers, body } = await app.inject({ url: '/boom', ...given })
    t.equal(headers['x-debug-token'] !== undefined, expected, name)
    t.equal(isDetailed(body), expected, name)
    t.equal((await app.inject({ url: '/_profiler/', ...given })).statusCode, expected ? 200 : 404, name)
  }
  const page = await app.inject({ url: '/boom', headers: { ...HTML, origin: 'https://evil.example' } })
  t.ok(page.headers['x-debug-token'])
  t.notOk(isDetailed(page.body), 'for a page of another site')
  t.ok(isDetailed((await app.inject('/inside')).body))
  t.notOk(isDetailed((await app.inject({ url: '/inside', remoteAddress: '203.0.113.9' })).body), 'of a handler, for its client')
})

t.test('without debug mode injected requests receive no details', async t => {
  const production = await build(t, { debug: false }, routes)
  t.notOk((await production.inject('/boom')).body.includes('the inner workings'))
})

t.test('an invalid address stops the start with the name of the option', async t => {
  t.equal(
    await refusal({ debugClients: ['everybody'] }),
    'debugClients (DEBUG_CLIENTS): invalid IP address: everybody; use addresses, CIDR ranges, loopback, linklocal or uniquelocal'
  )
})

t.test('an invalid host stops the start with the name of the option', async t => {
  const name = 'a host name without scheme, port and wildcard, such as "shop.example", or "*" for any host'
  const pattern = 'a host name without scheme and port, such as "shop.example" or "*.shop.example", or a RegExp'
  for (const product of PRODUCTS) {
    const refused = async (options: ServiceOptions): Promise<string> => await refusal(options, pluginOf(product))
    for (const host of ['http://x', 'x:3000', 'x/', 'a b', 'user@x', '', 'a..b', '.x', '[::1]:3000', 'm\u00fcnchen.example', 'a.*.example']) {
      t.equal(await refused({ debugHosts: ['ok.example', host] }), `Option "debugHosts[1]" must be ${name}, not another string`, host)
      if (product === 'service') t.equal(await refused({ trustedHosts: [host] }), `Option "trustedHosts[0]" must be ${pattern}, not another string`, host)
    }
    t.match(await refused({ debugHosts: ['*.x'] }), 'Option "debugHosts[0]" must be')
    const valid = ['shop.example', 'SHOP.example.', 'my_service', 'xn--mnchen-3ya.example', '127.0.0.1', '[::1]']
    const options = { profiler: { storage: 'memory' }, debugHosts: [...valid, '*', '::1'] }
    t.equal(await refused(options), 'it started')
    if (product === 'package') continue
    for (const host of ['*', '::1']) t.match(await refused({ trustedHosts: [host] }), 'Option "trustedHosts[0]" must be')
    t.equal(await refused({ ...options, trustedHosts: [...valid, '*.x', /x/] }), 'it started')
  }
})

t.test('the authority and the host of an HTTP/2 request must both be allowed', async t => {
  const options = { trustedHosts: ['localhost', 'app.test', '*.example'], trustedProxies: ['127.0.0.1'] }
  const app = await build(t, options, app => { routes(app); app.get('/slash/', () => 'x') }, { http2: true } as object)
  const port = await listen(app)
  const client = connectHttp2(`http://127.0.0.1:${port}`)
  t.teardown(() => client.destroy())
  const ask = async (path: string, headers: Record<string, string>): Promise<Record<string, unknown>> => await new Promise((resolve, reject) => {
    client.request({ ':path': path, ...headers }).on('error', reject).on('response', resolve).resume()
  })
  for (const [name, headers, expected] of [
    ['a local name', { ':authority': `localhost:${port}` }, true],
    ['a rebound name', { ':authority': 'evil.example' }, false],
    ['a rebound name behind a local one', { ':authority': 'evil.example', host: 'localhost' }, false],
    ['a local name behind a rebound one', { ':authority': 'localhost', host: 'evil.example' }, false],
    ['a rebound name and what a proxy tells', { ':authority': 'evil.example', 'x-forwarded-host': 'localhost' }, false],
    ['an invalid name that a browser sends', { ':authority': 'evil!.example' }, false],
    ['the host header alone', { host: 'app.test' }, true],
    ['a rebound name in the host header alone', { host: 'evil.example' }, false]
  ] as const) {
    for (const path of ['/boom', '/ok', '/nix']) t.equal((await ask(path, headers))['x-debug-token'] !== undefined, expected, `${name}: ${path}`)
    t.equal((await ask('/_profiler/', headers))[':status'] === 200, expected, `${name}: the profiler's pages`)
  }
  t.equal((await ask('/ok', { ':authority': 'elsewhere.com' }))[':status'], 400, 'an untrusted host')
  t.equal((await ask('/slash', { ':authority': 'app.test:8443' })).location, 'http://app.test:8443/slash/')
})

inBothProducts('a 400 about the message is explained to allowed clients', async (t, build, product) => {
  const app = await build(routes, { trustedProxies: ['10.0.0.1'], debugClients: ['10.0.0.1', '198.51.100.7'] })
  const FORWARDED = { forwarded: 'for=127.0.0.1;host=a.example' }
  const proxied = (headers: Record<string, string>) => ({ remoteAddress: '10.0.0.1', headers: { host: 'localhost', ...headers } })
  for (const [name, given, expected] of [
    ['an invalid host', { headers: { host: 'a<b>.com' } }, 'reason'],
    ['an invalid host that a browser may send', { headers: { host: 'a!b.com' } }, 'reason'],
    ['a name of another site', { headers: { host: 'evil.example' } }, 'nothing'],
    ['an invalid forwarded host', proxied({ 'x-forwarded-for': '127.0.0.1', 'x-forwarded-host': 'a!b.xn--a.example' }), 'reason'],
    ['an invalid forwarded host of a stranger', proxied({ 'x-forwarded-for': '198.51.100.8', 'x-forwarded-host': 'a<b>.com' }), 'nothing'],
    ['an invalid host from a stranger', { remoteAddress: '198.51.100.8', headers: { host: 'a<b>.com' } }, 'nothing'],
    ['an invalid host and a forwarded stranger', { headers: { host: 'a<b>.com', 'x-forwarded-host': 'shop.example' } }, 'nothing'],
    ['an invalid host for a page of another site', { headers: { host: 'a<b>.com', origin: 'https://evil.example' } }, 'nothing'],
    ['clients that conflict', proxied({ forwarded: 'for=127.0.0.1', 'x-forwarded-for': '198.51.100.7' }), 'all'],
    ['clients that conflict, one of them a stranger', proxied({ forwarded: 'for=127.0.0.1', 'x-forwarded-for': '198.51.100.8' }), 'nothing'],
    ['hosts that conflict', proxied({ ...FORWARDED, 'x-forwarded-for': '127.0.0.1', 'x-forwarded-host': 'b.example' }), 'reason'],
    ['hosts that conflict, of one label', proxied({ forwarded: 'for=127.0.0.1;host=a', 'x-forwarded-host': 'b' }), 'all'],
    ['hosts that conflict, of a stranger', proxied({ forwarded: 'for=198.51.100.8;host=a', 'x-forwarded-host': 'b' }), 'nothing'],
    ['hosts and clients that conflict', proxied({ ...FORWARDED, 'x-forwarded-for': '198.51.100.8', 'x-forwarded-host': 'b.example' }), 'nothing'],
    ['hosts that conflict, at the name of another site', proxied({ ...FORWARDED, 'x-forwarded-host': 'b', host: 'evil.example' }), 'nothing'],
    ['schemes that conflict', proxied({ forwarded: 'for=127.0.0.1;proto=http', 'x-forwarded-proto': 'https' }), 'all'],
    ['schemes that conflict, of a stranger', proxied({ forwarded: 'for=198.51.100.8;proto=http', 'x-forwarded-proto': 'https' }), 'nothing'],
    ['schemes that conflict, without a client', proxied({ forwarded: 'proto=http', 'x-forwarded-proto': 'https' }), 'all']
  ] as const) {
    const response = await app.inject({ url: '/ok', ...given })
    t.equal(response.headers['x-debug-token'] !== undefined, expected === 'all', name)
    if (product === 'package') continue
    if (response.statusCode !== 400) continue
    const { body, headers } = await app.inject({ url: '/ok', ...given, headers: { ...given.headers, ...HTML } })
    t.equal(/Invalid Host|conflicting/.test(body), expected !== 'nothing', name)
    t.equal(body.includes('id="stack-traces"'), expected === 'all', name)
    if (expected === 'reason') t.equal(headers['cache-control'], 'no-store', name)
  }
})

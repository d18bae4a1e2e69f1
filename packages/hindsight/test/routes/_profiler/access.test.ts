import { connect } from 'node:net'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fastifyCors from '@fastify/cors'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import type { ServiceOptions } from '../../../../../lib/options.js'
import { get, headerOf, listen, rawText as raw, statusOf } from '../../support/app.js'
import { profile } from '../../parts/fixture.js'
import { inBothProducts, type Build, type TestedProduct } from '../../support/products.js'

const SECRET_TEXT = 'what only its developer may see'
const TOKEN = '00000a'
const ANYBODY = { origin: '*', credentials: true, exposedHeaders: ['X-Debug-Token', 'X-Debug-Token-Link'] }

/** An application that lets every page read, by the option of the service or by the plugin. */
async function buildForAnybody (build: Build, product: TestedProduct, options: ServiceOptions = {}, server: object = {}): Promise<FastifyInstance> {
  if (product === 'service') return await build(routes, { ...options, cors: [ANYBODY] }, server)
  return await build(async (app) => {
    await app.register(fastifyCors, ANYBODY)
    routes(app)
  }, options, server)
}

function routes (app: FastifyInstance): void {
  app.hindsight.profiler.save(profile(TOKEN, { url: `http://localhost/${SECRET_TEXT.replaceAll(' ', '-')}` }))
  app.get('/ok', () => 'x')
  app.get('/boom', () => { throw new Error(SECRET_TEXT) })
  app.get('/page', (_request, reply) => reply.type('text/html; charset=utf-8').send('<!doctype html><title>x</title><body>x</body>'))
}

const headOf = (answer: string): string => answer.split('\r\n\r\n', 1)[0] ?? ''

/** Whether an answer has data of the debug surface. */
const reveals = (answer: string): boolean =>
  /what.only.its.developer|Hindsight profiler|hindsight-toolbar|access\.test\.ts|node_modules|"profiles"|"exceptions"/i.test(answer) ||
    /^x-debug/im.test(headOf(answer))

const LAX = {
  routerOptions: { caseSensitive: false, ignoreDuplicateSlashes: true, ignoreTrailingSlash: true, useSemicolonDelimiter: true }
} as FastifyServerOptions

/** The same but for the token of its profile, which is useless to clients without access. */
const shows = (answer: string): boolean => reveals(answer.replace(/^x-debug-token(?:-link)?: .*\r\n/gim, ''))

/** Ways to write paths of the profiler, and whether a developer comes to see something by it where the router is strict, and where it is lax. */
const PATHS: Array<[target: string, strict: boolean, lax: boolean]> = [
  ['/_profiler/', true, true],
  ['/_profiler', false, true],
  ['/_profiler/search.json', true, true],
  ['/_profiler/latest', true, true],
  [`/_profiler/${TOKEN}`, true, true],
  [`/_profiler/${TOKEN}.json`, true, true],
  [`/_wdt/${TOKEN}`, true, true],
  [`/_wdt/${TOKEN}.json`, true, true],
  [`/%5fprofiler/${TOKEN}`, true, true],
  [`/%5Fprofiler/${TOKEN.replace('a', '%61')}`, true, true],
  [`/_profiler/${TOKEN}?panel=request`, true, true],
  [`/_profiler/${TOKEN}#x`, true, true],
  [`//_profiler/${TOKEN}`, false, true],
  [`/_profiler//${TOKEN}`, false, true],
  [`/_PROFILER/${TOKEN}`, false, true],
  [`/_profiler/${TOKEN}/`, false, true],
  [`/_profiler/${TOKEN};x=1`, false, true],
  [`/_profiler;x/${TOKEN}`, false, false],
  [`/_profiler/../_profiler/${TOKEN}`, false, false],
  [`/ok/../_profiler/${TOKEN}`, false, false],
  [`/ok/%2e%2e/_profiler/${TOKEN}`, false, false],
  [`/./_profiler/${TOKEN}`, false, false],
  [`/%2e/_profiler/${TOKEN}`, false, false],
  [`/_profiler%2f${TOKEN}`, false, false],
  [`/_profiler%252f${TOKEN}`, false, false],
  [`/%255fprofiler/${TOKEN}`, false, false],
  [`/_profiler\\${TOKEN}`, false, false],
  [`/\\_profiler/${TOKEN}`, false, false],
  [`/_profiler/${TOKEN}%00`, false, false],
  [`/_profiler/..%2f${TOKEN}`, false, false],
  [`/_profiler/%c0%ae%c0%ae/${TOKEN}`, false, false],
  [`http://localhost/_profiler/${TOKEN}`, true, true],
  [`HTTP://LOCALHOST:80/_profiler/${TOKEN}`, true, true]
]

inBothProducts('no form of a path shows a debug page to a client without access', async (t, build, product) => {
  for (const [router, server, column] of [['strict', {}, 1], ['lax', LAX, 2]] as const) {
    const app = await buildForAnybody(build, product, { trustedProxies: ['127.0.0.1'] }, server)
    const port = await listen(app)
    for (const path of PATHS) {
      // With the package the options of the application's router do not apply to the pages.
      const [target, own] = product === 'service' ? [path[0], path[column]] : [path[0], path[1] && !path[0].includes('%')]
      for (const [stranger, headers] of [
        ['a rebound name', { Host: 'rebound.example' }],
        ['a client elsewhere', { 'X-Forwarded-For': '203.0.113.9' }],
        ['a page elsewhere', { Origin: 'https://evil.example' }],
        ['a page without a name', { Origin: 'null' }]
      ] as const) {
        const answer = await get(port, target, headers)
        t.notOk('Origin' in headers ? shows(answer) : reveals(answer), `${router}: ${target} to ${stranger}`)
        t.ok([301, 302, 400, 404].includes(statusOf(answer)), `${router}: ${target} to ${stranger} is ${statusOf(answer)}`)
      }
      const answer = await get(port, target)
      t.equal([200, 302].includes(statusOf(answer)), own, `${router}: ${target} to its developer`)
    }
    await app.close()
  }
})

inBothProducts('the authority of an absolute target and the host header must both be allowed', async (t, build) => {
  const app = await build(routes)
  const port = await listen(app)
  for (const [target, host, expected] of [
    [`http://localhost/_profiler/${TOKEN}`, 'localhost', true],
    [`http://127.0.0.1/_profiler/${TOKEN}`, 'localhost:3000', true],
    [`http://evil.example/_profiler/${TOKEN}`, 'localhost', false],
    [`http://localhost/_profiler/${TOKEN}`, 'evil.example', false],
    [`http://user@localhost/_profiler/${TOKEN}`, 'localhost', false],
    [`http://evil.example:80/_profiler/${TOKEN}`, 'localhost', false],
    [`evil://evil.example/_profiler/${TOKEN}`, 'localhost', false]
  ] as const) {
    const answer = await get(port, target, { Host: host, Accept: 'application/json' })
    t.equal(statusOf(answer) === 200, expected, `${target} with ${host}`)
    t.equal(answer.includes('what-only-its-developer'), expected, `${target} with ${host}: the profile`)
  }
  const answer = await get(port, 'http://shop.test:8080/nix', { Host: 'localhost', Accept: 'text/html' })
  t.match(answer, 'GET http://shop.test:8080/nix', 'the page has that authority')
})

inBothProducts('clients of a Unix socket have no address and no access', async (t, build, product) => {
  const path = join(tmpdir(), `hindsight-${process.pid}.sock`)
  t.teardown(() => rmSync(path, { force: true }))
  for (const [name, options] of [
    ['as it is', {}],
    ['with proxies that are trusted', { trustedProxies: ['loopback', 'uniquelocal'] }],
    ['with any host', { debugHosts: ['*'] }],
    ['with clients that are named', { debugClients: ['127.0.0.1', '::/1'] }]
  ] as Array<[string, ServiceOptions]>) {
    const app = await build(routes, options)
    await app.listen({ path })
    for (const target of ['/_profiler/', `/_profiler/${TOKEN}`, `/_wdt/${TOKEN}`, '/boom', '/ok', '/page']) {
      for (const headers of ['', 'X-Forwarded-For: 127.0.0.1\r\n', 'Forwarded: for=127.0.0.1\r\n']) {
        const answer = await local(path, `GET ${target} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n${headers}\r\n`)
        t.ok(statusOf(answer) >= 200, `${name}: ${target} is answered`)
        // The answer of Fastify has the message.
        t.notOk(reveals(product === 'service' ? answer : answer.replace(SECRET_TEXT, '')), `${name}: ${target} with ${headers.trim()}`)
      }
    }
    t.notOk(reveals(await local(path, 'GARBAGE\r\n\r\n')), `${name}: what is refused`)
    await app.close()
  }
})

function local (path: string, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(path, () => socket.write(bytes))
    socket.on('data', chunk => { answer += String(chunk) }).on('error', reject).on('close', () => resolve(answer))
  })
}

inBothProducts('an address with a zone is valid', async (t, build) => {
  const app = await build(routes, { trustedProxies: ['127.0.0.1'] })
  const port = await listen(app)
  for (const client of ['fe80::1%eth0', '::1%lo', '2001:db8::1%0']) {
    const answer = await get(port, `/_profiler/${TOKEN}`, { 'X-Forwarded-For': client })
    t.ok([404, 200].includes(statusOf(answer)), `${client}: ${statusOf(answer)}`)
    t.equal(reveals(answer), client === '::1%lo', client)
  }
})

const FOREIGN_SITES: Array<[name: string, headers: Record<string, string>]> = [
  ['fetch without CORS', { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'empty' }],
  ['an image', { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'image' }],
  ['a script', { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'script' }],
  ['a script of another port', { 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'script' }],
  ['a frame', { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'iframe' }],
  ['an object', { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'object' }],
  ['fetch with CORS', { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Dest': 'empty', Origin: 'http://localhost:9' }],
  ['a stream', { 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Dest': 'empty', Accept: 'text/event-stream' }]
]
const OWN_SITES: typeof FOREIGN_SITES = [
  ['a client that is no browser', {}],
  ['the address bar', { 'Sec-Fetch-Site': 'none', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' }],
  ['its own script', { 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Dest': 'empty' }],
  ['a link on another site', { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' }]
]

inBothProducts('pages of other origins cannot load, frame or follow the profiler', async (t, build, product) => {
  const app = await buildForAnybody(build, product)
  const port = await listen(app)
  const targets = [
    '/_profiler/', `/_profiler/${TOKEN}`, '/_profiler/search.json', '/_profiler/latest', '/_profiler/stream', '/_profiler/waiting.json', `/_wdt/${TOKEN}`
  ]
  for (const target of targets) {
    for (const [name, headers] of FOREIGN_SITES) {
      const answer = await get(port, target, headers)
      t.equal(statusOf(answer), 403, `${target}: ${name}`)
      t.notMatch(answer, /what.only.its.developer/i, `${target}: ${name} learns nothing`)
      t.notMatch(headOf(answer), /^access-control-/im, `${target}: ${name} may read nothing`)
      t.equal(headerOf(answer, 'cross-origin-resource-policy'), 'same-origin', `${target}: ${name} cannot be embedded`)
    }
    if (target.endsWith('stream')) continue
    for (const [name, headers] of OWN_SITES) {
      const answer = await get(port, target, headers)
      t.ok([200, 302].includes(statusOf(answer)), `${target}: ${name}`)
      t.match(headerOf(answer, 'content-security-policy'), /frame-ancestors 'none'/, `${target}: ${name} cannot frame it`)
      for (const [header, value] of [
        ['x-frame-options', 'DENY'], ['cross-origin-resource-policy', 'same-origin'], ['cross-origin-opener-policy', 'same-origin']
      ] as const) t.equal(headerOf(answer, header), value, `${target}: ${name}: ${header}`)
    }
  }
})

inBothProducts('no CORS rule applies to the profiler', async (t, build, product) => {
  for (const [name, options, setup] of [
    ['of the option', { cors: [{ origin: '*' }] }, () => {}],
    ['of the option, with credentials', { cors: [{ origin: true, credentials: true }] }, () => {}],
    ['of the option, by path', {
      cors: [
        { path: '/_profiler', origin: ['http://localhost:5173'] }, { path: '/_wdt', origin: ['http://localhost:5173'] }, { origin: ['http://localhost:5173'] }
      ]
    }, () => {}],
    ['of a plugin of the application', {}, (app: FastifyInstance) => app.register(fastifyCors, { origin: true, credentials: true, hook: 'preHandler' })]
  ] as Array<[string, ServiceOptions, (app: FastifyInstance) => unknown]>) {
    if (product === 'package' && name.startsWith('of the option')) continue
    const app = await build(async app => { routes(app); await setup(app) }, options)
    const port = await listen(app)
    const Origin = 'http://localhost:5173'
    for (const target of [
      '/_profiler/', `/_profiler/${TOKEN}.json`, '/_profiler/search.json', '/_profiler/ffffff', '/_profiler/a/b/c', `/_wdt/${TOKEN}`, '/_wdt/a/b',
      `/%5fprofiler/${TOKEN}`
    ]) {
      if (product === 'package' && target.includes('%')) continue
      t.notMatch(headOf(await get(port, target, { Origin })), /^access-control-/im, `${name}: ${target}`)
      if (setup.length > 0) continue
      const preflight = await raw(
        port, `OPTIONS ${target} HTTP/1.1\r\nHost: localhost\r\nOrigin: ${Origin}\r\nAccess-Control-Request-Method: POST\r\nConnection: close\r\n\r\n`
      )
      t.notMatch(headOf(preflight), /^access-control-/im, `${name}: the preflight of ${target}`)
      t.ok(statusOf(preflight) >= 200, `${name}: the preflight of ${target} is answered`)
    }
    if (setup.length > 0) continue
    t.match(await get(port, '/ok', { Origin }), /^access-control-allow-origin: /im, `${name}: the application's own routes have it`)
    t.match(
      await raw(port, `OPTIONS /ok HTTP/1.1\r\nHost: localhost\r\nOrigin: ${Origin}\r\nAccess-Control-Request-Method: GET\r\nConnection: close\r\n\r\n`),
      /^access-control-allow-methods: /im, `${name}: and preflights`
    )
  }
})

inBothProducts('outside debug mode the paths belong to the application, and its rules apply', async (t, build, product) => {
  const app = await build(async (app) => {
    if (product === 'package') await app.register(fastifyCors)
    app.get('/_profiler/mine', () => 'x')
  }, { debug: false, ...(product === 'service' && { cors: [{ origin: '*' }] }) })
  const { headers } = await app.inject({ url: '/_profiler/mine', headers: { origin: 'http://a.test' } })
  t.equal(headers['access-control-allow-origin'], '*')
})

inBothProducts('CORS rules of the application do not open debug pages to other origins', async (t, build, product) => {
  const app = await buildForAnybody(build, product, { debugClients: ['198.51.100.7'], debugHosts: ['tools.example'] })
  const port = await listen(app)
  for (const [origin, site, expected] of [
    ['https://evil.example', 'cross-site', false],
    ['https://evil.example', '', false],
    ['null', 'cross-site', false],
    ['http://203.0.113.9', 'cross-site', false],
    ['http://[2001:db8::1]:3000', 'cross-site', false],
    ['http://192.168.1.5', 'cross-site', false],
    ['https://localhost.evil.example', 'cross-site', false],
    ['https://127.0.0.1.evil.example', 'cross-site', false],
    ['http://localhost@evil.example', 'cross-site', false],
    ['file://', 'cross-site', false],
    ['chrome-extension://abcdef', 'cross-site', false],
    ['http://localhost:5173', 'same-site', true],
    ['http://127.0.0.1:5173', 'same-site', true],
    ['http://[::1]:5173', 'cross-site', true],
    ['http://app.localhost', 'cross-site', true],
    ['https://shop.test', 'cross-site', true],
    ['http://198.51.100.7', 'cross-site', true],
    ['https://tools.example', 'cross-site', true],
    ['null', 'same-origin', true],
    [`http://127.0.0.1:${port}`, '', true]
  ] as const) {
    for (const target of ['/boom', '/nix', '/page', '/_error/500']) {
      const answer = await get(port, target, { Origin: origin, Accept: 'text/html', ...(site !== '' && { 'Sec-Fetch-Site': site }) })
      t.equal(
        target === '/_error/500' ? statusOf(answer) === 500 : shows(product === 'service' ? answer : answer.replace(SECRET_TEXT, '')), expected,
        `${target} for ${origin} (${site})`
      )
    }
  }
})

inBothProducts('changes need a token of the page', async (t, build, product) => {
  const app = await buildForAnybody(build, product)
  const port = await listen(app)
  const token = await app.hindsight.profiler.formToken()
  type Fields = Record<string, string>
  const post = async (path: string, fields: Fields, headers: Fields = {}, type = 'application/x-www-form-urlencoded'): Promise<number> => {
    const body = type.endsWith('urlencoded')
      ? new URLSearchParams(fields).toString()
      : type.endsWith('json') ? JSON.stringify(fields) : Object.entries(fields).map(([name, value]) => `${name}=${value}`).join('\r\n')
    const lines = Object.entries({ Host: 'localhost', 'Content-Type': type, 'Content-Length': String(body.length), Connection: 'close', ...headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`
    )
    return statusOf(await raw(port, `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`))
  }
  const pin = { pinned: '1', form_token: token }
  const path = `/_profiler/${TOKEN}/pin`
  const { form_token: _, ...without } = pin
  for (const [name, given, headers, type] of [
    ['no token', without, {}],
    ['an empty token', { ...pin, form_token: '' }, {}],
    ['a forged token', { ...pin, form_token: `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}` }, {}],
    ['a token in the query only', without, {}, undefined, `?form_token=${token}`],
    ['a form on another site', pin, { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' }],
    ['a form on another port', pin, { 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' }],
    ['a form of a page elsewhere', pin, { Origin: 'https://evil.example' }],
    ['a form of a page without a name', pin, { Origin: 'null' }],
    ['plain text', pin, {}, 'text/plain'],
    ['JSON without token', without, {}, 'application/json'],
    ['a rebound name', pin, { Host: 'evil.example' }]
  ] as Array<[string, Record<string, string>, Record<string, string>, string?, string?]>) {
    const status = await post(path, given, headers, type)
    t.ok([403, 404, 415].includes(status), `${path}: ${name} is ${status}`)
  }
  t.equal((await app.hindsight.profiler.stats()).pinned, 0, 'nothing is pinned')
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']) {
    const status = statusOf(await raw(port, `${method} ${path}?form_token=${token}&pinned=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`))
    t.ok([404, 405].includes(status), `${method} ${path}: ${status}`)
  }
  t.equal(await post(`/_profiler/${TOKEN}/pin`, pin, { 'Sec-Fetch-Site': 'same-origin', Origin: 'http://localhost' }), 303, 'its own form does')
  t.equal((await app.hindsight.profiler.stats()).pinned, 1)
})

inBothProducts('a wildcard route of the application does not bypass the access check', async (t, build, product) => {
  const security = { firewalls: [{ name: 'main', authenticators: { bearer: { verify: () => null } } }], accessControl: [{ roles: 'IS_AUTHENTICATED' }] }
  const app = await build(app => {
    routes(app)
    if (product === 'package') app.addHook('onRequest', async (_request, reply) => await reply.code(401).send('no'))
    app.get('/*', () => 'inside')
  }, product === 'service' ? { security } : {})
  const port = await listen(app)
  for (const path of ['/x', '/_profiler/../x', '/_profiler/a/b/c', '/_wdt/a/b', '/_profiler/%2e%2e/x', '/%5fprofiler/a/b', '/_profiler/assets/../../x']) {
    const answer = await get(port, path)
    t.same([statusOf(answer), answer.endsWith('inside')], [product === 'package' && /^\/_(?:profiler|wdt)\//.test(path) ? 404 : 401, false], path)
  }
  t.equal(statusOf(await get(port, '/_profiler/')), 200, 'the profiler itself needs nobody')
})

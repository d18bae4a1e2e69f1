import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'
import { isLong } from '../../../support/long.js'
import { pluginOf } from '../../../support/products.js'
import application, { options as serverOptions } from '../../../../../../app/app.js'
import { preloadApplication } from '../../../../src/observe.js'
import { LIFECYCLE_OPTIONS } from '../../../../../../lib/check-options.js'
import type { ServiceOptions } from '../../../../../../lib/options.js'
import type { PublishedServices } from '../../../../src/parts/part.js'
import { pageAssets } from '../../../../src/reading/pages/layout.js'
import type { StoredUser } from '../../../../../../lib/security/users.js'
import { profile } from '../../../parts/fixture.js'
import { ask, asRoute, comesFrom, listen, type Answer, type Route } from './strangers.js'

/** The names of the listeners that can be left to the application. */
const OPTIONAL_LISTENERS = LIFECYCLE_OPTIONS.leave?.items?.enum ?? []

const SECRET = 'what-only-its-developer-may-see'
const TOKEN = '00000a'
const OTHER = '00000b'
const NO_ROUTES = new URL('../../../../../../test/fixtures/no-routes', import.meta.url).pathname

type Mode = 'package' | 'preload' | 'service' | 'application'

/** `application` is `service` as `app/app.ts` registers it. */
const MODES: readonly Mode[] = isLong ? ['package', 'service', 'application'] : ['package', 'application']
/** Those with the options of the lifecycle. */
const SERVICES = MODES.filter((mode) => mode !== 'package')

interface Site {
  app: FastifyInstance
  product: Mode
  hindsight: PublishedServices
  port: number
  /** The routes of the profiler's pages. */
  ours: Route[]
}

interface Way {
  options?: ServiceOptions
  server?: FastifyServerOptions
  /** The path below which all is registered. */
  prefix?: string
  declare?: (app: FastifyInstance) => unknown
}

/** What is put for a parameter of a route: one that is not known here stops the tests, so that a new route is asked too. */
const PARAMS: Record<string, string> = { token: TOKEN, other: OTHER, name: Object.values(pageAssets)[0]?.name ?? '', code: '500', format: 'json' }

const isObserved = (product: Mode): boolean => product === 'package' || product === 'preload'

/** Starts an application, and enumerates the routes of our pages: its own in the service, those of a private application otherwise. */
async function start (t: Test, product: Mode, { options = {}, server = {}, prefix, declare }: Way): Promise<Site> {
  const app = Fastify({
    ...(product === 'application' && serverOptions), logger: { level: 'silent' }, pluginTimeout: 60_000, forceCloseConnections: true, ...server
  } as FastifyServerOptions) as unknown as FastifyInstance
  t.teardown(() => app.close())
  const ours: Route[] = []
  const settings: ServiceOptions = { debug: true, profiler: { storage: 'memory' }, ...options }
  if (product === 'preload') preloadApplication(app, settings)
  let isOurs = !isObserved(product)
  app.addHook('onRoute', ({ method, url }) => { if (isOurs) ours.push(...[method].flat().map((one) => asRoute(one, url, PARAMS))) })
  let part = app
  const register = async (app: FastifyInstance): Promise<void> => {
    part = app
    if (product === 'application') {
      await app.register(
        application,
        { service: { ...settings, session: { secret: 'a secret of the tests, thirty-two characters and more' } }, routesDir: NO_ROUTES }
      )
    } else if (product !== 'preload') await app.register(pluginOf(product), { ...settings })
    isOurs = false
    probe(app)
    app.get('/ok', () => 'x')
    await declare?.(app)
  }
  if (prefix === undefined) await register(app)
  else await app.register(register, { prefix })
  const port = await listen(app)
  const { hindsight: services } = part
  // The first request waits for what is loaded beside the start of an application that is observed.
  if (isObserved(product)) await enumerate(app, `${services.base}/_profiler/`, ours)
  if (services.hasProfiles) {
    for (const token of [TOKEN, OTHER]) services.profiler.save(profile(token, { url: `http://localhost/${SECRET}`, route: 'x' } as never))
  }
  return { app, product, hindsight: services, port, ours }
}

/** Has the route that a request came to answer with its own name. */
function probe (app: FastifyInstance): void {
  app.addHook('onRequest', async function probe (request, reply) {
    if (request.headers['x-probe'] === '1') {
      await reply.send(`${request.method} ${request.routeOptions.url ?? 'nowhere'}`)
    }
  })
}

/** The routes of the private application that is made with the first page. */
async function enumerate (app: FastifyInstance, url: string, ours: Route[]): Promise<void> {
  const made = (message: unknown): void => {
    const { fastify } = message as { fastify: FastifyInstance }
    probe(fastify)
    fastify.addHook('onRoute', ({ method, url }) => { ours.push(...[method].flat().map((one) => asRoute(one, url, PARAMS))) })
  }
  subscribe('fastify.initialization', made)
  try {
    await app.inject(url)
  } finally {
    unsubscribe('fastify.initialization', made)
  }
}

/** Text of an answer that reveals a debug route. */
function secretIn ({ head, body }: Answer): string | null {
  return new RegExp(
    `${SECRET}|Hindsight (?!NOT)|node_modules|strangers\\.test|form_token|formToken|"profiles"|"exceptions"|curl ` +
      '|<script|text/event-stream|text/javascript|text/css',
    'i'
  ).exec(body)?.[0] ??
    /^(?:x-debug|server-timing|content-disposition|cross-origin|x-accel|allow:|location:.*_(?:profiler|wdt|error))[^:]*|text\/event-stream/im.exec(
      head
    )?.[0] ?? null
}

const STRANGERS: Array<[name: string, how: Partial<Parameters<typeof ask>[1]>]> = [
  ['a rebound name', { headers: { Host: 'rebound.example' } }],
  ['a name that begins like a local one', { headers: { Host: 'localhost.rebound.example' } }],
  ['HTTP/1.0 with a foreign name', { version: '1.0', headers: { Host: 'rebound.example' } }],
  ['HTTP/1.0 without a name, from elsewhere', { version: '1.0', headers: { Host: null, 'X-From': '203.0.113.9' } }],
  ['a client elsewhere', { headers: { 'X-From': '203.0.113.9' } }],
  ['a client elsewhere, mapped into IPv6', { headers: { 'X-From': '::ffff:203.0.113.9' } }],
  ['a client of the network', { headers: { 'X-From': '192.168.1.20' } }],
  ['a client elsewhere that says it was here', {
    headers: {
      'X-From': '203.0.113.9',
      'X-Forwarded-For': '127.0.0.1',
      Forwarded: 'for=127.0.0.1;host=localhost',
      'X-Real-IP': '127.0.0.1',
      'X-Forwarded-Host': 'localhost'
    }
  }],
  ['a rebound name that says it was local', { headers: { Host: 'rebound.example', 'X-Forwarded-Host': 'localhost', Forwarded: 'host=localhost' } }],
  ['a target with a foreign name', { absolute: 'http://rebound.example' }],
  ['a local target with a foreign name', { absolute: 'http://localhost', headers: { Host: 'rebound.example' } }],
  ['a page elsewhere', { headers: { Origin: 'https://evil.example' } }],
  ['a page without a name', { headers: { Origin: 'null' } }]
]
const ACCEPTS = [
  undefined, '*/*', 'text/html', 'application/json', 'text/markdown', 'text/plain', 'application/problem+json', 'text/event-stream', 'image/*;q=0.1'
]
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY']
const CLOSED: ReadonlySet<number> = new Set([400, 404])
/** What Fastify says to a form where there is no route. */
const UNSUPPORTED = 415

/** Other ways to write the path of a route. */
const spelled = (path: string): string[] => [
  `${path}/`, path.replace('/_', '/%5F'), path.replace(/\w$/, (last) => `%${last.charCodeAt(0).toString(16)}`), `${path}?panel=request`, `${path};x`,
  path.replace('/_', '//_'), path.toUpperCase()
]

const inTurn = <T>(list: readonly T[], turn: number, count: number): T[] => Array.from({ length: count }, (_, i) => list[(turn + i) % list.length] as T)

async function refused (t: Test, { port, product }: Site, how: Parameters<typeof ask>[1], name: string, open = false): Promise<void> {
  const answer = await ask(port, how)
  // A local client receives the token, for a request of any page; the token gives that page no access.
  // An application with a route for any path names its own methods.
  if (open) answer.head = answer.head.replace(/^allow:.*\r\n/gim, '')
  if (how.headers?.Origin !== undefined) answer.head = answer.head.replace(/^x-debug-token.*\r\n/gim, '')
  const what = `${name}: ${how.method ?? 'GET'} ${how.path} ${JSON.stringify(how.headers ?? {})}`
  const secret = secretIn(answer)
  if (secret !== null) t.fail(`${what} shows ${secret}`)
  else if (!open && !CLOSED.has(answer.status) && !(isObserved(product) && answer.status === UNSUPPORTED)) t.fail(`${what} is ${answer.status}`)
  else if (open && answer.status < 200) t.fail(`${what} is not answered`)
}

async function untouched (t: Test, { hindsight: services }: Site, name: string): Promise<void> {
  if (!services.hasProfiles) return
  for (const token of [TOKEN, OTHER]) t.match(await services.profiler.find(token), { token, collectors: {} }, `${name}: ${token} is unchanged`)
  t.equal((await services.profiler.stats()).pinned, 0, `${name}: nothing is pinned`)
}

const WAYS: Array<[name: string, way: Way, open?: boolean, modes?: readonly Mode[]]> = [
  ['as it is', {}, false, [...MODES, 'preload']],
  ['below a prefix', { prefix: '/part' }],
  [
    'with a lax router',
    { server: { routerOptions: { caseSensitive: false, ignoreDuplicateSlashes: true, ignoreTrailingSlash: true, useSemicolonDelimiter: true } } as never }
  ],
  ['where Fastify trusts everybody', { server: { trustProxy: true } }],
  ['with everything left that can be', { options: { leave: [...OPTIONAL_LISTENERS] } }, false, SERVICES],
  ['with rules that let every page read', { options: { cors: [{ origin: '*', credentials: true }] } }, false, SERVICES],
  ['with an error handler that returns all it has', {
    declare: (app) => app.setErrorHandler(async (error: Error & { statusCode?: number }, request, reply) => await reply.code(error.statusCode ?? 500).send(
      { error: { ...error }, message: error.message, config: request.routeOptions.config.name, headers: reply.getHeaders() }
    ))
  }],
  [
    'with an error handler that calls it well',
    { declare: (app) => app.setErrorHandler(async (_error, _request, reply) => await reply.code(200).send('well')) }, true
  ],
  [
    'with its own word for what is not found', { declare: (app) => app.setNotFoundHandler(async (_request, reply) => await reply.code(404).send('nothing')) },
    false, ['package']
  ],
  [
    'with its own pages for what is not found',
    { declare: (app) => app.setNotFoundHandler(async (_request, reply) => await reply.code(200).type('text/html').send('<!doctype html><body>start</body>')) },
    true, ['package']
  ],
  ['with a route for any path', { declare: (app) => app.all('/*', async () => 'any') }, true],
  ['within a part with handlers of its own', {
    declare: async (app) => {
      await app.register(async (part) => {
        part.setErrorHandler(async (_error, _request, reply) => await reply.code(404).send('part'))
        part.get('/part', async () => 'x')
      })
    }
  }]
]

for (const product of [...MODES, 'preload'] as const) {
  t.test(`${product}: a local developer has access to each debug route`, async (t) => {
    const { app, ours } = await start(t, product, {})
    t.ok(ours.length > 20, 'they are enumerated')
    for (const path of [
      '/_profiler/', '/_profiler/:token', '/_profiler/:token/pin', '/_profiler/csp-report/:token', '/_profiler/assets/:name', '/_wdt/:token'
    ]) t.ok(ours.some(({ pattern }) => pattern === path), path)
    for (const { method, pattern, path } of ours) {
      const { body } = await app.inject({ method: method as 'GET', url: path, headers: { 'x-probe': '1' } })
      if (method !== 'HEAD') t.equal(body, `${method} ${pattern}`, path)
    }
  })

  for (const [name, way, open = false, modes = MODES] of WAYS) {
    if (!modes.includes(product)) continue
    t.test(`${product}, ${name}: no debug route answers clients without access`, async (t) => {
      const site = await start(t, product, way)
      const token = await site.hindsight.profiler.formToken()
      t.ok(site.ours.length > 20, 'they are enumerated')
      const form = { form_token: token, pinned: '1', confirm: '1' }
      // Who is new to a route, its method and a form is asked in turns; all of them where nothing is set. The preload has the pages of the package.
      const isWhole = Object.keys(way).length === 0 && (isLong || product !== 'preload')
      let turn = 0
      for (const { method, path } of site.ours) {
        for (const [stranger, how] of isWhole ? STRANGERS : inTurn(STRANGERS, turn, 3)) {
          const accept = ACCEPTS[turn++ % ACCEPTS.length]
          await refused(t, site, { ...how, method, path, form, headers: { ...(accept !== undefined && { Accept: accept }), ...how.headers } }, stranger, open)
        }
      }
      for (const path of new Set(site.ours.map(({ path }) => path))) {
        for (const method of isWhole ? METHODS : inTurn(METHODS, turn, 2)) {
          const [[stranger, how]] = inTurn(STRANGERS, turn++, 1) as [typeof STRANGERS[number]]
          await refused(
            t, site,
            { ...how, method, path, form, headers: { ...how.headers, 'X-HTTP-Method-Override': 'GET', ...(turn % 2 === 0 && { Accept: 'text/html' }) } },
            stranger, open
          )
        }
        for (const accept of isWhole ? ACCEPTS : inTurn(ACCEPTS, turn, 2)) {
          await refused(t, site, { path, headers: { Host: 'rebound.example', ...(accept !== undefined && { Accept: accept }) } }, 'a rebound name', open)
        }
        for (const other of isWhole || 'server' in way ? spelled(path) : inTurn(spelled(path), turn, 1)) {
          await refused(
            t, site, { path: other, headers: { Host: 'rebound.example', ...(turn++ % 2 === 0 && { Accept: 'text/html' }) } }, 'a rebound name', true
          )
        }
      }
      await untouched(t, site, name)
      t.ok(turn > 0, 'every client was tested')
    })
  }
}

t.test('if a listener is left to the application, clients without access see nothing', async (t) => {
  for (const [i, left] of OPTIONAL_LISTENERS.entries()) {
    const site = await start(t, i % 2 === 0 ? 'service' : 'application', { options: { leave: [left] } })
    for (const { method, path } of site.ours) {
      const [[stranger, how]] = inTurn(STRANGERS, i, 1) as [typeof STRANGERS[number]]
      await refused(t, site, { ...how, method, path, headers: { ...how.headers, ...(i % 3 === 0 && { Accept: 'text/html' }) } }, `${left}: ${stranger}`)
    }
    await untouched(t, site, left)
    await site.app.close()
  }
})

t.test('a request that a handler injects has only the access of its client', async (t) => {
  for (const product of MODES) {
    const site = await start(t, product, {
      declare: (app) => app.get('/batch', async (request) => {
        const { method, path } = request.query as Record<string, string>
        const { statusCode, headers, body } = await app.inject({ method: method as 'GET', url: path as string, headers: { accept: request.headers.accept } })
        return { statusCode, names: Object.keys(headers).join(), body }
      })
    })
    for (const { method, path } of site.ours.filter(({ pattern }) => !pattern.endsWith('stream'))) {
      for (const [stranger, how] of STRANGERS.filter((_one, i) => i % 3 === 1 || i > 10)) {
        const { body, head } = await ask(
          site.port, { ...how, path: `/batch?${new URLSearchParams({ method, path }).toString()}`, headers: { Accept: 'text/html', ...how.headers } }
        )
        const { statusCode, names, body: inner } = JSON.parse(body) as Record<string, string>
        const received = { status: 0, head: String(names).replaceAll(',', '\r\n'), body: String(inner) }
        t.equal(secretIn(received), null, `${product}: ${method} ${path} for ${stranger}`)
        // Where there is no route, Fastify requires a type of the body of QUERY.
        t.equal(Number(statusCode), isObserved(product) && method === 'QUERY' ? 400 : 404, `${product}: ${method} ${path} for ${stranger}`)
        if (how.headers?.Origin === undefined) t.notMatch(head, /x-debug/i)
      }
      if (method !== 'GET') continue
      const { statusCode } = JSON.parse(
        (await ask(site.port, { path: `/batch?${new URLSearchParams({ method, path }).toString()}`, headers: { Accept: 'application/json' } })).body
      ) as { statusCode: number }
      t.not(statusCode, path.startsWith('/_error') ? 200 : 0, `${product}: ${path} for its developer`)
    }
    t.match(
      (await ask(site.port, { path: `/batch?method=GET&path=/_profiler/${TOKEN}.json`, headers: { Accept: '*/*' } })).body, SECRET, 'the developer sees it'
    )
    await untouched(t, site, product)
  }
})

t.test('upgrades and tunnels do not bypass the access check', async (t) => {
  for (const product of MODES) {
    const site = await start(t, product, {
      declare: (app) => {
        // As plugins for websockets have it.
        app.server.on('upgrade', (request, socket) => {
          socket.on('error', () => {})
          comesFrom(request)
          const response = new ServerResponse(request)
          response.assignSocket(socket as Socket)
          response.once('finish', () => socket.end())
          app.routing(request, response)
        })
      }
    })
    const upgrade = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==' }
    for (const path of new Set(site.ours.map(({ path }) => path))) {
      for (const Host of ['rebound.example', 'localhost']) {
        const answer = await ask(site.port, { path, headers: { Host, ...(Host === 'localhost' && { 'X-From': '203.0.113.9' }), ...upgrade }, wait: 300 })
        t.equal(secretIn(answer), null, `${product}: an upgrade of ${path}`)
        t.not(answer.status, 101)
      }
    }
    const tunnel = await ask(site.port, { method: 'CONNECT', path: `localhost:${site.port}`, headers: { Host: 'rebound.example' }, wait: 300 })
    t.not(tunnel.status, 200, `${product}: a tunnel`)
    await untouched(t, site, product)
  }
})

t.test('production has no debug route', async (t) => {
  for (const product of [...MODES, 'preload'] as const) {
    for (const [name, options] of [
      ['as it is', {}],
      ['with a store', { profiler: { production: true, storage: 'memory' } }],
      ['with failures alone', { profiler: 'errors' }]
    ] as Array<[string, ServiceOptions]>) {
      const { ours, port } = await start(t, product, { options: { debug: false, ...options } })
      t.same(ours.filter(({ pattern }) => pattern.startsWith('/_')), [], `${product}, ${name}: no route`)
      for (const path of ['/_profiler/', `/_profiler/${TOKEN}`, `/_wdt/${TOKEN}`, '/_error/500', '/_profiler/latest.json']) {
        for (const Accept of ['*/*', 'text/html']) {
          const answer = await ask(port, { path, headers: { Accept } })
          t.same([answer.status, secretIn(answer)], [404, null], `${product}, ${name}: ${path}`)
        }
      }
    }
  }
})

t.test('in production only users with the role see the pages, from any address', async (t) => {
  const verify = (token: string): StoredUser | null => token === 'other' ? null : { identifier: token, roles: [`ROLE_${token.toUpperCase()}`] }
  for (const product of SERVICES) {
    for (const pattern of [undefined, '/_profiler', '/elsewhere']) {
      const security = { firewalls: [{ name: 'all', ...(pattern !== undefined && { pattern }), authenticators: { bearer: { verify } } }] }
      const site = await start(
        t, product, { options: { debug: false, session: false, security, profiler: { production: true, storage: 'memory' }, profilerRole: 'ROLE_OPERATOR' } }
      )
      t.ok(site.ours.length > 10, 'they are enumerated')
      t.notOk(site.ours.some(({ pattern }) => /_wdt|_error|csp-report|replay/.test(pattern)), 'no route for debug mode only is among them')
      let turn = 0
      for (const { method, path } of site.ours) {
        for (const [who, Authorization] of [['nobody', null], ['a guest', 'Bearer guest'], ['somebody else', 'Bearer other']] as const) {
          const [Accept = '*/*'] = inTurn(ACCEPTS, turn++, 1)
          const form = { form_token: await site.hindsight.profiler.formToken(who === 'a guest' ? 'guest' : undefined), pinned: '1' }
          const answer = await ask(site.port, { method, path, form, headers: { Accept, Authorization } })
          t.same(
            [secretIn({ ...answer, head: '' }), [401, 403].includes(answer.status)], [null, true],
            `${product}, ${pattern}: ${method} ${path} for ${who} is ${answer.status}`
          )
        }
      }
      await untouched(t, site, product)
      const own = await ask(site.port, { path: `/_profiler/${TOKEN}.json`, headers: { Authorization: 'Bearer operator' } })
      t.equal(own.body.includes(SECRET), pattern !== '/elsewhere', 'an operator has access if the firewall authenticates them')
      await site.app.close()
    }
  }
})

t.test('in production no listener that is left to the application opens pages that need a role', async (t) => {
  const verify = (): StoredUser => ({ identifier: 'guest', roles: ['ROLE_USER'] })
  for (const left of OPTIONAL_LISTENERS.filter((name) => name !== 'is-granted')) {
    const site = await start(t, 'service', {
      options: {
        debug: false,
        session: false,
        leave: [left],
        security: { firewalls: [{ name: 'all', authenticators: { bearer: { verify } } }] },
        profiler: { production: true, storage: 'memory' },
        profilerRole: 'ROLE_OPERATOR'
      }
    })
    t.ok(site.ours.length > 10, left)
    for (const { method, path } of site.ours) {
      const answer = await ask(site.port, {
        method,
        path,
        form: { form_token: await site.hindsight.profiler.formToken('guest'), pinned: '1' },
        headers: { Authorization: method === 'HEAD' ? null : 'Bearer guest' }
      })
      if (answer.status < 400 || answer.status > 403 || secretIn({ ...answer, head: '' }) !== null) t.fail(`${left}: ${method} ${path} is ${answer.status}`)
    }
    await untouched(t, site, left)
    await site.app.close()
  }
})

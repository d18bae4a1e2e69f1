import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import { service } from '../../app/service.js'
import { hindsight } from '../../packages/hindsight/src/hindsight.js'
import { readPackageOptions } from '../../packages/hindsight/src/environment.js'
import { testdir } from '../../packages/hindsight/test/support/folder.js'
import { environmentNames } from '../../packages/hindsight/test/support/environment-names.js'
import type { ServiceOptions } from '../../lib/options.js'
import type { Listener } from '../../lib/listener.js'
import type { ListenerEvent } from '../../packages/hindsight/src/recording/events.js'
import type { Profile } from '../../packages/hindsight/src/store/profile.js'
import { ROOT, runSnippet, snippetsOf, type Snippet } from '../../packages/hindsight/test/support/snippets.js'

/** The pages whose pieces these tests run. */
const GUIDE = [
  'how-to/existing-application', 'how-to/add-a-listener', 'how-to/authenticator', 'how-to/capture-errors', 'explanation/lifecycle', 'explanation/two-products'
]
  .map((page) => `docs/${page}.md`)
const HTML = { accept: 'text/html' }
const snippets = GUIDE.flatMap(snippetsOf)

function marked (wanted: string): Snippet {
  const found = snippets.find(({ mark }) => mark === wanted)
  if (found === undefined) throw new Error(`no page has a piece marked "${wanted}"`)
  return found
}

/** Within the project, where the package is found by its name; a store of which nothing is said lies there too. */
const folder = testdir(t)
process.chdir(folder)
t.teardown(() => process.chdir(ROOT))

async function applicationOf (t: Test, mark: string): Promise<{ app: FastifyInstance }> {
  const exported = await runSnippet(marked(mark), folder) as { app: FastifyInstance }
  t.teardown(() => exported.app.close())
  return exported
}

async function profileOf (app: FastifyInstance, { headers }: { headers: Record<string, unknown> }): Promise<Profile> {
  await app.hindsight.profiler.flush()
  const profile = await app.hindsight.profiler.find(String(headers['x-debug-token']))
  if (profile === undefined) throw new Error('there is no profile')
  return profile
}

t.test('the plugin', async (t) => {
  const { app } = await applicationOf(t, 'run: plugin')
  const { statusCode, headers, body } = await app.inject({ url: '/broken', headers: HTML })
  t.equal(statusCode, 500)
  t.match(body, /<title>This is what a failure looks like/)
  t.match(headers['x-debug-token-link'], /\/_profiler\/[0-9a-f]{6}$/)
  t.equal((await app.inject('/_profiler/')).statusCode, 200)
})

t.test('the profiles of an existing application have the described contents', async (t) => {
  const { app } = await applicationOf(t, 'run: existing')
  const answer = await app.inject({ url: '/', headers: { host: 'blue.localhost', origin: 'https://app.example' } })
  t.same(
    Object.keys(answer.headers).sort(),
    ['access-control-allow-origin', 'connection', 'content-length', 'content-type', 'date', 'x-debug-token', 'x-debug-token-link', 'x-tenant'],
    'two headers are added'
  )
  t.match(answer.headers, { 'access-control-allow-origin': 'https://app.example', 'x-tenant': 'blue' })
  const missed = await app.inject({ url: '/nowhere', headers: HTML })
  t.same(missed.json(), { missing: '/nowhere' })
  t.match((await profileOf(app, missed)).exceptions.at(-1)?.message, /^No route found for "GET .*\/nowhere"/)
  const { events, collectors } = await profileOf(app, answer)
  const found = (wanted: string): ListenerEvent | undefined => events.find(({ listener }) => listener === wanted)
  t.match(found('readTenant'), { stage: 'onRequest', source: /snippet-\d+\.js:9$/, changes: { headers: [{ name: 'x-tenant', to: 'blue' }] } })
  t.equal(events.find(({ plugin }) => plugin === '@fastify/cors')?.stage, 'onRequest')
  t.match(collectors.headers, { changes: [{ name: 'content-type', by: 'handler', source: /snippet-\d+\.js:12$/ }] })
})

t.test('errors that other code catches are recorded', async (t) => {
  const { app } = await applicationOf(t, 'run: capture')
  const answer = await app.inject('/price')
  t.same([answer.statusCode, answer.json()], [200, { errors: [{ message: 'The price is unknown' }] }])
  t.match((await profileOf(app, answer)).exceptions, [{ message: 'no connection to the database' }])
})

t.test('the documented lifecycle, beside a plugin that does the same', async (t) => {
  const { app } = await applicationOf(t, 'run: full')
  const { headers } = await app.inject('/')
  t.match(headers['content-security-policy'], /upgrade-insecure-requests/, 'of @fastify/helmet')
  t.notOk('cache-control' in headers)
  const without = marked('run: full').code.replace(/^ {2}leave: .*\n/m, '')
  const { app: other } = await runSnippet({ ...marked('run: full'), code: without }, folder) as { app: FastifyInstance }
  t.teardown(() => other.close())
  await t.rejects(async () => await other.ready(), { message: marked('shown').code.trim() }, 'the sentence of docs/explanation/lifecycle.md')
})

t.test('the pages say which package of production declares a later Node.js than this one', (t) => {
  const read = (name: string): string => readFileSync(join(ROOT, name), 'utf8')
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, { dev?: true, version: string, engines?: { node?: string } }> }
  const later = Object.entries(packages).filter(([, { dev, engines }]) => dev !== true && /^>= *2[1-9]/.test(engines?.node ?? ''))
  t.match(later, [['node_modules/cookie', { version: /^2\./, engines: { node: '>=22' } }]])
  t.equal(later.length, 1)
  t.same(snippets.filter(({ language }) => language === 'json').map(({ code }) => JSON.parse(code)), [{ overrides: { cookie: '^1.1.1' } }])
  const [, minimum = ''] = />=(\d+\.\d+)/.exec(JSON.parse(read('package.json')).engines.node) ?? []
  for (const page of ['README.md', 'docs/how-to/existing-application.md', 'docs/how-to/service.md']) {
    t.ok(read(page).includes(minimum) && read(page).includes('22.13 or later'), page)
  }
  t.end()
})

t.test('the preload reads the listed variables', async (t) => {
  const guide = readFileSync(join(ROOT, 'docs/how-to/existing-application.md'), 'utf8')
  const [, sentence = ''] = /Options come from the environment: ([^]*?), as the/.exec(guide) ?? []
  const values: Record<string, string> = {
    STORAGE_URL: 'memory',
    DATA_DIR: '/data',
    PROFILER: 'errors',
    DEBUG_CLIENTS: '192.0.2.1',
    DEBUG_HOSTS: 'dev.example',
    TRUSTED_PROXIES: '192.0.2.2',
    EDITOR_URL: 'vscode',
    EDITOR_PATHS: '/app=/home/me',
    HINDSIGHT_QUERIES: 'off',
    HINDSIGHT_VALUES: 'off'
  }
  t.same([...sentence.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name), Object.keys(values))
  const none = JSON.stringify(readPackageOptions({}))
  for (const [name, value] of Object.entries(values)) t.not(JSON.stringify(readPackageOptions({ [name]: value })), none, name)
  for (const name of environmentNames.filter((name) => !(name in values) && name !== 'NODE_ENV')) {
    t.equal(JSON.stringify(readPackageOptions({ [name]: name === 'LOG_LEVEL' ? 'warn' : name === 'HEALTH' ? 'on' : '7' })), none, name)
  }
})

async function register (t: Test, declare: (app: FastifyInstance) => unknown, options: ServiceOptions = {}): Promise<FastifyInstance> {
  const app = Fastify({ pluginTimeout: 60_000 })
  await app.register(service, { debug: true, profiler: { storage: 'memory' }, ...options })
  await declare(app)
  t.teardown(() => app.close())
  return app
}

const SET = {
  'content-security-policy': { contentSecurityPolicy: false },
  'x-frame-options': { clickjacking: false },
  'referrer-policy': { referrerPolicy: false },
  'x-content-type-options': { leave: ['content-type'] },
  'x-xss-protection': { xssProtection: false },
  'cache-control': { leave: ['response'] }
} satisfies Record<string, ServiceOptions>

t.test('the listed headers are set, options remove them, and routes can set their own', async (t) => {
  const declare = (app: FastifyInstance): void => {
    app.get('/', async () => 'x')
    app.get('/own', async (_request, reply) => {
      for (const name of Object.keys(SET)) reply.header(name, 'of the route')
      return 'x'
    })
  }
  const production = await register(t, declare, { debug: false, profiler: false })
  const { headers } = await production.inject('/')
  const own = (await production.inject('/own')).headers
  for (const [name, off] of Object.entries(SET)) {
    t.ok(headers[name], name)
    t.equal(own[name], 'of the route', name)
    t.equal((await (await register(t, declare, { debug: false, profiler: false, ...off })).inject('/')).headers[name], undefined, name)
  }
  t.same(
    Object.keys(headers).filter((name) => !(name in SET) && !['content-type', 'content-length', 'date', 'connection'].includes(name)), [],
    'each header is in SET and in the table of lifecycle.md'
  )
})

t.test('hooks before the plugin, and a plugin without await, behave as described', async (t) => {
  const declare = (app: FastifyInstance): void => {
    app.addHook('onRequest', async function mine (_request, reply) { reply.header('x-mine', '1') })
    app.get('/', async () => { throw new Error('broken') })
  }
  for (const [name, isBefore] of [['a route before it', true], ['not waited for', false]] as const) {
    const app = Fastify({ pluginTimeout: 60_000 })
    t.teardown(() => app.close())
    if (isBefore) declare(app)
    const registered = app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
    if (!isBefore) declare(app)
    await registered
    const answer = await app.inject({ url: '/', headers: HTML })
    t.ok(answer.body.includes('<!DOCTYPE'), name)
    t.equal(answer.headers['x-mine'], '1')
    const { exceptions, events } = await profileOf(app, answer)
    t.equal(exceptions.length, 1, name)
    t.notOk(events.some(({ listener }) => listener === 'mine'), name)
  }
})

t.test('in a part of the application', async (t) => {
  for (const prefix of ['/shop', '']) {
    const app = Fastify({ pluginTimeout: 60_000 })
    t.teardown(() => app.close())
    await app.register(async (part) => {
      await part.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
      part.get('/', async () => 'x')
    }, { prefix })
    const { headers } = await app.inject(`${prefix}/`)
    t.match(headers['x-debug-token-link'], new RegExp(`^http://localhost${prefix}/_profiler/[0-9a-f]{6}$`))
    t.equal((await app.inject(`${prefix}/_profiler/`)).statusCode, 200)
    t.notOk((await app.inject(`${prefix}/nowhere`)).headers['x-debug-token'], 'an unknown URL belongs to the root')
  }
})

t.test('pages are answered before the hooks and routes of the application', async (t) => {
  const app = Fastify({ pluginTimeout: 60_000 })
  t.teardown(() => app.close())
  await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
  app.addHook('onRequest', async (_request, reply) => await reply.code(401).send('credentials'))
  app.get('/*', async () => 'x')
  t.equal((await app.inject('/_profiler/')).statusCode, 200)
  t.equal((await app.inject('/_profiler')).statusCode, 301)
  t.equal((await app.inject('/')).statusCode, 401)
  t.equal(app.printRoutes(), '└── /\n    └── * (GET, HEAD)\n')
})

t.test('limits: changes of headers in a route with hooks of its own', async (t) => {
  const app = Fastify({ pluginTimeout: 60_000 })
  t.teardown(() => app.close())
  await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
  const set = (name: string) => async (_request: unknown, reply: FastifyReply) => { reply.header(`x-${name}`, '1') }
  app.get('/', {
    onRequest: set('on-request'),
    preHandler: set('pre-handler'),
    preSerialization: async (_request, reply, payload) => { reply.header('x-pre-serialization', '1'); return payload },
    onSend: set('on-send')
  }, async (_request, reply) => { reply.header('x-handler', '1'); return {} })
  const { events, collectors } = await profileOf(app, await app.inject('/'))
  t.same(events, [])
  const { changes } = collectors.headers as { changes: Array<{ name: string, by: string, source?: string }> }
  t.same(changes.filter(({ name }) => !name.startsWith('x-debug')).map(({ name, by }) => [name, by]), [
    ['x-on-request', 'route hooks'], [
      'x-pre-handler', 'handler or route hooks'
    ], ['x-handler', 'handler or route hooks'], ['content-type', 'handler or route hooks'], ['x-pre-serialization', 'Fastify'],
    ['x-on-send', 'route hooks'], ['content-length', 'Fastify']
  ])
  for (const { by, source } of changes) {
    if (['handler or route hooks', 'route hooks'].includes(by)) t.match(source, /guide\.test\.ts:\d+$/, 'the place of the route')
  }
})

t.test('limits: log lines, by the kind of logger', async (t) => {
  const lines: string[] = []
  const none = (): void => {}
  const own = {
    level: 'info', info: (text: string) => { lines.push(text) }, error: none, warn: none, debug: none, trace: none, fatal: none, silent: none, child: () => own
  }
  for (const [name, options, expected] of [
    ['pino', { logger: { level: 'info', stream: { write: none } } }, ['info from the request', 'info from the application']],
    ['another logger', { loggerInstance: own }, []],
    ['none', { logger: false }, []]
  ] as const) {
    const app = Fastify({ pluginTimeout: 60_000, ...options } as object) as unknown as FastifyInstance
    t.teardown(() => app.close())
    await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
    app.get('/', async ({ log }) => {
      log.info('from the request')
      log.debug('from the request')
      app.log.info('from the application')
      return 'x'
    })
    const { logs } = await profileOf(app, await app.inject('/'))
    t.same(logs.map(({ level, message }) => `${level} ${message}`).filter((line) => line.includes('from the')), expected, name)
  }
  t.ok(lines.includes('from the request'), 'the logger itself is called')
})

t.test('limits: stack traces keep their length, and source maps are not switched on', async (t) => {
  const depth = Error.stackTraceLimit
  const app = Fastify({ pluginTimeout: 60_000 })
  t.teardown(() => app.close())
  let switched = false
  const { setSourceMapsEnabled } = process
  process.setSourceMapsEnabled = () => { switched = true }
  t.teardown(() => { process.setSourceMapsEnabled = setSourceMapsEnabled })
  await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
  await app.inject('/')
  t.same([Error.stackTraceLimit, switched], [depth, false])
})

t.test('configure', async (t) => {
  const { app } = await applicationOf(t, 'run: configure')
  const answer = await app.inject({ url: '/api/stock', headers: { 'x-customer-id': 'ada-7' } })
  t.same(answer.json(), { left: 3 })
  await app.hindsight.profiler.flush()
  const { token } = await app.hindsight.profiler.latest() ?? {}
  t.notMatch(JSON.stringify(await app.hindsight.profiler.find(String(token))), /ada-7/)
})

t.test('secure', async (t) => {
  const { app } = await applicationOf(t, 'run: secure')
  const refused = await app.inject('/door/9')
  t.match([refused.statusCode, refused.headers['www-authenticate']], [401, 'Badge realm="door"'])
  t.same((await app.inject({ url: '/door/9', headers: { 'x-badge': 'blue-7' } })).json(), { welcome: 'ada' })
  const night = await app.inject({ url: '/door/23', headers: { 'x-badge': 'blue-7' } })
  t.equal(night.statusCode, 403)
  t.match(JSON.stringify((await profileOf(app, night)).collectors.security), /it is 23 o'clock/)
})

t.test('add-a-listener.md', async (t) => {
  const { code, ...rest } = marked('listener')
  const absolute = code.replaceAll("'../lib/", `'${join(ROOT, 'lib')}/`)
  const { permissionsPolicy } = await runSnippet({ ...rest, code: absolute }, folder) as { permissionsPolicy: Listener<'kernel.response'> }
  const app = await register(t, async (app) => {
    await app.register(permissionsPolicy.plugin)
    app.get('/', async () => 'x')
  })
  const answer = await app.inject('/')
  t.equal(answer.headers['permissions-policy'], 'camera=(), microphone=()')
  t.match((await profileOf(app, answer)).events.find(({ listener }) => listener === 'permissions-policy'), { stage: 'kernel.response', outcome: 'ran' })
})

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { hindsight } from '../../app/hindsight.js'
import { LEAVABLE } from '../../app/leave.js'
import { environmentNames } from '../../app/environment.js'
import { lifecycle } from '../../app/lifecycle.js'
import { OPTIONS } from '../../app/options-table.js'
import type { HindsightOptions } from '../../app/options.js'
import type { Listener } from '../../plugins/kernel/listener.js'
import type { ListenerEvent } from '../../plugins/kernel/events.js'
import type { Profile } from '../../plugins/profiler/profile.js'
import { ROOT, runSnippet, snippetsOf, type Snippet } from '../support/snippets.js'

const PAGES = ['docs/guide.md', 'docs/service.md', 'README.md', 'examples/articles/README.md']
const HTML = { accept: 'text/html' }
const snippets = snippetsOf('docs/guide.md')

function marked (wanted: string): Snippet {
  const found = snippets.find(({ mark }) => mark === wanted)
  if (found === undefined) throw new Error(`the guide has no piece marked "${wanted}"`)
  return found
}

/** Within the project, where the package is found by its name; a store of which nothing is said lies there too. */
const folder = t.testdir()
process.chdir(folder)
t.teardown(() => process.chdir(ROOT))

async function applicationOf (t: Test, mark: string): Promise<{ app: FastifyInstance, reports?: string[] }> {
  const exported = await runSnippet(marked(mark), folder) as { app: FastifyInstance, reports?: string[] }
  t.teardown(() => exported.app.close())
  return exported
}

async function profileOf (app: FastifyInstance, { headers }: { headers: Record<string, unknown> }): Promise<Profile> {
  await app.profiler.flush()
  const profile = await app.profiler.find(String(headers['x-debug-token']))
  if (profile === undefined) throw new Error('there is no profile')
  return profile
}

t.test('what is linked is there, and what is named', async (t) => {
  for (const page of [...PAGES, 'docs/architecture.md']) {
    const text = readFileSync(join(ROOT, page), 'utf8')
    for (const [, link = ''] of text.matchAll(/\]\(((?!https?:)[\w./-]+?)(?:#[\w-]+)?\)/g)) t.ok(existsSync(join(ROOT, page, '..', link)), `${page}: ${link}`)
  }
  const guide = readFileSync(join(ROOT, 'docs/guide.md'), 'utf8')
  for (const name of ['errorPages', 'leave', 'contentSecurityPolicy', 'clickjacking', 'referrerPolicy', 'xssProtection', 'debugClients', 'debugHosts', 'mask', 'security', 'session', 'cors', 'profiler']) {
    t.ok(name in OPTIONS && guide.includes(name), name)
  }
  t.equal(new Set(Object.values(lifecycle).flat().map(({ listener }) => listener)).size - LEAVABLE.length, 7)
})

t.test('the service: each variable is told', async (t) => {
  const [told = [], limits = []] = ['docs/service.md', 'docs/options.md'].map((page) => [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^\| `([A-Z_]+)`/gm)].map(([, name = '']) => name))
  t.same([...told, ...limits].sort(), [...environmentNames].sort(), 'once, here or among the limits')
})

t.test('the plugin', async (t) => {
  const { app } = await applicationOf(t, 'run: plugin')
  const { statusCode, headers, body } = await app.inject({ url: '/broken', headers: HTML })
  t.equal(statusCode, 500)
  t.match(body, /<title>This is what a failure looks like/)
  t.match(headers['x-debug-token-link'], /\/_profiler\/[0-9a-f]{6}$/)
  t.equal((await app.inject('/_profiler/')).statusCode, 200)
})

t.test('in an application that exists already', async (t) => {
  const { app } = await applicationOf(t, 'run: existing')
  const answer = await app.inject({ url: '/', headers: { host: 'blue.localhost', origin: 'https://app.example' } })
  t.match(answer.headers, { 'access-control-allow-origin': 'https://app.example', 'x-tenant': 'blue' })
  for (const name of ['content-security-policy', 'cache-control', 'x-robots-tag']) t.notOk(name in answer.headers, name)
  t.same((await app.inject({ url: '/nowhere', headers: HTML })).json(), { missing: '/nowhere' })
  const { events } = await profileOf(app, answer)
  const found = (wanted: string): ListenerEvent | undefined => events.find(({ listener }) => listener === wanted)
  t.equal(found('cors')?.reason, 'left to @fastify/cors, which the application registers')
  t.equal(found('robots')?.reason, 'left to the application')
  t.match(found('readTenant'), { stage: 'onRequest', source: /snippet-\d+\.js:9$/, changes: { headers: [{ name: 'x-tenant', to: 'blue' }] } })
  t.equal(events.find(({ plugin }) => plugin === '@fastify/cors')?.stage, 'onRequest')
  t.match(app.printPlugins(), /hindsight\/kernel\.request\/router/)
})

async function register (t: Test, declare: (app: FastifyInstance) => unknown, options: HindsightOptions = {}): Promise<FastifyInstance> {
  const app = Fastify({ pluginTimeout: 60_000 })
  await app.register(hindsight, { debug: true, profiler: { storage: 'memory' }, ...options })
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
} satisfies Record<string, HindsightOptions>

t.test('the headers that are set, what takes them off, and that a route may set its own', async (t) => {
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
  t.same(Object.keys(headers).filter((name) => !(name in SET) && !['content-type', 'content-length', 'date', 'connection'].includes(name)), [], 'no other')
})

t.test('what stands ahead of the plugin, and a plugin that is not waited for', async (t) => {
  const declare = (app: FastifyInstance): void => {
    app.addHook('onRequest', async function mine (_request, reply) { reply.header('x-mine', '1') })
    app.get('/', async () => { throw new Error('broken') })
  }
  for (const [name, isExplained] of [['a route ahead of it', false], ['not waited for', true]] as const) {
    const app = Fastify({ pluginTimeout: 60_000 })
    t.teardown(() => app.close())
    if (!isExplained) declare(app)
    const registered = app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
    if (isExplained) declare(app)
    await registered
    const answer = await app.inject({ url: '/', headers: HTML })
    t.equal(answer.body.includes('<!DOCTYPE'), isExplained, name)
    t.equal(answer.headers['x-mine'], '1')
    const { exceptions, events } = await profileOf(app, answer)
    t.equal(exceptions.length, isExplained ? 1 : 0, name)
    t.notOk(events.some(({ listener }) => listener === 'mine'), name)
  }
})

t.test('configure', async (t) => {
  const { app } = await applicationOf(t, 'run: configure')
  const answer = await app.inject({ url: '/api/stock', headers: { host: 'shop.example', origin: 'https://app.example', 'x-customer-id': 'ada-7' } })
  t.same(answer.json(), { left: 3 })
  t.equal(answer.headers['access-control-allow-origin'], 'https://app.example')
  t.notMatch(JSON.stringify(await profileOf(app, answer)), /ada-7/)
  t.equal((await app.inject({ url: '/api/stock', headers: { host: 'evil.example' } })).statusCode, 400)
})

t.test('secure', async (t) => {
  const { app } = await applicationOf(t, 'run: secure')
  t.equal((await app.inject('/door/9')).statusCode, 401)
  t.same((await app.inject({ url: '/door/9', headers: { 'x-badge': 'blue-7' } })).json(), { welcome: 'ada' })
  const night = await app.inject({ url: '/door/23', headers: { 'x-badge': 'blue-7' } })
  t.equal(night.statusCode, 403)
  t.match(JSON.stringify((await profileOf(app, night)).collectors.security), /it is 23 o'clock/)
})

t.test('a listener', async (t) => {
  const { code, ...rest } = marked('listener')
  const absolute = code.replaceAll("'../kernel/", `'${pathToFileURL(join(ROOT, 'plugins/kernel')).href}/`)
  const { permissionsPolicy } = await runSnippet({ ...rest, code: absolute }, folder) as { permissionsPolicy: Listener<'kernel.response'> }
  const app = await register(t, async (app) => {
    await app.register(permissionsPolicy.plugin)
    app.get('/', async () => 'x')
  })
  const answer = await app.inject('/')
  t.equal(answer.headers['permissions-policy'], 'camera=(), microphone=()')
  t.match((await profileOf(app, answer)).events.find(({ listener }) => listener === 'permissions-policy'), { stage: 'kernel.response', outcome: 'ran' })
})

t.test('a store', async (t) => {
  const { app, reports } = await applicationOf(t, 'run: store')
  await profileOf(app, await app.inject('/broken'))
  t.same(reports, ['GET http://localhost/broken: Error: no'])
})

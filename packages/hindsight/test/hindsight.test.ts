import { createHook } from 'node:async_hooks'
import { get } from 'node:http'
import { dirname } from 'node:path'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { hindsight } from '../src/hindsight.js'
import { preloadApplication } from '../src/observe.js'
import type { HindsightOptions } from '../src/options.js'
import { asides, connection, place } from './store/support.js'
import { profileOf } from './support/app.js'
import { inBothProducts, PRODUCTS, pluginOf, type TestedProduct } from './support/products.js'

const HTML = { accept: 'text/html,*/*;q=0.8' }

/** An application that registers a product first; in memory, so that nothing has to be cleared away. */
async function application (
  t: Test, product: TestedProduct, declare: (app: FastifyInstance) => unknown, options: HindsightOptions = {}
): Promise<FastifyInstance> {
  const app = Fastify({ pluginTimeout: 60_000 })
  await app.register(pluginOf(product), { profiler: { storage: 'memory' }, ...options })
  await declare(app)
  t.teardown(() => app.close())
  return app
}

inBothProducts('no option is needed: pages, profiles, toolbar', async (t, _build, product) => {
  const app = await application(t, product, (app) => {
    app.get('/', async (_request, reply) => await reply.type('text/html').send('<!doctype html><title>x</title><body></body>'))
  })
  const page = await app.inject({ url: '/', headers: HTML })
  t.equal(page.statusCode, 200)
  t.match(page.headers['x-debug-token'], /^[0-9a-f]{6}$/)
  t.match(page.body, /_wdt|hindsight/)
  t.equal((await app.inject('/_profiler/')).statusCode, 200)
  t.equal((await app.inject(`/_wdt/${String(page.headers['x-debug-token'])}`)).statusCode, 200)
})

inBothProducts('clients that may not see the debug surface receive no debug page in any format', async (t, _build, product) => {
  const app = await application(t, product, (app) => { app.get('/', async () => 'x') })
  const token = String((await app.inject('/')).headers['x-debug-token'])
  await profileOf(app, await app.inject('/'))
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const statusOf = async (path: string, headers: Record<string, string>): Promise<number | undefined> => await new Promise((resolve, reject) => {
    get(`${origin}${path}`, { headers }, (response) => { response.resume().once('close', () => { resolve(response.statusCode) }) }).once('error', reject)
  })
  const paths = [
    '/_profiler/', '/_profiler/search.json', '/_profiler/latest', `/_profiler/${token}`, `/_profiler/${token}.md`, `/_profiler/${token}/as/curl`,
    `/_profiler/${token}/replay`, `/_profiler/${token}/compare/${token}`, `/_wdt/${token}`, '/_error/500'
  ]
  for (const path of paths) {
    for (const accept of [{}, { accept: '*/*' }, { accept: 'application/json' }, { accept: 'text/html' }]) {
      t.equal(await statusOf(path, { host: 'evil.example', ...accept }), 404, `${path} ${JSON.stringify(accept)}`)
    }
  }
  t.equal(await statusOf('/_profiler/', {}), 200)
})

inBothProducts('below a prefix the pages and all links have the prefix', async (t, _build, product) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(async (child) => {
    await child.register(pluginOf(product), { profiler: { storage: 'memory' } })
    child.get('/', async (_request, reply) => await reply.type('text/html').send('<!doctype html><title>x</title><body></body>'))
  }, { prefix: '/shop' })
  const page = await app.inject({ url: '/shop/', headers: HTML })
  const token = String(page.headers['x-debug-token'])
  const link = String(page.headers['x-debug-token-link'])
  t.equal(link, `http://localhost/shop/_profiler/${token}`)
  t.equal((await app.inject({ url: new URL(link).pathname, headers: HTML })).statusCode, 200)
  t.ok(page.body.includes('"/shop/_profiler/assets/'), 'the toolbar')
  t.equal((await app.inject(`/shop/_wdt/${token}.json`)).json<{ url: string }>().url, link)
  const nowhere = await app.inject('/shop/_profiler/nowhere/at/all')
  t.equal(nowhere.statusCode, 404)
  // In the service, an unknown path below the profiler is not found like any other.
  t.equal(nowhere.headers['x-debug-token'] !== undefined, product === 'service')
})

inBothProducts('below a prefix, callNotFound() reaches the not-found handler of the outer application', async (t, _build, product) => {
  for (const debug of [true, false]) {
    const app = Fastify({ pluginTimeout: 60_000 })
    t.teardown(() => app.close())
    let part: FastifyInstance | undefined
    await app.register(async (child) => {
      part = child
      await child.register(pluginOf(product), { debug, profiler: { storage: 'memory', production: true } })
      child.get('/missed', (_request, reply) => { reply.callNotFound() })
      child.get('/', async () => 'x')
    }, { prefix: '/shop' })
    const origin = await app.listen({ host: '127.0.0.1', port: 0 })
    for (const accept of ['text/html', 'application/json']) {
      t.equal((await fetch(`${origin}/shop/missed`, { headers: { accept } })).status, 404, accept)
    }
    t.equal((await fetch(`${origin}/shop/`)).status, 200)
    const { profiles } = await part?.hindsight.profiler.search({ limit: 9 }) ?? {}
    t.same(profiles?.map(({ status }) => status), [200, 404, 404], debug ? 'in debug mode' : 'in production')
  }
})

inBothProducts('debug mode is off if NODE_ENV is production', async (t, _build, product) => {
  const before = process.env.NODE_ENV
  process.env.NODE_ENV = 'production'
  t.teardown(() => { if (before === undefined) delete process.env.NODE_ENV; else process.env.NODE_ENV = before })
  const app = await application(t, product, (app) => { app.get('/', async () => 'x') })
  t.equal((await app.inject('/')).headers['x-debug-token'], undefined)
  t.equal((await app.inject('/_profiler/')).statusCode, 404)
})

t.test('a second registration is refused', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(hindsight, { profiler: { storage: 'memory' } })
  await t.rejects(async () => { await app.register(hindsight) }, { message: /^fastify-hindsight is registered twice/ })
})

t.test('a storage that names no store stops the start in both products, also with a short timeout for plugins', async (t) => {
  const message = /^profiler\.storage \(STORAGE_URL\): it is neither sqlite nor memory, nor an address such as postgres:\/\/user:password@localhost/
  for (const product of PRODUCTS) {
    for (const storage of ['redis', 'postgress//u:secret@h/x', 'postgres://', 'postgres:u:secret@h/x']) {
      for (const options of [{}, { pluginTimeout: 1_000 }]) {
        const app = Fastify(options)
        t.teardown(() => app.close())
        await t.rejects(async () => { await app.register(pluginOf(product), { profiler: { storage } }) }, { message }, `${product}: ${storage}`)
      }
    }
  }
  const preloaded = Fastify()
  t.teardown(() => preloaded.close())
  preloadApplication(preloaded, { debug: true, profiler: { storage: 'postgres://' } })
  await t.rejects(async () => { await preloaded.ready() }, { message }, 'the preload')
})

t.test('the time limit of loading is cleared when all is loaded', async (t) => {
  const timers = new Set<number>()
  const hook = createHook({
    init (id, type, _trigger, { _idleTimeout: time }: object & { _idleTimeout?: number }) { if (type === 'Timeout' && time === 61_000) timers.add(id) },
    destroy (id) { timers.delete(id) }
  }).enable()
  t.teardown(() => hook.disable())
  const app = Fastify({ pluginTimeout: 122_000 })
  t.teardown(() => app.close())
  await app.register(hindsight, { profiler: { storage: 'memory' } })
  await new Promise(setImmediate)
  t.equal(timers.size, 0)
})

inBothProducts('with a store of another version requests are answered, and the page of the profiler has the reason', async (t, _build, product) => {
  const path = place(t)
  const other = connection(t, path)
  other.exec('create table profiles (token text); pragma user_version = 99')
  other.close()
  const warnings: string[] = []
  const onWarning = ({ message }: Error): void => { if (message.includes(path)) warnings.push(message) }
  process.on('warning', onWarning)
  const app = await application(t, product, (app) => { app.get('/', async () => 'hello') }, { profiler: { dataDir: dirname(path) } })
  t.equal((await app.inject('/')).body, 'hello')
  await app.hindsight.profiler.flush()
  const page = await app.inject({ url: '/_profiler/', headers: HTML })
  t.equal(page.statusCode, 503)
  t.match(page.body, 'its schema has version 99, and this version of fastify-hindsight supports 2; use another folder')
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', onWarning)
  if (product === 'package') t.match(warnings, [`Profiles are lost: the store failed: The store "${path}" cannot be used: its schema has version 99`])
  t.same(asides(path), [])
})

t.test('the error of a wrong option shows the call that registers it, and none of Hindsight', async (t) => {
  const error = await application(t, 'package', () => {}, { debugg: true } as object).catch((error: unknown) => error as Error)
  t.match(error, { message: 'Unknown option "debugg"; did you mean "debug"?', stack: /^Error: .*\?\n {4}at application \(.*test.hindsight\.test\.ts:/ })
  t.notMatch((error as Error).stack, /\/app\/hindsight\.ts|node_modules\/(?:fastify|avvio)/)
})

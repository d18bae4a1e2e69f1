import { createHook } from 'node:async_hooks'
import { get } from 'node:http'
import { dirname } from 'node:path'
import cookie from '@fastify/cookie'
import fastifyCors from '@fastify/cors'
import fastifyHelmet from '@fastify/helmet'
import fastifySession from '@fastify/session'
import Fastify, { type FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import t, { type Test } from 'tap'
import { service } from '../../../app/service.js'
import { pluginOf } from './support/products.js'
import { hindsight } from '../src/hindsight.js'
import { preload } from '../src/observe.js'
import { expected, OPTIONS } from '../src/check-options.js'
import type { HindsightOptions } from '../src/options.js'
import { asides, connection, place } from './store/support.js'
import { profileOf } from './support/app.js'
import { inBothModes } from './support/products.js'

/** The names of the listeners that can be left to the application. */
const OPTIONAL_LISTENERS = OPTIONS.leave?.items?.enum ?? []

const HTML = { accept: 'text/html,*/*;q=0.8' }

/** An application that registers the plugin first, as its README says; in memory, so that nothing has to be cleared away. */
async function application (t: Test, declare: (app: FastifyInstance) => unknown = () => {}, options: HindsightOptions = {}): Promise<FastifyInstance> {
  const app = Fastify({ pluginTimeout: 60_000 })
  await app.register(service, { profiler: { storage: 'memory' }, ...options })
  await declare(app)
  t.teardown(() => app.close())
  return app
}

async function reasonsOf (app: FastifyInstance, url = '/'): Promise<Map<string, string | undefined>> {
  const { events } = await profileOf(app, await app.inject(url))
  return new Map(events.map(({ stage, listener, reason }) => [`${stage} ${listener}`, reason]))
}

t.test('the plugin needs no option: pages, profiles, toolbar', async (t) => {
  const app = await application(t, (app) => {
    app.get('/', async (_request, reply) => await reply.type('text/html').send('<!doctype html><title>x</title><body></body>'))
  })
  const page = await app.inject({ url: '/', headers: HTML })
  t.equal(page.statusCode, 200)
  t.match(page.headers['x-debug-token'], /^[0-9a-f]{6}$/)
  t.match(page.body, /_wdt|hindsight/)
  t.equal((await app.inject('/_profiler/')).statusCode, 200)
  t.equal((await app.inject(`/_wdt/${String(page.headers['x-debug-token'])}`)).statusCode, 200)
  t.equal((await reasonsOf(app)).get('kernel.request session'), 'not configured')
})

inBothModes('clients that may not see the debug surface receive no debug page in any format', async (t, _build, lifecycle) => {
  const app = await application(t, (app) => { app.get('/', async () => 'x') }, { lifecycle })
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

t.test('the listener that restricts the pages to a role cannot be left to the application', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await t.rejects(async () => await app.register(hindsight, {
    lifecycle: 'full',
    debug: false,
    leave: ['is-granted'],
    profiler: { production: true, role: 'ROLE_OPERATOR', storage: 'memory' },
    security: { providers: { people: { users: [] } }, firewalls: [{ name: 'all', authenticators: { basic: true } }] }
  }), { message: /"is-granted" cannot be left to the application/ })
})

t.test('below a prefix the pages and all links have the prefix', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(async (child) => {
    await child.register(service, { profiler: { storage: 'memory' } })
    child.get('/', async (_request, reply) => await reply.type('text/html').send('<!doctype html><title>x</title><body></body>'))
  }, { prefix: '/shop' })
  const page = await app.inject({ url: '/shop/', headers: HTML })
  const token = String(page.headers['x-debug-token'])
  const link = String(page.headers['x-debug-token-link'])
  t.equal(link, `http://localhost/shop/_profiler/${token}`)
  t.equal((await app.inject({ url: new URL(link).pathname, headers: HTML })).statusCode, 200)
  t.ok(page.body.includes('"/shop/_profiler/assets/'), 'the toolbar')
  t.equal((await app.inject(`/shop/_wdt/${token}.json`)).json<{ url: string }>().url, link)
  t.notOk((await app.inject('/shop/_profiler/nowhere/at/all')).headers['x-debug-token'], 'its own pages leave no profiles')
})

inBothModes('below a prefix, callNotFound() reaches the not-found handler of the outer application', async (t, _build, lifecycle) => {
  for (const debug of [true, false]) {
    const app = Fastify({ pluginTimeout: 60_000 })
    t.teardown(() => app.close())
    let part: FastifyInstance | undefined
    await app.register(async (child) => {
      part = child
      await child.register(pluginOf(lifecycle), { debug, profiler: { storage: 'memory', production: true } })
      child.get('/missed', (_request, reply) => { reply.callNotFound() })
      child.get('/', async () => 'x')
    }, { prefix: '/shop' })
    const origin = await app.listen({ host: '127.0.0.1', port: 0 })
    for (const accept of ['text/html', 'application/json']) {
      t.equal((await fetch(`${origin}/shop/missed`, { headers: { accept } })).status, 404, `${lifecycle} ${accept}`)
    }
    t.equal((await fetch(`${origin}/shop/`)).status, 200)
    const { profiles } = await part?.hindsight.profiler.search({ limit: 9 }) ?? {}
    t.same(profiles?.map(({ status }) => status), [200, 404, 404], `${lifecycle} ${debug ? 'in debug mode' : 'in production'}`)
  }
})

t.test('debug mode is off if NODE_ENV is production', async (t) => {
  const before = process.env.NODE_ENV
  process.env.NODE_ENV = 'production'
  t.teardown(() => { if (before === undefined) delete process.env.NODE_ENV; else process.env.NODE_ENV = before })
  const app = await application(t, (app) => { app.get('/', async () => 'x') })
  t.equal((await app.inject('/')).headers['x-debug-token'], undefined)
  t.equal((await app.inject('/_profiler/')).statusCode, 404)
})

t.test('a second registration is refused', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(hindsight, { profiler: { storage: 'memory' } })
  await t.rejects(async () => { await app.register(hindsight) }, { message: /^fastify-hindsight is registered twice/ })
})

t.test('an error handler of a part of the application answers, and the profile has the error', async (t) => {
  const app = await application(t, async (app) => {
    await app.register(async (part) => {
      part.setErrorHandler((error, _request, reply) => reply.code(500).send({ own: (error as Error).message }))
      part.get('/fails', async () => { throw new Error('broken') })
    })
    await app.register(async (part) => {
      part.setErrorHandler(() => { throw new Error('broken again') })
      part.get('/fails-twice', async () => { throw new Error('broken') })
    })
    await app.register(async (part) => {
      part.setNotFoundHandler((_request, reply) => reply.code(404).send({ own: 'of the part' }))
      part.get('/x', async () => 'x')
    }, { prefix: '/part' })
  })
  const failed = await app.inject({ url: '/fails', headers: HTML })
  t.same(failed.json(), { own: 'broken' })
  t.equal((await profileOf(app, failed)).exceptions.at(-1)?.message, 'broken')
  const twice = await app.inject({ url: '/fails-twice', headers: HTML })
  t.match(twice.body, /<title>broken again/)
  t.equal((await profileOf(app, twice)).exceptions.at(-1)?.message, 'broken again')
  const missed = await app.inject({ url: '/part/nowhere', headers: HTML })
  t.same(missed.json(), { own: 'of the part' })
  const profile = await profileOf(app, missed)
  t.equal(profile.exceptions.at(-1)?.message, 'No route found for "GET http://localhost/part/nowhere"')
  t.equal(profile.events.find(({ listener }) => listener === 'router')?.reason, 'no route matched, and the application answers that itself')
})

t.test('an error handler at the root replaces ours', async (t) => {
  const app = Fastify({ pluginTimeout: 60_000 })
  t.teardown(() => app.close())
  await app.register(service, { profiler: { storage: 'memory' } })
  app.setErrorHandler((error, request, reply) => {
    if (request.url === '/fails-twice') throw new Error('broken again')
    return reply.code(500).send({ own: (error as Error).message })
  })
  app.get('/fails', async () => { throw new Error('broken') })
  app.get('/fails-twice', async () => { throw new Error('broken') })
  t.same((await app.inject({ url: '/fails', headers: HTML })).json(), { own: 'broken' })
  const { exceptions, collectors } = await profileOf(app, await app.inject('/fails-twice'))
  t.match(exceptions, [{ message: 'broken again' }])
  t.match(collectors.otherErrors, [[{ message: 'broken' }]])
})

t.test('a not-found handler at the root before full mode stops the start', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ own: 'nothing' }))
  await t.rejects(
    async () => { await app.register(service, { profiler: { storage: 'memory' } }) },
    { message: /^lifecycle: 'full' sets the not-found handler/ }
  )
})

const SESSION = { secret: 'a secret of ours, which is thirty-two characters' }
const conflicts: Array<[name: string, plugin: () => unknown, options: HindsightOptions]> = [
  ['@fastify/cors', () => fastifyCors, { cors: [{ origin: 'https://other.example' }] }],
  ['@fastify/helmet', () => fastifyHelmet, {}]
]
for (const [name, plugin, options] of conflicts) {
  t.test(`${name} beside the listeners that do the same stops the start, wherever it is registered`, async (t) => {
    const message = new RegExp(`^${name} and .* do the same`)
    const before = Fastify()
    t.teardown(() => before.close())
    await before.register(plugin() as typeof fastifyHelmet)
    await t.rejects(async () => { await before.register(service, { profiler: { storage: 'memory' }, ...options }) }, { message })
    const within = await application(t, async (app) => {
      await app.register(async (part) => { await part.register(plugin() as typeof fastifyHelmet) })
    }, options)
    await t.rejects(async () => { await within.ready() }, { message })
    const without = await application(t, async (app) => {
      await app.register(plugin() as typeof fastifyHelmet)
      app.get('/', async () => 'x')
    }, { leave: name === '@fastify/helmet' ? ['content-security-policy', 'clickjacking', 'xss-protection', 'referrer-policy', 'content-type'] : [] })
    t.equal((await without.inject('/')).statusCode, 200, 'without the listeners it starts')
  })
}

// Only the name decides.
const cookieless = fp(async () => {}, { name: '@fastify/session' })

t.test('sessions of the application beside ours are refused', async (t) => {
  const before = Fastify()
  t.teardown(() => before.close())
  await before.register(cookie)
  await before.register(fastifySession, { secret: SESSION.secret })
  await t.rejects(
    async () => { await before.register(service, { profiler: { storage: 'memory' }, session: SESSION }) },
    { message: /^@fastify\/session and the option session/ }
  )
  const within = await application(t, async (app) => {
    await app.register(async (part) => {
      await part.register(cookieless)
    })
  }, { session: SESSION })
  await t.rejects(async () => { await within.ready() }, { message: /^@fastify\/session and the option session/ }, 'in a part')
  const after = await application(t, () => {}, { session: SESSION })
  t.throws(() => after.decorateRequest('session', null as never), { code: 'FST_ERR_DEC_ALREADY_PRESENT' }, 'afterwards Fastify refuses the second decorator')
})

t.test('a registration in a part of the application logs a warning that names fastify-plugin', async (t) => {
  const lines: string[] = []
  const app = Fastify({ logger: { level: 'warn', stream: { write: (line: string) => { lines.push(line) } } } })
  t.teardown(() => app.close())
  await app.register(async (part) => {
    await part.register(service, { profiler: { storage: 'memory' } })
    part.get('/', async () => 'x')
  })
  t.equal((await app.inject('/')).statusCode, 200)
  t.match(lines.join(''), /registered in an encapsulated plugin.*fastify-plugin/)
  const root = Fastify({ logger: { level: 'warn', stream: { write: (line: string) => { lines.push(line) } } } })
  t.teardown(() => root.close())
  lines.length = 0
  await root.register(service, { profiler: { storage: 'memory' } })
  await root.ready()
  t.same(lines, [])
})

for (const name of OPTIONAL_LISTENERS) {
  t.test(`${name} can be left to the application`, async (t) => {
    const app = await application(t, (app) => {
      app.get('/', async () => ({ hello: 'world' }))
      app.get('/fails', async () => { throw new Error('no') })
    }, { leave: [name], session: { secret: 'a secret of ours, which is thirty-two characters' } })
    const response = await app.inject('/')
    t.same(response.json(), { hello: 'world' })
    const { events } = await profileOf(app, response)
    const own = events.filter(({ listener }) => listener === name)
    t.ok(own.length > 0)
    for (const { outcome, reason } of own) t.same([outcome, reason], ['skipped', 'left to the application'])
    t.equal((await app.inject({ url: '/fails', headers: HTML })).statusCode, 500)
    t.equal((await app.inject({ url: '/nowhere', headers: HTML })).statusCode, 404)
  })
}

const refused: Array<[options: object, message: string]> = [
  [{ leave: ['corse'] }, `Option "leave[0]" must be ${expected({ types: ['string'], enum: OPTIONAL_LISTENERS })}, not "corse"`],
  [{ leave: ['cors', 'router'] }, `Option "leave[1]" must be ${expected({ types: ['string'], enum: OPTIONAL_LISTENERS })}, not "router"`],
  [{ leave: 'cors' }, 'Option "leave" must be an array, not a string'],
  [{ lifecycle: 'half' }, 'Option "lifecycle" must be "observe" or "full", not "half"']
]
for (const [options, message] of refused) {
  t.test(message, async (t) => {
    const app = Fastify()
    t.teardown(() => app.close())
    await t.rejects(async () => { await app.register(service, { ...options }) }, { message })
  })
}

t.test('a storage that names no store stops the start in both modes, also with a short timeout for plugins', async (t) => {
  const message = /^profiler\.storage \(STORAGE_URL\): it is neither sqlite nor memory, nor an address such as postgres:\/\/user:password@localhost/
  for (const lifecycle of ['observe', 'full'] as const) {
    for (const storage of ['redis', 'postgress//u:secret@h/x', 'postgres://', 'postgres:u:secret@h/x']) {
      for (const options of [{}, { pluginTimeout: 1_000 }]) {
        const app = Fastify(options)
        t.teardown(() => app.close())
        await t.rejects(async () => { await app.register(pluginOf(lifecycle), { profiler: { storage } }) }, { message }, `${lifecycle}: ${storage}`)
      }
    }
  }
  const preloaded = Fastify()
  t.teardown(() => preloaded.close())
  preload(preloaded, { debug: true, profiler: { storage: 'postgres://' } })
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

inBothModes('with a store of another version requests are answered, and the page of the profiler has the reason', async (t, _build, lifecycle) => {
  const path = place(t)
  const other = connection(t, path)
  other.exec('create table profiles (token text); pragma user_version = 99')
  other.close()
  const warnings: string[] = []
  const onWarning = ({ message }: Error): void => { if (message.includes(path)) warnings.push(message) }
  process.on('warning', onWarning)
  const app = await application(t, (app) => { app.get('/', async () => 'hello') }, { lifecycle, profiler: { dataDir: dirname(path) } })
  t.equal((await app.inject('/')).body, 'hello')
  await app.hindsight.profiler.flush()
  const page = await app.inject({ url: '/_profiler/', headers: HTML })
  t.equal(page.statusCode, 503)
  t.match(page.body, 'its schema has version 99, and this version of fastify-hindsight supports 2; use another folder')
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', onWarning)
  if (lifecycle === 'observe') t.match(warnings, [`Profiles are lost: the store failed: The store "${path}" cannot be used: its schema has version 99`])
  t.same(asides(path), [])
})

inBothModes('the error of a wrong option shows the call that registers it, and none of Hindsight', async (t, build) => {
  const error = await build(undefined, { debugg: true } as object).catch((error: unknown) => error as Error)
  t.match(error, { message: 'Unknown option "debugg"; did you mean "debug"?', stack: /^Error: .*\?\n {4}at build \(.*test.support.modes\.ts:/ })
  t.notMatch((error as Error).stack, /\/app\/hindsight\.ts|node_modules\/(?:fastify|avvio)/)
})

import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import fp from 'fastify-plugin'
import t, { type Test } from 'tap'
import { hindsight } from '../../src/hindsight.js'
import type { HindsightOptions } from '../../src/options.js'
import type { Profile } from '../../src/store/profile.js'
import { listen, profileOf } from '../support/app.js'
import { inBothProducts } from '../support/products.js'

const HTML = { accept: 'text/html' }

interface Setup extends HindsightOptions {
  server?: FastifyServerOptions
}

async function application (t: Test, declare: (app: FastifyInstance) => unknown, { server = {}, ...options }: Setup = {}): Promise<FastifyInstance> {
  const app = Fastify({ logger: { stream: { write () {} } }, ...server } as FastifyServerOptions) as unknown as FastifyInstance
  await app.register(hindsight, { profiler: { storage: 'memory' }, ...options })
  await declare(app)
  t.teardown(() => app.close())
  await app.ready()
  return app
}

async function newest (app: FastifyInstance, url: string): Promise<Profile> {
  for (let tries = 0; tries < 200; tries++) {
    const { profiles: [summary] } = await app.hindsight.profiler.search({ criteria: { url }, limit: 1 })
    const profile = await app.hindsight.profiler.find(summary?.token ?? '')
    if (profile !== undefined) return profile
    await sleep(10)
  }
  throw new Error('There is no profile')
}

inBothProducts('a profile has the hooks of instances with their places, the route, the log and the exception', async (t, build) => {
  const app = await build(async (app) => {
    app.addHook('onRequest', async function authenticate (_request, reply) { reply.header('x-user', 'ada') })
    await app.register(async function articles (child) {
      child.addHook('onSend', function stamp (_request, reply, payload, done) {
        reply.header('x-stamp', '1')
        done(null, payload)
      })
      child.get('/articles/:id', async (request) => {
        request.log.info('about to fail')
        throw new TypeError('broken', { cause: new Error('root') })
      })
    })
  })
  const profile = await profileOf(app, await app.inject({ url: '/articles/7', headers: HTML }))
  t.match(profile, { status: 500, method: 'GET', route: { name: 'GET /articles/:id', params: { id: '7' }, handler: /profiles\.test\.ts:\d+$/ } })
  t.same(profile.exceptions.map(({ message }) => message), ['root', 'broken'])
  t.ok(profile.exceptions.at(-1)?.frames[0]?.own)
  t.ok(profile.logs.some(({ message }) => message === 'about to fail'))
  const hooks = profile.events.filter(({ stage }) => stage.startsWith('on'))
  t.match(hooks.map(({ stage, listener, source, plugin, changes }) => [stage, listener, source, plugin, changes?.headers?.map(({ name }) => name)]), [
    ['onRequest', 'authenticate', /profiles\.test\.ts:\d+$/, undefined, ['x-user']],
    ['onSend', 'stamp', /profiles\.test\.ts:\d+$/, 'articles', ['x-stamp']]
  ])
})

inBothProducts('header changes beside hooks are attributed to the handler, to hooks of the route, to Fastify and to Hindsight', async (t, build, product) => {
  const app = await build((app) => {
    app.get('/plain', async (_request, reply) => {
      reply.header('x-mine', '1')
      await sleep(1)
      return { a: 1 }
    })
    app.get(
      '/hooks',
      { preHandler: async (_request, reply) => { reply.header('x-before', '1') }, onSend: async (_request, reply) => { reply.header('x-last', '1') } },
      async () => ({ a: 1 })
    )
  })
  const changesOf = async (url: string): Promise<unknown> => {
    const { collectors } = await profileOf(app, await app.inject(url))
    const { changes } = collectors.headers as { changes: Array<{ name: string, by: string, source?: string }> }
    return Object.fromEntries(changes.map(({ name, by }) => [name, by]))
  }
  t.match(await changesOf('/plain'), { 'x-mine': 'handler', 'content-length': 'Fastify', ...product === 'package' && { 'x-debug-token': 'Hindsight' } })
  t.match(await changesOf('/hooks'), { 'x-last': 'route hooks' })
})

inBothProducts('request.hindsight.capture adds an error that a framework has handled', async (t, build) => {
  for (const debug of [true, false]) {
    const app = await build((app) => {
      app.get('/', async (request) => {
        request.hindsight.capture(new Error('caught by the framework'))
        return { errors: ['something'] }
      })
    }, { debug })
    const response = await app.inject('/')
    t.equal(response.statusCode, 200)
    if (!debug) continue
    t.equal((await profileOf(app, response)).exceptions[0]?.message, 'caught by the framework')
  }
})

t.test('in production there are no hooks, routes and pages, unless requests are profiled', async (t) => {
  const declare = (app: FastifyInstance): void => { app.get('/', async () => { throw new Error('broken') }) }
  const app = await application(t, declare, { debug: false })
  const bare = Fastify()
  declare(bare)
  t.teardown(() => bare.close())
  await bare.ready()
  t.equal(app.printRoutes({ includeHooks: true }), bare.printRoutes({ includeHooks: true }))
  t.equal((await app.inject('/_profiler/')).statusCode, 404)
  t.equal((await app.inject({ url: '/', headers: HTML })).body, (await bare.inject({ url: '/', headers: HTML })).body)
  const errors = await application(t, declare, { debug: false, profiler: { storage: 'memory', production: true, onlyExceptions: true, minStatus: 500 } })
  const failed = await errors.inject({ url: '/', headers: HTML })
  t.equal(failed.body, (await bare.inject('/')).body)
  t.equal(failed.headers['x-debug-token'], undefined)
  const { profiles } = await errors.hindsight.profiler.search({ limit: 2 })
  t.match(profiles, [{ status: 500, exception: 'Error: broken' }])
})

t.test('a failing error handler is explained; a failing onSend hook and a thrown null keep the answer of Fastify, and the profile has the cause', async (t) => {
  const app = await application(t, async (app) => {
    await app.register(async (part) => {
      part.setErrorHandler(() => { throw new Error('the handler of errors fails') })
      part.get('/twice', async () => { throw new Error('first') })
    })
    await app.register(async (part) => {
      part.addHook('onSend', async () => { throw new Error('the hook fails') })
      part.get('/hook', async () => 'x')
    })
    app.get('/null', async () => { throw null }) // eslint-disable-line no-throw-literal
  })
  const twice = await app.inject({ url: '/twice', headers: HTML })
  t.equal(twice.statusCode, 500)
  t.match(twice.body, '<h1>the handler of errors fails</h1>')
  const { exceptions, collectors } = await profileOf(app, twice)
  t.same(exceptions.map(({ message }) => message), ['the handler of errors fails'])
  t.match(collectors.otherErrors, [[{ message: 'first' }]])
  const hook = await app.inject({ url: '/hook', headers: HTML })
  t.match(hook.json(), { message: 'the hook fails' })
  t.equal((await newest(app, '/hook')).exceptions.at(-1)?.message, 'the hook fails')
  const nothing = await app.inject({ url: '/null', headers: HTML })
  t.equal(nothing.statusCode, 500)
  t.notMatch(nothing.body, '<html')
  t.equal((await profileOf(app, nothing)).exceptions.at(-1)?.name, 'Thrown null')
})

inBothProducts('an upgrade leaves a profile of status 101 when its socket is closed', async (t, build) => {
  const app = await build(async (app) => {
    await app.register((await import('@fastify/websocket')).default)
    app.get('/socket', { websocket: true }, (socket) => { socket.on('message', () => { socket.close() }) })
  })
  const port = await listen(app)
  const socket = new (await import('ws')).WebSocket(`ws://127.0.0.1:${port}/socket`)
  await once(socket, 'open')
  socket.send('x')
  await once(socket, 'close')
  const profile = await newest(app, '/socket')
  t.equal(profile.status, 101)
  t.equal(profile.collectors.response, undefined, 'Fastify has sent none')
  t.same(profile.exceptions, [])
})

inBothProducts('a hijacked reply leaves a profile', async (t, build) => {
  const app = await build((app) => {
    app.post('/raw', (_request, reply) => {
      reply.hijack()
      reply.raw.writeHead(202, { 'x-raw': '1' })
      reply.raw.end('raw')
    })
  })
  t.equal((await app.inject({ method: 'POST', url: '/raw', payload: { a: 1 } })).statusCode, 202)
  t.match(await newest(app, '/raw'), { status: 202, collectors: { request: { body: { a: 1 } } } })
})

t.test('the pages answer under an authenticating root hook and a `/*` route, and below a prefix', async (t) => {
  const app = await application(t, (app) => {
    app.addHook('onRequest', async (_request, reply) => await reply.code(401).send('who are you?'))
    app.get('/*', async () => 'everything')
  })
  for (const url of ['/_profiler/', '/_error/500']) t.not((await app.inject({ url, headers: HTML })).statusCode, 401, url)
  t.equal((await app.inject('/_profiler')).statusCode < 400, true)
  const refused = await app.inject({ url: '/_profiler/search?q=bogus:1', headers: { accept: 'application/json' } })
  t.match([refused.statusCode, refused.json()], [400, { title: 'Bad Request', detail: /bogus/ }])
  t.equal((await app.inject('/_profiler?error=1')).headers.location, '/_profiler/?error=1')
  t.equal((await app.inject({ method: 'POST', url: '/_profiler' })).statusCode, 404, 'only GET and HEAD are redirected')
  t.equal((await app.inject('/_profiler/ffffff')).statusCode, 404)
  const root = Fastify()
  t.teardown(() => root.close())
  await root.register(async (part) => {
    await part.register(hindsight, { profiler: { storage: 'memory' } })
    part.get('/', async (_request, reply) => await reply.type('text/html').send('<!doctype html><title>x</title><body></body>'))
  }, { prefix: '/shop' })
  const page = await root.inject({ url: '/shop/', headers: HTML })
  t.match(page.headers['x-debug-token-link'], /^http:\/\/localhost\/shop\/_profiler\/[0-9a-f]{6}$/)
  t.equal((await root.inject({ url: new URL(String(page.headers['x-debug-token-link'])).pathname, headers: HTML })).statusCode, 200)
  for (const [, asset = ''] of page.body.matchAll(/(?:href|src)="(\/shop\/_profiler\/assets\/[^"]+)"/g)) {
    t.equal((await root.inject(asset)).statusCode, 200, asset)
  }
  t.match(page.body, '/shop/_profiler/assets/')
})

inBothProducts('the plugin changes neither the depth of stacks nor source maps', async (t, build) => {
  const { stackTraceLimit } = Error
  const prepare = Error.prepareStackTrace
  await build((app) => { app.get('/', async () => 'x') })
  t.equal(Error.stackTraceLimit, stackTraceLimit)
  t.equal(Error.prepareStackTrace, prepare)
})

inBothProducts('plugins that share their instance keep the order of their hooks', async (t, build, product) => {
  const ran: string[] = []
  const app = await build(async (app) => {
    app.addHook('onSend', async () => { ran.push('first') })
    await app.register(
      fp(async (app) => { app.addHook('onSend', async (_request, _reply, payload) => { ran.push(`second sees ${String(payload).slice(0, 15)}`) }) })
    )
    app.get('/', async () => { throw new Error('x') })
  })
  t.match((await app.inject({ url: '/', headers: HTML })).headers['content-type'], 'text/html')
  t.same(ran, ['first', product === 'package' ? 'second sees {"statusCode":5' : 'second sees <!DOCTYPE html>'], 'hooks receive the payload of the handler')
})

inBothProducts('the wildcard route of @fastify/cors does not make a path exist', async (t, build) => {
  const app = await build(async (app) => { await app.register((await import('@fastify/cors')).default) })
  const missed = await app.inject({ url: '/nowhere', headers: HTML })
  t.equal(missed.statusCode, 404)
  t.equal((await profileOf(app, missed)).exceptions.at(-1)?.message, 'No route found for "GET http://localhost/nowhere"')
})

t.test('getters of the application that throw change no answer and end no process', async (t) => {
  const declare = (app: FastifyInstance): void => {
    app.decorateRequest('cookies', { getter () { throw new Error('not ready') } } as never)
    app.get('/', { constraints: null as never }, async () => 'x')
    app.get('/raw', (_request, reply) => {
      reply.hijack()
      reply.raw.end('raw')
    })
  }
  const app = await application(t, declare)
  const origin = `http://127.0.0.1:${await listen(app)}`
  for (const [path, body] of [['/', 'x'], ['/raw', 'raw'], ['/', 'x']] as const) {
    const answer = await fetch(`${origin}${path}`)
    t.same([answer.status, await answer.text()], [200, body])
  }
})

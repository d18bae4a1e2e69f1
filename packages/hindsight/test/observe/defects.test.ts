import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import cors from '@fastify/cors'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'
import { hindsight } from '../../src/hindsight.js'
import { node } from './processes.js'

const HTML = { accept: 'text/html,*/*;q=0.8' }
const JSON_ONLY = { accept: 'application/json' }
const PAGE = '<!doctype html><title>x</title><style>p { color: red }</style><body><script>document.title = "y"</script></body>'

type Declare = (app: FastifyInstance) => unknown

/** An application as it is without the plugin, in debug mode and in production. */
const MODES = { without: undefined, 'in debug mode': true, 'in production': false }

async function application (t: Test, debug: boolean | undefined, declare: Declare, options: FastifyServerOptions = {}): Promise<FastifyInstance> {
  const app = Fastify({ pluginTimeout: 60_000, ...options }) as unknown as FastifyInstance
  if (debug !== undefined) await app.register(hindsight, { debug, profiler: { storage: 'memory' } })
  await declare(app)
  t.teardown(() => app.close())
  return app
}

for (const [mode, debug] of Object.entries(MODES)) {
  t.test(`an unknown URL is a 404 beside @fastify/cors, ${mode}`, async (t) => {
    const app = await application(t, debug, async (app) => {
      await app.register(cors)
      app.get('/known', async () => 'x')
    })
    for (const headers of [HTML, JSON_ONLY]) {
      for (const [method, url] of [['GET', '/'], ['GET', '/nowhere'], ['POST', '/nowhere'], ['DELETE', '/known'], ['GET', '/known/']] as const) {
        const { statusCode, headers: sent } = await app.inject({ method, url, headers })
        t.equal(statusCode, 404, `${method} ${url}`)
        t.notOk(sent.allow, 'methods are not listed')
      }
    }
  })

  t.test(`callNotFound() is Fastify's 404, and a page for browsers in debug mode, ${mode}`, async (t) => {
    const app = await application(t, debug, (app) => { app.get('/', (_request, reply) => { reply.callNotFound() }) })
    const [html, json] = [await app.inject({ url: '/', headers: HTML }), await app.inject({ url: '/', headers: JSON_ONLY })]
    t.same([html.statusCode, json.statusCode], [404, 404])
    t.match(html.headers['content-type'], debug === true ? 'text/html' : 'application/json')
    t.same(json.json(), { message: 'Route GET:/ not found', error: 'Not Found', statusCode: 404 })
  })

  t.test(`the other trailing-slash form is a 404, ${mode}`, async (t) => {
    const app = await application(t, debug, (app) => {
      app.get('/page', async () => 'x')
      app.get('/folder/', async () => 'x')
    })
    for (const url of ['/page/', '/folder']) {
      for (const headers of [HTML, JSON_ONLY]) {
        const response = await app.inject({ url, headers })
        t.equal(response.statusCode, 404, url)
        t.notOk(response.headers.location)
      }
    }
  })

  t.test(`the handler of a route is unchanged, ${mode}`, async (t) => {
    const declared = async function declared (): Promise<string> { return 'x' }
    const app = await application(t, debug, (app) => {
      app.addHook('onRoute', ({ handler }) => { t.equal(handler, declared) })
      app.addHook(
        'onRequest', async ({ routeOptions }) => { t.same([routeOptions.handler.name, routeOptions.handler.length], ['bound declared', declared.length]) }
      )
      app.get('/', declared)
    })
    t.equal((await app.inject('/')).body, 'x')
  })

  t.test(`inline scripts and styles work, and pages may be framed, ${mode}`, async (t) => {
    const app = await application(t, debug, (app) => { app.get('/', (_request, reply) => reply.type('text/html').send(PAGE)) })
    const { headers, body } = await app.inject({ url: '/', headers: HTML })
    t.same(Object.keys(headers).filter((name) => !name.startsWith('x-debug-token')).sort(),
      [...debug === true ? ['cache-control'] : [], 'connection', 'content-length', 'content-type', 'date'])
    t.ok(body.startsWith(PAGE.slice(0, PAGE.indexOf('</body>'))), 'the page is unchanged')
  })

  t.test(`an application can decorate the names of the service, ${mode}`, async (t) => {
    const app = await application(t, debug, (app) => {
      const names = app as unknown as Record<'decorate' | 'decorateRequest' | 'decorateReply', (name: string, value: string) => unknown>
      for (const name of ['profiler', 'lifecycle']) names.decorate(name, 'mine')
      for (const name of ['locale', 'user', 'session', 'pagination']) names.decorateRequest(name, 'mine')
      names.decorateReply('cspNonce', 'mine')
      app.get('/', async (request, reply) => [app, app, request, request, request, request, reply]
        .map((owner, index) => Reflect.get(owner, ['profiler', 'lifecycle', 'locale', 'user', 'session', 'pagination', 'cspNonce'][index] ?? '')))
    })
    t.same((await app.inject('/')).json(), Array(7).fill('mine'))
  })

  t.test(`hindsight is the only decorator that is added, ${mode}`, async (t) => {
    const names = async (debug: boolean | undefined): Promise<string[]> => {
      const found: string[] = []
      const app = await application(t, debug, (app) => {
        app.get('/', async (request, reply) => {
          for (const [owner, value] of Object.entries({ app, request, reply })) found.push(...Object.keys(value).map((name) => `${owner}.${name}`))
        })
      })
      await app.inject('/')
      return found
    }
    const known = await names(undefined)
    t.same((await names(debug)).filter((name) => !known.includes(name) && !name.endsWith('.hindsight')), [])
  })

  t.test(`the error of a hook that times out names the hook, ${mode}`, async (t) => {
    const app = await application(t, debug, (app) => { app.addHook('onReady', function hangsForever (_done) {}) }, { pluginTimeout: 1_000 })
    await t.rejects(async () => await app.ready(), { code: 'FST_ERR_HOOK_TIMEOUT', message: /'onReady' hook "hangsForever"/ })
  })
}

/** The status, headers and body that the network receives; the headers without those of debug mode, and the date. */
async function received (app: FastifyInstance, url: string): Promise<unknown[]> {
  const { port } = app.server.address() as AddressInfo
  const [response] = await once(http.get({ port, host: '127.0.0.1', path: url, agent: false }), 'response') as [http.IncomingMessage]
  const body = await text(response)
  const { date: _date, 'x-debug-token': _token, 'x-debug-token-link': _link, ...headers } = response.headers
  return [response.statusCode, headers, body]
}

t.test('a response whose headers Node.js refuses is the 500 of Fastify', async (t) => {
  const declare: Declare = (app) => {
    for (const [kind, name, value] of [['value', 'x-note', 'a\nb'], ['name', 'x note', 'a']] as const) {
      app.get(`/${kind}/async`, { onSend: async (_request, reply, payload) => { reply.header(name, value); return payload } }, async () => ({ ok: true }))
      app.get(`/${kind}/text`, { onSend: async (_request, reply) => { reply.header('x-first', '1').header(name, value); return 'other' } }, async () => 'ok')
      app.register(async (child) => {
        child.addHook('onSend', async (_request, reply) => { reply.header(name, value) })
        child.get(`/${kind}/instance`, (_request, reply) => { reply.code(201).type('text/css').send('a {}') })
      })
    }
  }
  const urls = ['value', 'name'].flatMap((kind) => ['async', 'text', 'instance'].map((form) => `/${kind}/${form}`))
  const answers: Record<string, unknown[]> = {}
  for (const [mode, debug] of Object.entries(MODES)) {
    const app = await application(t, debug, declare)
    await app.listen({ port: 0, host: '127.0.0.1' })
    answers[mode] = []
    for (const url of urls) answers[mode].push(await received(app, url))
  }
  t.match(answers.without, urls.map(() => [500, Object, String]))
  for (const mode of Object.keys(MODES)) t.same(answers[mode], answers.without, mode)
})

/** Runs an application of which the preload is the only other part; `body` has Fastify and cors, and prints. */
async function preloaded (body: string): Promise<string> {
  const program = `import Fastify from 'fastify'\nimport cors from '@fastify/cors'\n${body}\nprocess.exit()`
  return await node(['--input-type=module', '--eval', program], { preload: true })
}

t.test('the error of a hook that times out names the hook, with the preload', async (t) => {
  t.match(await preloaded(`
    const app = Fastify({ pluginTimeout: 1000 })
    app.addHook('onReady', function hangsForever (done) {})
    await app.ready().catch((error) => { console.log(error.message) })
  `), /'onReady' hook "hangsForever"/)
})

t.test('an unknown URL is a 404 beside @fastify/cors, with the preload', async (t) => {
  t.equal(await preloaded(`
    const app = Fastify()
    app.register(cors)
    for (const accept of ['text/html', 'application/json']) console.log((await app.inject({ url: '/nowhere', headers: { accept } })).statusCode)
  `), '404\n404\n')
})

/** Registers the plugin where a plugin has 200 ms; `before` runs before. Prints the first answer, and the status in its profile. */
const startedLate = async (before: string, options: object): Promise<string> => await node(['--input-type=module', '--eval', `
  import { register } from 'node:module'
  import Fastify from 'fastify'
  const { hindsight } = await import('./packages/hindsight/src/hindsight.ts')
  ${before}
  const app = Fastify({ pluginTimeout: 200 })
  await app.register(hindsight, ${JSON.stringify({ ...options, profiler: { storage: 'memory', production: true } })})
  app.get('/', async () => 'hello')
  const { body } = await app.inject('/')
  await app.hindsight.profiler.flush()
  console.log(body, (await app.hindsight.profiler.latest({ url: '/' }))?.status)
  process.exit()
`])

const LATE = {
  'whose modules take a second each': `
    const load = async (url, context, next) => {
      if (/src\\/(?:prepare|observer)\\.ts$/.test(url)) await new Promise((resolve) => { setTimeout(resolve, 1_000) })
      return await next(url, context)
    }
    register('data:text/javascript,export const load = ' + encodeURIComponent(load))`,
  'on a machine that is busy for 300 ms at a time': `
    const shared = new Int32Array(new SharedArrayBuffer(4))
    let turns = 0
    const busy = setInterval(() => {
      Atomics.wait(shared, 0, 0, 300)
      if (++turns === 5) clearInterval(busy)
    }, 1)`
}
for (const [title, before] of Object.entries(LATE)) {
  t.test(`a plugin ${title} starts within its time`, async (t) => {
    t.equal(await startedLate(before, { debug: true }), 'hello 200\n')
    t.equal(await startedLate(before, { debug: false }), 'hello 200\n')
  })
}

import { join } from 'node:path'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import fastifyView from '@fastify/view'
import { Eta } from 'eta'
import Fastify, { type FastifyInstance } from 'fastify'
import Handlebars from 'handlebars'
import { service } from '../../app/service.js'
import { build, listen, profileOf, type BuildOptions } from '../../packages/hindsight/test/support/app.js'

const VIEWS = join(import.meta.dirname, '../fixtures/views')
const HTML = 'text/html; charset=utf-8'
const HOSTILE = '<script>alert(1)</script>'

class Article { title = 'an instance' }

const engines = {
  eta: { engine: { eta: new Eta({ views: VIEWS }) }, root: VIEWS, defaultContext: { title: 'by default' } },
  handlebars: { engine: { handlebars: Handlebars }, root: VIEWS, defaultContext: { title: 'by default' } }
}

function declare (app: FastifyInstance): void {
  const config = { template: 'page' }
  app.get('/page', { config }, async () => ({ title: HOSTILE }))
  app.get('/sent', { config }, (_request, reply) => { reply.code(201).send({ title: 'sent' }) })
  app.get('/bare', { config }, async () => Object.create(null) as object)
  app.get('/typed', { config }, async (_request, reply) => { reply.type('application/json'); return { title: 'typed' } })
  app.get('/text', { config }, async () => 'text')
  app.get('/buffer', { config }, async () => Buffer.from('buffer'))
  app.get('/stream', { config }, async (_request, reply) => reply.type('text/plain').send(Readable.from(['stream'])))
  app.get('/null', { config }, async (_request, reply) => reply.send(null))
  app.get('/list', { config }, async () => [1, 2])
  app.get('/instance', { config }, async () => new Article())
  app.get('/already', { config }, async (_request, reply) => { reply.send('already'); return reply })
  app.get('/refused', { config, onRequest: async (_request, reply) => reply.code(401).send({ error: 'who?' }) }, async () => ({ title: 'never' }))
  app.get('/boom', { config }, async () => { throw new Error('boom') })
  app.get('/not-found', { config }, async (_request, reply) => { reply.code(404); return { title: 'nothing here' } })
  app.get(
    '/schema', { config, schema: { response: { 200: { type: 'object', properties: { id: { type: 'integer' } } } } } }, async () => ({ title: 'whole', id: 1 })
  )
  app.get('/hooked', { config, preSerialization: async (_request, _reply, payload) => ({ ...payload as object, title: 'hooked' }) }, async () => ({}))
  app.get('/missing', { config: { template: 'nowhere/missing' } }, async () => ({}))
  app.get('/cached', { config: { template: 'page', cache: { public: true, maxAge: 60, etag: () => 'v1' } } }, async () => ({ title: 'cached' }))
  app.get('/json', async () => ({ title: 'json' }))
}

async function start (t: Test, engine: keyof typeof engines, options: BuildOptions = {}): Promise<FastifyInstance> {
  const app = await build({
    declare: async (app) => {
      await app.register(fastifyView, engines[engine])
      declare(app)
      if (engine === 'eta') app.get('/broken', { config: { template: 'broken' } }, async () => ({}))
      if (engine === 'eta') app.get('/includes', { config: { template: 'includes' } }, async () => ({}))
    },
    ...options
  })
  t.teardown(() => app.close())
  return app
}

for (const engine of ['eta', 'handlebars'] as const) {
  t.test(`${engine}: a plain object is rendered, and other payloads are unchanged`, async (t) => {
    const app = await start(t, engine)
    const cases: Array<[url: string, status: number, type: string | undefined, body: string]> = [
      ['/page', 200, HTML, '<h1>&lt;script&gt;alert(1)&lt;/script&gt;</h1>\n'],
      ['/sent', 201, HTML, '<h1>sent</h1>\n'],
      ['/bare', 200, HTML, '<h1>by default</h1>\n'],
      ['/typed', 200, HTML, '<h1>typed</h1>\n'],
      ['/not-found', 404, HTML, '<h1>nothing here</h1>\n'],
      ['/schema', 200, HTML, '<h1>whole</h1>\n'],
      ['/hooked', 200, HTML, '<h1>hooked</h1>\n'],
      ['/text', 200, 'text/plain; charset=utf-8', 'text'],
      ['/buffer', 200, 'application/octet-stream', 'buffer'],
      ['/stream', 200, 'text/plain; charset=utf-8', 'stream'],
      ['/list', 200, 'application/json; charset=utf-8', '[1,2]'],
      ['/instance', 200, 'application/json; charset=utf-8', '{"title":"an instance"}'],
      ['/already', 200, 'text/plain; charset=utf-8', 'already'],
      ['/refused', 401, 'application/json; charset=utf-8', '{"error":"who?"}'],
      ['/json', 200, 'application/json; charset=utf-8', '{"title":"json"}']
    ]
    for (const [url, status, type, body] of cases) {
      const response = await app.inject(url)
      t.equal(response.statusCode, status, url)
      // Engines escape quotes differently, and the toolbar needs a body element.
      t.equal(response.body, body, url)
      t.equal(response.headers['content-type'], type, url)
    }
    t.equal((await app.inject('/null')).body, 'null')
    const head = await app.inject({ method: 'HEAD', url: '/page' })
    t.match([head.statusCode, head.headers['content-type'], head.body], [200, HTML, ''])
    t.match((await app.inject('/cached')).headers, { 'content-type': HTML, etag: '"v1"', 'cache-control': 'max-age=60, public' })
    t.equal((await app.inject({ url: '/cached', headers: { 'if-none-match': '"v1"' } })).statusCode, 304)
    t.match((await app.inject({ url: '/boom', headers: { accept: 'application/json' } })).json(), { exceptions: [{ message: 'boom' }] })
  })

  t.test(`${engine}: a missing template is an error that names the file`, async (t) => {
    const app = await start(t, engine)
    const page = await app.inject({ url: '/missing', headers: { accept: 'text/html' } })
    t.equal(page.statusCode, 500)
    t.match(page.body, /nowhere\/missing/)
  })
}

t.test('other errors in a template are those of the engine', async (t) => {
  const app = await start(t, 'eta')
  for (const [url, message] of [['/broken', /Cannot read properties of undefined \(reading 'here'\)/], ['/includes', /partial-that-is-not-there/]] as const) {
    const response = await app.inject({ url, headers: { accept: 'application/json' } })
    t.equal(response.statusCode, 500)
    const { exceptions } = response.json<{ exceptions: Array<{ name: string, message: string }> }>()
    t.match(exceptions.map(({ message }) => message).join('\n'), message, url)
  }
})

t.test('the profile has the template and its variables', async (t) => {
  const app = await start(t, 'eta')
  const rendered = await profileOf(app, await app.inject('/page'))
  t.match(rendered.collectors.template, { name: 'page', variables: ['title'] })
  t.type((rendered.collectors.template as { duration: number }).duration, 'number')
  const reasons = async (url: string): Promise<unknown> => (await profileOf(app, await app.inject(url))).events
    .filter(({ listener }) => listener === 'template').map(({ pass, outcome, reason }) => [pass, outcome, reason])
  t.strictSame(await reasons('/page'), [['main', 'ran', undefined]])
  t.strictSame(await reasons('/json'), [['main', 'skipped', 'not configured']])
  t.strictSame(await reasons('/boom'), [['main', 'ran', undefined], ['error', 'skipped', 'the diagnostic handler declares no attributes']])
  t.notOk('template' in (await profileOf(app, await app.inject('/text'))).collectors)
})

t.test('the engine can be registered before the route, after it, or in its scope', async (t) => {
  const behind = await build({
    declare: async (app) => {
      app.get('/page', { config: { template: 'page' } }, async () => ({ title: 'behind' }))
      await app.register(fastifyView, engines.eta)
    }
  })
  t.teardown(() => behind.close())
  t.equal((await behind.inject('/page')).body, '<h1>behind</h1>\n')

  const scoped = await build({
    declare: (app) => {
      app.register(async (scope) => {
        await scope.register(fastifyView, { ...engines.eta, propertyName: 'render' })
        scope.get('/page', { config: { template: 'page' } }, async () => ({ title: 'scoped' }))
      }, { prefix: '/scope' })
    },
    template: { propertyName: 'render' }
  })
  t.teardown(() => scoped.close())
  t.equal((await scoped.inject('/scope/page')).body, '<h1>scoped</h1>\n')
})

t.test('without an engine the start fails with the name of the route', async (t) => {
  const NONE = 'but there is no reply.viewAsync(): register @fastify/view in the route\'s scope or above it'
  for (const [name, options, declare, message] of [
    ['none at all', {}, (app: FastifyInstance) => { app.get('/page', { config: { name: 'home', template: 'page' } }, async () => ({})) },
      `Route "home": config.template is "page", ${NONE}`],
    ['in another scope', {}, (app: FastifyInstance) => {
      app.register(async (scope) => { await scope.register(fastifyView, engines.eta) })
      app.get('/page', { config: { template: 'page' } }, async () => ({}))
    }, `Route "GET /page": config.template is "page", ${NONE}`],
    ['under another name', { template: { propertyName: 'render' } }, (app: FastifyInstance) => {
      app.register(fastifyView, engines.eta)
      app.get('/page', { config: { template: 'page' } }, async () => ({}))
    }, 'Route "GET /page": config.template is "page", but there is no reply.renderAsync(): register @fastify/view with propertyName "render" in the route\'s ' +
      'scope or above it']
  ] as const) {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(service, { session: false, ...options })
    declare(app)
    await t.rejects(Promise.resolve(app.ready()), { message }, name)
  }
})

t.test('templates are rendered over a socket, also in production', async (t) => {
  for (const debug of [true, false]) {
    const app = await start(t, 'eta', { debug })
    const url = `http://127.0.0.1:${await listen(app)}`
    const page = await fetch(`${url}/page`)
    t.equal(page.headers.get('content-type'), HTML)
    t.equal(await page.text(), '<h1>&lt;script&gt;alert(1)&lt;/script&gt;</h1>\n')
    const missing = await fetch(`${url}/missing`, { headers: { accept: 'text/html' } })
    t.equal(missing.status, 500)
    t.equal((await missing.text()).includes(VIEWS), debug, 'production does not show the path')
  }
})

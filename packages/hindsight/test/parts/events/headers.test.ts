import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import { pluginOf } from '../../support/products.js'
import type { TestedProduct as Mode } from '../../support/products.js'
import { createMask } from '../../../src/mask/mask.js'
import { shownHeaders } from '../../../src/parts/events/index.js'
import type { Profile } from '../../../src/store/profile.js'
import { testdir } from '../../support/folder.js'
import { listen, profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'

const HERE = /events[\\/]headers\.test\.ts:\d+$/

async function application (t: Test, product: Mode, declare: (app: FastifyInstance) => unknown): Promise<FastifyInstance> {
  const app = Fastify({ pluginTimeout: 60_000 }) as unknown as FastifyInstance
  t.teardown(() => app.close())
  app.addHook('onRequest', async (_request, reply) => { reply.header('x-before', '1') })
  await app.register(pluginOf(product), { debug: true, profiler: { storage: 'memory' } })
  await declare(app)
  return app
}

interface ProfiledChange { name: string, from: string | null, to: string | null, after: number, by: string, source?: string }

const changesOf = ({ collectors }: Profile): ProfiledChange[] => (collectors.headers as { changes?: ProfiledChange[] } | undefined)?.changes ?? []
/** Without what Fastify sets of itself for the body that was sent. */
const brief = (profile: Profile, by: string): Array<[name: string, from: string | null, to: string | null]> =>
  changesOf(profile).filter((change) => change.by === by && !/^content-(?:type|length)$/.test(change.name)).map(({ name, from, to }) => [name, from, to])

inBothProducts('header changes of a handler are found in every form, with the place of its route', async (t, _build, product) => {
  const app = await application(t, product, (app) => {
    app.get('/reply', async (_request, reply) => {
      reply.header('X-One', '1').headers({ 'x-two': 2, constructor: 'x' }).removeHeader('x-one').removeHeader('x-before')
      return { a: 1 }
    })
    app.get('/list', async (_request, reply) => reply.header('set-cookie', 'a=secret').header('set-cookie', 'b=secret').send({ a: 1 }))
    app.get('/redirect', async (_request, reply) => reply.redirect('/x'))
    app.get('/raw', async (_request, reply) => {
      reply.raw.setHeader('X-Raw', 'r')
      reply.raw.appendHeader('x-raw', 's')
      return { a: 1 }
    })
    app.get('/hijacked', (_request, reply) => {
      reply.hijack()
      reply.raw.setHeader('x-raw', 'r')
      reply.raw.end('x')
    })
    app.get('/stream', async (_request, reply) => reply.header('x-one', '1').send(Readable.from(['x'])))
    app.get('/loop', async (_request, reply) => {
      for (let i = 0; i < 300; i++) reply.header(`x-${i}`, 'http://u:secret@h/?token=secret')
      return { a: 1 }
    })
  })
  for (const [url, expected] of [
    ['/reply', [['x-two', null, '2'], ['constructor', null, 'x'], ['x-before', '1', null]]],
    ['/list', [['set-cookie', null, 'a=******, b=******']]],
    ['/redirect', [['location', null, '/x']]],
    ['/raw', [['x-raw', null, 'r, s']]],
    ['/stream', [['x-one', null, '1']]]
  ] as const) {
    const profile = await profileOf(app, await app.inject(url))
    t.same(brief(profile, 'handler'), expected, url)
    for (const { source } of changesOf(profile).filter(({ by }) => by === 'handler')) t.match(source, HERE)
    t.match(changesOf(profile)[0], { name: 'x-before', to: '1', by: 'before Hindsight', after: 0 }, url)
    t.notMatch(JSON.stringify(profile.collectors.headers), 'secret', url)
  }
  const loop = await profileOf(app, await app.inject('/loop'))
  t.equal(changesOf(loop).length, 100)
  t.notMatch(JSON.stringify(loop.collectors.headers), 'secret')
  await app.inject('/hijacked')
  const { token = '' } = await app.hindsight.profiler.latest() ?? {}
  t.same(brief(await app.hindsight.profiler.find(token) as Profile, 'handler'), [['x-raw', null, 'r'], ['x-before', '1', null]],
    'a header of a hijacked reply is not sent')
})

inBothProducts('code outside of hooks is attributed in its order', async (t, _build, product) => {
  const app = await application(t, product, (app) => {
    app.addHook('preHandler', async function early (_request, reply) { reply.header('x-hook', '1') })
    app.get('/', {
      preValidation: async (_request, reply) => { reply.header('x-route', '1') },
      onSend: async (_request, reply) => { reply.header('x-late', '1') }
    }, async (_request, reply) => { reply.header('x-own', '1'); return { a: 1 } })
    app.get('/fails', async (_request, reply) => {
      reply.header('etag', '"1"')
      throw Object.assign(new Error('x'), { statusCode: 418, headers: { 'x-error': '1' } })
    })
    app.get(
      '/handled', { errorHandler: (_error, _request, reply) => reply.header('x-handled', '1').code(500).send('no') }, async () => { throw new Error('x') }
    )
  })
  const profile = await profileOf(app, await app.inject('/'))
  for (const by of ['route hooks', 'handler']) for (const { source } of changesOf(profile).filter((change) => change.by === by)) t.match(source, HERE)
  t.same(brief(profile, 'route hooks').map(([name]) => name), ['x-route', 'x-late'])
  t.same(brief(profile, 'handler').map(([name]) => name), ['x-own'])
  const after = (name: string): number => changesOf(profile).find((change) => change.name === name)?.after ?? -1
  const early = profile.events.findIndex(({ listener }) => listener === 'early')
  t.match(profile.events[early]?.changes, { headers: [{ name: 'x-hook', from: null, to: '1' }] })
  t.notOk(changesOf(profile).some(({ name }) => name === 'x-hook'), 'a change of a hook is in its event alone')
  t.ok(
    after('x-before') <= after('x-route') && after('x-route') <= early && early < after('x-own') && after('x-own') <= after('x-late'),
    JSON.stringify(changesOf(profile))
  )
  const handled = await profileOf(app, await app.inject('/handled'))
  t.same(brief(handled, 'error handler').map(([name]) => name).filter((name) => name.startsWith('x-')), ['x-handled'])
  const failed = await profileOf(app, await app.inject({ url: '/fails', headers: { accept: 'text/html' } }))
  t.same(brief(failed, 'handler'), [['etag', null, '"1"']])
  t.same(brief(failed, 'error handler').filter(([name]) => name === 'x-error'), [['x-error', null, '1']])
  t.match(changesOf(failed).find(({ name, to }) => name === 'content-type' && to === 'text/html; charset=utf-8'), { by: 'diagnostic page' })
})

inBothProducts('changes by a not-found handler of the application', async (t, _build, product) => {
  const app = await application(t, product, async (app) => {
    await app.register(async (scope) => {
      scope.addHook('preHandler', async (_request, reply) => { reply.header('x-hook', '1') })
      scope.setNotFoundHandler((_request, reply) => reply.header('x-missing', '1').code(404).send('nothing here'))
      scope.get('/gone', (_request, reply) => { reply.header('x-handler', '1').callNotFound() })
    }, { prefix: '/part' })
  })
  for (const path of ['/part/unknown', '/part/gone']) {
    const profile = await profileOf(app, await app.inject(path))
    t.same(brief(profile, 'not-found handler').map(([name]) => name).filter((name) => name.startsWith('x-')), ['x-missing'], path)
  }
  const standard = await profileOf(app, await app.inject('/unknown'))
  t.same(brief(standard, 'not-found handler'), [], 'that of Fastify')
})

inBothProducts('a hook of a package has its name and place', async (t, _build, product) => {
  const folder = testdir(t, {
    node_modules: {
      'header-setter': {
        'index.cjs': "module.exports = async function headerSetter (app) {\n  app.addHook('onRequest', async function " +
          "setter (_request, reply) { reply.header('x-package', '1') })\n}\nmodule.exports[Symbol.for('skip-override')] = true\n"
      }
    }
  })
  const headerSetter = createRequire(import.meta.url)(join(folder, 'node_modules/header-setter/index.cjs')) as FastifyPluginAsync
  const app = await application(t, product, async (app) => {
    await app.register(headerSetter)
    app.get('/', async () => 'x')
  })
  const { events } = await profileOf(app, await app.inject('/'))
  t.match(
    events.find(({ listener }) => listener === 'setter'),
    { plugin: 'header-setter', source: /header-setter[\\/]index\.cjs:2$/, changes: { headers: [{ name: 'x-package', to: '1' }] } }
  )
})

inBothProducts('headers are recorded over the network', async (t, _build, product) => {
  const app = await application(t, product, (app) => { app.get('/', async (_request, reply) => reply.header('x-own', '1').send({ a: 1 })) })
  const token = (await fetch(`http://127.0.0.1:${await listen(app)}/`)).headers.get('x-debug-token') ?? ''
  const changes = changesOf(await profileOf(app, { headers: { 'x-debug-token': token } }))
  t.match(changes.find(({ name }) => name === 'x-own'), { by: 'handler', source: HERE, to: '1' })
  t.match(changes.find(({ name }) => name === 'content-type'), { to: 'application/json; charset=utf-8' })
})

t.test('values of cookies are hidden, lists are kept, and long values are truncated', async (t) => {
  const mask = createMask()
  for (const cookie of ['id=s3cr3t', ['id=s3cr3t', 'b=c']]) {
    const shown = JSON.stringify(shownHeaders({ 'set-cookie': cookie }, mask))
    t.match(shown, 'id=')
    t.notMatch(shown, 's3cr3t')
  }
  t.same(shownHeaders({ link: ['</a>', '</b>'] }, mask), { link: ['</a>', '</b>'] })
  t.match(shownHeaders({ 'x-a': 'x'.repeat(5_000) }, mask)['x-a'], /^x{4096}… \(904 more characters\)$/)
})

t.test('the mask of one request hides nothing in another request', async (t) => {
  const mask = createMask()
  const headers = { location: '/reset/s3cr3t' }
  t.equal(shownHeaders(headers, mask.withParams({ token: 's3cr3t' })).location, '/reset/******')
  t.equal(shownHeaders(headers, mask).location, '/reset/s3cr3t')
})

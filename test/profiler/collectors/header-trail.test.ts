import { createRequire } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import type { FastifyPluginAsync } from 'fastify'
import fp from 'fastify-plugin'
import type { TrailedChange, TrailRecord } from '../../../plugins/profiler/collectors/header-trail.js'
import { build, listen, profileOf } from '../../support/app.js'

const HERE = import.meta.filename

declare module 'fastify' {
  interface FastifyReply {
    /** Of the package that the test writes. */
    fromPackage (name: string): FastifyReply
  }
}

const PACKAGE = `module.exports = async function headerSetter (app) {
  app.decorateReply('fromPackage', function fromPackage (name) { return this.header(name, '1') })
  app.addHook('onRequest', async function setter (_request, reply) { reply.header('x-hook-of-package', '1') })
}
module.exports[Symbol.for('skip-override')] = true
`

function setIt (reply: { header: (name: string, value: string) => unknown }, name: string): void {
  reply.header(name, '1')
}

t.test('whose code a change came from, and where', async (t) => {
  const folder = t.testdir({ node_modules: { 'header-setter': { 'index.cjs': PACKAGE } } })
  const headerSetter = createRequire(import.meta.url)(join(folder, 'node_modules/header-setter/index.cjs')) as FastifyPluginAsync
  const app = await build({
    async declare (app) {
      await app.register(fp(async function wants (app) {
        app.addHook('onRequest', async function early (_request, reply) { reply.header('x-hook', '1') })
      }))
      await app.register(headerSetter)
      app.get('/', async function shown (request, reply) {
        setIt(reply, 'x-own')
        reply.fromPackage('x-package')
        await null
        reply.header('authorization', 'Bearer secret').header('x-url', 'http://u:secret@h/?token=secret')
        reply.setCookie('a', 'secret')
        return { a: 1 }
      })
      app.get('/fails', async (_request, reply) => {
        reply.header('etag', '"1"')
        throw Object.assign(new Error('x'), { statusCode: 418, headers: { 'x-error': '1' } })
      })
    }
  })
  t.teardown(() => app.close())
  const { collectors, events } = await profileOf(app, await app.inject('/'))
  const { changes = [], node } = collectors.headers as TrailRecord
  const of = (name: string): TrailedChange | undefined => changes.find((change) => change.name === name)
  t.match(of('x-own'), { by: 'application', function: 'setIt', source: new RegExp(`^${HERE}:\\d+$`), handling: true })
  t.match(of('x-package'), { by: 'package', package: 'header-setter', function: 'shown', source: new RegExp(`^${HERE}:\\d+$`) }, 'a package that the handler called: where the handler did')
  t.match(of('x-hook-of-package'), { by: 'package', package: 'header-setter', source: /header-setter[\\/]index\.cjs:\d+$/ }, 'a hook of a package: where that is')
  t.match(of('x-hook'), { by: 'application', function: 'early', via: 'reply.header' })
  t.equal(of('x-hook')?.handling, undefined)
  t.match(of('set-cookie'), { by: 'application', cookie: 'a', via: 'reply.setCookie' })
  t.notMatch(JSON.stringify(collectors.headers), 'secret', 'values are masked')
  t.match(node, { date: null, connection: 'keep-alive' })
  t.equal(events[of('x-own')?.after ?? -1]?.stage.startsWith('kernel.controller_arguments'), true, 'behind what ran ahead of the handler')
  t.ok((of('x-hook')?.after ?? 99) < (of('x-own')?.after ?? 0))
  const failed = (await profileOf(app, await app.inject('/fails'))).collectors.headers as TrailRecord
  t.match(failed.changes?.map(({ name, by, to }) => [name, by, to]), [['x-hook', 'application', '1'], ['x-hook-of-package', 'package', '1'], ['etag', 'application', '"1"'], ['etag', 'hindsight', null], ['x-error', 'hindsight', '1']])
})

t.test('over the network, and at an address of its own', async (t) => {
  const app = await build({ declare: (app) => { app.get('/', async (_request, reply) => reply.header('x-own', '1').send('x')) } })
  t.teardown(() => app.close())
  const port = await listen(app)
  const response = await fetch(`http://127.0.0.1:${port}/`)
  const token = response.headers.get('x-debug-token') ?? ''
  await profileOf(app, { headers: { 'x-debug-token': token } })
  const told = await app.inject(`/_profiler/${token}/headers.json`)
  t.match(told.json(), {
    token,
    headers: {
      'x-own': [{ action: 'set', by: 'your handler', source: new RegExp(`^${HERE}:\\d+$`), to: '1' }],
      'x-content-type-options': [{ action: 'set', by: 'content-type', source: 'plugins/listeners/content-type.ts' }],
      'content-type': [{ action: 'set', by: 'Fastify', to: 'text/plain; charset=utf-8' }],
      connection: [{ by: 'Node.js', to: 'keep-alive' }],
      'keep-alive': [{ by: 'Node.js' }]
    }
  })
  for (const wrong of ['000000', 'xyz', '..%2f..']) t.equal((await app.inject(`/_profiler/${wrong}/headers.json`)).statusCode, 404, wrong)
})

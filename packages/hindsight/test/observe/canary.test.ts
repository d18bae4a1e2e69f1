import { hasSubscribers } from 'node:diagnostics_channel'
import Fastify, { type FastifyInstance, type RouteShorthandOptions } from 'fastify'
import t from 'tap'

// What the package relies on beside the documented interface of Fastify. A release that changes it fails here first.

t.test('an encapsulated instance has its parent as prototype: the scope of a hook relies on that', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  let child: FastifyInstance | undefined
  let grandchild: FastifyInstance | undefined
  await app.register(async (instance) => {
    child = instance
    await instance.register(async (instance) => { grandchild = instance })
  })
  let sibling: FastifyInstance | undefined
  await app.register(async (instance) => { sibling = instance })
  const isAround = (outer: unknown, inner: unknown): boolean => Object.prototype.isPrototypeOf.call(outer as object, inner as object)
  t.ok(isAround(app, child) && isAround(child, grandchild) && isAround(app, grandchild), 'recording/hooks.ts: find the scope of a hook in another way')
  t.notOk(isAround(child, app) || isAround(child, sibling))
})

t.test('hooks run in the order in which Fastify has executed its queue, those of an outer instance in all scopes', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const added: string[] = []
  const ran: string[] = []
  const add = (instance: FastifyInstance, name: string): void => {
    instance.addHook('onSend', async () => { ran.push(name) })
    instance.after(() => { added.push(name) })
  }
  app.register(async (child) => {
    add(child, 'child')
    child.get('/', async () => 'x')
  })
  add(app, 'after the child')
  await app.inject('/')
  t.same(ran, added, 'recording/hooks.ts: the order of `after` is no longer that of hooks')
})

t.test('a hook that is added to the root through the wrapped `addHook` of the root is added by children, too', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const { addHook } = app
  const seen: string[] = []
  app.addHook = function (this: FastifyInstance, name: string, hook: unknown) {
    seen.push(name)
    return addHook.call(this, name as never, hook as never)
  } as typeof addHook
  await app.register(async (child) => { child.addHook('onRequest', async () => {}) })
  t.same(seen, ['onRequest'], 'lib/lifecycle/application-hooks.ts: hooks of children are not recorded')
})

const DEFAULTS: Array<[name: string, raised: unknown, body: string]> = [
  ['an error', new Error('broken'), '{"statusCode":500,"error":"Internal Server Error","message":"broken"}'],
  [
    'an error with a code', Object.assign(new Error('broken'), { code: 'E_BROKEN', statusCode: 418 }),
    '{"statusCode":418,"code":"E_BROKEN","error":"I\'m a Teapot","message":"broken"}'
  ],
  ['a string', 'broken', 'broken'],
  ['an object', { broken: true }, '{"broken":true}']
]
for (const [name, raised, body] of DEFAULTS) {
  t.test(`Fastify sends its default answer, and onError receives the raised value: ${name}`, async (t) => {
    const app = Fastify()
    t.teardown(() => app.close())
    const seen: unknown[] = []
    app.addHook('onError', async (_request, _reply, error) => { seen.push(error) })
    app.get('/', async () => { throw raised })
    t.equal(
      (await app.inject('/')).body, body,
      'recording/diagnostic-page.ts: the default answer of Fastify has changed, and is not replaced by the diagnostic page'
    )
    t.same(seen, [raised])
  })
}

t.test('Fastify sends its default 404 for an unknown URL and after reply.callNotFound()', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const is404: boolean[] = []
  app.addHook('onSend', async (request) => { is404.push(request.is404) })
  app.get('/gone', (_request, reply) => { reply.callNotFound() })
  for (const url of ['/nowhere', '/gone']) {
    t.equal((await app.inject(url)).body, `{"message":"Route GET:${url} not found","error":"Not Found","statusCode":404}`, 'recording/diagnostic-page.ts')
  }
  t.same(is404, [true, true])
})

t.test('Fastify logs the error of a handler that fails after its response, and of a second response, in the field err', async (t) => {
  const lines: Array<{ err?: { message: string, code?: string } }> = []
  const app = Fastify({ logger: { stream: { write: (line: string) => { lines.push(JSON.parse(line)) } } } })
  t.teardown(() => app.close())
  app.get('/', async (_request, reply) => {
    reply.send('sent')
    reply.send('sent again')
    throw new Error('too late')
  })
  await app.inject('/')
  const errors = lines.flatMap(({ err }) => err ?? [])
  t.match(errors, [{ code: 'FST_ERR_REP_ALREADY_SENT' }, { message: 'too late' }], 'packages/hindsight/src/recording/process-events.ts: addLateError')
})

t.test('Fastify passes what an error handler throws, rejects with or sends to send of the reply, twice', async (t) => {
  const sent: unknown[] = []
  const app = Fastify()
  t.teardown(() => app.close())
  app.addHook('onError', async (_request, reply) => {
    const { send } = reply
    reply.send = function (payload) {
      sent.push(payload)
      return send.call(this, payload)
    }
  })
  const second = new Error('second')
  const handlers: Array<[handler: RouteShorthandOptions['errorHandler'], expected: unknown]> = [
    [() => { throw second }, second],
    [async () => { throw second }, second],
    [async () => second, second],
    [(_error, _request, reply) => { reply.send(second) }, second],
    // eslint-disable-next-line no-throw-literal
    [async () => { throw 'a text' }, 'a text']
  ]
  for (const [i, [errorHandler]] of handlers.entries()) {
    app.get(`/${i}`, { ...(errorHandler && { errorHandler }) }, async () => { throw new Error('first') })
  }
  for (const [i, [, expected]] of handlers.entries()) {
    await app.inject(`/${i}`)
    t.same(sent.splice(0), [expected, expected], 'packages/hindsight/src/recording/handler-time.ts: watchErrorHandlers')
  }
})

t.test('Hindsight does not subscribe to the channel of handlers, which would change the error status', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.setErrorHandler((_error, _request, reply) => reply.send({ status: reply.statusCode }))
  app.get('/', async () => { throw new Error('broken') })
  const { hindsight } = await import('../../src/hindsight.js')
  const observed = Fastify()
  t.teardown(() => observed.close())
  await observed.register(hindsight, { profiler: { storage: 'memory' } })
  observed.setErrorHandler((_error, _request, reply) => reply.send({ status: reply.statusCode }))
  observed.get('/', async () => { throw new Error('broken') })
  t.same((await observed.inject('/')).json(), (await app.inject('/')).json())
  for (const event of ['start', 'end', 'asyncStart', 'asyncEnd', 'error']) t.notOk(hasSubscribers(`tracing:fastify.request.handler:${event}`), event)
})

t.test('an error that Fastify raises while it sends is not thrown by reply.send() if there is an onSend hook, ours included', async (t) => {
  const thrown: string[] = []
  const send = async (prepare: (app: FastifyInstance) => unknown): Promise<unknown> => {
    const app = Fastify()
    t.teardown(() => app.close())
    await prepare(app)
    app.get('/', (_request, reply) => {
      try {
        reply.type('text/html').send({})
      } catch (error) {
        thrown.push((error as { code: string }).code)
        reply.send('caught')
      }
    })
    const { statusCode, body } = await app.inject('/')
    return [statusCode, body]
  }
  const { hindsight } = await import('../../src/hindsight.js')
  const withHook = await send((app) => app.addHook('onSend', (_request, _reply, payload, done) => done(null, payload)))
  t.same(await send((app) => app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })), withHook)
  t.same(thrown, [])
  t.same(await send((app) => app.register(hindsight, { debug: false })), [200, 'caught'], 'in production there is no hook')
  t.same(await send(() => {}), [200, 'caught'], 'docs/explanation/costs-and-changes.md: "Other changes"')
  t.same(thrown, ['FST_ERR_REP_INVALID_PAYLOAD_TYPE', 'FST_ERR_REP_INVALID_PAYLOAD_TYPE'])
})

t.test('Fastify is a listener of its server, and of each other one of the application', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const message = 'packages/hindsight/src/page-server.ts: requests for pages are logged by the application again'
  t.same(app.server.listeners('request'), [app.routing], message)
  const http2 = Fastify({ http2: true })
  t.teardown(() => http2.close())
  t.same(http2.server.listeners('request'), [http2.routing], message)
})

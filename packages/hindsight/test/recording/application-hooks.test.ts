import { EventEmitter, once } from 'node:events'
import { get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import etag from '@fastify/etag'
import fp from 'fastify-plugin'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import t from 'tap'
import { pluginOf } from '../support/products.js'
import { hindsight } from '../../src/hindsight.js'
import type { ListenerEvent } from '../../src/recording/events.js'
import { eventName } from '../../src/parts/events/index.js'
import { profileMarkdown } from '../support/marks.js'
import { listen, profileOf } from '../support/app.js'
import { inBothProducts, type Build } from '../support/products.js'

const HERE = /application-hooks\.test\.[tj]s:\d+$/

async function hooksOf (
  build: Build, declare: (app: FastifyInstance) => unknown, url = '/'
): Promise<{ events: ListenerEvent[], all: ListenerEvent[], status: number, headers: Record<string, unknown> }> {
  const app = await build(declare)
  const response = await app.inject(url)
  // Its pages would pass the same hooks.
  let profile
  while ((profile = await app.hindsight.profiler.find(String(response.headers['x-debug-token']))) === undefined) await sleep(5)
  const { events } = profile
  await app.close()
  return { events: events.filter(({ stage }) => !stage.startsWith('kernel.')), all: events, status: response.statusCode, headers: response.headers }
}

inBothProducts('hooks of the application are listed among the listeners, with their owner and place', async (t, build, product) => {
  const { events, all } = await hooksOf(build, async (app) => {
    app.addHook('onRequest', function checkKey (_request, _reply, done) { done() })
    app.addHook('preParsing', async function countBytes () {})
    app.addHook('preHandler', async function loadUser (_request, reply) { reply.header('x-user', 'ada') })
    app.addHook('onSend', async function stamp (_request, reply, payload) {
      reply.header('x-user', 'grace')
      return payload
    })
    await app.register(fp(async function metrics (app) {
      app.addHook('onResponse', function measure (_request, _reply, done) { done() })
    }, { name: 'metrics' }))
    app.addHook('preSerialization', async function ofRoot () {})
    await app.register(async function admin (app) {
      app.addHook('onRequest', (_request, _reply, done) => { done() })
      app.get('/', { preValidation: async function ofRoute () {} }, async () => ({ x: 1 }))
    })
  })
  t.same(events.map(({ stage, listener, pass, outcome }) => [stage, listener, pass, outcome]), [
    ['onRequest', 'checkKey', 'main', 'ran'],
    ['onRequest', 'admin', 'main', 'ran'],
    ['preParsing', 'countBytes', 'main', 'ran'],
    ['preHandler', 'loadUser', 'main', 'ran'],
    ['preSerialization', 'ofRoot', 'main', 'ran'],
    ['onSend', 'stamp', 'main', 'ran'],
    ['onResponse', 'measure', 'main', 'ran']
  ], 'hooks of the route are not recorded')
  for (const event of events) t.match(event.source, HERE, event.listener)
  t.equal(events.find(({ listener }) => listener === 'admin')?.plugin, 'admin', 'without a name it has that of its plugin')
  t.equal(
    events.find(({ listener }) => listener === 'ofRoot')?.plugin, undefined, 'a hook that the application adds after a plugin is not attributed to the plugin'
  )
  t.same(events.find(({ listener }) => listener === 'loadUser')?.changes?.headers, [{ name: 'x-user', from: null, to: 'ada' }])
  t.same(events.find(({ listener }) => listener === 'stamp')?.changes?.headers, [{ name: 'x-user', from: 'ada', to: 'grace' }])
  for (const { start, duration } of events) t.ok(start >= 0 && duration >= 0)
  if (product === 'package') return t.same(all, events)
  const places = all.map(({ stage, listener }) => `${stage} ${listener}`)
  t.ok(places.indexOf('kernel.request pagination') < places.indexOf('onRequest checkKey'), 'after the listeners that were skipped, too')
  t.ok(places.indexOf('preHandler loadUser') < places.indexOf('kernel.response cors'))
  t.equal(
    all.filter(({ stage }) => stage.startsWith('kernel.')).length,
    new Set(all.filter(({ stage }) => stage.startsWith('kernel.')).map(({ stage, listener }) => stage + listener)).size, 'no listener occurs twice'
  )
})

inBothProducts('a hook without a name has that of the plugin that is loaded, and where none is known, its place', async (t, build) => {
  const hook = async (): Promise<void> => {}
  const { events } = await hooksOf(build, async (app) => {
    await app.register(fp(async (app) => { app.addHook('onRequest', async () => {}) }, { name: 'session-loader' }))
    await app.register(fp(async function tenants (app) { app.addHook('onRequest', async () => {}) }))
    await app.register(fp(async (app) => {
      await sleep(1)
      app.addHook('onRequest', async () => {})
    }, { name: 'late' }))
    app.addHook('preHandler', async () => {})
    await app.register(async function api (app) {
      await app.register(fp(async (app) => { app.addHook('preHandler', async () => {}) }, { name: 'inner' }))
      app.addHook('preHandler', async () => {})
      app.get('/', { onRequest: hook }, async () => 'x')
    })
  })
  t.same(events.map(({ listener }) => listener), ['session-loader', 'tenants', 'onRequest', 'preHandler', 'inner', 'api'])
  t.same(events.map((event) => eventName(event).replace(/:\d+$/, ':')), [
    'session-loader', 'tenants', 'onRequest hook packages/hindsight/test/recording/application-hooks.test.ts:',
    'preHandler hook packages/hindsight/test/recording/application-hooks.test.ts:', 'inner', 'api'
  ])
})

inBothProducts('a hook without a name is shown with its plugin or place', async (t, build) => {
  const app = await build((app) => {
    app.addHook('onRequest', async (_request, reply) => { reply.header('x-a', '1') })
    app.addHook('onSend', async (_request, _reply, payload) => payload)
    app.addHook('preHandler', ({ url }, _reply, done) => {
      done(url === '/fails' ? new Error('no') : undefined)
      if (url === '/twice') done()
    })
    app.get('/', () => ({ a: 1 }))
    app.get('/fails', () => ({ a: 1 }))
    app.get('/twice', async () => await sleep(20, { a: 1 }))
  })
  for (const url of ['/', '/fails', '/twice']) {
    const response = await app.inject({ url, headers: { accept: 'text/html' } })
    const { token } = await profileOf(app, response)
    const outputs = [response.body, profileMarkdown(await profileOf(app, response)), JSON.stringify(await profileOf(app, response))]
    for (const panel of ['overview', 'events', 'timeline', 'exceptions', 'performance']) {
      outputs.push((await app.inject({ url: `/_profiler/${token}?panel=${panel}`, headers: { accept: 'text/html' } })).body)
    }
    outputs.push((await app.inject({ url: '/_profiler/routes', headers: { accept: 'text/html' } })).body)
    // Stacks are those of V8.
    for (const [i, output] of outputs.entries()) t.notMatch(output.replace(/(?:<|&#60;)anonymous/g, ''), 'anonymous', `${url} ${i}`)
    t.match(outputs[1], /onRequest ran, .+, added at packages\/hindsight\/test\/recording/)
  }
})

inBothProducts('a hook of a package has the name of the package', async (t, build) => {
  const { events } = await hooksOf(build, async (app) => {
    await app.register(etag)
    app.get('/', async () => 'x')
  })
  t.match(events, [{
    stage: 'onSend', plugin: '@fastify/etag', source: /node_modules\/@fastify\/etag\/.+:\d+$/, changes: { headers: [{ name: 'etag', from: null, to: String }] }
  }])
})

inBothProducts('internal hooks of Hindsight are not listed', async (t, build) => {
  const { events } = await hooksOf(build, (app) => { app.get('/', async () => 'x') })
  t.same(events.map(({ stage, listener }) => `${stage} ${listener}`), [])
})

const outcomes: Array<[name: string, declare: (app: FastifyInstance) => void, stage: string, outcome: string, status: number]> = [
  ['a hook that throws', (app) => app.addHook('onRequest', () => { throw new Error('no') }), 'onRequest', 'raised', 500],
  ['one that rejects', (app) => app.addHook('preHandler', async () => { throw new Error('no') }), 'preHandler', 'raised', 500],
  [
    'one that calls back with an error', (app) => app.addHook('preValidation', (_request, _reply, done) => done(new Error('no'))), 'preValidation', 'raised',
    500
  ],
  [
    'one that answers and calls nobody back', (app) => app.addHook('onRequest', (_request, reply, _done) => { reply.code(202).send('early') }), 'onRequest',
    'answered', 202
  ],
  [
    'one that answers and returns a promise', (app) => app.addHook('preHandler', async (_request, reply) => await reply.code(202).send('early')), 'preHandler',
    'answered', 202
  ],
  [
    'one that answers later', (app) => app.addHook('onRequest', (_request, reply, _done) => { setTimeout(() => reply.code(202).send('late'), 5) }), 'onRequest',
    'answered', 202
  ],
  [
    'a thenable that works when it is waited for', (app) => app.addHook('onRequest', function lazy () { return lazyThenable() as never }), 'onRequest', 'ran',
    200
  ]
]

let begun = 0
function lazyThenable (): object {
  return { then (resolve: () => void) { begun++; resolve() } }
}

for (const [name, declare, stage, outcome, status] of outcomes) {
  inBothProducts(name, async (t, build) => {
    const before = begun
    const { events, status: found } = await hooksOf(build, (app) => {
      declare(app)
      app.get('/', async () => 'x')
    })
    t.equal(found, status)
    t.same(events.filter((event) => event.stage === stage).map((event) => event.outcome), [outcome])
    if (name.startsWith('a thenable')) t.equal(begun, before + 1, 'once')
  })
}

t.test('hooks that call back with a falsy value are answered as without Hindsight', async (t) => {
  for (const stage of ['preValidation', 'preHandler'] as const) {
    for (const values of [[0], [''], [false, undefined], [undefined, false]]) {
      const statuses: number[] = []
      for (const isObserved of [false, true]) {
        const app = Fastify() as unknown as FastifyInstance
        t.teardown(() => app.close())
        if (isObserved) await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
        for (const value of values) app.addHook(stage as 'preHandler', (_request, _reply, done) => { done(value as never) })
        app.get('/', async () => 'x')
        const response = await app.inject('/')
        statuses.push(response.statusCode)
        if (!isObserved) continue
        const { events } = await profileOf(app, response)
        t.same(events.map(({ outcome }) => outcome), values.map(() => 'ran'), 'no hook is said to have raised an error')
      }
      t.equal(statuses[1], statuses[0], `${stage}, ${values.map(String).join()}`)
    }
  }
})

inBothProducts('invalid hooks are refused by Fastify as before', async (t, build) => {
  await t.rejects(
    build((app) => { app.addHook('onRequest', (async (_request: unknown, _reply: unknown, _done: unknown) => {}) as never) }),
    { code: 'FST_ERR_HOOK_INVALID_ASYNC_HANDLER' }
  )
  await t.rejects(build((app) => { app.addHook('onRequest', 'no' as never) }), { code: 'FST_ERR_HOOK_INVALID_HANDLER' })
})

const HERE_IN_FRAME = /application-hooks\.test\.[tj]s:\d+:\d+\)?$/

function framesOf (error: unknown): string[] {
  return String((error as Error).stack).split('\n').slice(1).map((line) => line.trim())
}

for (const stage of ['onRequest', 'preValidation', 'preHandler'] as const) {
  inBothProducts(`a stack has one function of Hindsight between a hook and Fastify: ${stage}`, async (t, _build, product) => {
    const raised: unknown[] = []
    const app = Fastify({ pluginTimeout: 60_000 })
    t.teardown(() => app.close())
    await app.register(pluginOf(product), { debug: true, profiler: { storage: 'memory' } })
    await app.register(async (app) => {
      app.setErrorHandler((error, _request, reply) => { raised.push(error); return reply.send('') })
      app.addHook(stage as 'preHandler', function own (_request, _reply, _done): void { throw new Error('no') })
      app.post('/', async () => '')
    })
    // With a body, the parser leaves the asynchronous context of the request.
    await app.inject({ method: 'POST', url: '/', payload: { a: 1 } })
    const frames = framesOf(raised.pop())
    t.match(frames[0], HERE_IN_FRAME)
    const between = frames.slice(1, frames.findIndex((frame) => frame.includes('/fastify/')))
    t.same(between.filter((frame) => !frame.includes('AsyncLocalStorage')).map((frame) => /application-hooks\.[jt]s/.test(frame)), [true])
  })
}

t.test('the functions of the application that called back remain in a stack of ten, with the package', async (t) => {
  const stacks: string[][] = []
  const { stackTraceLimit } = Error
  t.teardown(() => { Error.stackTraceLimit = stackTraceLimit })
  Error.stackTraceLimit = 10
  for (const isObserved of [false, true]) {
    const app = Fastify()
    t.teardown(() => app.close())
    if (isObserved) await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
    app.setErrorHandler((error, _request, reply) => { stacks.push(framesOf(error)); return reply.send('') })
    app.addHook('preHandler', function own (_request, _reply, done) { done() })
    app.get('/', function handler () { throw new Error('no') })
    await app.inject('/')
    await app.inject('/')
  }
  const [plain = [], , , observed = []] = stacks
  t.equal(observed.length, 10)
  const own = (frames: string[]): string[] => frames.filter((frame) => HERE_IN_FRAME.test(frame)).map((frame) => frame.split(' ')[1] ?? '')
  t.same(own(observed), own(plain))
  t.equal(own(plain).length, 2)
  const ours = observed.filter((frame) => !frame.includes('/test/') && !frame.includes('/node_modules/'))
  t.same(ours.map((frame) => frame.replace(/^at (?:Object\.)?(\w+).*/, '$1')), ['hindsightHandler', 'hindsightDone', 'own'])
})

inBothProducts('errors of hooks that do not change the response are in the profile, also those of a route', async (t, build) => {
  const name = (url: string): string => `raised for ${url}`
  const hooks = {
    async onResponse ({ url }: FastifyRequest) { if (url !== '/left') throw new Error(name(url)) },
    async onError ({ url }: FastifyRequest) { throw new Error(`onError ${name(url)}`) },
    async onRequestAbort ({ url }: FastifyRequest) { throw new Error(name(url)) }
  }
  const arrivals = new EventEmitter()
  const slow = async (request: FastifyRequest): Promise<string> => {
    if (request.url.endsWith('/left')) {
      arrivals.emit('arrived')
      await once(request.raw, 'close')
    }
    if (request.url.endsWith('/fails')) throw new Error('first')
    return 'fine'
  }
  const app = await build(async (app) => {
    for (const url of ['/route', '/route/fails', '/route/left']) app.get(url, { ...hooks, onResponse: [hooks.onResponse] }, slow)
    app.get('/callback', { onResponse (request, _reply, done) { done(new Error(name(request.url))) } }, slow)
    await app.register(async (app) => {
      for (const [name, hook] of Object.entries(hooks)) app.addHook(name as 'onResponse', hook)
      for (const url of ['/app', '/app/fails', '/app/left']) app.get(url, slow)
    })
  })
  const port = await listen(app)
  for (const url of ['/route', '/callback', '/app']) {
    const response = await app.inject(url)
    t.equal(response.body, 'fine')
    t.same(await errorsOf(app, url, 1), [name(url)])
    if (url !== '/app') t.same((await profileOf(app, response)).events.filter(({ stage }) => stage === 'onResponse'), [], 'hooks of a route are not listed')
  }
  t.equal((await app.inject({ method: 'HEAD', url: '/route' })).statusCode, 200)
  t.same(await errorsOf(app, '/route', 1), [name('/route')])
  for (const of of ['/route', '/app']) {
    t.equal((await app.inject(`${of}/fails`)).statusCode, 500)
    t.same(await errorsOf(app, `${of}/fails`, 3), ['first', `onError ${name(`${of}/fails`)}`, name(`${of}/fails`)])
    const arrived = once(arrivals, 'arrived')
    const request = get({ port, path: `${of}/left` }).on('error', () => {})
    await arrived
    request.destroy()
    t.same((await errorsOf(app, `${of}/left`, 2)).filter((message) => message.startsWith('raised')), [name(`${of}/left`)])
  }
})

/** The messages of all errors of the newest request for a URL, when there are so many. */
async function errorsOf (app: FastifyInstance, url: string, count: number): Promise<string[]> {
  for (let tries = 0; ; tries++) {
    const { profiles } = await app.hindsight.profiler.search({ limit: 9 })
    const newest = profiles.find((one) => new URL(one.url).pathname === url)
    const { exceptions = [], collectors = {} } = await app.hindsight.profiler.find(newest?.token ?? '') ?? {}
    const all = [exceptions, ...(collectors.otherErrors ?? []) as Array<typeof exceptions>].flatMap((chain) => chain.map(({ message }) => message))
    if (all.length >= count || tries > 500) return all
    await sleep(20)
  }
}

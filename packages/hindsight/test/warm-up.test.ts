import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { internalWorkIn } from '../src/recording/event-loop.js'
import { warmUp } from '../src/warm-up.js'
import { inBothProducts } from './support/products.js'
import { listen } from './support/app.js'

const HANDLER = 'tracing:fastify.request.handler:error'
const requests: string[] = []
let observed: FastifyInstance | undefined

async function observe (app: FastifyInstance): Promise<void> {
  observed = app
  app.addHook('onRequest', async (request) => { requests.push(request.url) })
}

t.test('nothing is recorded where something observes the requests of Fastify', async (t) => {
  const ignore = (): void => {}
  subscribe(HANDLER, ignore)
  await warmUp(observe)
  unsubscribe(HANDLER, ignore)
  const telemetry = Symbol.for('opentelemetry.js.api.1')
  Object.assign(globalThis, { [telemetry]: {} })
  await warmUp(observe)
  Reflect.deleteProperty(globalThis, telemetry)
  t.equal(observed, undefined)
})

t.test('requests of a private instance are recorded once, as work of Hindsight', async (t) => {
  const start = performance.now()
  await warmUp(observe)
  t.same(requests, ['/', '/failure', '/missing'])
  t.ok(internalWorkIn({ start, end: performance.now() }).length > 0)
  await warmUp(observe)
  t.equal(requests.length, 3)
  await t.rejects(async () => await observed?.inject('/'), { code: 'FST_ERR_REOPENED_CLOSE_SERVER' })
})

inBothProducts('an application that listens has no request of it', async (t, build) => {
  const app = await build((app) => { app.get('/', async () => 'x') })
  await listen(app)
  t.same((await app.hindsight.profiler.search({ limit: 5 })).profiles, [])
  t.equal(channel(HANDLER).hasSubscribers, false)
})

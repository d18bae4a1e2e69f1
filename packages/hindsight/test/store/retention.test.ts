import { AsyncResource } from 'node:async_hooks'
import { once } from 'node:events'
import { Agent, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import Fastify, { type FastifyInstance, type FastifyRequest, type FastifyServerOptions, type LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { pluginOf } from '../support/products.js'
import type { HindsightOptions, Profile } from '../../src/index.js'
import type { RequestHindsight } from '../../src/begin.js'
import { SECRET } from '../support/app.js'
import { inBothProducts } from '../support/products.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const SILENT = { stream: { write () {} } }
const storage = 'memory'

// A kept connection that it closed would fail the request that is sent over it then.
const upstream = createServer({ keepAliveTimeout: 0 }, (_request, response) => { response.end('x') }).listen(0, '127.0.0.1')
await once(upstream, 'listening')
const agent = new Agent({ keepAlive: true })
t.teardown(() => { agent.destroy(); upstream.close() })

const RECORDINGS: Record<string, HindsightOptions> = {
  'all, in debug mode': { debug: true, profiler: { storage } },
  'all, in production': { debug: false, profiler: { storage, production: true } },
  'failures, in debug mode': { debug: true, profiler: { storage, onlyExceptions: true } },
  'failures, in production': { debug: false, profiler: { storage, production: true, onlyExceptions: true } },
  'a sample of none': { debug: true, profiler: { storage, sampling: 0 } },
  'none of its path': { debug: true, profiler: { storage, matcher: '^/other' } },
  'the diagnostic page only': { debug: true, profiler: false }
}

interface Kept {
  app: FastifyInstance
  requests: Array<WeakRef<FastifyRequest>>
  captures: Array<RequestHindsight['capture']>
  injectors: Array<() => Promise<LightMyRequestResponse>>
  timers: NodeJS.Timeout[]
}

/** An application whose requests start work that outlives them. */
async function open (t: Test, product: 'package' | 'service', options: HindsightOptions, server: FastifyServerOptions = {}): Promise<Kept> {
  const app = Fastify({ pluginTimeout: 60_000, ...server }) as unknown as FastifyInstance
  await app.register(pluginOf(product), { ...(product === 'service' && { session: { secret: SECRET } }), ...options })
  const kept: Kept = { app, requests: [], captures: [], injectors: [], timers: [] }
  app.post('/', async (request) => {
    kept.requests.push(new WeakRef(request))
    kept.captures.push(request.hindsight.capture)
    kept.injectors.push(bound())
    startWork(request.log.child({ part: 'work' }))
    await new Promise((resolve) => get({ port: (upstream.address() as AddressInfo).port, agent }, (response) => response.resume().on('end', resolve)))
    return 'x'
  })
  const bound = (): () => Promise<LightMyRequestResponse> => AsyncResource.bind(async () => await app.inject('/nix'))
  // Separate, so that its functions do not reference the request.
  function startWork (log: { info: (message: string) => void }): void {
    kept.timers.push(setInterval(() => {
      log.info('from the work')
      app.log.info('from the work')
    }, 5))
    new Promise(() => {}).then(() => {}, () => {})
  }
  t.teardown(async () => {
    for (const timer of kept.timers) clearInterval(timer)
    await app.close()
  })
  await app.ready()
  return kept
}

async function collected (requests: ReadonlyArray<WeakRef<FastifyRequest>>): Promise<boolean[]> {
  for (let tries = 0; tries < 500 && requests.some((ref) => ref.deref() !== undefined); tries++) {
    await sleep(10)
    collect()
  }
  return requests.map((ref) => ref.deref() === undefined)
}

inBothProducts('what injects when the request that started it is collected has the access of its client', async (t, _build, product) => {
  const { app, requests, injectors } = await open(t, product, { debug: true, profiler: { storage } })
  for (const remoteAddress of ['127.0.0.1', '203.0.113.9']) {
    await app.inject({ method: 'POST', url: '/', payload: {}, remoteAddress })
  }
  t.same(await collected(requests), [true, true])
  const answers = await Promise.all(injectors.map((injectNix) => injectNix()))
  t.same(answers.map(({ headers }) => headers['x-debug-token'] !== undefined), [true, false])
})

for (const [name, options] of Object.entries(RECORDINGS)) {
  inBothProducts(`${name}: a timer, logger or socket that was made in a request does not keep it`, async (t, _build, product) => {
    for (const logger of [false, SILENT]) {
      const { app, requests } = await open(t, product, options, { logger })
      for (let i = 0; i < 3; i++) t.equal((await app.inject({ method: 'POST', url: '/', payload: { a: 1 } })).statusCode, 200)
      t.same(await collected(requests), [true, true, true], logger === false ? 'without a logger' : 'with pino')
    }
  })
}

inBothProducts('errors that come when the request is collected are added to its profile', async (t, _build, product) => {
  const { app, requests, captures } = await open(t, product, { debug: true, profiler: { storage } })
  const { headers } = await app.inject({ method: 'POST', url: '/', payload: {} })
  t.same(await collected(requests), [true])
  const [capture] = captures
  for (const message of ['the first', 'the second', 'the third']) capture?.(new Error(message))
  const find = async (): Promise<Partial<Profile>> => await app.hindsight.profiler.find(String(headers['x-debug-token'])) ?? {}
  // A profile is written again at most once a second.
  for (let tries = 0; tries < 500 && (await find()).collectors?.otherErrors === undefined; tries++) await sleep(20)
  const { exceptions = [], collectors, status } = await find()
  t.same([status, exceptions.map(({ message }) => message)], [200, ['the first']])
  t.match(collectors?.otherErrors, [[{ message: 'the second' }], [{ message: 'the third' }]])
})

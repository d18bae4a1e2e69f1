import { AsyncResource } from 'node:async_hooks'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import Fastify from 'fastify'
import t from 'tap'
import { hindsight } from '../../src/hindsight.js'
import { profileOf } from '../support/app.js'
import { inBothProducts } from '../support/products.js'

const REJECTION = 'unhandledRejection'
// The runner has listeners of its own, for which a rejection is a failure.
const ofRunner = process.listeners(REJECTION)
process.removeAllListeners(REJECTION)
t.teardown(() => { for (const listener of ofRunner) process.on(REJECTION, listener) })

inBothProducts('with a listener of the application, a rejection is in the profile, before and after the response', async (t, build, product) => {
  const received: unknown[] = []
  const listener = (reason: unknown): void => { received.push(reason) }
  const rejects = (message: string): void => { Promise.reject(new Error(message)).finally(() => {}) }
  for (const [name, add] of [['before the plugin', 0], ['after the plugin', 1], ['once', 2]] as const) {
    if (add === 0) process.on(REJECTION, listener)
    const app = await build((app) => {
      app.get('/before', async () => {
        rejects('before')
        await once(process, REJECTION)
        return 'sent'
      })
      app.get('/after', async (_request, reply) => {
        reply.raw.once('close', () => setImmediate(rejects, 'after'))
        return 'sent'
      })
    })
    if (add === 1) process.on(REJECTION, listener)
    for (const [url, message] of [['/before', 'before'], ['/after', 'after']] as const) {
      if (add === 2) process.once(REJECTION, listener)
      const response = await app.inject(url)
      // The service answers a request with the error of its work.
      t.equal(response.statusCode, product === 'service' && url === '/before' ? 500 : 200, `${name}: ${url}`)
      let profile = await profileOf(app, response)
      for (let tries = 0; profile.exceptions.length === 0 && tries < 500; tries++) {
        await sleep(20)
        profile = await profileOf(app, response)
      }
      t.match(profile.exceptions, [{ message, frames: [{ own: true }] }], `${name}: ${url}`)
      t.equal(profile.exceptions.length, 1)
      t.equal(profile.collectors.otherErrors, undefined)
      t.match(received.splice(0), [{ message }], 'the listener of the application receives it once')
    }
    process.off(REJECTION, listener)
    await app.close()
    t.equal(process.listenerCount(REJECTION), 0)
  }
})

inBothProducts('a rejection is in the profile and its log when the memory of the request was released', async (t, build) => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const listener = (): void => {}
  process.on(REJECTION, listener)
  t.teardown(() => process.off(REJECTION, listener))
  const requests: Array<WeakRef<object>> = []
  const later: Array<() => void> = []
  const app = await build((app) => {
    app.get('/', async (request) => {
      requests.push(new WeakRef(request))
      later.push(AsyncResource.bind(() => { Promise.reject(new Error('later')).finally(() => {}) }))
      return 'sent'
    })
  })
  const tokens: string[] = []
  // Responses hold their requests, and the last one may be held by what the test has called.
  for (let i = 0; i < 3; i++) tokens.push(String((await app.inject('/')).headers['x-debug-token']))
  await app.hindsight.profiler.flush()
  for (let left = 500; left > 0 && requests[0]?.deref() !== undefined; left--) {
    await sleep(20)
    collectGarbage()
  }
  t.equal(requests[0]?.deref() === undefined, true)
  later[0]?.()
  const fatal = ({ level }: { level: string }): boolean => level === 'fatal'
  const find = async () => await app.hindsight.profiler.find(tokens[0] ?? '')
  let profile = await find()
  for (let tries = 0; profile?.logs.some(fatal) === false && tries < 500; tries++) {
    await sleep(20)
    profile = await find()
  }
  t.match(profile?.exceptions, [{ message: 'later' }])
  t.match(profile?.logs.filter(fatal), [{ channel: 'process', message: 'Unhandled rejection in the work of this request' }])
})

t.test('the package adds no listener without one of the application', async (t) => {
  const count = (): number => process.listenerCount(REJECTION)
  const watchers = (): number[] => [process.listenerCount('newListener'), process.listenerCount('removeListener')]
  const before = watchers()
  const apps = [Fastify(), Fastify()]
  for (const app of apps) {
    await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
    await app.ready()
  }
  const [one, other] = [() => {}, () => {}]
  t.equal(count(), 0)
  process.on(REJECTION, one)
  process.on(REJECTION, other)
  t.equal(count(), 3)
  process.off(REJECTION, one)
  t.equal(count(), 2)
  process.off(REJECTION, other)
  t.equal(count(), 0)
  process.on(REJECTION, one)
  process.removeAllListeners(REJECTION)
  t.equal(count(), 0)
  process.on(REJECTION, one)
  for (const app of apps) await app.close()
  t.same(process.listeners(REJECTION), [one])
  process.off(REJECTION, one)
  t.same(watchers(), before)
})

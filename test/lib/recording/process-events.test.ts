import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import t from 'tap'
import { hindsight } from '../../../app/hindsight.js'
import { profileOf } from '../../support/app.js'
import { inBothModes } from '../../support/modes.js'

const REJECTION = 'unhandledRejection'
// The runner has listeners of its own, for which a rejection is a failure.
const ofRunner = process.listeners(REJECTION)
process.removeAllListeners(REJECTION)
t.teardown(() => { for (const listener of ofRunner) process.on(REJECTION, listener) })

inBothModes('with a listener of the application, a rejection is in the profile, before and after the response', async (t, build, mode) => {
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
      // In full mode the service answers a request with the error of its work.
      t.equal(response.statusCode, mode === 'full' && url === '/before' ? 500 : 200, `${name}: ${url}`)
      let profile = await profileOf(app, response)
      for (let tries = 0; profile.exceptions.length === 0 && tries < 100; tries++) {
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

t.test('in observe mode there is no listener without one of the application', async (t) => {
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

import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { performance as clock } from '../../../src/clock.js'
import { overview } from '../../../src/parts/overview/index.js'
import { timeline } from '../../../src/parts/timeline/index.js'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import { shown, texts } from '../support.js'

const HOUR = 3_600_000

const factsOf = (profile: Parameters<typeof shown>[1]): string =>
  texts(shown(overview, profile), '.facts-list dd, .lead').join(' ')

inBothProducts('the time of hooks in the options of a route is in the timeline, and may be the slowest part', async (t, build) => {
  let begunAt = 0
  let offset = 0
  const { now } = clock
  clock.now = () => now.call(clock) + offset
  t.teardown(() => { clock.now = now })
  const long = async (): Promise<void> => { offset += HOUR }
  // Several times: the event loop is not idle in a process that does not run when a timer ends.
  const idle = async (): Promise<void> => { for (let i = 0; i < 10; i++) await sleep(100) }
  let isIdle = false
  const app = await build((app) => {
    app.addHook('onRequest', async function begin () { begunAt = performance.now() })
    app.addHook('preHandler', async function loadUser () {})
    const authenticate = async function authenticate (): Promise<void> { await long() }
    app.get('/before', { onRequest: authenticate }, async () => 'x')
    app.get('/unnamed', { preValidation: async () => { await long() } }, async () => 'x')
    app.get('/after', {
      onSend: [async function sign (_request, _reply, payload) {
        await (isIdle ? idle() : long())
        return payload
      }]
    }, async () => ({ a: 1 }))
    app.post('/before', { onRequest: async () => {} }, async () => 'x')
    app.post('/unnamed', { preValidation: async () => {} }, async () => 'x')
    app.get('/none', async () => 'x')
  })
  for (const [url, name] of [['/before', 'authenticate'], ['/unnamed', 'preValidation of the route'], ['/after', 'sign']] as const) {
    const profile = await profileOf(app, await app.inject(url))
    t.match(factsOf(profile), new RegExp(`${name} 60\\Wmin 0\\Ws`), url)
    t.match(texts(shown(timeline, profile), '.waterfall .name').join(), name, url)
  }
  for (const url of ['/before', '/unnamed']) {
    let sentAt = 0
    const payload = new Readable({
      read () {
        setTimeout(() => {
          sentAt = performance.now()
          this.push('{}')
          this.push(null)
        }, 60)
      }
    })
    const { collectors } = await profileOf(app, await app.inject({ method: 'POST', url, payload, headers: { 'content-type': 'application/json' } }))
    const { ownHooks = [] } = collectors.performance as { ownHooks?: Array<{ start: number }> }
    t.equal(ownHooks.every(({ start }) => start >= sentAt - begunAt), true, `${url}: the client was slow`)
  }
  const { collectors } = await profileOf(app, await app.inject('/none'))
  t.equal((collectors.performance as { ownHooks?: unknown }).ownHooks, undefined)
  isIdle = true
  const sent = await profileOf(app, await app.inject('/after'))
  t.match(factsOf(sent), / in sign, or sending the response[.,]/, 'it is not the client that was slow')
})

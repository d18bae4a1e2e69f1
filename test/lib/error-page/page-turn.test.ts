import t from 'tap'
import Fastify, { type FastifyInstance } from 'fastify'
import { hindsight } from '../../../app/index.js'
import { pageTurn } from '../../../lib/error-page/page-turn.js'
import { SECRET } from '../../support/app.js'
import { inBothModes } from '../../support/modes.js'

function occupy (milliseconds: number): void {
  for (const until = performance.now() + milliseconds; performance.now() < until;);
}

t.test('pages of one turn of the event loop that take long are followed by those of later turns', async (t) => {
  t.equal(pageTurn(), undefined)
  occupy(60)
  const order: string[] = []
  setImmediate(() => { order.push('other work') })
  const waiting = pageTurn()?.then(() => { order.push('page') })
  t.ok(waiting)
  await waiting
  t.same(order, ['other work', 'page'])
})

for (const lifecycle of ['observe', 'full'] as const) {
  t.test(`${lifecycle}: each of many failures at once has its page`, async (t) => {
    const app = Fastify({ pluginTimeout: 60_000 }) as unknown as FastifyInstance
    await app.register(hindsight, { debug: true, lifecycle, profiler: { storage: 'memory' }, ...(lifecycle === 'full' && { session: { secret: SECRET } }) })
    app.get('/', async () => { throw new Error('boom') })
    t.teardown(() => app.close())
    await app.ready()
    const answers = await Promise.all(Array.from({ length: 60 }, () => app.inject({ url: '/', headers: { accept: 'text/html' } })))
    t.ok(answers.every(({ statusCode, body }) => statusCode === 500 && body.includes('<title>') && body.includes('boom')))
  })

  t.test(`${lifecycle}: of an AggregateError few stacks are read`, async (t) => {
    const app = Fastify({ pluginTimeout: 60_000 }) as unknown as FastifyInstance
    await app.register(hindsight, { debug: true, lifecycle, profiler: { storage: 'memory' }, ...(lifecycle === 'full' && { session: { secret: SECRET } }) })
    const read = new Set<number>()
    app.get('/', async () => {
      throw new AggregateError(Array.from({ length: 1_000 }, (_, i) => Object.defineProperty(new Error(`number ${i}`), 'stack', {
        get () { read.add(i); return `Error: number ${i}` }
      })), 'all')
    })
    t.teardown(() => app.close())
    const { statusCode, body } = await app.inject({ url: '/', headers: { accept: 'text/html' } })
    t.equal(statusCode, 500)
    t.match(body, 'of its 1,000 errors are left out')
    t.ok(read.size > 0 && read.size <= 100, `${read.size} stacks`)
  })
}

inBothModes('a handler that ends without "return reply" is answered, whatever time pages take', async (t, build) => {
  const app = await build((app) => {
    app.get('/gone', async (_request, reply) => { busy(); reply.callNotFound() })
    app.get('/sent', async (_request, reply) => { busy(); reply.send(new Error('sent')) })
  })
  for (const [url, status] of [['/gone', 404], ['/sent', 500]] as const) {
    const { statusCode, body } = await app.inject({ url, headers: { accept: 'text/html' } })
    t.equal(statusCode, status)
    t.match(body, '<title>')
  }
})

/** Uses the time for pages of this turn of the event loop. */
function busy (): void {
  pageTurn()
  occupy(60)
}

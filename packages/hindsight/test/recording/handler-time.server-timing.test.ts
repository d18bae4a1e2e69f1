import type { FastifyInstance } from 'fastify'
import { refusal } from '../support/app.js'
import { inBothProducts } from '../support/products.js'

// Server Timing, section 3: a list of tokens with parameters, each a token or a quoted string.
const METRIC = /^[\w!#$%&'*+.^`|~-]+;dur=\d+(?:\.\d+)?(?:;desc="(?:[\t\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*")?$/

function metricsOf (header: unknown): string[] {
  return String(header).match(/(?:"(?:[^"\\]|\\.)*"|[^,"])+/g)?.map((one) => one.trim()) ?? []
}

inBothProducts('responses have the Server-Timing header if the option is set', async (t, build, product) => {
  const app = await build((app) => {
    app.get('/', { config: { name: 'ho"me, ü' } }, async (_request, reply) => reply.header('server-timing', 'db;dur=3').send('x'))
    app.get('/fail', async () => { throw new Error('no') })
    app.get('/unprofiled', { config: { profile: false } }, async () => 'x')
  }, { serverTiming: true })
  const metrics = metricsOf((await app.inject('/')).headers['server-timing'])
  t.same(metrics.map((one) => one.split(';')[0]).slice(0, 6),
    ['db', 'total', 'handler', ...(product === 'service' ? ['kernel.request', 'kernel.controller', 'kernel.response'] : [])])
  for (const one of metrics) t.match(one, METRIC)
  t.ok(metrics.length <= 3 + 5)
  const failed = metricsOf((await app.inject('/fail')).headers['server-timing'])
  t.equal(failed.some((one) => one.startsWith('kernel.controller_arguments;')), product === 'service', 'the error pass too')
  t.notMatch((await app.inject('/nowhere')).headers['server-timing'], /(?:^|, )handler;/)
  t.match((await app.inject('/unprofiled')).headers['server-timing'], /^total;/, 'whatever leaves a profile')
})

inBothProducts('clients without access, and applications without the option, receive no Server-Timing header', async (t, build) => {
  const route = (app: FastifyInstance): void => { app.get('/', async () => 'x') }
  const cases = [
    ['by default', {}],
    ['in production', { debug: false, serverTiming: true }],
    ['switched off', { serverTiming: false }]
  ] as const
  for (const [name, options] of cases) {
    const app = await build(route, options)
    t.equal((await app.inject('/')).headers['server-timing'], undefined, name)
  }
  const app = await build(route, { serverTiming: true })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  t.match((await fetch(address)).headers.get('server-timing'), /^total;dur=/)
  t.equal((await fetch(address, { headers: { origin: 'http://stranger.example' } })).headers.get('server-timing'), null, 'a page of another origin')
  t.equal(await refusal({ serverTiming: 'yes' }), 'Option "serverTiming" must be a boolean, not a string')
})

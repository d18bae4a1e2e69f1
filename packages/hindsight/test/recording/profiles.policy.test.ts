import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { ProfilerSettings } from '../../src/options.js'
import { listen, newest } from '../support/app.js'
import { inBothProducts } from '../support/products.js'

function declare (app: FastifyInstance): void {
  app.get('/ok', async () => 'ok')
  app.get('/api/ok', async () => 'ok')
  app.get('/boom', async () => { throw new Error('boom') })
  app.get('/unwell', async (_request, reply) => reply.code(503).send('unwell'))
  app.get('/late', async (_request, reply) => {
    reply.send('sent')
    throw new Error('late')
  })
}

const cases: Array<[name: string, options: false | ProfilerSettings, request: InjectOptions, profiled: boolean]> = [
  ['everything by default', {}, { url: '/ok' }, true],
  ['nothing when switched off', false, { url: '/ok' }, false],
  ['a failure only', { onlyExceptions: true }, { url: '/ok' }, false],
  ['a failure only: a failure', { onlyExceptions: true }, { url: '/boom' }, true],
  ['a failure only: no route', { onlyExceptions: true }, { url: '/nowhere' }, true],
  ['a path prefix', { matcher: '/api' }, { url: '/api/ok' }, true],
  ['another path', { matcher: '/api' }, { url: '/ok' }, false],
  ['an expression', { matcher: /ok$/ }, { url: '/ok' }, true],
  ['a function', { matcher: (request) => request.headers['x-profile'] === 'me' }, { url: '/ok', headers: { 'x-profile': 'me' } }, true],
  ['a function that declines', { matcher: (request) => request.headers['x-profile'] === 'me' }, { url: '/ok' }, false],
  ['a function that throws', { matcher: () => { throw new Error('oh') } }, { url: '/ok' }, true],
  ['off unless asked for', { collect: false, collectParameter: 'profile' }, { url: '/ok' }, false],
  ['off unless asked for: asked', { collect: false, collectParameter: 'profile' }, { url: '/ok?profile=1' }, true],
  ['on unless declined', { collectParameter: 'profile' }, { url: '/ok?profile=0' }, false],
  ['a parameter that says nothing', { collectParameter: 'profile' }, { url: '/ok?profile=maybe' }, true],
  ['no share', { sampling: 0 }, { url: '/ok' }, false],
  ['no share of successes, all failures', { sampling: 0 }, { url: '/boom' }, true],
  ['off, but failures', { collect: false, errors: true }, { url: '/boom' }, true],
  ['off, but failures: none', { collect: false, errors: true }, { url: '/ok' }, false],
  ['failures of other paths too', { matcher: '/api', errors: true }, { url: '/boom' }, true],
  ['a failure only: an answer that says so', { onlyExceptions: true }, { url: '/unwell' }, true]
]

for (const [name, profiler, request, profiled] of cases) {
  inBothProducts(name, async (t, build) => {
    const app = await build(declare, { profiler })
    const { headers } = await app.inject(request)
    t.equal(headers['x-debug-token'] !== undefined, profiled)
    t.equal(headers['x-debug-token-link'] !== undefined, profiled)
    const { profiles } = app.hindsight.hasProfiles ? await app.hindsight.profiler.search({ limit: 10 }) : { profiles: [] }
    t.equal(profiles.length, profiled ? 1 : 0)
  })
}

inBothProducts('a failure after the response is stored, though its response has no token', async (t, build) => {
  const app = await build(declare, { profiler: { onlyExceptions: true } })
  const { headers } = await app.inject('/late')
  t.equal(headers['x-debug-token'], undefined)
  const { profiles } = await app.hindsight.profiler.search({ limit: 10 })
  t.match(profiles, [{ status: 200, error: true }])
})

const failures: Array<[name: string, path: string, wanted: object]> = [
  ['a reply that was taken over', '/hijacked', { status: 503, exceptions: [] }],
  ['an error after the reply', '/late', { status: 200, exceptions: [{ message: 'late' }] }],
  ['a stream that fails after its headers', '/stream', { status: 200, exceptions: [{ message: 'broken' }] }],
  ['a client that closes the connection', '/slow', { status: 499, exceptions: [{ name: 'ClientGoneError' }] }]
]

for (const [settings, text] of [[{ onlyExceptions: true }, 'only failures'], [{ errors: true, sampling: 0 }, 'no share, but failures']] as const) {
  for (const [name, path, wanted] of failures) {
    inBothProducts(`in production, ${text}: ${name} is profiled with its request`, async (t, build) => {
      const app = await build((app) => {
        app.get('/hijacked', (_request, reply) => {
          reply.hijack()
          reply.raw.writeHead(503).end('x')
        })
        app.get('/late', async (_request, reply) => {
          reply.send('sent')
          await sleep(20)
          throw new Error('late')
        })
        app.get('/stream', (_request, reply) => reply.send(Readable.from((async function * () {
          yield 'x'.repeat(100_000)
          await sleep(20)
          throw new Error('broken')
        })())))
        app.get('/slow', async (request) => {
          const closed = once(request.raw.socket, 'close')
          socket.destroy()
          await closed
          return 'x'
        })
      }, { debug: false, profiler: { production: true, ...settings } })
      const socket: Socket = connect(await listen(app), '127.0.0.1').on('error', () => {})
      socket.resume().write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
      let token: string | undefined
      while (token === undefined) {
        await sleep(10)
        token = (await app.hindsight.profiler.search({ limit: 10 })).profiles[0]?.token
      }
      t.match(await app.hindsight.profiler.find(token), { ...wanted, route: { name: `GET ${path}` }, collectors: { request: {} } })
    })
  }
}

inBothProducts('the configured share of requests is profiled', async (t, build) => {
  const app = await build(declare, { profiler: { sampling: 0.5 } })
  const lots = [0.2, 0.7, 0.4, 0.9]
  t.intercept(Math, 'random', { value: () => lots.shift() ?? 0 })
  const tokens: boolean[] = []
  for (let i = 0; i < 4; i++) tokens.push((await app.inject('/ok')).headers['x-debug-token'] !== undefined)
  t.same(tokens, [true, false, true, false])
})

for (const settings of [{ onlyExceptions: true }, { errors: true, sampling: 0 }]) {
  const name = Object.keys(settings).join()
  inBothProducts(`in production with ${name}, a failure is not said to have come before its handler`, async (t, build) => {
    const app = await build(declare, { debug: false, profiler: { production: true, ...settings } })
    await app.inject('/boom')
    t.strictSame((await newest(app)).collectors.exceptions, { summary: 'GET /boom failed with Error.' })
  })
}

const mistakes: Array<[name: string, options: object, message: string]> = [
  ['an unknown option', { onlyException: true }, 'Unknown option "profiler.onlyException"; did you mean "onlyExceptions"?'],
  ['a share beyond 1', { sampling: 2 }, 'Option "profiler.sampling" must be a number from 0 to 1, not 2'],
  ['a share that is no number', { sampling: Number.NaN }, 'Option "profiler.sampling" must be a number from 0 to 1, not NaN'],
  [
    'a parameter that cannot be one', { collectParameter: 'a b' },
    'Option "profiler.collectParameter" must be the name of a query parameter, not another string'
  ]
]

for (const [name, options, message] of mistakes) {
  inBothProducts(`${name} stops the start`, async (t, build) => {
    await t.rejects(build(declare, { profiler: options }), { message })
  })
}

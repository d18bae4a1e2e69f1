import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { hindsight } from '../../src/hindsight.js'
import { messageOptions } from '../../src/server-options.js'
import { get, headerOf, listen, raw, rawText, statusOf } from '../support/app.js'

// What a message has to be like is tested with the service, which refuses more (`test/lib/malformed.test.ts`).
for (const isObserved of [true, false]) {
  t.test(`with the server options of the package, Fastify answers as before, ${isObserved ? 'observed' : 'without the plugin'}`, async (t) => {
    const [app, plain] = [Fastify(messageOptions()), Fastify()] as unknown as [FastifyInstance, FastifyInstance]
    for (const one of [app, plain]) {
      t.teardown(() => one.close())
      one.get('/fine', async () => 'fine')
      one.get('/item/:id', () => ({ fine: true }))
    }
    if (isObserved) await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
    const ports = [await listen(app), await listen(plain)] as const
    for (const path of ['/item/%zz', `/item/${'a'.repeat(300)}`, 'http://a/item/1', '*']) {
      const [one, other] = await Promise.all(ports.map(async (port) => {
        const answer = await get(port, path, { Accept: 'application/json' })
        return [statusOf(answer), headerOf(answer, 'content-type'), answer.split('\r\n\r\n')[1]]
      }))
      t.same(one, other, path)
    }
    const received = await rawText(ports[0], `${'GET /fine HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(40)}BAD\r\n\r\n`)
    const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
    t.same(statuses, [...Array<number>(40).fill(200), 400], 'many requests in one packet')
    t.match(received, /<p>Malformed HTTP message: /, 'what the parser refuses is explained')
    if (isObserved) {
      const { profiles } = await app.hindsight.profiler.search({ limit: 100 })
      t.same(profiles.filter(({ status }) => status === 400).map(({ method }) => method), ['-', 'GET'], 'and stored, as is the URL that cannot be decoded')
    }
    t.match((await raw(ports[1], 'BAD\r\n\r\n'))?.text, /^\{"error":"Bad Request"/, 'the answer without these options')
  })
}

import { connect } from 'node:net'
import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import Fastify from 'fastify'
import Oldest from 'fastify-5.0'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { pluginOf } from '../../support/products.js'
import { requestContext, traceOf } from '../../../src/recording/trace.js'
import { SECRET } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'

const JSON_BODY = ['application/json', '{"a', '":1}'] as const
const BODIES: Array<readonly [type: string, ...parts: string[]]> = [
  JSON_BODY, ['text/plain', 'a', 'b'], ['application/x-own', 'a', 'b'], ['application/x-async', 'a', 'b']
]

// Fastify restores it after the parser of the body, which reads in the context of the connection.
for (const [version, create] of [['current', Fastify], ['oldest', Oldest as unknown as typeof Fastify]] as const) {
  inBothProducts(`hooks and handlers run in the context of their request, also after its body, with the ${version} Fastify`, async (t, _build, product) => {
    const app = create({ pluginTimeout: 60_000 }) as unknown as FastifyInstance
    t.teardown(() => app.close())
    const seen: string[] = []
    const record = (where: string, request: FastifyRequest): void => {
      t.equal(requestContext.getStore()?.ofRequest, traceOf(request).context, where)
      seen.push(where)
    }
    const session = product === 'service' ? { session: { secret: SECRET } } : {}
    await app.register(pluginOf(product), { debug: true, ...session, profiler: { storage: 'memory' } })
    for (const name of ['onRequest', 'preValidation', 'preHandler', 'onResponse'] as const) {
      app.addHook(name, async (request: FastifyRequest) => { record(name, request) })
      app.addHook(name, (request: FastifyRequest, _reply: unknown, done: () => void) => { record(name, request); done() })
    }
    app.addHook('onSend', async (request, _reply, payload) => { record('onSend', request); return payload })
    app.addHook('onError', async (request) => { record('onError', request) })
    app.addContentTypeParser('application/x-own', { parseAs: 'string' }, (_request, body, done) => { done(null, body) })
    app.addContentTypeParser('application/x-async', async (_request: FastifyRequest, payload: AsyncIterable<Buffer>) => {
      let text = ''
      for await (const part of payload) text += String(part)
      return text
    })
    await app.register(async (part) => {
      part.setErrorHandler((error, request, reply) => { record('error handler', request); reply.send(error) })
      part.post('/', async (request) => {
        record('handler', request)
        if (request.headers['x-fail'] !== undefined) throw new Error('boom')
        return 'x'
      })
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as AddressInfo
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    const send = async (extra: string, type: string, first: string, second: string): Promise<void> => {
      seen.length = 0
      const length = first.length + second.length
      socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\n${extra}Content-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n${first}`)
      // The second part comes while the parser waits for it.
      while (!seen.includes('onRequest')) await turn()
      for (let turns = 0; turns < 3; turns++) await turn()
      const received = once(socket, 'data')
      socket.write(second)
      await received
      while (seen.filter((where) => where === 'onResponse').length < 2) await turn()
    }
    const before = ['onRequest', 'onRequest', 'preValidation', 'preValidation', 'preHandler', 'preHandler', 'handler']
    for (const [type, first = '', second = ''] of BODIES) {
      await send('', type, first, second)
      t.strictSame(seen, [...before, 'onSend', 'onResponse', 'onResponse'], type)
    }
    await send('X-Fail: 1\r\n', ...JSON_BODY)
    t.strictSame(seen, [...before, 'onError', 'error handler', 'onSend', 'onResponse', 'onResponse'])
    // An error of the parser itself.
    await send('', 'application/json', '{"a', '"::}')
    t.strictSame(seen.slice(0, 4), ['onRequest', 'onRequest', 'onError', 'error handler'])
    socket.destroy()
  })
}

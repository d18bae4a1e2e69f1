import t, { type Test } from 'tap'
import { serverOptions, httpsServerOptions } from '../../lib/server-options.js'
import type { ServerSettings } from '../../lib/options.js'
import { EventEmitter, once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import { until } from './reliability/start.js'
import { build, listen } from '../../packages/hindsight/test/support/app.js'
import { certificate } from '../../packages/hindsight/test/support/certificate.js'

const SIZE = 16 * 1024 * 1024
const PARTS = 64
const TIMEOUT = 800
/** Of a client that reads slowly: it takes longer than its timeout, and a tenth of that, at most, from one part to the next. */
const LONG_TIMEOUT = 3_000
const LONG_SIZE = 4 * SIZE
const tls = certificate()

const request = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\n\r\n`

interface Served {
  app: FastifyInstance
  /** Emits `slow` where the handler of that route runs. */
  steps: EventEmitter
  port: number
  open: () => Promise<number>
}

async function service (t: Test, server: object, limits: Partial<ServerSettings> = {}): Promise<Served> {
  const steps = new EventEmitter()
  const app = await build({
    profiler: false,
    limits,
    server,
    declare: (app) => {
      app.get('/ok', () => 'ok')
      app.get('/slow', async () => {
        steps.emit('slow')
        await sleep(300)
        return 'slow'
      })
      app.get('/silent', async () => { await sleep(2 * TIMEOUT); return 'silent' })
      for (const [path, parts] of [['/large', PARTS], ['/long', PARTS * LONG_SIZE / SIZE]] as const) {
        const all = Array<string>(parts).fill('x'.repeat(SIZE / PARTS))
        app.get(path, (_request, reply) => reply.type('text/plain').send(Readable.from(all, { objectMode: false })))
      }
    }
  })
  t.teardown(() => app.close())
  return { app, steps, port: await listen(app), open: () => new Promise((resolve) => app.server.getConnections((_error, count) => resolve(count))) }
}

const kinds: Array<[name: string, options: (limits: Partial<ServerSettings>) => object, dial: (port: number) => Socket]> = [
  ['in the clear', (limits) => serverOptions(limits), (port) => connect(port, '127.0.0.1')]
]
if (tls === null) t.pass('openssl is installed', { skip: 'no openssl: install it' })
else {
  const { key, cert } = tls
  kinds.push(
    ['over TLS', (limits) => httpsServerOptions({ key, cert }, limits), (port) => connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: cert })]
  )
}

for (const [name, options, dial] of kinds) {
  t.test(`${name}: a client that does not read its response is cut off`, async (t) => {
    const { app, port, open } = await service(t, options({ connectionTimeout: TIMEOUT }))
    const connected = once(app.server, 'connection')
    const socket = dial(port).on('error', () => {})
    socket.pause()
    socket.write(request('/large'))
    await connected
    await until(open, (count) => count === 0)
    socket.resume()
    await once(socket, 'close')
    t.ok(socket.bytesRead < SIZE, 'the response is incomplete')
  })

  t.test(`${name}: a slowly reading client receives the whole response, and its connection stays open`, async (t) => {
    const { port } = await service(t, options({ connectionTimeout: LONG_TIMEOUT }))
    const socket = dial(port)
    t.teardown(() => socket.destroy())
    let [head, tail, size] = ['', '', 0]
    const startedAt = performance.now()
    socket.on('data', (chunk: Buffer) => {
      tail = (tail + chunk.toString('latin1')).slice(-100)
      if (head === '') head = chunk.toString('latin1')
      size += chunk.length
      socket.pause()
      // Longer than the timeout for all.
      setTimeout(() => socket.resume(), startedAt + 1.5 * LONG_TIMEOUT * size / LONG_SIZE - performance.now())
    })
    socket.write(request('/long'))
    await until(async () => {
      if (socket.destroyed) throw new Error('it was cut off')
      return tail
    }, (tail) => tail.endsWith('0\r\n\r\n'))
    t.match(head, /^HTTP\/1\.1 200/)
    t.ok(size > LONG_SIZE)
    socket.removeAllListeners('data')
    const answer = once(socket.setEncoding('latin1'), 'data')
    socket.resume()
    socket.write(request('/ok'))
    t.match((await answer)[0], /^HTTP\/1\.1 200[^]*ok$/)
  })

  t.test(`${name}: the connection is closed when a handler sends nothing for the connection timeout`, async (t) => {
    const { port } = await service(t, options({ connectionTimeout: TIMEOUT }))
    const socket = dial(port).on('error', () => {})
    socket.write(request('/silent'))
    await once(socket.resume(), 'close')
    t.equal(socket.bytesRead, 0)
  })

  t.test(`${name}: closing the application answers pending requests, and closes idle connections`, async (t) => {
    const { app, port, steps } = await service(t, options({}))
    const [
      silent, kept, slow
    ] = [dial(port), dial(port), dial(port)].map((socket) => socket.on('error', () => {}).setEncoding('latin1')) as [Socket, Socket, Socket]
    // Before the handshake, where there is one.
    const early = connect(port, '127.0.0.1').on('error', () => {})
    let received = ''
    slow.on('data', (text: string) => { received += text })
    kept.write(request('/ok'))
    await once(kept, 'data')
    const begun = once(steps, 'slow')
    slow.write(request('/slow'))
    await begun
    // Resolves only when all connections are closed, also the one that would be kept after its response.
    await app.close()
    for (const socket of [silent, kept, slow, early]) if (!socket.closed) await once(socket.resume(), 'close')
    t.match(received, /^HTTP\/1\.1 200[^]*slow$/)
    t.equal(silent.bytesRead, 0)
  })
}

t.test('connections above the limit are refused', async (t) => {
  const { app, port, open } = await service(t, serverOptions(), { maxConnections: 2 })
  t.equal(app.server.maxConnections, 2)
  const kept = await Promise.all([0, 1].map(async () => {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }))
  await until(open, (count) => count === 2)
  for (let i = 0; i < 3; i++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.write(request('/ok'))
    await once(socket.resume(), 'close')
    t.equal(socket.bytesRead, 0)
  }
  for (const socket of kept) socket.destroy()
  await until(open, (count) => count === 0)
  const socket = connect(port, '127.0.0.1')
  socket.write(request('/ok'))
  t.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 200/, 'new connections are accepted again')
  socket.destroy()
})

t.test('the number of connections is unlimited when the limit is 0', async (t) => {
  const { app } = await service(t, serverOptions(), { maxConnections: 0 })
  t.equal(app.server.maxConnections, undefined)
})

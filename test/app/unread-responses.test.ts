import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer, type Server } from 'node:https'
import { connect, type Socket } from 'node:net'
import { Duplex, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import t, { type Test } from 'tap'
import type { FastifyInstance } from 'fastify'
import { httpsServerOptions, serverOptions } from '../../app/server-options.js'
import type { ServerLimits } from '../../app/server-limits.js'
import { build } from '../support/app.js'
import { certificate } from '../support/certificate.js'
import { until } from '../reliability/start.js'
import { listen } from './harness.js'

const SIZE = 16 * 1024 * 1024
const PARTS = 64
const TIMEOUT = 800
const tls = certificate()

interface Served {
  app: FastifyInstance
  port: number
  lines: string[]
  open: () => Promise<number>
}

// The last part is made when those before it are read, and takes longer than a client may.
async function * parts (): AsyncGenerator<string> {
  for (let i = 0; i < PARTS; i++) yield 'x'.repeat(SIZE / PARTS)
  await sleep(TIMEOUT * 1.5)
  yield 'the end'
}

async function service (t: Test, options: object): Promise<Served> {
  const lines: string[] = []
  const app = await build({
    profiler: false,
    server: { ...options, logger: { level: 'info', stream: { write: (line: string) => { lines.push(line) } } } },
    declare: (app) => {
      app.get('/large', (_request, reply) => reply.type('text/plain').send(Readable.from(parts(), { objectMode: false })))
      app.get('/fails', (_request, reply) => { reply.hijack(); reply.raw.destroy() })
      app.get('/timer', ({ socket }) => String(socket.timeout))
      app.get('/slow', async () => { await sleep(TIMEOUT * 1.5); return 'slow' })
    }
  })
  t.teardown(() => app.close())
  return { app, port: await listen(app), lines, open: () => new Promise((resolve) => app.server.getConnections((_error, count) => resolve(count))) }
}

const inTheClear = (limits: Partial<ServerLimits>): object => serverOptions({ connectionTimeout: TIMEOUT, ...limits })
const kinds: Array<[name: string, options: (limits: Partial<ServerLimits>) => object, dial: (port: number) => Socket]> = [
  ['in the clear', inTheClear, (port) => connect(port, '127.0.0.1')]
]
if (tls === null) t.pass('openssl is here', { skip: 'no openssl: install it' })
else {
  const { key, cert } = tls
  kinds.push(['over TLS', (limits) => httpsServerOptions({ key, cert }, { connectionTimeout: TIMEOUT, ...limits }), (port) => connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: cert })])
}

const request = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\n\r\n`

for (const [name, options, dial] of kinds) {
  t.test(`${name}: who does not read is cut off, and that is said`, async (t) => {
    const { port, lines, open } = await service(t, options({}))
    const socket = dial(port).on('error', () => {})
    socket.pause()
    socket.write(request('/large'))
    await until(open, (count) => count === 1)
    await until(open, (count) => count === 0)
    t.equal(lines.filter((line) => line.includes('A client that did not read its response was cut off')).length, 1)
    socket.destroy()
  })

  t.test(`${name}: who asks for something else meanwhile, too`, async (t) => {
    const { port, open } = await service(t, options({}))
    const socket = dial(port).on('error', () => {})
    socket.pause()
    // The second response is gone while it waits for the first.
    socket.write(request('/large') + request('/fails'))
    await until(open, (count) => count === 1)
    await until(open, (count) => count === 0)
    t.pass('it is cut off')
    socket.destroy()
  })

  t.test(`${name}: who reads slowly has all of it, and goes on being served`, async (t) => {
    const { app, port, lines, open } = await service(t, options({ keepAliveTimeout: TIMEOUT }))
    const armed = new Set<number | undefined>()
    app.server.on(name === 'over TLS' ? 'secureConnection' : 'connection', (socket: Socket) => {
      const timer = setInterval(() => armed.add(socket.timeout), 20)
      socket.once('close', () => clearInterval(timer))
    })
    const socket = dial(port)
    let [head, tail, size] = ['', '', 0]
    const began = performance.now()
    socket.on('data', (chunk: Buffer) => {
      tail = (tail + chunk.toString('latin1')).slice(-100)
      if (head === '') head = chunk.toString('latin1')
      size += chunk.length
      socket.pause()
      // Three times the timeout for all.
      setTimeout(() => socket.resume(), began + 3 * TIMEOUT * size / SIZE - performance.now())
    })
    socket.write(request('/large'))
    await until(async () => {
      if (socket.destroyed) throw new Error('it was cut off')
      return tail
    }, (tail) => tail.endsWith('0\r\n\r\n'))
    t.match(head, /^HTTP\/1\.1 200/)
    t.match(tail, /the end\r\n0\r\n\r\n$/, 'also what its handler took its time for')
    t.ok(size > SIZE)
    t.ok(armed.has(TIMEOUT), 'it had a timer meanwhile')
    socket.removeAllListeners('data')
    const answer = once(socket.setEncoding('latin1'), 'data')
    socket.resume()
    socket.write(request('/slow'))
    t.match((await answer)[0], /^HTTP\/1\.1 200[^]*slow$/, 'and is not cut off while a handler takes its time')
    await until(open, (count) => count === 0)
    t.notOk(lines.some((line) => line.includes('cut off')), 'it ends as a kept connection does')
  })

  t.test(`${name}: a request that is answered at once has no timer of its own`, async (t) => {
    const { port } = await service(t, options({}))
    const socket = dial(port).setEncoding('latin1')
    for (const which of ['first', 'second']) {
      const answer = once(socket, 'data')
      socket.write(request('/timer'))
      t.match((await answer)[0], /\r\n\r\n(0|undefined)$/, which)
    }
    socket.destroy()
  })

  t.test(`${name}: where headers may take for ever, a connection that says nothing is ended`, async (t) => {
    const { port, lines, open } = await service(t, options({ headersTimeout: 0, requestTimeout: 0 }))
    const socket = dial(port).on('error', () => {})
    await until(open, (count) => count === 1)
    await until(open, (count) => count === 0)
    t.notOk(lines.some((line) => line.includes('cut off')), 'for nothing was sent to it')
    socket.destroy()
  })
}

t.test('a stream that is no socket is a connection like others, without a timer', async (t) => {
  const { app } = await service(t, inTheClear({ connectionTimeout: 100 }))
  let sent = 0
  // Takes in one chunk, and no more.
  const stream = new Duplex({ read () {}, write (chunk: Buffer) { sent += chunk.length } })
  app.server.emit('connection', stream)
  stream.push(request('/large'))
  await until(async () => sent, (sent) => sent > 0)
  await sleep(300)
  t.ok(stream.writableLength > 0)
  stream.destroy()
})

t.test('a server of the application with TLS is watched as one of Fastify', { skip: tls === null && 'no openssl: install it' }, async (t) => {
  const serverFactory = (handle: RequestListener): Server => {
    const server = createServer(tls as object, handle)
    server.setTimeout(TIMEOUT)
    return server
  }
  const { port, open } = await service(t, { serverFactory })
  const socket = connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: tls?.cert }).on('error', () => {})
  socket.pause()
  socket.write(request('/large'))
  await until(open, (count) => count === 1)
  await until(open, (count) => count === 0)
  t.pass('who does not read is cut off')
  socket.destroy()
})

import { EventEmitter, once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import net from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import tls from 'node:tls'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Profile } from '../../src/store/profile.js'
import { listen, rawText, statusOf } from '../support/app.js'
import { certificate } from '../support/certificate.js'
import { inBothProducts } from '../support/products.js'

/** How a client ends its connection; `read`: it reads the response to its end. */
type Leaving = 'read' | 'close' | 'reset'

interface Expected { status: number, exceptions: string[], others?: string[] }

const SENT: Expected = { status: 200, exceptions: [] }
const GONE: Expected = { status: 499, exceptions: ['ClientGoneError: The client closed the connection before the response was sent'] }
const GONE_LATE: Expected = { status: 200, exceptions: ['ClientGoneError: The client closed the connection before the response was complete'] }
const CLOSED: Expected = { status: 0, exceptions: ['NoResponseError: The server closed the connection before the response was sent'] }
const own = (status: number, message: string): Expected => ({ status, exceptions: [`Error: ${message}`] })

const never = (): Promise<never> => new Promise(() => {})
/** Emits the URL of a request that its client leaves when it has arrived. */
const arrivals = new EventEmitter()
const late = (work: () => void): void => { setTimeout(work, 20) }

function webStream (end: (controller: ReadableStreamDefaultController) => void): ReadableStream {
  let pulls = 0
  return new ReadableStream({
    async pull (controller) {
      if (++pulls === 1) return controller.enqueue(new TextEncoder().encode('beginning'))
      await sleep(20)
      end(controller)
    }
  })
}

function declare (app: FastifyInstance): void {
  app.get('/complete', async () => 'complete')
  app.get('/response', async () => new Response('complete'))
  app.get('/hijacked', (_request, reply) => { reply.hijack(); reply.raw.writeHead(201, { 'x-own': '1' }).end('raw') })
  app.get('/never', async ({ url }) => {
    arrivals.emit(url)
    await never()
  })
  app.get('/destroyed', (_request, reply) => { late(() => { reply.raw.destroy() }); return never() })
  app.get('/destroyed-with', (_request, reply) => { late(() => { reply.raw.destroy(new Error('mine')) }); return never() })
  app.get('/socket', (request) => { late(() => { request.raw.socket.destroy() }); return never() })
  app.get('/web', (_request, reply) => reply.send(webStream((controller) => { controller.error(new Error('lost')) })))
  app.get('/web-response', async () => new Response(webStream((controller) => { controller.error(new Error('lost')) })))
  app.get('/web-complete', (_request, reply) => reply.send(webStream((controller) => { controller.close() })))
  app.get('/node', (_request, reply) => reply.send(Readable.from((async function * () { yield 'beginning'; await sleep(20); throw new Error('lost') })())))
  app.get('/long', (_request, reply) => reply.send(new Readable({ read () { late(() => { this.push('x'.repeat(1_000)) }) } })))
  app.get(
    '/long-web', (_request, reply) => reply.send(new ReadableStream({ async pull (controller) { await sleep(20); controller.enqueue(new Uint8Array(1_000)) } }))
  )
  app.get('/events', (_request, reply) => {
    reply.hijack()
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' })
    reply.raw.write('data: 1\n\n')
  })
  app.get('/events-stream', (_request, reply) => reply.type('text/event-stream').send(new Readable({ read () { late(() => { this.push('data: 1\n\n') }) } })))
  app.post('/upload', async () => 'complete')
}

type Case = [url: string, leaving: Leaving, expected: Expected]

const CASES: Case[] = [
  ['/complete', 'read', SENT],
  ['/response', 'read', SENT],
  ['/hijacked', 'read', { status: 201, exceptions: [] }],
  ['/destroyed', 'read', CLOSED],
  ['/destroyed-with', 'read', own(0, 'mine')],
  ['/socket', 'read', CLOSED],
  ['/web', 'read', own(200, 'lost')],
  ['/web-response', 'read', own(200, 'lost')],
  ['/web-complete', 'read', SENT],
  ['/node', 'read', own(200, 'lost')],
  ['/never', 'close', GONE],
  ['/never', 'reset', GONE],
  ['/long', 'close', GONE_LATE],
  ['/long', 'reset', GONE_LATE],
  ['/long-web', 'close', GONE_LATE],
  ['/events', 'close', SENT],
  ['/events', 'reset', SENT],
  ['/events-stream', 'close', SENT]
]

type Send = (port: number, url: string, leaving: Leaving, upload?: boolean) => Promise<void>

/** Resolves when the response has begun, or where there is none, when the request has arrived. */
const begun = async (stream: Readable, url: string): Promise<unknown> =>
  await (/^\/(?:long|events)/.test(url) ? new Promise((resolve) => { stream.once('data', resolve) }) : once(arrivals, url))

const sendByHttp1 = (connect: (port: number) => net.Socket): Send => async (port, url, leaving, upload = false) => {
  const socket = connect(port)
  const rest = upload ? 'Content-Type: text/plain\r\nContent-Length: 100\r\n\r\nbeginning' : 'Connection: close\r\n\r\n'
  const accept = url.startsWith('/events') ? 'Accept: text/event-stream\r\n' : ''
  socket.write(`${upload ? 'POST' : 'GET'} ${url} HTTP/1.1\r\nHost: localhost\r\n${accept}${rest}`)
  socket.on('error', () => {}).resume()
  const closed = new Promise((resolve) => { socket.on('close', resolve) })
  if (leaving !== 'read') await begun(socket, url)
  if (leaving === 'close') socket.destroy()
  if (leaving === 'reset') socket.resetAndDestroy()
  await closed
}

const sendByHttp2: Send = async (port, url, leaving) => {
  const session = http2.connect(`http://127.0.0.1:${port}`).on('error', () => {})
  const stream = session.request({ ':path': url }).on('error', () => {})
  const closed = new Promise((resolve) => { stream.resume().on('close', resolve) })
  if (leaving !== 'read') await begun(stream, url)
  if (leaving === 'close') stream.close(http2.constants.NGHTTP2_CANCEL)
  if (leaving === 'reset') session.destroy()
  await closed
  session.close()
}

const tlsOptions = await certificate()
const TRANSPORTS: ReadonlyArray<readonly [name: string, server: object, send: Send]> = [
  ['HTTP/1.1', {}, sendByHttp1((port) => net.connect(port, '127.0.0.1'))],
  ['TLS', { https: tlsOptions }, sendByHttp1((port) => tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false }))],
  ['HTTP/2', { http2: true }, sendByHttp2]
]

/** The profile of the only request to a URL. */
async function profileFor (app: FastifyInstance, url: string): Promise<Profile> {
  for (let tries = 0; tries < 1_000; tries++) {
    const found = await app.hindsight.profiler.latest({ url })
    if (found !== undefined) return await app.hindsight.profiler.find(found.token) as Profile
    await sleep(20)
  }
  throw new Error(`No profile of ${url}`)
}

const textsOf = (exceptions: Profile['exceptions']): string[] => exceptions.map(({ name, message }) => `${name}: ${message}`)

const warnings: string[] = []
process.on('warning', ({ name }) => warnings.push(name))

for (const [name, server, send] of TRANSPORTS) {
  inBothProducts(`the end of a response over ${name}`, async (t, build) => {
    const app = await build(declare, {}, server)
    const port = await listen(app)
    for (const [url, leaving, { status, exceptions }] of CASES) {
      if (name === 'TLS' && leaving === 'reset') continue
      const target = `${url}?${leaving}`
      await send(port, target, leaving)
      const profile = await profileFor(app, target)
      t.match({ status: profile.status, exceptions: textsOf(profile.exceptions) }, { status, exceptions }, `${url}, ${leaving}`)
      t.equal(profile.exceptions.length, exceptions.length, `${url}, ${leaving}: exceptions`)
      t.notOk(profile.collectors.otherErrors, `${url}, ${leaving}: no further error`)
      t.equal(profile.collectors.response === undefined, status === 0 || status === 499, `${url}, ${leaving}: response`)
    }
    t.notOk(warnings.includes('UnsupportedWarning'), 'nothing is read that HTTP/2 does not have')
  })
}

inBothProducts('the end of an injected response', async (t, build) => {
  const app = await build(declare)
  for (const [url, leaving, { status, exceptions }] of CASES) {
    if (leaving !== 'read' || url === '/socket') continue
    await Promise.race([app.inject(url).catch(() => {}), sleep(1_000)])
    const profile = await profileFor(app, url)
    t.same([profile.status, textsOf(profile.exceptions)], [status, exceptions], url)
  }
})

inBothProducts('an upload that its client breaks off', async (t, build) => {
  const app = await build(declare)
  const port = await listen(app)
  for (const leaving of ['close', 'reset'] as const) {
    const url = `/upload?${leaving}`
    app.server.once('request', () => { setTimeout(() => arrivals.emit(url), 20) })
    await sendByHttp1((port) => net.connect(port, '127.0.0.1'))(port, url, leaving, true)
    const { status, exceptions } = await profileFor(app, url)
    t.same([status, textsOf(exceptions)], [GONE.status, GONE.exceptions], leaving)
  }
})

inBothProducts('the server refuses what it receives during a request', async (t, build) => {
  const app = await build(declare, {}, {
    serverFactory: (listener: http.RequestListener) =>
      http.createServer({ connectionsCheckingInterval: 50 }, listener)
  })
  // When its headers have arrived: on a busy machine they may come too late, too.
  app.server.on('request', ({ url }) => {
    if (url === '/upload?slow') Object.assign(app.server, { headersTimeout: 100, requestTimeout: 100 })
  })
  const port = await listen(app)
  const json = 'Content-Type: application/json\r\n'
  for (const [url, rest, why, answer] of [
    ['/upload?chunk', `${json}Transfer-Encoding: chunked\r\n\r\nZZ\r\n`, 'the client sent what is not HTTP (HPE_INVALID_CHUNK_SIZE)', 400],
    // Its response is written to a connection that is closed.
    ['/upload?more', `${json}Content-Length: 2\r\n\r\n{}more`, 'the client sent what is not HTTP (HPE_INVALID_METHOD)', 400],
    ['/upload?slow', `${json}Content-Length: 20\r\n\r\n{`, 'the request was not complete in time (requestTimeout)', 408]
  ] as const) {
    t.equal(statusOf(await rawText(port, `POST ${url} HTTP/1.1\r\nHost: localhost\r\n${rest}`)), answer, url)
    const { status, exceptions, duration } = await profileFor(app, url)
    t.same([status, textsOf(exceptions)], [0, [`NoResponseError: The server closed the connection: ${why}`]], url)
    t.ok(duration > 0, `${url}: ${duration} ms`)
  }
})

inBothProducts('an error after the client has left is added to the profile', async (t, build) => {
  const app = await build((app) => {
    app.get('/late', async (request) => {
      arrivals.emit(request.url)
      await once(request.raw.socket, 'close')
      await sleep(100)
      throw new Error('the client has left')
    })
  })
  await sendByHttp1((port) => net.connect(port, '127.0.0.1'))(await listen(app), '/late', 'close')
  let profile = await profileFor(app, '/late')
  for (let tries = 0; profile.collectors.otherErrors === undefined && tries < 1_000; tries++) {
    await sleep(20)
    profile = await profileFor(app, '/late')
  }
  t.same([profile.status, textsOf(profile.exceptions)], [GONE.status, GONE.exceptions])
  t.same((profile.collectors.otherErrors as Array<Profile['exceptions']>).map(textsOf), [['Error: the client has left']])
})

/** Its connection is idle for too long 100 ms after its arrival, and not before that on a busy machine. */
async function isIdle ({ raw: { socket } }: FastifyRequest): Promise<never> {
  socket.setTimeout(100)
  return await never()
}

inBothProducts('the server closes an idle connection', async (t, build) => {
  const app = await build((app) => app.get('/idle', isIdle), {}, { connectionTimeout: 60_000 })
  const port = await listen(app)
  await sendByHttp1((port) => net.connect(port, '127.0.0.1'))(port, '/idle', 'read')
  const { status, exceptions } = await profileFor(app, '/idle')
  t.same([status, textsOf(exceptions)], [0, ['NoResponseError: The server closed the idle connection (connectionTimeout)']])
})

inBothProducts('a connection that was idle for too long in one request may be closed in a later one', async (t, build) => {
  let timeouts = 0
  const app = await build((app) => {
    app.get('/idle', isIdle)
    app.get('/slow', async (request) => {
      isIdle(request).catch(() => {})
      await once(app.server, 'timeout')
      return 'complete'
    })
  }, {}, { connectionTimeout: 60_000 })
  // With a listener of the server, Node.js leaves the connection to the application.
  app.server.on('timeout', (socket) => { if (++timeouts > 1) socket.destroy() })
  const socket = net.connect(await listen(app), '127.0.0.1').setEncoding('latin1')
  socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
  for await (const text of socket) if (String(text).includes('complete')) socket.write('GET /idle HTTP/1.1\r\nHost: a\r\n\r\n')
  const { status, exceptions } = await profileFor(app, '/idle')
  t.same([status, textsOf(exceptions)], [0, ['NoResponseError: The server closed the idle connection (connectionTimeout)']])
})

inBothProducts('a hijacked reply has the data of its response', async (t, build) => {
  const app = await build(declare)
  await app.inject('/hijacked')
  const { collectors } = await profileFor(app, '/hijacked')
  t.match(collectors.response, { status: 201, headers: { 'x-own': '1' } })
})

inBothProducts('the caller of an injected request aborts it', async (t, build) => {
  const abort = new AbortController()
  const app = await build((app) => {
    app.get('/handler', () => { setImmediate(() => { abort.abort() }); return never() })
  })
  await t.rejects(app.inject({ url: '/handler', signal: abort.signal }), { name: 'AbortError' })
  const { status, exceptions, collectors } = await profileFor(app, '/handler')
  t.same([status, textsOf(exceptions)], [GONE.status, GONE.exceptions])
  t.equal(collectors.response, undefined)
})

inBothProducts('many requests that a client has sent at once add no warning of their connection', async (t, build) => {
  const warnings: string[] = []
  const onWarning = ({ message }: Error): void => { warnings.push(message) }
  process.on('warning', onWarning)
  t.teardown(() => process.off('warning', onWarning))
  const app = await build((app) => app.get('/', async () => { await sleep(20); return 'complete' }))
  const socket = net.connect(await listen(app), '127.0.0.1').setEncoding('latin1')
  let received = ''
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(30))
  for await (const text of socket) {
    received += text
    if (received.split('complete').length === 31) break
  }
  t.same(warnings.filter((message) => message.includes('MaxListeners') || message.includes('leak')), [])
})

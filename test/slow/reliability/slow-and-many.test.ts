import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { build, listen } from '../../../packages/hindsight/test/support/app.js'
import { serverOptions } from '../../../lib/server-options.js'
import { converse, ignore, startService, until, type Client, type Service } from './start.js'

const HOST = 'Host: 127.0.0.1\r\nAccept: text/plain\r\n'
const TEXT = 'Content-Type: text/plain\r\n'
const CHUNKED = 'Transfer-Encoding: chunked\r\n'
const CHUNK = `10000\r\n${'x'.repeat(65_536)}\r\n`
// More than is taken in, in the first packets already.
const FLOOD = CHUNK.repeat(20)
const MIB = 1024 * 1024
const SHORT = { headersTimeout: 600, requestTimeout: 1_200, connectionTimeout: 2_000, keepAliveTimeout: 300 }

/** The answer on a connection of its own: a kept one may be closed by the server when it is used again. */
async function hello (port: number): Promise<unknown> {
  return await (await fetch(`http://127.0.0.1:${port}/hello`, { headers: { connection: 'close' } })).json()
}

// In lots that the system keeps for a server until it takes them: one too many looks open to its client, and the server does not see it.
const LOT = 100

async function opened ({ port, figures }: Service, count: number): Promise<Socket[]> {
  const sockets: Socket[] = []
  while (sockets.length < count) {
    sockets.push(...await Promise.all(Array.from({ length: Math.min(LOT, count - sockets.length) }, () => ignore(port, ''))))
    await until(figures, ({ connections }) => connections >= sockets.length)
  }
  return sockets
}

const endings: Array<[name: string, client: Client, statuses: number[], says: RegExp]> = [
  ['nothing is sent: nothing is answered', { bytes: '' }, [], /^$/],
  ['half a request line', { bytes: 'GET / HT' }, [408], /Request Timeout/],
  ['headers without end, one by one', { bytes: 'GET /hello HTTP/1.1\r\n', then: 'X-A: b\r\n' }, [408], /Request Timeout/],
  ['headers without end, at once', { bytes: `GET /hello HTTP/1.1\r\n${HOST}${'X-A: b\r\n'.repeat(30_000)}` }, [431], /Request Header Fields Too Large/],
  ['a body in drops', { bytes: `POST /echo HTTP/1.1\r\n${HOST}${TEXT}Content-Length: 1000\r\n\r\n`, then: 'a' }, [408], /The request did not arrive in time\./],
  ['chunks in drops', { bytes: `POST /echo HTTP/1.1\r\n${HOST}${TEXT}${CHUNKED}\r\n`, then: '1\r\na\r\n' }, [408], /The request did not arrive in time\./],
  ['a body that stops', { bytes: `POST /echo HTTP/1.1\r\n${HOST}${TEXT}Content-Length: 1000\r\n\r\nabc` }, [408], /The request did not arrive in time\./],
  ['a body in drops that nobody waits for', { bytes: `GET /hello HTTP/1.1\r\n${HOST}Content-Length: 1000\r\n\r\n`, then: 'a' }, [200], /"hello":"world"/],
  [
    'a body that is said to be too large', { bytes: `POST /echo HTTP/1.1\r\n${HOST}${TEXT}Content-Length: 99999999\r\n\r\n`, then: CHUNK, every: 1 }, [413],
    /Request body is too large/
  ],
  ['chunks without end', { bytes: `POST /echo HTTP/1.1\r\n${HOST}${TEXT}${CHUNKED}\r\n${FLOOD}`, then: CHUNK, every: 1 }, [413], /Request body is too large/],
  [
    'chunks without end that nobody waits for', { bytes: `GET /hello HTTP/1.1\r\n${HOST}${CHUNKED}\r\n${FLOOD}`, then: CHUNK, every: 1 }, [200],
    /"hello":"world"/
  ],
  ['chunks without end for no route', { bytes: `POST /nowhere HTTP/1.1\r\n${HOST}${CHUNKED}\r\n${FLOOD}`, then: CHUNK, every: 1 }, [404], /No route found/],
  ['a connection that is kept, and not used', { bytes: `GET /hello HTTP/1.1\r\n${HOST}\r\n` }, [200], /"hello":"world"/],
  ['a handler that takes longer than a header section may', { bytes: `GET /slow HTTP/1.1\r\n${HOST}\r\n` }, [200], /slow/]
]

t.test('slow and oversized requests are answered with an error, and their connections end', async (t) => {
  const service = await startService(t, { limits: SHORT })
  const all = endings.map(async ([name, client, statuses, says]) => ({ name, statuses, says, received: await converse(service.port, client) }))
  for (let i = 0; i < 20; i++) t.same(await hello(service.port), { hello: 'world' }, 'other requests are answered')
  for (const { name, statuses, says, received } of await Promise.all(all)) {
    t.same([...received.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status)), statuses, `${name}: ${statuses.join() || 'closed'}`)
    t.match(received, says, name)
  }
  const { memory } = await service.figures()
  t.ok(memory < 100 * MIB, `${Math.round(memory / MIB)} MiB`)
})

t.test('a client that does not read its response is disconnected', async (t) => {
  const service = await startService(t, { limits: SHORT })
  await hello(service.port)
  const before = await until(service.figures, ({ connections }) => connections === 0)
  const sockets = await Promise.all(
    ['/large', '/stream'].flatMap((path) => Array.from({ length: 5 }, () => ignore(service.port, `GET ${path} HTTP/1.1\r\n${HOST}\r\n`)))
  )
  t.same(await hello(service.port), { hello: 'world' }, 'other requests are answered')
  await until(service.figures, ({ connections }) => connections === 0)
  for (const socket of sockets) socket.destroy()
  const after = await until(service.figures, ({ memory }) => memory < before.memory + 20 * MIB)
  t.ok(after.memory < before.memory + 20 * MIB, 'their memory is released')
})

t.test('pipelined requests for large responses are read with bounded memory', async (t) => {
  const service = await startService(t, { limits: SHORT })
  const { rss } = await service.figures()
  const socket = await ignore(service.port, `GET /large HTTP/1.1\r\n${HOST}\r\n`.repeat(300))
  let most = 0
  const look = async (): Promise<number> => {
    const { rss, connections } = await service.figures()
    most = Math.max(most, rss)
    return connections
  }
  await until(look, (connections) => connections === 1)
  await until(look, (connections) => connections === 0)
  t.ok(most < rss + 50 * 16 * MIB, `${Math.round((most - rss) / MIB)} MiB of ${300 * 16}`)
  socket.destroy()
  const some = await converse(
    service.port, { bytes: `${`GET /hello HTTP/1.1\r\n${HOST}\r\n`.repeat(19)}GET /hello HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n` }
  )
  t.equal(some.split('HTTP/1.1 200').length - 1, 20, 'twenty are answered')
})

t.test('2,000 idle connections need little memory, and other requests are answered', async (t) => {
  // Longer than the slowest machine takes to open them.
  const service = await startService(t, { limits: { headersTimeout: 120_000 } })
  await hello(service.port)
  const before = await service.figures()
  const sockets = await opened(service, 2_000)
  const { memory, connections } = await until(service.figures, ({ connections }) => connections >= 2_000)
  for (let i = 0; i < 20; i++) t.same(await hello(service.port), { hello: 'world' })
  t.ok(connections >= 2_000)
  t.ok(memory - before.memory < 2_000 * 16 * 1024, `${Math.round((memory - before.memory) / 2_000)} bytes each`)
  for (const socket of sockets) socket.destroy()
  await until(service.figures, ({ connections }) => connections < 10)
})

t.test('idle connections are closed without an answer, and leave no profiles', async (t) => {
  const service = await startService(t, { limits: SHORT })
  await hello(service.port)
  const sockets = await Promise.all(Array.from({ length: LOT }, () => ignore(service.port, '')))
  const { counters } = await until(service.figures, ({ connections }) => connections === 0)
  t.ok((counters?.written ?? Infinity) <= 1)
  for (const socket of sockets) {
    t.equal(socket.bytesRead, 0)
    socket.destroy()
  }
})

t.test('connections above the limit are refused, with one warning', async (t) => {
  const lines: string[] = []
  const app = await build({
    limits: { maxConnections: 3 },
    declare: (app) => app.get('/', async () => 'x'),
    server: { logger: { level: 'warn', stream: { write: (line: string) => { lines.push(line) } } } }
  })
  t.teardown(() => app.close())
  const port = await listen(app)
  const kept = await Promise.all([1, 2, 3].map(() => ignore(port, '')))
  t.equal(await converse(port, { bytes: `GET / HTTP/1.1\r\n${HOST}\r\n` }), '')
  t.equal(await converse(port, { bytes: `GET / HTTP/1.1\r\n${HOST}\r\n` }), '')
  t.equal(lines.filter((line) => line.includes('A connection was refused: 3 are open already (MAX_CONNECTIONS)')).length, 1)
  for (const socket of kept) socket.destroy()
  await until(() => new Promise<number>((resolve) => app.server.getConnections((_error, count) => resolve(count))), (count) => count === 0)
  t.match(await converse(port, { bytes: `GET / HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n` }), /^HTTP\/1\.1 200/)
})

t.test('a client that does not read the stream waits for one batch, and is disconnected', async (t) => {
  const app = await build({ server: serverOptions({ connectionTimeout: 500 }) })
  t.teardown(() => app.close())
  const port = await listen(app)
  // Each search has more profiles than the buffers of an unread connection hold.
  const found = Array.from({ length: 200 }, () => ({ token: '000001', url: 'x'.repeat(50_000) }))
  let looks = 0
  app.hindsight.profiler.search = async () => ({ profiles: [...found] as never, next: null, head: String(++looks) })
  const follower = await ignore(port, `GET /_profiler/stream HTTP/1.1\r\n${HOST}\r\n`)
  const open = (): Promise<number> => new Promise((resolve) => app.server.getConnections((_error, count) => resolve(count)))
  await until(open, (count) => count === 1)
  await until(open, (count) => count === 0)
  const before = looks
  follower.destroy()
  t.ok(looks < 10, `${looks} looks at the store`)
  const again = connect(port, '127.0.0.1')
  again.write(`GET /_profiler/stream HTTP/1.1\r\n${HOST}\r\n`)
  const [first] = await once(again, 'data') as [Buffer]
  t.match(first.toString(), /^HTTP\/1\.1 200/, 'other clients are accepted')
  t.ok(looks > before)
  again.destroy()
})

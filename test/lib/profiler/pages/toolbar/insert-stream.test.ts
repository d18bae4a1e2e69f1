import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import compress from '@fastify/compress'
import serveStatic from '@fastify/static'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { hindsight } from '../../../../../app/hindsight.js'
import { testdir } from '../../../../support/folder.js'
import { SECRET } from '../../../../support/app.js'

const TOOLBAR = /<hindsight-toolbar>.*<\/hindsight-toolbar>/s
const PAGE = `<!doctype html><html lang="en"><head><title>Ü</title></head><body>${'<p>A paragraph</p>'.repeat(10_000)}</body></html>`
const LENGTH = Buffer.byteLength(PAGE)

type Mode = 'observe' | 'full' | 'production' | 'none'
interface Logged { msg: string, err?: { message: string } }

/** An application that serves `root` below `/static/` and declares streams. */
async function start (t: Test, mode: Mode, root: string, compressed: 'before' | 'after' | 'not' = 'not'): Promise<{ app: FastifyInstance, logged: Logged[], streams: Readable[] }> {
  const logged: Logged[] = []
  const streams: Readable[] = []
  const stream = { write: (line: string) => { logged.push(JSON.parse(line) as Logged) } }
  const app = Fastify({ logger: { level: 'info', stream }, pluginTimeout: 60_000 }) as unknown as FastifyInstance
  t.teardown(() => app.close())
  if (compressed === 'before') await app.register(compress, { threshold: 100 })
  if (mode !== 'none') await app.register(hindsight, { lifecycle: mode === 'full' ? 'full' : 'observe', debug: mode !== 'production', profiler: { storage: 'memory' }, ...(mode === 'full' && { session: { secret: SECRET }, contentSecurityPolicy: false }) })
  if (compressed === 'after') await app.register(compress, { threshold: 100 })
  await app.register(serveStatic, { root, prefix: '/static/' })
  const send = (url: string, length: number | undefined, make: () => Readable): void => {
    app.get(url, async (_request, reply) => {
      const stream = make()
      streams.push(stream)
      if (length !== undefined) reply.header('content-length', length)
      return await reply.type('text/html').send(stream)
    })
  }
  send('/known', LENGTH, () => Readable.from([PAGE.slice(0, 100), Buffer.from(PAGE.slice(100))]))
  send('/unknown', undefined, () => Readable.from([PAGE]))
  send('/long', 1_000_001, () => Readable.from([PAGE, ' '.repeat(1_000_001 - LENGTH)]))
  send('/latin', 20, () => Readable.from([Buffer.from('<body>\u00fcberall</body>', 'latin1').subarray(0, 20)]))
  send('/fragment', 8, () => Readable.from(['<p>x</p>']))
  send('/fails', LENGTH, () => Readable.from((async function * (): AsyncGenerator<string> { throw new Error('fails') })()))
  send('/fails-later', LENGTH, () => Readable.from((async function * () { yield PAGE.slice(0, 100); throw new Error('fails later') })()))
  send('/short', LENGTH + 1, () => Readable.from([PAGE]))
  send('/more', 10, () => Readable.from([PAGE.slice(0, 8), PAGE.slice(8, 12)]))
  send('/hangs', LENGTH, () => new Readable({ read () {} }))
  await app.ready()
  return { app, logged, streams }
}

/** What a server sends on a socket that is closed after the response. */
async function exchange (app: FastifyInstance, url: string): Promise<string> {
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 })
  return await new Promise((resolve) => {
    let text = ''
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1', () => { socket.write(`GET ${url} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`) })
    socket.setEncoding('latin1').on('data', (part: string) => { text += part }).on('error', () => {}).on('close', () => resolve(text))
  })
}

t.test('an HTML file has the toolbar, and no validators of the file', async (t) => {
  const root = testdir(t, { 'page.html': PAGE })
  for (const mode of ['observe', 'full'] as const) {
    const { app } = await start(t, mode, root)
    for (const url of ['/static/page.html', '/known']) {
      const { statusCode, headers, body, rawPayload } = await app.inject(url)
      t.equal(statusCode, 200)
      t.match(body, TOOLBAR, `${mode} ${url}`)
      t.equal(body.replace(TOOLBAR, ''), PAGE)
      t.equal(Number(headers['content-length']), rawPayload.length)
      t.match(headers, { etag: undefined, 'last-modified': undefined, 'accept-ranges': undefined, 'x-debug-token-link': String })
    }
  }
})

t.test('an HTML file with the toolbar is compressed as without it', async (t) => {
  const root = testdir(t, { 'page.html': PAGE })
  for (const mode of ['observe', 'full'] as const) {
    for (const order of ['before', 'after'] as const) {
      const { app } = await start(t, mode, root, order)
      const { headers, rawPayload } = await app.inject({ url: '/static/page.html', headers: { 'accept-encoding': 'gzip' } })
      t.match(headers, { 'content-encoding': 'gzip', 'content-length': undefined }, `${mode} ${order}`)
      const body = gunzipSync(rawPayload).toString()
      t.match(body, TOOLBAR)
      t.equal(body.replace(TOOLBAR, ''), PAGE)
    }
  }
})

t.test('other responses are the same as without Hindsight', async (t) => {
  const root = testdir(t, { 'page.html': PAGE, 'long.html': PAGE + ' '.repeat(1e6), 'fragment.html': '<p>x</p>', 'text.txt': PAGE })
  const modified = (await stat(join(root, 'page.html'))).mtime.toUTCString()
  const { app: bare } = await start(t, 'none', root)
  for (const mode of ['observe', 'production'] as const) {
    const { app } = await start(t, mode, root)
    for (const request of [
      { method: 'HEAD', url: '/static/page.html' },
      { url: '/static/page.html', headers: { 'if-modified-since': modified } },
      { url: '/static/page.html', headers: { range: 'bytes=0-99' } },
      { url: '/static/page.html', headers: { 'sec-fetch-dest': 'empty' } },
      { url: '/static/long.html' }, { url: '/static/fragment.html' }, { url: '/static/text.txt' },
      { url: '/unknown' }, { url: '/long' }, { url: '/latin' }, { url: '/fragment' },
      ...(mode === 'production' ? [{ url: '/static/page.html' }, { url: '/known' }] : [])
    ] as Array<{ method?: 'HEAD', url: string, headers?: Record<string, string> }>) {
      const expected = await bare.inject(request)
      const { statusCode, headers, rawPayload } = await app.inject(request)
      const { 'x-debug-token': _token, 'x-debug-token-link': _link, date: _date, ...rest } = headers
      const { date: _other, ...others } = expected.headers
      const name = `${mode} ${JSON.stringify(request)}`
      t.same([statusCode, rest], [expected.statusCode, others], name)
      t.ok(rawPayload.equals(expected.rawPayload), name)
    }
  }
})

t.test('a stream that fails or has another length ends as without Hindsight', async (t) => {
  const root = testdir(t, {})
  const bare = await start(t, 'none', root)
  const observed = await start(t, 'observe', root)
  const withoutOwn = (text: string): string => text.replaceAll(/^(?:date|x-debug-token|x-debug-token-link): .*\r\n/gim, '')
  for (const url of ['/fails', '/fails-later', '/short', '/more']) {
    const [expected, sent] = [await exchange(bare.app, url), await exchange(observed.app, url)]
    t.equal(withoutOwn(sent), withoutOwn(expected), url)
  }
  const failures = ({ logged }: typeof bare): unknown => logged.filter(({ err }) => err !== undefined).map(({ msg, err }) => [msg, err?.message])
  t.same(failures(observed), failures(bare))
  t.match(failures(bare), [['fails', 'fails'], [String, 'fails later']])
  const { profiles } = (await observed.app.inject('/_profiler/search.json')).json<{ profiles: Array<{ url: string, status: number, exception: string | null }> }>()
  const failed = profiles.filter(({ exception }) => exception !== null).map(({ url }) => url.replace(/.*\//, '/')).sort()
  t.same(failed, ['/fails', '/fails-later'], 'its profile has the error')
})

t.test('a stream is destroyed when its client disconnects', async (t) => {
  const root = testdir(t, {})
  for (const mode of ['none', 'observe', 'full'] as const) {
    const { app, streams } = await start(t, mode, root)
    await app.listen({ host: '127.0.0.1', port: 0 })
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1', () => { socket.write('GET /hangs HTTP/1.1\r\nHost: localhost\r\n\r\n') })
    while (streams.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
    socket.destroy()
    const [stream] = streams
    await new Promise((resolve) => stream?.once('close', resolve))
    t.ok(stream?.destroyed, mode)
  }
})

t.test('a stream that is not HTML is unchanged', async (t) => {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(() => app.close())
  await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
  const file = createReadStream(import.meta.filename)
  const onSend = async (_request: unknown, _reply: unknown, payload: unknown): Promise<unknown> => {
    t.equal(payload, file)
    return payload
  }
  app.get('/', { onSend }, async (_request, reply) => await reply.type('text/plain').send(file))
  t.equal((await app.inject('/')).statusCode, 200)
})

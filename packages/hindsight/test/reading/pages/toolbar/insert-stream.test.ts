import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import compress from '@fastify/compress'
import serveStatic from '@fastify/static'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { testdir } from '../../../support/folder.js'
import { SECRET } from '../../../support/app.js'
import { inBothProducts, pluginOf } from '../../../support/products.js'

const TOOLBAR = /<hindsight-toolbar>.*<\/hindsight-toolbar>/s
const PAGE = `<!doctype html><html lang="en"><head><title>Ü</title></head><body>${'<p>A paragraph</p>'.repeat(10_000)}</body></html>`
const LENGTH = Buffer.byteLength(PAGE)

type Mode = 'package' | 'service' | 'production' | 'none'

/** An application that serves `root` below `/static/` and declares streams. */
async function start (t: Test, product: Mode, root: string, compressed: 'before' | 'after' | 'not' = 'not'): Promise<{ app: FastifyInstance }> {
  const app = Fastify({ pluginTimeout: 60_000 }) as unknown as FastifyInstance
  t.teardown(() => app.close())
  if (compressed === 'before') await app.register(compress, { threshold: 100 })
  if (product !== 'none') {
    await app.register(pluginOf(product === 'service' ? 'service' : 'package'), {
      debug: product !== 'production',
      profiler: { storage: 'memory' },
      ...(product === 'service' && { session: { secret: SECRET }, contentSecurityPolicy: false })
    })
  }
  if (compressed === 'after') await app.register(compress, { threshold: 100 })
  await app.register(serveStatic, { root, prefix: '/static/' })
  const send = (url: string, length: number | undefined, make: () => Readable): void => {
    app.get(url, async (_request, reply) => {
      if (length !== undefined) reply.header('content-length', length)
      return await reply.type('text/html').send(make())
    })
  }
  send('/known', LENGTH, () => Readable.from([PAGE.slice(0, 100), Buffer.from(PAGE.slice(100))]))
  send('/file', LENGTH, () => createReadStream(join(root, 'page.html')))
  send('/missing', LENGTH, () => createReadStream(join(root, 'missing.html')))
  send('/unknown', undefined, () => Readable.from([PAGE]))
  send('/long', 1_000_001, () => Readable.from([PAGE, ' '.repeat(1_000_001 - LENGTH)]))
  await app.ready()
  return { app }
}

inBothProducts('an HTML file has the toolbar, and no validators of the file', async (t, _build, product) => {
  const root = testdir(t, { 'page.html': PAGE })
  const { app } = await start(t, product, root)
  for (const url of ['/static/page.html', '/file']) {
    const { statusCode, headers, body, rawPayload } = await app.inject(url)
    t.equal(statusCode, 200)
    t.match(body, TOOLBAR, `${product} ${url}`)
    t.equal(body.replace(TOOLBAR, ''), PAGE)
    t.equal(Number(headers['content-length']), rawPayload.length)
    t.match(headers, { etag: undefined, 'last-modified': undefined, 'accept-ranges': undefined, 'x-debug-token-link': String })
  }
})

inBothProducts('an HTML file with the toolbar is compressed as without it', async (t, _build, product) => {
  const root = testdir(t, { 'page.html': PAGE })
  for (const order of ['before', 'after'] as const) {
    const { app } = await start(t, product, root, order)
    const { headers, rawPayload } = await app.inject({ url: '/static/page.html', headers: { 'accept-encoding': 'gzip' } })
    t.match(headers, { 'content-encoding': 'gzip', 'content-length': undefined }, `${product} ${order}`)
    const body = gunzipSync(rawPayload).toString()
    t.match(body, TOOLBAR)
    t.equal(body.replace(TOOLBAR, ''), PAGE)
  }
})

t.test('other responses are the same as without Hindsight', async (t) => {
  const root = testdir(t, { 'page.html': PAGE, 'long.html': PAGE + ' '.repeat(1e6), 'fragment.html': '<p>x</p>', 'text.txt': PAGE })
  const modified = (await stat(join(root, 'page.html'))).mtime.toUTCString()
  const { app: bare } = await start(t, 'none', root)
  for (const product of ['package', 'production'] as const) {
    const { app } = await start(t, product, root)
    for (const request of [
      { method: 'HEAD', url: '/static/page.html' },
      { url: '/static/page.html', headers: { 'if-modified-since': modified } },
      { url: '/static/page.html', headers: { range: 'bytes=0-99' } },
      { url: '/static/page.html', headers: { 'sec-fetch-dest': 'empty' } },
      { url: '/static/long.html' }, { url: '/static/fragment.html' }, { url: '/static/text.txt' },
      { url: '/known' }, { url: '/missing' }, { url: '/unknown' }, { url: '/long' },
      ...(product === 'production' ? [{ url: '/static/page.html' }, { url: '/file' }] : [])
    ] as Array<{ method?: 'HEAD', url: string, headers?: Record<string, string> }>) {
      const expected = await bare.inject(request)
      const { statusCode, headers, rawPayload } = await app.inject(request)
      const { 'x-debug-token': _token, 'x-debug-token-link': _link, date: _date, ...rest } = headers
      const { date: _other, ...others } = expected.headers
      const name = `${product} ${JSON.stringify(request)}`
      t.same([statusCode, rest], [expected.statusCode, others], name)
      t.ok(rawPayload.equals(expected.rawPayload), name)
    }
  }
})

inBothProducts('a stream that is not HTML is unchanged', async (t, build) => {
  const file = createReadStream(import.meta.filename)
  const onSend = async (_request: unknown, _reply: unknown, payload: unknown): Promise<unknown> => {
    t.equal(payload, file)
    return payload
  }
  const app = await build((app) => app.get('/', { onSend }, async (_request, reply) => await reply.type('text/plain').send(file)))
  t.equal((await app.inject('/')).statusCode, 200)
})

import { gzipSync } from 'node:zlib'
import { listen } from '../support/app.js'
import { inBothProducts } from '../support/products.js'

const OF_BODY = {
  'accept-ranges': 'bytes',
  'content-disposition': 'attachment; filename="report.csv"',
  'content-encoding': 'gzip',
  'content-language': 'fr',
  'content-location': '/report.csv',
  'content-range': 'bytes 0-1/2',
  'content-type': 'text/csv',
  digest: 'sha-256=00',
  etag: '"1"',
  'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT'
}

inBothProducts('the page of an error has no header of the body that it replaces', async (t, build, product) => {
  const app = await build((app) => {
    app.get('/set', async (_request, reply) => {
      reply.headers({ ...OF_BODY, 'x-kept': '1', 'content-security-policy-report-only': "default-src 'none'" })
      throw new Error('boom')
    })
    app.get('/upstream', async () => {
      const headers = { ...OF_BODY, 'Content-Length': '7', 'transfer-encoding': 'chunked', 'x-kept': '1', 'set-cookie': 'seen=1', 'retry-after': '5' }
      throw Object.assign(new Error('boom'), { statusCode: 502, headers })
    })
  })
  const origin = `http://127.0.0.1:${await listen(app)}`
  for (const path of ['/set', '/upstream']) {
    const response = await fetch(origin + path, { headers: { accept: 'text/html' } })
    const body = await response.text()
    t.equal(response.status, path === '/set' ? 500 : 502)
    t.match(body, /<!doctype html>[^]*boom/i, `${path} is readable`)
    t.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
    t.equal(response.headers.get('content-length'), String(Buffer.byteLength(body)))
    t.equal(response.headers.get('transfer-encoding'), null)
    for (const name of Object.keys(OF_BODY)) {
      if (name !== 'content-type') t.equal(response.headers.get(name), null, `${path}: ${name}`)
    }
    t.equal(response.headers.get('content-security-policy-report-only'), null, 'the policy of the replaced page')
    t.equal(response.headers.get('x-kept'), '1', 'what says nothing of the body is kept')
  }
  // As Fastify does, where the application decides what an error sets.
  const { headers } = await fetch(`${origin}/upstream`, { headers: { accept: 'text/html' } })
  t.equal(headers.get('set-cookie'), 'seen=1')
  t.equal(headers.get('retry-after'), '5')
  if (product === 'package') return
  const json = await fetch(`${origin}/upstream`, { headers: { accept: 'application/json' } })
  t.match(await json.json(), { status: 502 }, 'and so in the other formats')
})

inBothProducts('an answer of the application to an error keeps its headers', async (t, build) => {
  const app = await build(async (app) => {
    await app.register(async (part) => {
      part.setErrorHandler(async (_error, _request, reply) => {
        reply.header('content-encoding', 'gzip').type('text/plain')
        return gzipSync('answered')
      })
      part.get('/', async () => { throw new Error('boom') })
    })
  })
  const response = await fetch(`http://127.0.0.1:${await listen(app)}`, { headers: { accept: 'text/html' } })
  t.equal(await response.text(), 'answered')
})

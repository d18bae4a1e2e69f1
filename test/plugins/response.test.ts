import { Readable } from 'node:stream'
import t from 'tap'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { build, get, headerOf, listen, profileOf, rawText as raw, statusOf } from '../../packages/hindsight/test/support/app.js'

const CONTENT = ['content-type', 'content-length', 'content-encoding', 'content-language', 'content-range', 'transfer-encoding']
const full = (reply: FastifyReply) => reply.type('text/html').header('content-language', 'de').header('etag', '"1"')

function routes (app: FastifyInstance): void {
  app.get('/status/:code', (request, reply) => full(reply).code(Number((request.params as { code: string }).code)).send('body'))
  app.get('/stream/:code', (request, reply) => full(reply).code(Number((request.params as { code: string }).code)).send(Readable.from(['a', 'b'])))
  app.get('/type', (request, reply) => reply.header('content-type', (request.query as { type: string }).type).send('ü'))
  app.get('/json', () => ({ a: 'ü' }))
  app.get('/buffer', () => Buffer.from('ü'))
  app.get('/empty', (_request, reply) => reply.send())
  app.get('/cached', (_request, reply) => reply.header('cache-control', 'public, max-age=60').send('x'))
  app.get('/moved', (_request, reply) => reply.redirect('/json', 301))
  app.get('/found', (_request, reply) => reply.redirect('/json', 302))
  app.get('/both', (_request, reply) => reply.header('transfer-encoding', 'chunked').header('content-length', '99').send(Readable.from(['ab'])))
  app.get('/trailed', (_request, reply) => reply.trailer('x-sum', (_reply, _payload, done) => done(null, '2')).send('ab'))
  app.get('/wrong', (_request, reply) => reply.type('text/plain').header('content-length', '1').send('abc'))
}

t.test('responses without content have no body and no content headers', async t => {
  const app = await build(t, {}, routes)
  for (const kind of ['status', 'stream']) {
    for (const code of [204, 205, 304]) {
      const response = await app.inject(`/${kind}/${code}`)
      t.same([response.statusCode, response.body], [code, ''], `${kind} ${code}`)
      const left = CONTENT.filter(name => response.headers[name] !== undefined && !(code === 205 && name === 'content-length'))
      t.same(left, ['content-language'], `${kind} ${code}`)
      t.equal(response.headers.etag, '"1"', 'validators are kept')
    }
  }
})

t.test('responses without content to HEAD have no length', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  for (const code of [204, 304]) {
    for (const kind of ['status', 'stream']) {
      const response = await app.inject({ method: 'HEAD', url: `/${kind}/${code}` })
      t.equal(response.statusCode, code, `${kind} ${code}`)
      t.notOk('content-length' in response.headers, `${kind} ${code}: no length`)
      const answer = await raw(port, `HEAD /${kind}/${code} HTTP/1.1\r\nHost: a\r\n\r\nGET /json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
      t.same([...answer.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status)), [code, 200], `${kind} ${code} over a socket`)
    }
  }
})

t.test('a web stream that is not sent is cancelled', async t => {
  let cancelled = false
  const app = await build(t, {}, app => app.get('/', (_request, reply) =>
    reply.code(304).send(new ReadableStream({ cancel () { cancelled = true } }))))
  t.equal((await app.inject('/')).statusCode, 304)
  t.ok(cancelled)
})

t.test('connections remain usable after responses without content', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  for (const first of ['/status/204', '/status/205', '/status/304', '/stream/204', '/stream/304']) {
    const answer = await raw(port, `GET ${first} HTTP/1.1\r\nHost: a\r\n\r\nGET /json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    t.same([...answer.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status)), [Number(first.slice(-3)), 200], first)
    t.ok(answer.endsWith('{"a":"ü"}'), first)
  }
})

t.test('a stream that is not sent is closed', async t => {
  let closed: Promise<unknown> = Promise.resolve()
  const app = await build(t, {}, app => app.get('/', (_request, reply) => {
    const stream = new Readable({ read () {} })
    closed = new Promise(resolve => stream.once('close', resolve))
    return reply.code(304).send(stream)
  }))
  t.equal((await app.inject('/')).statusCode, 304)
  await closed
  t.pass('closed')
})

t.test('text responses have a charset', async t => {
  const app = await build(t, {}, routes)
  for (const [type, expected] of [
    ['text/html', 'text/html; charset=utf-8'],
    ['text/css', 'text/css; charset=utf-8'],
    ['text/plain; charset=iso-8859-1', 'text/plain; charset=iso-8859-1'],
    ['text/plain;CHARSET=utf-8', 'text/plain;CHARSET=utf-8'],
    ['text/markdown; variant=GFM', 'text/markdown; variant=GFM; charset=utf-8'],
    ['application/javascript', 'application/javascript; charset=utf-8'],
    ['image/png', 'image/png'],
    ['application/octet-stream', 'application/octet-stream']
  ] as const) t.equal((await app.inject(`/type?type=${encodeURIComponent(type)}`)).headers['content-type'], expected, type)
})

t.test('the content length counts bytes', async t => {
  const app = await build(t, {}, routes)
  for (const [url, expected] of [['/json', '10'], ['/buffer', '2'], ['/type?type=text/plain', '2'], ['/empty', '0']] as const) {
    t.equal((await app.inject(url)).headers['content-length'], expected, url)
  }
})

t.test('responses with transfer coding or trailers have no content length', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  for (const path of ['/both', '/trailed']) {
    const answer = await get(port, path)
    t.equal(statusOf(answer), 200, path)
    t.equal(headerOf(answer, 'content-length'), undefined, path)
    t.equal(headerOf(answer, 'transfer-encoding'), 'chunked', path)
    if (path === '/trailed') t.match(answer, /x-sum: 2\r\n\r\n$/i, 'the trailer is after the body')
  }
})

t.test('HEAD has no body, and the headers of GET', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  for (const path of ['/json', '/status/200', '/stream/200', '/nix', '/cached', '/moved']) {
    const head = await raw(port, `HEAD ${path} HTTP/1.1\r\nHost: a\r\nAccept: text/plain\r\nConnection: close\r\n\r\n`)
    const whole = await raw(port, `GET ${path} HTTP/1.1\r\nHost: a\r\nAccept: text/plain\r\nConnection: close\r\n\r\n`)
    t.ok(head.endsWith('\r\n\r\n'), path)
    t.equal(statusOf(head), statusOf(whole), path)
    for (const name of ['content-type', 'cache-control', 'etag', 'location']) t.equal(headerOf(head, name), headerOf(whole, name), `${path} ${name}`)
  }
})

t.test('responses are private for shared caches by default', async t => {
  const app = await build(t, {}, routes)
  for (const [url, expected] of [
    ['/json', 'no-cache, private'], ['/nix', 'no-store'], ['/found', 'no-cache, private'],
    ['/cached', 'public, max-age=60'], ['/moved', undefined]
  ] as const) t.equal((await app.inject(url)).headers['cache-control'], expected, url)
})

t.test('the profile has the status, type and size of the response', async t => {
  const app = await build(t, {}, routes)
  for (const [url, status, contentType, size] of [
    ['/json', 200, 'application/json; charset=utf-8', 10],
    ['/buffer', 200, 'application/octet-stream', 2],
    ['/stream/200', 200, 'text/html; charset=utf-8', 2]
  ] as const) {
    const { collectors } = await profileOf(app, await app.inject(url))
    t.match(collectors.response, { status, contentType, size }, url)
  }
})

import { connect } from 'node:net'
import t from 'tap'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import { build, eventOf, headerOf, listen, newest, profileOf, raw, statusOf } from '../app/harness.js'

function routes (app: FastifyInstance): void {
  app.get('/ok', () => 'fine')
  app.get('/slow', async () => { await new Promise(resolve => setTimeout(resolve, 50)); return 'slow but fine' })
  app.post('/body', request => request.body)
}

const statuses = (answer: string): number[] => [...answer.matchAll(/HTTP\/1\.1 (\d{3}) [A-Z][A-Za-z ]+\r\n/g)].map(([, status]) => Number(status))

t.test('what the parser refuses is answered like all that fails', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  for (const [name, bytes, status] of [
    ['garbage', 'GARBAGE\r\n\r\n', 400],
    ['unknown method', 'FOO / HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['bad version', 'GET / HTTP/9.9\r\nHost: a\r\n\r\n', 400],
    ['HTTP/0.9', 'GET /\r\n\r\n', 400],
    ['bad header name', 'GET / HTTP/1.1\r\nHost: a\r\nBad Header: x\r\n\r\n', 400],
    ['no colon', 'GET / HTTP/1.1\r\nHost: a\r\nnocolon\r\n\r\n', 400],
    ['NUL in a value', 'GET / HTTP/1.1\r\nHost: a\r\nX: a\u0000b\r\n\r\n', 400],
    ['bare CR', 'GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n', 400],
    ['two lengths', 'POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 400],
    ['length and chunks', 'POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400],
    ['negative length', 'POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n', 400],
    ['TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003', 400],
    ['header overflow', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(70 * 1024)}\r\n\r\n`, 431],
    ['URL overflow', `GET /${'x'.repeat(70 * 1024)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431]
  ] as const) {
    const answer = await raw(port, bytes)
    t.same(statuses(answer), [status], name)
    t.equal(headerOf(answer, 'connection'), 'close', name)
    // A message that is too large, and so may have had any host, is answered shortly, and no profile is named.
    const isShown = name === 'HTTP/0.9' || (status === 400 && (bytes.includes('\r\nHost: a\r\n') || !/\nhost:/i.test(bytes)))
    t.equal(headerOf(answer, 'x-debug-token') !== undefined, isShown, name)
    const profile = await newest(app)
    t.equal(profile.status, status, name)
    t.match(profile.exceptions.at(-1)?.message, status === 431 ? /^The header section is too large: / : /^(?:Malformed HTTP message: |HTTP\/)/, name)
    if (profile.exceptions.at(-1)?.code === 'HINDSIGHT_BAD_REQUEST') continue
    t.same(profile.events.filter(({ pass }) => pass === 'main'), [], `${name}: there is no main pass`)
    t.match(eventOf(profile, 'kernel.response', 'content-type'), { outcome: 'ran', pass: 'error' }, name)
  }
})

t.test('the octets are kept as text, and never become markup', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  const answer = await raw(port, 'GET /<script>alert(1)</script> HTTP/1.1\r\nHost: a.test\r\nX-Bad\u0000: "><script>alert(2)</script>\r\n\r\n')
  t.equal(statusOf(answer), 400)
  t.notOk(/<script>alert/.test(answer))
  const profile = await profileOf(app, answer)
  t.ok((profile.collectors.request as { rawMessage: string }).rawMessage.includes('<script>alert(2)'))
  t.ok(profile.url.startsWith('http://a.test/'))
})

t.test('secrets in a refused message are masked', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  const answer = await raw(port, 'GET /?password=hunter2 HTTP/1.1\r\nHost: a.test\r\nAuthorization: Bearer s3cretbearer\r\nCookie: sid=s3cretcookie\r\nX-Api-Key: s3cretkey\r\nbad header: x\r\n\r\n')
  const profile = JSON.stringify(await profileOf(app, answer))
  for (const secret of ['hunter2', 's3cretbearer', 's3cretcookie', 's3cretkey']) {
    t.notOk(profile.includes(secret), secret)
    t.notOk(answer.includes(secret), `${secret}, on the page`)
  }
})

t.test('the form is negotiated', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  const answer = await raw(port, 'GET / HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\nBad Header: x\r\n\r\n')
  t.match(headerOf(answer, 'content-type'), /^application\/json/)
})

t.test('a bad message behind a good one', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  for (const path of ['/ok', '/slow']) {
    const answer = await raw(port, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\nBAD BAD BAD\r\n\r\n`)
    t.same(statuses(answer), [200, 400], path)
    t.ok(answer.indexOf('fine') < answer.indexOf('400 Bad Request'), 'in their order')
    t.equal((await newest(app)).status, 400)
  }
})

t.test('the profile of a bad message in one packet with a good one tells the bad one', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  await raw(port, 'GET /ok HTTP/1.1\r\nHost: good.test\r\n\r\nPUT /pot HTTP/1.1\r\nHost: bad.test\r\nNo Colon\r\n\r\n')
  const summary = await newest(app)
  t.match(summary, { method: 'PUT', url: 'http://bad.test/pot', status: 400 })
})

t.test('a method that the parser does not know is told as it came', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  await raw(port, 'BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n')
  t.match(await newest(app), { method: 'BREW', status: 400 })
})

t.test('a bad message behind several good ones', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  const good = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
  const answer = await raw(port, `${good('/slow')}${good('/ok')}${good('/slow')}BAD BAD BAD\r\n\r\n`)
  t.same(statuses(answer), [200, 200, 200, 400])
})

t.test('a bad chunk fails the request that it belongs to', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  for (const [name, body] of [['size', 'ZZ\r\nabc\r\n0\r\n\r\n'], ['end', '3\r\nabcXX'], ['negative', '-1\r\n\r\n']] as const) {
    const answer = await raw(port, `POST /body HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n${body}`)
    t.same(statuses(answer), [400], name)
    t.equal(headerOf(answer, 'connection'), 'close')
    const profile = await profileOf(app, answer)
    t.match(profile.route, { name: 'POST /body' }, name)
    t.match(profile.exceptions.at(-1), { name: 'MalformedMessageError' }, name)
  }
})

t.test('headers that do not come in time', async t => {
  const app = await build(t, {}, routes, { http: { requireHostHeader: false, headersTimeout: 200, requestTimeout: 300, connectionsCheckingInterval: 50 } } as FastifyServerOptions)
  const port = await listen(app)
  const answer = await raw(port, 'GET / HTTP/1.1\r\nHost: a\r\nX-Slow', { wait: 3000 })
  t.same(statuses(answer), [408])
  t.equal(headerOf(answer, 'connection'), 'close')
  t.match(await newest(app), { status: 408, exceptions: [{}, { name: 'RequestTimeoutError', message: 'The request did not arrive in time.' }] })
})

t.test('an expectation that cannot be met, and one that can', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  const answer = await raw(port, 'POST /body HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
  t.same(statuses(answer), [417])
  t.equal((await profileOf(app, answer)).exceptions.at(-1)?.message, 'The expectation "miracles" cannot be met: only 100-continue can.')
  const met = await raw(port, 'POST /body HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi')
  t.same(statuses(met), [100, 200])
})

t.test('a client that leaves at once does no harm', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  for (const bytes of ['', 'GET', 'BAD\r\n\r\n', 'GET / HTTP/1.1\r\nHost']) {
    const socket = connect(port, '127.0.0.1', () => { socket.end(bytes); socket.destroy() })
    await new Promise(resolve => socket.once('close', resolve))
  }
  t.equal(statusOf(await raw(port, 'GET /ok HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')), 200)
})

t.test('in production the answer is short', async t => {
  const app = await build(t, { debug: false }, routes)
  const port = await listen(app)
  const answer = await raw(port, 'GARBAGE\r\n\r\n')
  t.same(statuses(answer), [400])
  t.ok(answer.includes('An Error Occurred'))
  t.notOk(/x-debug|malformed\.ts|Parse Error/i.test(answer))
})

t.test('the absolute form of a target, and the one about the server', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  t.equal(statusOf(await raw(port, 'GET http://a.test/ok HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')), 200)
  t.equal(statusOf(await raw(port, 'OPTIONS * HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')), 404)
})

t.test('a client that resets its connection under its answer', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  // An error of a connection that nobody listens to would end the process, and fail this test.
  for (const bytes of ['CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n', 'GARBAGE\r\n\r\n', 'GET /slow HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n', 'GET /slow HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n']) {
    await Promise.all([0, 1, 2, 5, 10].map(async delay => await new Promise<void>(resolve => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(bytes)
        setTimeout(() => socket.resetAndDestroy(), delay)
      })
      socket.on('error', () => {})
      socket.on('close', () => resolve())
    })))
    t.equal(statusOf(await raw(port, 'GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')), 200, `others are answered behind ${bytes.slice(0, 12).trim()}`)
  }
})

import { once } from 'node:events'
import { request } from 'node:https'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type { FastifyInstance } from 'fastify'
import { httpsServerOptions } from '../../../lib/server-options.js'
import { build, listen } from '../../../packages/hindsight/test/support/app.js'
import { certificate } from '../../../packages/hindsight/test/support/certificate.js'
import { passwords } from '../../lib/security/support.js'

const tls = certificate()
if (tls === null) {
  t.pass('openssl is installed', { skip: 'no openssl: install it' })
  process.exit()
}
const { key, cert } = tls

interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: string
}

function routes (app: FastifyInstance): void {
  app.get('/', (_request, reply) => reply.type('text/html').send('<!DOCTYPE html><title>x</title><body>x</body>'))
  app.get('/note', (request) => { request.session._csrf = 'x'; return 'noted' })
  app.get('/slash/', () => 'x')
  app.get('/login', (request) => request.loginForm())
  app.get('/admin/x', () => 'in')
}

const security = {
  firewalls: [{ name: 'main', authenticators: { login: true }, logout: true }],
  providers: { users: { users: [{ identifier: 'ada', password: passwords.ada }] } },
  accessControl: [{ path: '/admin', roles: 'IS_AUTHENTICATED' }]
}

async function service (t: Test, limits = {}): Promise<number> {
  return await listen(await build(t, { security }, routes, httpsServerOptions({ key, cert }, limits) as object))
}

async function ask (port: number, path: string, headers: Record<string, string> = {}, form?: Record<string, string>): Promise<Answer> {
  const asking = request({
    port,
    host: '127.0.0.1',
    servername: 'localhost',
    ca: cert,
    path,
    method: form === undefined ? 'GET' : 'POST',
    headers: { host: `localhost:${port}`, accept: 'text/html', ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }), ...headers }
  })
  asking.end(form && new URLSearchParams(form).toString())
  const [response] = await once(asking, 'response') as [import('node:http').IncomingMessage]
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) }
}

/** What comes back for bytes until the server ends, or the first octets of it. */
async function raw (port: number, bytes: string): Promise<string> {
  const socket = connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: cert })
  socket.on('error', () => {}).write(bytes)
  let got = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => { got += chunk })
  await once(socket, 'close')
  return got
}

const cookieOf = ({ headers }: Answer): string => String(headers['set-cookie'])
const pairOf = (answer: Answer): string => cookieOf(answer).split(';', 1)[0] as string

t.test('cookies, links and redirects are correct over TLS', async (t) => {
  const port = await service(t)
  const origin = `https://localhost:${port}`
  const noted = await ask(port, '/note')
  t.match(cookieOf(noted), /^sessionId=[^;]+; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
  const page = await ask(port, '/')
  t.ok(String(page.headers['x-debug-token-link']).startsWith(`${origin}/_profiler/`))
  t.notOk(page.body.includes('http://'), 'no link of the toolbar uses http')
  t.equal((await ask(port, new URL(String(page.headers['x-debug-token-link'])).pathname)).status, 200)
  t.notOk((await ask(port, '/', { host: 'evil.example' })).headers['x-debug-token'], 'a rebound name')
  t.equal((await ask(port, '/slash?a=1')).headers.location, `${origin}/slash/?a=1`)
  const forwarded = { 'x-forwarded-proto': 'http' }
  t.equal((await ask(port, '/slash?a=1', forwarded)).headers.location, `${origin}/slash/?a=1`, 'an untrusted client cannot set the scheme')
  t.notOk((await ask(port, '/', forwarded)).headers['x-debug-token'], 'the header of a proxy without a trusted client closes the debug surface')
})

t.test('a login works over TLS', async (t) => {
  const port = await service(t)
  const origin = `https://localhost:${port}`
  const sent = await ask(port, '/admin/x?a=1')
  t.same([sent.status, sent.headers.location], [302, `${origin}/login`])
  t.match(cookieOf(sent), /; Secure;/)
  const form = await ask(port, '/login', { cookie: pairOf(sent) })
  const { csrfToken } = JSON.parse(form.body) as { csrfToken: string }
  const logged = await ask(port, '/login', { cookie: pairOf(sent) }, { _username: 'ada', _password: 'lovelace', _csrf_token: csrfToken })
  t.same([logged.status, logged.headers.location], [302, `${origin}/admin/x?a=1`])
  t.match(cookieOf(logged), /; HttpOnly; Secure; SameSite=Lax$/)
  t.not(pairOf(logged), pairOf(sent), 'the id is new')
  t.equal((await ask(port, '/admin/x', { cookie: pairOf(logged) })).body, 'in')
  t.equal((await ask(port, '/admin/x', { cookie: pairOf(sent) })).status, 302, 'the old id opens no session')
})

t.test('the limits and messages of a plain server apply over TLS', async (t) => {
  const port = await service(t)
  t.match(await raw(port, 'GET /nix HTTP/1.1\r\nAccept: text/plain\r\n\r\n'), /^HTTP\/1\.1 400 /)
  t.match(await raw(port, 'GARBAGE\r\n\r\n'), /^HTTP\/1\.1 400 [^]*Malformed HTTP message: /)
  // Only this message is incomplete: a busy machine does not complete the others within so little time.
  const impatient = await service(t, { headersTimeout: 300 })
  t.match(await raw(impatient, 'GET / HTTP/1.1\r\nHost: a\r\nContent-Len'), /^HTTP\/1\.1 408 /)
  t.match(await raw(port, `GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`), /^HTTP\/1\.1 200 /)
  t.match(await raw(port, `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /)
})

t.test('clients that do not complete the TLS handshake do not affect others', async (t) => {
  const port = await service(t)
  for (const bytes of ['GET / HTTP/1.1\r\nHost: a\r\n\r\n', '\u0016\u0003\u0001\u0000\u0005\u0001\u0002\u0003\u0004\u0005', 'x'.repeat(3_000)]) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {}).resume().write(bytes, 'latin1')
    await once(socket, 'close')
  }
  for (const delay of [0, 1, 2, 5, 10]) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    // The server closes the connection of a CONNECT, perhaps before this client does.
    const closed = once(socket, 'close')
    const over = connectTls({ socket, servername: 'localhost', ca: cert })
    over.on('error', () => {}).write('CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n')
    await new Promise((resolve) => setTimeout(resolve, delay))
    socket.resetAndDestroy()
    await closed
  }
  t.equal((await ask(port, '/')).status, 200)
})

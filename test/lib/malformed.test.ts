import { EventEmitter, once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { PassThrough, Readable } from 'node:stream'
import t, { type Test } from 'tap'
import type { FastifyError, FastifyInstance } from 'fastify'
import { refuseMessage } from '../../packages/hindsight/src/http/refused-message.js'
import { serverOptions } from '../../lib/server-options.js'
import type { ServiceOptions } from '../../lib/options.js'
import type { Profile } from '../../packages/hindsight/src/store/profile.js'
import { build, listen, raw } from '../../packages/hindsight/test/support/app.js'
import { htmlChecker } from '../../packages/hindsight/test/support/html-checker.js'

const HOST = 'Host: a\r\n'
const POST = `POST /body HTTP/1.1\r\n${HOST}Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n`
/** Bodies of chunks that the parser refuses. */
const BAD_CHUNKS = {
  'size 0x1': '0x1\r\na\r\n0\r\n\r\n',
  'a size that is none': 'ZZ\r\nabc\r\n0\r\n\r\n',
  'LF only': '1\na\n0\n\n',
  'an empty size': '\r\na\r\n0\r\n\r\n',
  'a negative size': '-1\r\n\r\n',
  'a size that overflows': 'fffffffffffffffff\r\na\r\n0\r\n\r\n',
  'an extension of 20 kB': `1;${'a'.repeat(20_000)}\r\na\r\n0\r\n\r\n`,
  'data longer than its size': '3\r\nabcXX'
}

interface Service {
  app: FastifyInstance
  port: number
  lines: Array<{ level: number, msg: string, statusCode?: number, channel?: string }>
}

async function service (t: Test, options: ServiceOptions = {}, declare: (app: FastifyInstance) => unknown = () => {}, server: object = {}): Promise<Service> {
  const lines: Service['lines'] = []
  const stream = { write: (line: string) => { lines.push(JSON.parse(line) as Service['lines'][number]) } }
  const app = await build({
    ...options,
    server: { logger: { level: 'info', stream }, ...server },
    declare: (app) => {
      app.get('/ok', () => 'fine')
      app.get('/slow', async () => { await sleep(50); return 'slow but fine' })
      app.get('/slower', async () => { await sleep(300); return 'slower' })
      app.post('/body', (request) => request.body)
      return declare(app)
    }
  })
  t.teardown(() => app.close())
  const port = await listen(app)
  lines.length = 0
  return { app, port, lines }
}

/** Sends packets one after the other; what came until the server closed. With `stay`, the client ends its side that many milliseconds later. */
async function exchange (port: number, packets: readonly string[], { stay = 0 } = {}): Promise<{ received: string }> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: stay > 0 }).setNoDelay(true).setEncoding('latin1')
  let received = ''
  socket.on('error', () => {})
  socket.on('data', (text: string) => { received += text })
  socket.on('end', () => setTimeout(() => socket.destroy(), stay))
  const closed = once(socket, 'close')
  await once(socket, 'connect')
  for (const [i, packet] of packets.entries()) {
    if (i > 0) {
      await sleep(60)
      // Where the process was paused meanwhile, the server accepts the connection and reads the last packet in these turns.
      for (let turns = 0; turns < 3; turns++) await turn()
    }
    socket.write(packet, 'latin1')
  }
  await closed
  return { received }
}

const statuses = (received: string): number[] => [...received.matchAll(/HTTP\/1\.1 (\d{3}) [A-Z][A-Za-z -]+\r\n/g)].map(([, status]) => Number(status))

/** Milliseconds for which a client does not end its side: more than the server waits for that. */
const STAY = 1_500

/** The newest profile of a failure. */
async function newest ({ hindsight: { profiler } }: FastifyInstance): Promise<Profile> {
  const profile = await profiler.find((await profiler.latest({ error: true }))?.token ?? '')
  if (profile === undefined) throw new Error('No profile is stored')
  return profile
}

const rawMessageOf = ({ collectors }: Pick<Profile, 'collectors'>): string => (collectors.request as { rawMessage: string }).rawMessage

t.test('a message that the parser refuses is answered, logged and stored', async (t) => {
  const { app, port, lines } = await service(t)
  for (const [name, bytes, status, method, why] of [
    ['garbage', 'GARBAGE\r\n\r\n', 400, '-', /^Malformed HTTP message: Invalid method encountered/],
    ['an unknown method', 'BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n', 400, 'BREW', /^Malformed HTTP message: Invalid method encountered/],
    ['a bad version', 'GET / HTTP/9.9\r\nHost: a\r\n\r\n', 400, 'GET', /^Malformed HTTP message: Invalid HTTP version/],
    ['a bad header name', 'GET / HTTP/1.1\r\nHost: a\r\nBad Header: x\r\n\r\n', 400, 'GET', /^Malformed HTTP message: Invalid header token/],
    ['no colon', 'GET / HTTP/1.1\r\nHost: a\r\nnocolon\r\n\r\n', 400, 'GET', /^Malformed HTTP message: Invalid header token/],
    ['NUL in a value', 'GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n', 400, 'GET', /^Malformed HTTP message: Invalid header value char/],
    ['a bare CR', 'GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n', 400, 'GET', /^Malformed HTTP message: /],
    ['two lengths', 'POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 400, 'POST', /Content-Length/],
    [
      'a length and chunks', 'POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400, 'POST', /Content-Length/
    ],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, '-', /^Malformed HTTP message: Invalid method encountered/],
    [
      'too large a header section', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(70 * 1024)}\r\n\r\n`, 431, /^(?:GET|-)$/, /^The header section is too large: /
    ],
    ['too long a URL', `GET /${'x'.repeat(70 * 1024)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431, /^(?:GET|-)$/, /^The header section is too large: /]
  ] as const) {
    lines.length = 0
    const response = await raw(port, bytes)
    t.match(response, {
      status,
      headers: {
        connection: 'close',
        'content-type': 'text/html; charset=utf-8',
        'content-length': String(response?.body.length),
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
        date: / GMT$/
      }
    }, name)
    const profile = await newest(app)
    t.match(profile, { status, method, route: null, events: [], logs: [] }, `${name}: the profile`)
    const { message = '', name: error } = profile.exceptions.at(-1) ?? {}
    t.match(message, why, `${name}: the reason`)
    t.equal(error, status === 431 ? 'HeaderOverflowError' : 'MalformedMessageError')
    t.ok(response?.text.includes(`<p>${message.replaceAll("'", '&#39;')}</p>`), `${name}: the page shows the reason`)
    t.match(lines, [{ level: 30, msg: message, statusCode: status, channel: 'request', remoteAddress: '127.0.0.1' }], `${name}: one line is logged`)
  }
})

t.test('the answer is a valid page', async (t) => {
  const { port } = await service(t)
  const findings = htmlChecker()
  for (const bytes of [`GET / HTTP/1.1\r\n${HOST}Accept: application/json\r\nBad Header: x\r\n\r\n`, `${POST}ZZ\r\n`]) {
    const response = await raw(port, bytes)
    t.equal(response?.headers['content-type'], 'text/html; charset=utf-8')
    t.same(await findings(response?.text ?? ''), [])
  }
})

t.test('in production the answer is the same, and nothing is stored', async (t) => {
  const { app, port, lines } = await service(t, { debug: false })
  const response = await raw(port, 'GARBAGE\r\n\r\n')
  t.match(response, { status: 400, text: /<p>Malformed HTTP message: Invalid method encountered<\/p>/ })
  t.same(Object.keys(response?.headers ?? {}).filter((name) => name.startsWith('x-debug')), [])
  t.match(lines, [{ level: 30, statusCode: 400, channel: 'request' }])
  t.notOk(app.hindsight.hasProfiles)
})

t.test('the refused bytes are stored as text, and pages escape them', async (t) => {
  const { app, port } = await service(t)
  const response = await raw(
    port, `GET /<script>alert(1)</script> HTTP/1.1\r\nHost: a.test\r\nX-Bad\0: "><script>alert(2)</script>${'y'.repeat(5_000)}\r\n\r\n`
  )
  t.notMatch(response?.text, '<script>')
  const { token, url, collectors } = await newest(app)
  t.equal(url, 'http://a.test/<script>alert(1)</script>')
  const rawMessage = rawMessageOf({ collectors })
  t.ok(rawMessage.includes('"><script>alert(2)</script>'))
  t.equal(rawMessage.length, 4096, 'they are bounded')
  for (const panel of ['request', 'exceptions']) {
    const { statusCode, body } = await app.inject({ url: `/_profiler/${token}?panel=${panel}`, headers: { accept: 'text/html' } })
    t.equal(statusCode, 200)
    t.notMatch(body, /<script>alert/, panel)
    if (panel === 'request') t.match(body, '&#60;script&#62;alert(2)&#60;/script&#62;')
  }
  t.match(
    (await app.inject({ url: `/_profiler/${token}/as/curl`, headers: { accept: 'application/json' } })).json(),
    { status: 409, detail: /refused by the HTTP parser/ }
  )
})

t.test('secrets in the refused bytes are masked', async (t) => {
  const { app, port } = await service(t)
  const secrets = ['hunter2', 's3cretbearer', 's3cretcookie', 's3cretkey']
  const head = 'GET /?password=hunter2 HTTP/1.1\r\nHost: a.test\r\nAuthorization: Bearer s3cretbearer\r\nCookie: theme=dark; sid=s3cretcookie\r\nX-Api-Key: ' +
    's3cretkey\r\n'
  const cut = head.indexOf('cretbearer')
  for (const [name, packets] of [
    ['in one packet', [`${head}Bad Header: x\r\n\r\n`]],
    ['after another message', [`GET /ok HTTP/1.1\r\nHost: a.test\r\n\r\n${head}Bad Header: x\r\n\r\n`]],
    ['in a packet that begins within one', [head.slice(0, cut), `${head.slice(cut)}Bad Header: x\r\n\r\n`]],
    ['in a packet that is refused within one', [head.slice(0, cut), 'cretbearer\0s3cretkey\r\n\r\n']],
    ['in a body', [`${POST}10\r\npassword=hunter2\r\nZZ\r\n`]]
  ] as const) {
    const { received } = await exchange(port, packets)
    t.ok(received.includes('400 Bad Request'), name)
    const profile = await newest(app)
    t.equal(profile.status, 400)
    const kept = JSON.stringify(profile)
    for (const secret of [...secrets, 'cretbearer']) {
      t.notOk(kept.includes(secret), `${name}: ${secret}`)
      t.notOk(received.includes(secret), `${name}: ${secret}, in the answer`)
    }
  }
  await exchange(port, [`${head}Bad Header: x\r\n\r\n`])
  t.equal(rawMessageOf(await newest(app)),
    'GET /?password=****** HTTP/1.1\r\nHost: a.test\r\nAuthorization: Bearer ******\r\nCookie: theme=******; sid=******\r\nX-Api-Key: ******\r\nBad Header: ' +
      'x\r\n\r\n')
  await exchange(port, [head.slice(0, cut), `${head.slice(cut)}Bad Header: x\r\n\r\n`])
  t.equal(rawMessageOf(await newest(app)), 'Bad Header: x\r\n\r\n')
})

t.test('a message that is refused after other requests is answered after them', async (t) => {
  const { app, port } = await service(t)
  const good = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: good.test\r\n\r\n`
  const bad = 'PUT /pot HTTP/1.1\r\nHost: bad.test\r\nNo Colon\r\n\r\n'
  for (const [name, packets, expected] of [
    ['in one packet', [good('/ok') + bad], [200, 400]],
    ['in one packet, the first is slow', [good('/slow') + bad], [200, 400]],
    ['after several', [good('/slow') + good('/ok') + good('/slow') + bad], [200, 200, 200, 400]],
    ['on a kept connection', [good('/ok'), bad], [200, 400]],
    ['in parts', [good('/ok'), bad.slice(0, 40), bad.slice(40)], [200, 400]],
    ['and followed by others', [good('/slower') + bad, good('/ok'), bad], [200, 400]],
    ['a bad body', [good('/slow') + POST + BAD_CHUNKS['size 0x1']], [200, 400]],
    ['after the last of its connection', [`GET /slow HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n${bad}`], [200]]
  ] as const) {
    const { received } = await exchange(port, packets)
    t.same(statuses(received), expected, name)
    t.equal(received.match(/^Connection: close\r$/gim)?.length, 1, `${name}: the last answer ends the connection`)
  }
  await exchange(port, [good('/ok') + bad])
  const profiles = await app.hindsight.profiler.search({ limit: 2 })
  t.same(
    profiles.profiles.map(({ method, url, status }) => [method, url, status]).sort(), [['GET', 'http://good.test/ok', 200], ['PUT', 'http://bad.test/pot', 400]]
  )
})

t.test('a malformed chunk is answered at once, while a hook waits', async (t) => {
  const responses = new EventEmitter()
  const release = once(responses, 'release')
  const LATE = 2 * Object.keys(BAD_CHUNKS).length
  let late = 0
  const { app, port } = await service(t, {}, (app) => {
    app.addHook('onRequest', async ({ url, socket }) => {
      if (url === '/wait/long') await release
      else if (url === '/wait/short') {
        while (!socket.writableEnded) await sleep(10)
        await sleep(50)
      }
    })
    app.addHook('onSend', async ({ url }) => { if (url.startsWith('/wait') && ++late === LATE) responses.emit('all late') })
    app.all('/wait/:time', () => 'LATE')
  })
  const allLate = once(responses, 'all late')
  await Promise.all(Object.entries(BAD_CHUNKS).map(async ([name, chunks]) => {
    // The client does not end its side: the server has a second left, within which a handler answers.
    await Promise.all(['POST /wait/long', 'GET /wait/long', 'GET /wait/short'].map(async (line) => {
      const { received } = await exchange(port, [POST.replace('POST /body', line), chunks], { stay: STAY })
      t.same(statuses(received), [400], `${name}, ${line}`)
      t.match(received, /<p>Malformed HTTP message: [^<]+<\/p><\/main>\n<\/body>\n<\/html>\n$/, 'the late response is not sent')
    }))
    t.same(statuses((await exchange(port, [POST + chunks])).received), [400], `${name}, in the packet of its request`)
  }))
  responses.emit('release')
  await allLate
  t.equal(late, LATE, 'the handlers of GET sent their responses')
  t.equal((await raw(port, `GET /ok HTTP/1.1\r\n${HOST}\r\n`))?.status, 200, 'other requests are answered')
  const { profiles } = await app.hindsight.profiler.search({ limit: 100 })
  const refused = await Promise.all(profiles.filter(({ status }) => status === 400).map(async ({ token }) => await app.hindsight.profiler.find(token)))
  t.equal(refused.filter((profile) => profile?.events.length === 0 && profile.exceptions.at(-1)?.name === 'MalformedMessageError' &&
    /^http:\/\/a\/(?:body|wait\/\w+)$/.test(profile.url)).length, 4 * Object.keys(BAD_CHUNKS).length, 'each is stored with its URL')
})

t.test('nothing is inserted into a response that has begun', async (t) => {
  const { port } = await service(t, {}, (app) => {
    app.addHook('preParsing', async (_request, reply) => {
      reply.hijack()
      reply.raw.writeHead(200, { 'content-length': 100 }).write('beginning')
    })
    app.post('/stream', () => '')
  })
  const { received } = await exchange(port, [POST.replace('/body', '/stream'), BAD_CHUNKS['size 0x1']], { stay: STAY })
  t.same(statuses(received), [200])
  t.match(received, /\r\n\r\nbeginning$/)
})

t.test('a request that was answered before its body was refused has one answer', async (t) => {
  const { port } = await service(t, {}, (app) => {
    app.get('/stream', (_request, reply) => { reply.send(Readable.from(['a', 'b'])) })
  })
  for (const path of ['/nowhere', '/stream', '/ok', '/slow']) {
    const { received } = await exchange(port, [POST.replace('POST /body', `GET ${path}`), '', BAD_CHUNKS['size 0x1'], 'more'])
    t.same(statuses(received), [path === '/nowhere' ? 404 : 200], path)
  }
})

t.test('a message that exceeds its timeout is answered with 408', async (t) => {
  const limits = serverOptions({ headersTimeout: 200, requestTimeout: 400 })
  const { app, port, lines } = await service(t, {}, () => {}, { ...limits, http: { ...limits.http, connectionsCheckingInterval: 50 } })
  for (const [name, bytes] of [
    ['its header section', `GET / HTTP/1.1\r\n${HOST}X-Slow`],
    ['its body', `POST /body HTTP/1.1\r\n${HOST}Content-Type: text/plain\r\nContent-Length: 10\r\n\r\nabc`],
    ['its chunks', `${POST}1\r\na\r\n`]
  ] as const) {
    lines.length = 0
    t.match(await raw(port, bytes), { status: 408, headers: { connection: 'close' }, text: /<p>The request did not arrive in time\.<\/p>/ }, name)
    t.match(lines.find(({ msg }) => msg === 'The request did not arrive in time.'), { level: 30, statusCode: 408, channel: 'request' })
    const { profiles } = await app.hindsight.profiler.search({ limit: 2 })
    t.ok(profiles.some(({ status }) => status === 408), name)
  }
  // The first request has to arrive in time.
  const longer = serverOptions({ headersTimeout: 2_000, requestTimeout: 2_000 })
  const { port: persistent } = await service(t, {}, () => {}, { ...longer, http: { ...longer.http, connectionsCheckingInterval: 50 } })
  t.same(statuses((await exchange(persistent, [`GET /ok HTTP/1.1\r\n${HOST}\r\n`, 'GET /ok HT'])).received), [200, 408], 'on a persistent connection')
})

t.test('a packet of 100 requests has 32 answers, and the next request is refused', async (t) => {
  const { port } = await service(t)
  const { received } = await exchange(port, [`GET /slow HTTP/1.1\r\n${HOST}\r\n`.repeat(100)])
  t.same(statuses(received), [...Array<number>(32).fill(200), 400])
  t.match(received, 'More than 32 requests of this connection wait for their responses.')
})

t.test('the absolute form and the asterisk form of a target are valid', async (t) => {
  const { port } = await service(t)
  t.equal((await raw(port, 'GET http://a.test/ok HTTP/1.1\r\nHost: a.test\r\n\r\n'))?.status, 200)
  t.equal((await raw(port, 'OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n'))?.status, 404)
})

t.test('a message that cannot be recorded is answered', async (t) => {
  const { app, port, lines } = await service(t)
  Object.assign(app.hindsight, { onMalformed: () => { throw new Error('the store is broken') } })
  t.equal((await raw(port, 'GARBAGE\r\n\r\n'))?.status, 400)
  t.match(lines.map(({ level, msg }) => [level, msg]), [[30, /^Malformed HTTP message: /], [50, 'A malformed message was not recorded']])
})

t.test('a client that leaves or resets its connection does no harm', async (t) => {
  const { port, lines } = await service(t)
  t.equal((await raw(port, 'GET / HT', { end: true }))?.status, 400, 'a client that only ends its side is answered')
  lines.length = 0
  t.equal(await raw(port, `${POST}1\r\na`, { end: true }), null, 'a client whose request is pending is not answered')
  t.same(lines.filter(({ msg }) => msg.startsWith('Malformed')), [])
  // An error of a connection without a listener would end the process, and fail this test.
  for (const bytes of [
    '', 'GET', 'BAD\r\n\r\n', `${POST}ZZ`, `CONNECT a:80 HTTP/1.1\r\n${HOST}\r\n`, `GET /slow HTTP/1.1\r\n${HOST}\r\nBAD\r\n\r\n`,
    `GET /slow HTTP/1.1\r\n${HOST}Expect: x\r\n\r\n`, `GET /slow HTTP/1.1\r\n${HOST}Connection: upgrade\r\nUpgrade: x\r\n\r\n`
  ]) {
    await Promise.all([
      0, 1, 2, 5, 10
    ].flatMap((delay) => [(socket: Socket) => socket.destroy(), (socket: Socket) => socket.resetAndDestroy()].map(async (leave) => {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      await once(socket, 'connect')
      socket.write(bytes)
      setTimeout(() => leave(socket), delay)
      await once(socket, 'close')
    })))
    t.equal((await raw(port, `GET /slow HTTP/1.1\r\n${HOST}\r\n`))?.status, 200, `others are answered after ${JSON.stringify(bytes.slice(0, 12))}`)
  }
})

t.test('the answer is written in the turn in which a message is refused', async (t) => {
  const { app } = await service(t)
  const socket = new PassThrough() as unknown as Socket
  const error = Object.assign(new Error('refused'), { statusCode: 400, code: 'X' }) as FastifyError
  refuseMessage(app, socket, error, null, { method: '-', target: '/', host: undefined, packet: '' })
  t.equal(socket.writableEnded, true, 'Node.js closes the socket of a client that has ended its side')
  t.match(String(socket.read()), /^HTTP\/1\.1 400 Bad Request\r\n/)
})

import { Readable } from 'node:stream'
import multipart from '@fastify/multipart'
import t from 'tap'
import { build, listen, profileOf, newest, rawText as raw } from '../../packages/hindsight/test/support/app.js'

interface Collected {
  method: string
  target: string
  headers: Record<string, unknown>
  query: unknown
  cookies: unknown
  body: unknown
  attributes: unknown
  session: unknown
}

t.test('the request is collected without its secrets', async t => {
  const app = await build(t, {}, app => app.post('/users/:id', () => 'x'))
  const secrets = ['s3cret-basic', 's3cret-cookie', 's3cret-body', 's3cret-query', 's3cret-nested', 's3cret-key']
  const response = await app.inject({
    method: 'POST',
    url: `/users/7?name=anna&password=${secrets[3]}`,
    headers: {
      authorization: `Basic ${Buffer.from(`anna:${secrets[0]}`).toString('base64')}`,
      cookie: `theme=${secrets[1]}; sid=${secrets[1]}`,
      'x-api-key': secrets[5]
    },
    payload: { name: 'anna', password: secrets[2], deep: { apiToken: secrets[4], kept: 1 } }
  })
  const profile = await profileOf(app, response)
  const request = profile.collectors.request as Collected
  t.equal(request.method, 'POST')
  t.equal(request.target, '/users/7?name=anna&password=******')
  t.same(request.query, { name: 'anna', password: '******' })
  t.same(request.cookies, { theme: '******', sid: '******' })
  t.same(request.body, { name: 'anna', password: '******', deep: { apiToken: '******', kept: 1 } })
  t.same(request.attributes, { _route: 'POST /users/:id', id: '7' })
  t.match(request.headers, { authorization: 'Basic ******', cookie: 'theme=******; sid=******', 'x-api-key': '******' })
  const text = JSON.stringify(profile)
  for (const secret of [...secrets, Buffer.from(`anna:${secrets[0]}`).toString('base64')]) t.notOk(text.includes(secret), secret)
})

t.test('secrets of the request are not on the page of a failure', async t => {
  const app = await build(t, {}, app => app.get('/boom', () => { throw new Error('boom') }))
  for (const accept of ['text/html', 'application/json', 'text/plain', 'text/markdown']) {
    // The page shows this very source.
    const secret = Math.random().toString(36).slice(2)
    const { body } = await app.inject({ url: `/boom?token=${secret}`, headers: { accept, authorization: `Bearer ${secret}`, cookie: `sid=${secret}` } })
    t.ok(body.includes('boom'))
    t.notOk(body.includes(secret), accept)
  }
})

for (const [name, type, payload, note] of [
  ['bad JSON', 'application/json', '{"a":', /^not parsed: .*JSON/],
  ['a media type without a parser', 'application/x-unheard-of', 'x', /^not parsed: Unsupported Media Type/]
] as const) {
  t.test(`a body that was not parsed has the reason: ${name}`, async t => {
    const app = await build(t, {}, app => app.post('/', () => 'x'))
    const response = await app.inject({ method: 'POST', url: '/', headers: { 'content-type': type }, payload })
    t.match((await profileOf(app, response)).collectors.request, { body: null, bodyNote: note })
    const { body } = await app.inject({ url: `/_profiler/${String(response.headers['x-debug-token'])}?panel=request`, headers: { accept: 'text/html' } })
    t.match(body, 'The body was not parsed: ')
  })
}

t.test('names that the application adds are masked', async t => {
  const app = await build(t, { mask: ['iban', /^patient/i] }, app => app.post('/', () => 'x'))
  const { collectors } = await profileOf(app, await app.inject({ method: 'POST', url: '/?iban=1', payload: { IBAN: 'x', patientName: 'y', other: 'z' } }))
  t.same((collectors.request as Collected).body, { IBAN: '******', patientName: '******', other: 'z' })
  t.same((collectors.request as Collected).query, { iban: '******' })
})

t.test('attributes that replace the route are collected for each request of a connection', async t => {
  let count = 0
  const app = await build(t, {}, app => {
    app.addHook('onRequest', async function name ({ attributes }) {
      delete attributes._route
      attributes.tenant = `t${++count}`
    })
    app.get('/', () => 'x')
  })
  const port = await listen(app)
  const one = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const answers = await raw(port, one.repeat(4) + one.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
  const tokens = [...answers.matchAll(/^x-debug-token: (\w+)/gim)].map(([, token = '']) => token)
  t.equal(tokens.length, 5)
  for (const [i, token] of tokens.entries()) t.match((await app.hindsight.profiler.find(token))?.collectors.request, { attributes: { tenant: `t${i + 1}` } })
})

t.test('the body is bounded', async t => {
  const app = await build(t, {}, app => app.post('/', () => 'x'))
  const response = await app.inject({ method: 'POST', url: '/', payload: { list: Array.from({ length: 20_000 }, () => 'abcdefgh') } })
  const { collectors } = await profileOf(app, response)
  t.ok(JSON.stringify((collectors.request as Collected).body).length < 80_000)
})

t.test('bodies of other types are collected', async t => {
  const app = await build(t, {}, app => {
    app.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    app.post('/', () => 'x')
  })
  for (const [type, payload, expected] of [
    ['text/plain', 'hello', 'hello'],
    ['text/plain', 'password=s3cret', 'password=******'],
    ['application/octet-stream', Buffer.from([1, 2, 3]), '[binary, 3 bytes, application/octet-stream]']
  ] as const) {
    const { collectors } = await profileOf(app, await app.inject({ method: 'POST', url: '/', headers: { 'content-type': type }, payload }))
    t.equal((collectors.request as Collected).body, expected)
  }
  await app.inject({ method: 'POST', url: '/' })
  t.equal(((await newest(app)).collectors.request as Collected).body, null)
})

t.test('a failure is collected, with the known fields', async t => {
  const app = await build(t)
  const { collectors } = await profileOf(app, await app.inject('/nix?a=1'))
  t.match(collectors.request, { method: 'GET', target: '/nix?a=1', query: { a: '1' }, attributes: { _route: null } })
  t.match(collectors.response, { status: 404, contentType: 'text/html; charset=utf-8' })
})

t.test('cookies of the response are masked', async t => {
  const app = await build(t, {}, app => app.get('/', (_request, reply) => reply.setCookie('a', 's3cret-1').setCookie('b', 's3cret-2').send('x')))
  const profile = await profileOf(app, await app.inject('/'))
  t.notOk(JSON.stringify(profile).includes('s3cret'))
  t.match((profile.collectors.response as { headers: Record<string, string[]> }).headers['set-cookie'], [/^a=\*{6}/, /^b=\*{6}/])
})

t.test('the request is collected as it arrived, even if the handler changes it', async t => {
  const app = await build(t, {}, app => app.post('/', async (request, reply) => {
    const body = request.body as { list: number[], name?: string }
    body.list.push(3)
    delete body.name
    request.headers['x-mine'] = 'changed';
    (request.query as Record<string, string>).a = 'changed'
    setImmediate(() => reply.header('x-late', 'changed'))
    return 'x'
  }))
  const {
    collectors
  } = await profileOf(app, await app.inject({ method: 'POST', url: '/?a=1', headers: { 'x-mine': 'sent' }, payload: { list: [1, 2], name: 'anna' } }))
  t.match(collectors.request, { body: { list: [1, 2], name: 'anna' }, query: { a: '1' }, headers: { 'x-mine': 'sent' } })
  t.equal((collectors.request as { body: { list: unknown[] } }).body.list.length, 2)
  t.notMatch(collectors.response, { headers: { 'x-late': 'changed' } })
})

t.test('large values are truncated, with what is left out', async t => {
  const app = await build(t, { }, app => app.post('/', (request, reply) => {
    request.log.info({ channel: 'test', blob: 'y'.repeat(1_000_000) }, 'a long line')
    return reply.header('x-huge', 'h'.repeat(10_000)).send('x')
  }), { bodyLimit: 8_000_000 })
  const list = Array.from({ length: 50_000 }, (_, i) => `number ${i}`)
  for (const [name, payload, expected] of [
    ['a text', { text: 'z'.repeat(3_000_000) }, /^\{"text":"z+… \([\d,]+ more bytes\)"\}$/],
    ['a list', { list }, /"… \([\d,]+ more items\)"\]\}$/],
    ['many fields', Object.fromEntries(list.map(name => [name, 1])), /"…":"[\d,]+ more fields"\}$/]
  ] as const) {
    const { collectors, logs } = await profileOf(app, await app.inject({ method: 'POST', url: '/', payload }))
    const { body } = collectors.request as Collected
    const text = JSON.stringify(body)
    t.match(text, expected, name)
    t.ok(text.length < 80_000, name)
    t.match((collectors.response as { headers: object }).headers, { 'x-huge': /^h{4096}… \(5,904 more characters\)$/ })
    const line = logs.find(({ message }) => message === 'a long line')
    t.equal(line?.channel, 'test')
    t.match(line?.context.cut, /^1,000,\d{3} characters: the fields of this line were left out$/)
  }
})

t.test('parts of @fastify/multipart in the body: values of fields, names and types of files', async t => {
  const payload = [
    '--b', 'Content-Disposition: form-data; name="title"', '', 'Holidays',
    '--b', 'Content-Disposition: form-data; name="password"', '', 's3cret-field',
    '--b', 'Content-Disposition: form-data; name="photo"; filename="beach.png"', 'Content-Type: image/png', '', 's3cret-contents', '--b--', ''
  ].join('\r\n')
  for (const [attachFieldsToBody, photo] of [[true, '[file beach.png, image/png, 15 bytes]'], ['keyValues', '[binary, 15 bytes]']] as const) {
    const app = await build(t, {}, async app => {
      await app.register(multipart, { attachFieldsToBody })
      app.post('/', async () => 'x')
    })
    const answer = await app.inject({ method: 'POST', url: '/', headers: { 'content-type': 'multipart/form-data; boundary=b' }, payload })
    t.equal(answer.statusCode, 200)
    const profile = await profileOf(app, answer)
    t.same((profile.collectors.request as Collected).body, { title: 'Holidays', password: '******', photo })
    t.notMatch(JSON.stringify(profile), /s3cret/)
  }
  const app = await build(t, {}, async app => {
    await app.register(multipart)
    app.post('/', async (request) => { for await (const part of request.parts()) if (part.type === 'file') await part.toBuffer() })
  })
  const answer = await app.inject({ method: 'POST', url: '/', headers: { 'content-type': 'multipart/form-data; boundary=b' }, payload })
  const profile = await profileOf(app, answer)
  const body = { title: 'Holidays', password: '******', photo: '[file beach.png, image/png, 15 bytes]' }
  t.same((profile.collectors.request as Collected).body, body, 'parts that the application reads')
  t.notMatch(JSON.stringify(profile), /s3cret/)
})

t.test('bodies that are streams or octets have their type, or the beginning of a text', async t => {
  const app = await build(t, {}, app => {
    app.addContentTypeParser('text/csv', (_request, payload, done) => { payload.resume(); done(null, payload) })
    app.post('/', () => 'x')
    app.get('/stream', (_request, reply) => reply.type('text/plain').send(Readable.from(['a', 'b'])))
    app.get('/web', (_request, reply) => reply.send(new Response('x')))
    app.get('/png', (_request, reply) => reply.type('image/png').send(Buffer.from([1, 2, 3])))
    app.get('/text', (_request, reply) => reply.type('text/plain').send(Buffer.from('abc')))
  })
  const { collectors } = await profileOf(app, await app.inject({ method: 'POST', url: '/', headers: { 'content-type': 'text/csv' }, payload: 'a,b' }))
  t.match((collectors.request as Collected).body, /^\[stream \w+\]$/)
  for (const [url, expected] of [
    ['/stream', 'ab'], ['/web', 'x'], ['/png', '[binary, 3 bytes, image/png]'], ['/text', 'abc']
  ] as const) {
    const { collectors } = await profileOf(app, await app.inject(url))
    t.equal((collectors.response as { body?: string }).body, expected, url)
  }
})

t.test('the mask of one request does not affect the next one', async t => {
  const app = await build(t, {}, app => {
    app.addHook('onSend', async (_request, reply) => { reply.header('x-note', 's3cret') })
    app.get('/reset/:token', () => 'x')
    app.get('/plain', () => 'x')
  })
  for (let round = 0; round < 4; round++) {
    const plain = JSON.stringify(await profileOf(app, await app.inject('/plain')))
    t.match(plain, '"name":"x-note","from":null,"to":"s3cret"')
    t.match(plain, '"x-note":"s3cret"')
    const reset = JSON.stringify(await profileOf(app, await app.inject('/reset/s3cret')))
    t.match(reset, '"name":"x-note","from":null,"to":"******"')
    t.notMatch(reset, 's3cret')
  }
})

t.test('the beginning of a text response is collected, masked', async t => {
  const app = await build(t, {}, app => {
    app.get('/json', async () => ({ a: 1, password: 's3cret', list: [{ apiToken: 's3cret' }] }))
    app.get('/html', (_request, reply) => reply.type('text/html').send('<input type="password" name="password" value="s3cret">'))
    app.get('/long', (_request, reply) => reply.type('text/plain').send('é'.repeat(20_000)))
    app.get('/long-json', async () => ({ list: Array.from({ length: 2_000 }, (_, i) => `number ${i}`), password: 's3cret' }))
    app.get('/encoded', (_request, reply) => reply.type('text/plain').header('content-encoding', 'gzip').send(Buffer.from([31, 139])))
    app.get('/latin', (_request, reply) => reply.type('text/plain').send(Buffer.from([0xe9])))
    app.get('/empty', (_request, reply) => reply.send(''))
    app.get('/echo/:token', async (request) => `token ${(request.params as { token: string }).token}`)
    app.get('/fail', () => { throw new Error('no') })
  })
  const bodyOf = async (url: string, headers = {}) => {
    const { collectors } = await profileOf(app, await app.inject({ url, headers }))
    return collectors.response as { body?: unknown, size: number }
  }
  t.same((await bodyOf('/json')).body, { a: 1, password: '******', list: [{ apiToken: '******' }] })
  t.notMatch(JSON.stringify(await bodyOf('/html')), /s3cret/)
  const long = await bodyOf('/long')
  t.match(long.body, /^é{8000}… \(24,000 more bytes\)$/)
  const json = await bodyOf('/long-json')
  t.match(json.body, /^\{"list":.{7992}… \([\d,]+ more bytes\)$/)
  t.equal((await bodyOf('/encoded')).body, '[binary, 2 bytes, text/plain; charset=utf-8]')
  t.equal((await bodyOf('/latin')).body, '[binary, 1 bytes, text/plain; charset=utf-8]')
  t.equal((await bodyOf('/empty')).body, undefined)
  t.notMatch((await bodyOf('/echo/s3cret-value')).body, /s3cret/)
  t.equal((await bodyOf('/fail', { accept: 'text/html' })).body, '[the diagnostic page]')
})

import t from 'tap'
import { build, listen, profileOf, newest, raw } from '../app/harness.js'

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

t.test('what came in, without its secrets', async t => {
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

t.test('nor are the secrets on the page of a failure', async t => {
  const app = await build(t, {}, app => app.get('/boom', () => { throw new Error('boom') }))
  for (const accept of ['text/html', 'application/json', 'text/plain', 'text/markdown']) {
    // The page shows this very source.
    const secret = Math.random().toString(36).slice(2)
    const { body } = await app.inject({ url: `/boom?token=${secret}`, headers: { accept, authorization: `Bearer ${secret}`, cookie: `sid=${secret}` } })
    t.ok(body.includes('boom'))
    t.notOk(body.includes(secret), accept)
  }
})

t.test('names that the application adds', async t => {
  const app = await build(t, { mask: ['iban', /^patient/i] }, app => app.post('/', () => 'x'))
  const { collectors } = await profileOf(app, await app.inject({ method: 'POST', url: '/?iban=1', payload: { IBAN: 'x', patientName: 'y', other: 'z' } }))
  t.same((collectors.request as Collected).body, { IBAN: '******', patientName: '******', other: 'z' })
  t.same((collectors.request as Collected).query, { iban: '******' })
})

t.test('a body is bounded', async t => {
  const app = await build(t, {}, app => app.post('/', () => 'x'))
  const response = await app.inject({ method: 'POST', url: '/', payload: { list: Array.from({ length: 20_000 }, () => 'abcdefgh') } })
  const { collectors } = await profileOf(app, response)
  t.ok(JSON.stringify((collectors.request as Collected).body).length < 80_000)
})

t.test('bodies of other kinds', async t => {
  const app = await build(t, {}, app => {
    app.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    app.post('/', () => 'x')
  })
  for (const [type, payload, expected] of [
    ['text/plain', 'hello', 'hello'],
    ['text/plain', 'password=s3cret', 'password=******'],
    ['application/octet-stream', Buffer.from([1, 2, 3]), '[binary, 3 bytes]']
  ] as const) {
    const { collectors } = await profileOf(app, await app.inject({ method: 'POST', url: '/', headers: { 'content-type': type }, payload }))
    t.equal((collectors.request as Collected).body, expected)
  }
  await app.inject({ method: 'POST', url: '/' })
  t.equal(((await newest(app)).collectors.request as Collected).body, null)
})

t.test('a failure is collected too, with what is known', async t => {
  const app = await build(t)
  const { collectors } = await profileOf(app, await app.inject('/nix?a=1'))
  t.match(collectors.request, { method: 'GET', target: '/nix?a=1', query: { a: '1' }, attributes: { _route: null } })
  t.match(collectors.response, { status: 404, contentType: 'text/html; charset=utf-8' })
})

t.test('cookies that go out are masked', async t => {
  const app = await build(t, {}, app => app.get('/', (_request, reply) => reply.setCookie('a', 's3cret-1').setCookie('b', 's3cret-2').send('x')))
  const profile = await profileOf(app, await app.inject('/'))
  t.notOk(JSON.stringify(profile).includes('s3cret'))
  t.match((profile.collectors.response as { headers: Record<string, string[]> }).headers['set-cookie'], [/^a=\*{6}/, /^b=\*{6}/])
})

t.test('a malformed message is kept without its secrets', async t => {
  const app = await build(t)
  const answer = await raw(await listen(app), 'GET /x HTTP/1.1\r\nHost: localhost\r\nCookie: theme=S1; sid=x\r\nX-Api-Key: S2\r\nAuthorization: Token S3\r\nX-Auth-Token: S4\r\nBad Header: c\r\n\r\n')
  const { rawMessage } = (await profileOf(app, answer)).collectors.request as { rawMessage: string }
  t.equal(rawMessage, 'GET /x HTTP/1.1\r\nHost: localhost\r\nCookie: theme=******; sid=******\r\nX-Api-Key: ******\r\nAuthorization: Token ******\r\nX-Auth-Token: ******\r\nBad Header: c\r\n\r\n')
})

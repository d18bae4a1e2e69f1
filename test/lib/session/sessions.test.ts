import t from 'tap'
import type { FastifyInstance } from 'fastify'
import { build } from '../../../packages/hindsight/test/support/app.js'

function routes (app: FastifyInstance): void {
  app.get('/none', () => 'x')
  app.get('/read', request => request.cookies)
  app.get('/same', request => { const { cookies } = request; return request.cookies === cookies })
  app.get('/set', (_request, reply) => reply.setCookie('theme', 'dark').send('x'))
  app.get('/own', (request, reply) => {
    request.cookies = { mine: '1' }
    reply.setCookie('theme', 'dark')
    return request.cookies
  })
  app.get('/late', { onSend: async (_request, reply) => { reply.setCookie('late', '1') } }, () => 'x')
  app.get('/late-and-read', { onSend: async (request, reply) => { reply.setCookie('late', String(request.cookies.a)) } }, () => 'x')
  app.get(
    '/twice', { onSend: async (_request, reply) => { reply.setCookie('late', '1').clearCookie('old') } },
    (_request, reply) => reply.setCookie('theme', 'dark').send('x')
  )
}

for (const debug of [true, false]) {
  t.test(`cookies are parsed when they are read, and set at any time (${debug ? 'debug' : 'production'})`, async t => {
    const app = await build(t, { debug }, routes)
    for (const [url, cookie, body, set] of [
      ['/none', 'a=1', 'x', []],
      ['/read', 'a=1; b=%C3%BC', '{"a":"1","b":"ü"}', []],
      ['/read', undefined, '{}', []],
      ['/same', 'a=1', 'true', []],
      ['/set', undefined, 'x', ['theme=dark']],
      ['/set', 'a=1', 'x', ['theme=dark']],
      ['/own', 'a=1', '{"mine":"1"}', ['theme=dark']],
      ['/own', undefined, '{"mine":"1"}', ['theme=dark']],
      ['/late', undefined, 'x', ['late=1']],
      ['/late-and-read', 'a=7', 'x', ['late=7']],
      ['/twice', undefined, 'x', ['theme=dark', 'late=1', 'old=']]
    ] as const) {
      const response = await app.inject({ url, headers: { ...(cookie !== undefined && { cookie }) } })
      const found = [response.headers['set-cookie'] ?? []].flat().map(one => one.split(';', 1)[0])
      t.same([response.statusCode, response.body, found], [200, body, set], `${url} with ${cookie ?? 'none'}`)
    }
  })
}

t.test('before the cookie listener `request.cookies` is empty, and setCookie() works', async t => {
  const seen: unknown[] = []
  const app = await build(t, { trustedHosts: ['a.test'] }, app => {
    app.get('/', {
      errorHandler (_error, request, reply) {
        seen.push(request.cookies)
        return reply.code(400).setCookie('refused', '1').send('refused')
      }
    }, () => 'x')
  })
  const response = await app.inject({ url: '/', headers: { host: 'b.test', cookie: 'a=1' } })
  t.same(seen, [null], 'request validation has refused it')
  t.match(response.headers['set-cookie'], /^refused=1/)
})

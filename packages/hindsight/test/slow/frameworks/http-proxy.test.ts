import { brotliCompressSync } from 'node:zlib'
import proxy from '@fastify/http-proxy'
import Fastify from 'fastify'
import t from 'tap'
import { Agent } from 'undici'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import { withoutMarks } from '../../support/marks.js'

const upstream = Fastify()
upstream.get('/items/:id', async (request, reply) => {
  const { id } = request.params as { id: string }
  if (id === '1') return { id }
  reply.code(id === '8' ? 500 : 404).type('application/json')
  if (id === '9') return await reply.header('content-encoding', 'br').send(brotliCompressSync('{"error":"unknown currency"}'))
  return { error: 'unknown currency', password: 's3cret' }
})
const address = await upstream.listen({ port: 0, host: '127.0.0.1' })
t.teardown(() => upstream.close())

inBothProducts('a proxied request shows the path that was sent, and what the other server answered', async (t, build) => {
  const agent = new Agent()
  t.teardown(() => agent.close())
  const app = await build((app) => app.register(proxy, { upstream: address, prefix: '/api', undici: agent }))
  const url = `${address}/items`
  t.equal((await app.inject('/api/items/1')).statusCode, 200)
  for (const [id, status, shown] of [['7', 404, { error: 'unknown currency', password: '******' }],
    ['8', 500, { error: 'unknown currency', password: '******' }], ['9', 404, { error: 'unknown currency' }]] as const) {
    const response = await app.inject({ url: `/api/items/${id}?x=1`, headers: { accept: 'text/html' } })
    t.equal(response.statusCode, status)
    const profile = await profileOf(app, response)
    const { calls: [call] } = profile.collectors['http-client'] as { calls: object[] }
    t.match(call, { method: 'GET', url: `${url}/${id}?x=1`, status, responseBody: shown, bodyNote: undefined })
    const overview = (await app.inject({ url: `/_profiler/${profile.token}`, headers: { accept: 'text/html' } })).body
    t.ok(overview.includes(`GET ${url}/${id}?x=1: ${status} {&#34;error&#34;:&#34;unknown currency&#34;`))
    const sheet = withoutMarks((await app.inject(`/_profiler/${profile.token}.md`)).body)
    t.ok(sheet.includes(`outgoing GET ${url}/:id: 200 (/items/1) → ${status} (/items/${id})`), sheet)
  }
})

inBothProducts('a proxied request over node:http says that it publishes no body', async (t, build) => {
  const app = await build((app) => app.register(proxy, { upstream: address, prefix: '/api', http: {} }))
  const profile = await profileOf(app, await app.inject('/api/items/7'))
  const { body } = await app.inject({ url: `/_profiler/${profile.token}`, headers: { accept: 'text/html' } })
  t.ok(body.includes(`GET ${address}/items/7: 404 application/json, no body: node:http publishes none`))
})

inBothProducts('the diagnostic page of a server that does not answer has the address that was sent', async (t, build) => {
  const closed = Fastify()
  const nowhere = await closed.listen({ port: 0, host: '127.0.0.1' })
  await closed.close()
  const app = await build((app) => app.register(proxy, { upstream: nowhere, prefix: '/api' }))
  const { statusCode, body } = await app.inject({ url: '/api/items/7', headers: { accept: 'text/html' } })
  t.equal(statusCode, 500)
  t.match(body, `GET ${nowhere}/items/7`)
  t.match(body, /connect ECONNREFUSED/)
})

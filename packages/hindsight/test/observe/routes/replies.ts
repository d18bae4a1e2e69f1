import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Recorder } from '../recorder.js'

/** Octets that are no text in UTF-8. */
const OCTETS = Buffer.from([0, 255, 254, 128, 10])

/** Each kind of payload, and what a reply can do beside sending one. */
export function declareReplies (app: FastifyInstance, recorder: Recorder): void {
  app.get('/json', { config: { name: 'json', [Symbol('of the application')]: true } as object }, async () => ({ hello: 'world' }))
  app.get('/callback', (_request, reply) => { setImmediate(() => { reply.send({ sent: 'later' }) }) })
  app.get('/text', async () => 'a text')
  app.get('/octets', (_request, reply) => reply.send(OCTETS))
  app.get('/none', (_request, reply) => reply.code(204).send())
  app.get('/null', async () => null)
  app.get('/nothing', async () => {})
  app.get('/long', async () => ({ text: 'long '.repeat(100) }))
  app.get('/redirect', (_request, reply) => reply.redirect('/json'))
  app.get('/not-modified', (_request, reply) => reply.code(304).header('etag', '"of the route"').send())
  app.get('/cookies', (_request, reply) => reply.header('set-cookie', ['a=1; Path=/', 'b=2; HttpOnly']).header('set-cookie', 'c=3').send('cookies'))
  app.get('/stream', (_request, reply) => reply.type('text/plain').send(Readable.from(['a', 'b', 'c'])))
  app.get('/stream/file', async (_request, reply) => await reply.type('text/plain').send(createReadStream(import.meta.filename, { end: 99 })))
  app.get('/stream/web', (_request, reply) => reply.send(ReadableStream.from([Buffer.from('web')])))
  app.get('/response', async () => new Response('a response', { status: 201, headers: { 'x-response': '1' } }))
  app.get('/trailers', (_request, reply) => reply.trailer('x-sum', async () => 'abc').send('with trailers'))
  app.get('/raw', (_request, reply) => {
    reply.raw.writeHead(202, 'Taken', { 'x-raw': '1' }).end('raw')
    reply.hijack()
  })
  app.get('/raw/not-hijacked', (_request, reply) => { reply.raw.end('raw') })
  app.get('/hijacked', async (_request, reply) => {
    reply.hijack()
    await sleep(2)
    reply.raw.setHeader('content-type', 'text/html')
    reply.raw.end('<!doctype html><title>hijacked</title><body></body>')
  })
  app.get('/events', async (_request, reply) => {
    reply.hijack()
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    for (const event of ['one', 'two']) {
      reply.raw.write(`data: ${event}\n\n`)
      await sleep(2)
    }
    reply.raw.end()
  })
  app.get('/events/stream', (_request, reply) => reply.type('text/event-stream').send(Readable.from(['data: one\n\n', 'data: two\n\n'])))
  app.get('/log', async (request) => {
    request.log.debug({ a: 1 }, 'a debug line')
    request.log.child({ part: 'cart' }).warn('a line of a child')
    request.log.error(new Error('only logged'), 'an error that is only logged')
    app.log.info('a line of the application')
    return 'logged'
  })
  app.get('/slow', async () => {
    recorder.note('slow handler started')
    await sleep(60_000, undefined, { ref: false })
  })
  app.get('/users/:id', { constraints: { version: '1.0.0' } }, async ({ params }) => params)
  app.route({ method: ['PUT', 'PATCH'], url: '/several', handler: async ({ method }) => method })
  app.head('/head', async (_request, reply) => { reply.header('x-head', '1') })
  app.options('/options', async (_request, reply) => await reply.header('allow', 'GET').send())
  app.get('/schema', {
    schema: { response: { '2xx': { type: 'object', properties: { shown: { type: 'string' } } } } }
  }, async () => ({ shown: 'yes', hidden: 'no' }))
  app.get('/query', { schema: { querystring: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } } }, async ({ query }) => query)
  app.post('/body', { schema: { body: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } } }, async ({ body }) => body)
  app.post('/small', { bodyLimit: 10 }, async ({ body }) => body)
}

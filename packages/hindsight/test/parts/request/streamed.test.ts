import { once } from 'node:events'
import http from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { parts } from '../../../src/parts/index.js'
import { timelineOf } from '../../../src/parts/read.js'
import type { Profile } from '../../../src/store/profile.js'
import { inBothProducts } from '../../support/products.js'
import { parseHtml } from '../../support/parse-html.js'

/** The profile of the only request for a path, when it is stored. */
async function storedProfile (app: FastifyInstance, path: string): Promise<Profile> {
  for (;;) {
    const [found] = (await app.hindsight.profiler.search({ criteria: { url: path }, limit: 1 })).profiles
    const stored = found && await app.hindsight.profiler.find(found.token)
    if (stored !== undefined) return stored
    await setImmediate()
  }
}

/** The sentences of the overview. */
async function sentences (app: FastifyInstance, { token }: Profile): Promise<string[]> {
  const { body } = await app.inject({ url: `/_profiler/${token}`, headers: { accept: 'text/html' } })
  return [...parseHtml(body).querySelectorAll('.lead, .lead ~ p')].map(({ textContent }) => textContent?.replace(/\s/g, ' ') ?? '')
}

function request (url: string, accept = '*/*'): http.ClientRequest {
  return http.get(url, { headers: { accept }, agent: false })
}

inBothProducts('the overview has what a stream and a hijacked reply have sent, and who ended it', async (t, build) => {
  const app = await build((app) => {
    app.get('/stream', (_request, reply) => reply.type('text/plain').send(Readable.from(['one ', 'two ', 'thrée'])))
    app.get('/response', async () => new Response(new Blob(['from a Response']).stream()))
    app.get('/hijacked', (_request, reply) => {
      reply.hijack()
      reply.raw.writeHead(200, { 'content-type': 'text/event-stream', date: 'x', connection: 'close' })
      reply.raw.write('data: 1\n\n')
      setTimeout(() => reply.raw.end('data: 2\n\n'), 20)
    })
    app.get('/endless', (_request, reply) => {
      reply.hijack()
      reply.raw.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
    })
    app.get('/events', (_request, reply) => reply.type('text/event-stream').send(Readable.from(['data: 1\n\n', 'data: 2\n\n'])))
    app.get('/json', (_request, reply) => reply.type('application/json').send(Readable.from(['{"a":1,', '"password":"p4ss"}'])))
    app.get('/binary', (_request, reply) => reply.type('image/png').send(Readable.from(['abc'])))
    app.get('/web', (_request, reply) => reply.type('text/plain').send(new Blob(['of the web']).stream()))
    app.get('/text', async () => 'a text')
    app.get('/cut', (_request, reply) => {
      reply.hijack()
      reply.raw.writeHead(200, { 'content-type': 'text/plain' })
      reply.raw.write('one', () => { reply.raw.destroy() })
    })
  })
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const bytesOf = async (path: string): Promise<number> => {
    const [response] = await once(request(origin + path), 'response') as [http.IncomingMessage]
    const { socket } = response
    await buffer(response)
    return socket.bytesRead
  }
  await bytesOf('/stream')
  const stream = await storedProfile(app, '/stream')
  t.match(stream.collectors.response, { size: 14, streamed: { chunks: 3, bytes: 14, isHijacked: false, isClosedByClient: false } })
  t.ok((await sentences(app, stream)).includes('The response streamed 3 chunks, 14 bytes; ended by the server.'))
  t.match(timelineOf(parts, stream).find(({ legend }) => legend === 'streaming'), { name: 'streaming the response', duration: Number })
  t.equal((stream.collectors.response as { body?: unknown }).body, 'one two thrée', 'its beginning')
  for (const [path, body] of [
    ['/events', 'data: 1\n\ndata: 2\n\n'], ['/json', { a: 1, password: '******' }], ['/binary', '[stream Readable]'], ['/web', '[stream ReadableStream]']
  ] as const) {
    await bytesOf(path)
    t.same(((await storedProfile(app, path)).collectors.response as { body?: unknown }).body, body, path)
  }
  t.match((await sentences(app, await storedProfile(app, '/web'))).join('\n'),
    /The response was a web stream, and wrote \d+ bytes with the headers; ended by the server\./)
  await bytesOf('/response')
  t.match((await storedProfile(app, '/response')).collectors.response, { size: 15, streamed: { chunks: 1, bytes: 15 } })

  const bytes = await bytesOf('/hijacked')
  const hijacked = await storedProfile(app, '/hijacked')
  t.match(hijacked.collectors.response, { streamed: { isHijacked: true, isClosedByClient: false, bytes } }, 'the bytes of the client')
  t.match(hijacked.collectors.response, { bodyNote: 'not recorded: the application hijacked the reply, and wrote it itself' })
  const text = await sentences(app, hijacked)
  t.ok(text.includes(`The application hijacked the reply, and wrote ${bytes} bytes with the headers; ended by the server.`), text.join('\n'))
  t.notMatch(text.join('\n'), /waiting for something/)
  const { body: page } = await app.inject({ url: `/_profiler/${hijacked.token}`, headers: { accept: 'text/html' } })
  t.notMatch(page, /pending/)

  await bytesOf('/cut').catch(() => {})
  t.match((await sentences(app, await storedProfile(app, '/cut'))).join('\n'), /wrote .* with the headers; cut off by the server\./)

  const client = request(`${origin}/endless`, 'text/event-stream')
  const [response] = await once(client, 'response') as [http.IncomingMessage]
  await once(response, 'data')
  client.destroy()
  const endless = await storedProfile(app, '/endless')
  t.match(endless.exceptions, [], 'an event stream has no other end')
  t.match((await sentences(app, endless)).join('\n'), /hijacked the reply, and wrote \d+ bytes with the headers; closed by the client\./)
  await bytesOf('/text')
  t.notOk('streamed' in Object((await storedProfile(app, '/text')).collectors.response))
})

inBothProducts('the overview has the source of a refusal, and no sentence about its time', async (t, build) => {
  const app = await build((app) => {
    app.get('/account', {
      onRequest: async function requireUser (request, reply) {
        if (request.headers['x-user'] === undefined) {
          reply.code(401)
          return reply.send({ error: 'log in first' })
        }
      }
    }, async () => 'x')
    app.get('/thrown', async () => { throw Object.assign(new Error('no'), { statusCode: 403 }) })
  })
  const headers = { accept: 'text/html' }
  const overview = async (url: string): Promise<Document> => {
    const token = String((await app.inject({ url, headers })).headers['x-debug-token'])
    return parseHtml((await app.inject({ url: `/_profiler/${token}`, headers })).body)
  }
  const refused = await overview('/account')
  t.match([...refused.querySelectorAll('.overview h3')].map(({ textContent }) => textContent)[0], /^Sent by .*requireUser, .*streamed\.test\.ts:\d+$/)
  t.match(refused.querySelector('.declared mark .source')?.textContent, "return reply.send({ error: 'log in first' })")
  t.match(refused.querySelector('.declared .excerpt')?.textContent, "if (request.headers['x-user'] === undefined) {", 'the condition')
  t.notMatch([...refused.querySelectorAll('.lead ~ p')].map(({ textContent }) => textContent).join(), /of JavaScript/)
  t.equal((await overview('/thrown')).querySelectorAll('.excerpt').length, 1, 'an error has the line that has thrown it only')
})

import { createReadStream, readFileSync } from 'node:fs'
import { PassThrough, Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { firstAppFrame } from '../../src/errors/exception.js'
import { outcomeSentence } from '../../src/parts/overview/index.js'
import type { Profile } from '../../src/store/profile.js'
import { listen, profileOf } from '../support/app.js'
import { inBothProducts } from '../support/products.js'

const FILE = import.meta.filename
const CODE = 'HINDSIGHT_LOST_RESPONSE'
const lineOf = (name: string) => readFileSync(FILE, 'utf8').split('\n').findIndex((text) => text.endsWith(` // ${name}`)) + 1
const later = (ms = 5) => new Promise(resolve => setTimeout(resolve, ms))

/** A response as it was received, and its profile when it has an error, or after a while. */
async function exchange (app: FastifyInstance, port: number, path: string): Promise<{ status: number, body: string, profile: Profile }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`)
  const body = await response.text()
  const sent = { headers: Object.fromEntries(response.headers) }
  return { status: response.status, body, profile: await profileOf(app, sent) }
}

inBothProducts('a response that is empty because the handler returned undefined is a failure', async (t, build) => {
  const app = await build((app) => {
    app.get('/file', async (_request, reply) => { reply.send(createReadStream(FILE)) }) // file
    app.get('/web', async (_request, reply) => { reply.send(Readable.toWeb(Readable.from(['x']))) }) // web
    app.get('/response', async (_request, reply) => { reply.send(new Response('x')) }) // response
    app.get('/again', (_request, reply) => { // again
      reply.send(createReadStream(FILE))
      reply.send()
    })
    app.register(async (scope) => {
      scope.addHook('onSend', async (_request, _reply, payload) => {
        if (typeof (payload as Readable | undefined)?.pipe !== 'function' && !Buffer.isBuffer(payload)) return payload
        await later()
        return payload instanceof Readable ? payload.pipe(new PassThrough()) : payload
      })
      scope.get('/hook', async (_request, reply) => { reply.code(201).send(createReadStream(FILE)) }) // hook
      scope.get('/memory', async (_request, reply) => { reply.send(Readable.from(['x'])) }) // memory
      scope.get('/buffer', async (_request, reply) => { reply.send(Buffer.from('x')) }) // buffer
    })
  })
  const port = await listen(app)
  for (const [name, what] of [
    ['file', 'a stream (ReadStream)'], ['web', 'a stream (ReadableStream)'], ['response', 'a stream (Response)'],
    ['again', 'a stream (ReadStream)'], ['hook', 'a stream (ReadStream)'], ['memory', 'a stream (Readable)'], ['buffer', 'a payload']
  ] as const) {
    const { status, body, profile } = await exchange(app, port, `/${name}`)
    t.equal(body, '', name)
    t.equal(status, name === 'hook' ? 201 : 200, name)
    t.equal(profile.status, status, name)
    const second = name === 'again' ? 'it was called again without a payload' : 'the handler returned undefined'
    const advice = name === 'again' ? '' : '. Return the reply'
    const message = `The client received an empty response: reply.send() was called with ${what}, and ${second} before that was sent${advice}`
    t.match(profile.exceptions, [{ code: CODE, message }], name)
    t.equal(profile.exceptions.length, 1, name)
    const line = lineOf(name) + (name === 'again' ? 1 : 0)
    t.match(firstAppFrame(profile.exceptions), { file: FILE, line }, name)
    const sentence = `^GET returned ${status} \\w+ in .* \\S+\\. The client received an empty response: .*lost-response\\.test\\.ts:${line}\\)\\.$`
    t.match(outcomeSentence(profile), new RegExp(sentence), name)
    const { profiles } = await app.hindsight.profiler.search({ limit: 20 })
    t.match(profiles.find(({ token }) => token === profile.token), { error: true, exception: `LostResponseError: ${message}`.slice(0, 300) }, name)
    t.equal((profile.collectors.response as { status: number }).status, status, name)
  }
})

inBothProducts('a response that reaches its client is none that is lost', async (t, build) => {
  const app = await build((app) => {
    app.get('/returned', async (_request, reply) => reply.send(createReadStream(FILE)))
    app.get('/reply', async (_request, reply) => {
      reply.send(Readable.from(['x']))
      return reply
    })
    app.get('/synchronous', (_request, reply) => { reply.send(createReadStream(FILE)) })
    app.get('/hijacked', async (_request, reply) => {
      reply.hijack()
      reply.raw.end('x')
    })
    app.get('/text', async (_request, reply) => { reply.send('x') })
    app.get('/redirect', async (_request, reply) => { reply.redirect('/text') })
    app.get('/nothing', async (_request, reply) => { reply.code(204).send(createReadStream(FILE)) })
  })
  for (const path of ['/returned', '/reply', '/synchronous', '/hijacked', '/text', '/redirect', '/nothing']) {
    const response = await app.inject(path)
    if (path !== '/redirect' && path !== '/nothing') t.not(response.body, '', path)
    const { profiles: [summary] } = await app.hindsight.profiler.search({ limit: 1 })
    t.match(summary, { error: false, url: RegExp(`${path}$`) }, path)
  }
  const { profile } = await exchange(app, await listen(app), '/returned')
  t.same(profile.exceptions, [])
})

inBothProducts('a file that is missing is the first error, and no other one is made up', async (t, build) => {
  const app = await build((app) => {
    app.get('/lost', async (_request, reply) => { reply.send(createReadStream('no-such-file')) })
    app.get('/returned', async (_request, reply) => reply.send(createReadStream('no-such-file')))
  })
  const port = await listen(app)
  for (const path of ['/lost', '/returned']) {
    let { status, body, profile } = await exchange(app, port, path)
    for (let tries = 0; profile.exceptions[0]?.code !== 'ENOENT' && tries < 2_000; tries++) {
      await later()
      profile = await profileOf(app, { headers: { 'x-debug-token': profile.token } })
    }
    const codes = [profile.exceptions, ...profile.collectors.otherErrors as Profile['exceptions'][] ?? []].flat().map(({ code }) => code)
    t.same(codes, path === '/lost' ? ['ENOENT', CODE] : ['ENOENT'], path)
    t.equal(profile.status, status, path)
    t.equal(body === '', path === '/lost', path)
    const sentence = outcomeSentence(profile)
    if (path === '/lost') t.match(sentence, /^GET returned 200 OK in .*, and an error was recorded: Error: ENOENT.* The client received an empty response: /)
    else t.notMatch(sentence, 'The client received')
  }
})

inBothProducts('a second response that takes the place of a stream is the one of the profile', async (t, build) => {
  const app = await build((app) => {
    app.get('/sent', (_request, reply) => {
      reply.send(createReadStream(FILE)) // first
      reply.send('second')
    })
    app.get('/returned', async (_request, reply) => {
      reply.send(createReadStream(FILE))
      return 'second'
    })
  })
  const port = await listen(app)
  for (const path of ['/sent', '/returned']) {
    const { body, profile } = await exchange(app, port, path)
    t.equal(body, 'second', path)
    t.match(profile.exceptions, [{ code: CODE, message: /^The client received the second of two responses: / }], path)
    t.equal((profile.collectors.response as { body: unknown }).body, 'second', path)
  }
})

inBothProducts('a lost response is a failure in production, too', async (t, build) => {
  const app = await build((app) => {
    app.get('/', async (_request, reply) => { reply.send(createReadStream(FILE)) })
    app.get('/sent', async (_request, reply) => reply.send(createReadStream(FILE)))
  }, { debug: false, profiler: 'errors' })
  for (const path of ['/', '/sent']) t.equal((await app.inject(path)).body === '', path === '/', path)
  const { profiles } = await app.hindsight.profiler.search({ limit: 5 })
  t.match(profiles, [{ error: true, exception: /^LostResponseError: The client received an empty response: .* the handler returned undefined/ }])
  t.equal(profiles.length, 1)
})

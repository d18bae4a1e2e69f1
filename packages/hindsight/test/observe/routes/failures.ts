import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Recorder } from '../recorder.js'

/** Each way in which a route can fail, and `callNotFound()`. */
export function declareFailures (app: FastifyInstance, recorder: Recorder): void {
  const thrown: Record<string, () => unknown> = {
    error: () => new Error('broken', { cause: new Error('the cause') }),
    string: () => 'a string',
    object: () => ({ statusCode: 418, message: 'an object' }),
    null: () => null,
    undefined: () => undefined,
    status: () => Object.assign(new Error('not allowed'), { statusCode: 403, headers: { 'x-of-the-error': '1', 'retry-after': '5' }, code: 'E_FORBIDDEN' }),
    'not-found': () => Object.assign(new Error('no such article'), { statusCode: 404 }),
    'bad-status': () => Object.assign(new Error('an invalid status'), { statusCode: 42 })
  }
  for (const [name, make] of Object.entries(thrown)) {
    app.get(`/throws/${name}`, async () => {
      const value = make()
      if (value === null || value === undefined) recorder.noteFailure(`throws ${name}`)
      throw value
    })
  }
  app.get('/throws/at-once', () => { throw new TypeError('broken at once') })
  app.get('/throws/in-hook', { preHandler: async () => { throw new Error('broken in a hook') } }, async () => 'x')
  app.get('/throws/in-callback', { onRequest: (_request, _reply, done) => { done(new Error('broken in a callback')) } }, async () => 'x')
  app.get('/throws/in-serialization', { preSerialization: async () => { throw new Error('broken in preSerialization') } }, async () => ({}))
  app.get('/throws/in-send', {
    onSend: async () => {
      recorder.noteFailure('onSend of a route')
      throw new Error('broken in onSend')
    }
  }, async () => 'x')
  app.get('/refused/payload', {
    onSend: async (_request, reply, payload) => reply.statusCode < 400 ? { data: payload } : payload,
    preSerialization: async (_request, _reply, payload) => payload
  }, async () => ({ a: 1 }))
  app.get('/refused/header', async (_request, reply) => { reply.header('x-bad', 'a\nb'); return { a: 1 } })
  app.get('/refused/value', { preSerialization: (_request, _reply, _payload, done) => { done(null, { a: 1n }) } }, async () => ({ a: 1 }))
  app.get('/throws/after-sending', async (_request, reply) => {
    reply.send('sent')
    throw new Error('too late')
  })
  app.get('/sent-twice', (_request, reply) => {
    reply.send('first')
    reply.send('second')
  })
  app.get(
    '/schema/fails', { schema: { response: { 200: { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] } } } }, async () => ({ b: 1 })
  )
  app.get(
    '/schema/of-errors', { schema: { response: { 500: { type: 'object', properties: { message: { type: 'string' } } } } } },
    async () => { throw new Error('as the schema says') }
  )
  app.get('/returns-error', async () => new Error('returned'))
  app.get('/sends-error', (_request, reply) => { reply.code(422).send(new Error('sent')) })
  app.get('/like-fastify', (_request, reply) => {
    recorder.noteOwn('like that of Fastify')
    reply.code(404).send({ message: 'Route GET:/like-fastify not found', error: 'Not Found', statusCode: 404 })
  })
  app.get(
    '/stream/fails', (_request, reply) => reply.type('text/plain').send(new Readable({ read () { this.destroy(new Error('broken before the first octet')) } }))
  )
  app.get('/stream/fails-later', (_request, reply) => {
    reply.type('text/plain').send(Readable.from((async function * () {
      yield 'begun'
      await sleep(5)
      throw new Error('broken in the middle')
    })()))
  })
  app.get('/handler-timeout', { handlerTimeout: 5 }, async () => {
    await sleep(15)
    recorder.note('the handler ended after its timeout')
    return 'late'
  })
  app.get('/calls-not-found', (_request, reply) => { reply.callNotFound() })
  app.get('/calls-not-found/later', async (_request, reply) => {
    await sleep(1)
    reply.callNotFound()
    return reply
  })
  app.get('/calls-not-found/in-hook', { onRequest: (_request, reply) => { reply.callNotFound() } }, async () => 'x')
  app.get('/own-handler', {
    errorHandler: (error, _request, reply) => {
      recorder.noteOwn('the handler of the route')
      reply.code(500).send({ own: (error as Error).message })
    }
  }, async () => { throw new Error('broken') })
}

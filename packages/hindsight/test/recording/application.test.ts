import t from 'tap'
import type { FastifyInstance } from 'fastify'
import { build, profileOf } from '../support/app.js'

const html = { accept: 'text/html' }

t.test('an error handler of the application answers, and the profile has the report', async t => {
  const app = await build(t, {}, async app => {
    await app.register(async (child: FastifyInstance) => {
      child.setErrorHandler((error, _request, reply) => { reply.code(418).send({ mine: (error as Error).message }) })
      child.get('/child', async () => { throw new Error('in a child', { cause: new TypeError('root') }) })
      child.get('/fine', async () => 'fine')
    })
    app.get('/route', { errorHandler: (_error, _request, reply) => { reply.code(409).send('by the route') } }, async () => { throw new Error('in a route') })
    app.get('/async', { errorHandler: (async (error: Error) => ({ later: error.message })) as never }, async () => { throw new Error('asynchronous') })
  })
  for (const [url, status, body, messages] of [
    ['/child', 418, '{"mine":"in a child"}', ['root', 'in a child']],
    ['/route', 409, 'by the route', ['in a route']],
    ['/async', 200, '{"later":"asynchronous"}', ['asynchronous']]
  ] as const) {
    const response = await app.inject({ url, headers: html })
    t.equal(response.statusCode, status, url)
    t.equal(response.body, body, url)
    const profile = await profileOf(app, response)
    t.same(profile.exceptions.map(({ message }) => message), messages, url)
    const inError = profile.events.filter(({ pass }) => pass === 'error')
    t.equal(inError.filter(({ stage }) => stage === 'kernel.controller').length, 6, url)
    t.equal(inError.filter(({ stage }) => stage === 'kernel.response').length, 16, url)
    t.equal(profile.events.filter(({ pass, stage }) => pass === 'main' && stage === 'kernel.response').length, 0, url)
  }
  t.same((await profileOf(app, await app.inject('/fine'))).exceptions, [])
})

t.test('an error handler that throws adds its error to the profile', async t => {
  const app = await build(t, {}, app => {
    app.register(async (child: FastifyInstance) => {
      child.setErrorHandler(() => { throw new Error('second') })
      child.get('/', async () => { throw new Error('first') })
    })
  })
  const response = await app.inject({ url: '/', headers: html })
  t.equal(response.statusCode, 500)
  const profile = await profileOf(app, response)
  t.equal(profile.exceptions.at(-1)?.message, 'second')
  t.match(JSON.stringify(profile.collectors.otherErrors), 'first')
})

t.test('a hook that raises after the response leaves it unchanged, and its error is in the profile', async t => {
  const app = await build(t, {}, async app => {
    app.get('/', async () => 'fine')
    app.get('/route', { onResponse: async () => { throw new Error('of a route') } }, async () => 'fine')
    await app.register(async (child: FastifyInstance) => {
      child.addHook('onResponse', async () => { throw new Error('a promise') })
      child.get('/promise', async () => 'fine')
    })
    await app.register(async (child: FastifyInstance) => {
      child.addHook('onResponse', (_request, _reply, done) => { done(new Error('a callback')) })
      child.get('/callback', async () => 'fine')
    })
    await app.register(async (child: FastifyInstance) => {
      child.addHook('onError', async () => { throw new Error('an onError') })
      child.get('/error', { errorHandler: (error, _request, reply) => { reply.send(error) } }, async () => { throw new Error('first') })
    })
  })
  for (const [url, message] of [['/promise', 'a promise'], ['/callback', 'a callback'], ['/route', 'of a route']] as const) {
    const response = await app.inject(url)
    t.equal(response.body, 'fine', url)
    t.equal((await profileOf(app, response)).exceptions.at(-1)?.message, message, url)
  }
  const failed = await profileOf(app, await app.inject('/error'))
  t.equal(failed.exceptions.at(-1)?.message, 'first')
  t.match(JSON.stringify(failed.collectors.otherErrors), 'an onError')
  t.same((await profileOf(app, await app.inject('/'))).exceptions, [])
})

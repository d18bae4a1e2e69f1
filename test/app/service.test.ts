import cookie from '@fastify/cookie'
import fastifyCors from '@fastify/cors'
import fastifyHelmet from '@fastify/helmet'
import fastifySession from '@fastify/session'
import Fastify, { type FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import t, { type Test } from 'tap'
import { service } from '../../app/service.js'
import { SERVICE_OPTIONS } from '../../lib/check-options.js'
import type { ServiceOptions } from '../../lib/options.js'
import { expectedValues } from '../../packages/hindsight/src/check-options.js'
import { profileOf, refusal, SECRET } from '../../packages/hindsight/test/support/app.js'

/** The names of the listeners that can be left to the application. */
const OPTIONAL_LISTENERS = SERVICE_OPTIONS.leave?.items?.enum ?? []

const HTML = { accept: 'text/html,*/*;q=0.8' }

/** An application that registers the service first; in memory, so that nothing has to be cleared away. */
async function application (t: Test, declare: (app: FastifyInstance) => unknown = () => {}, options: ServiceOptions = {}): Promise<FastifyInstance> {
  const app = Fastify({ pluginTimeout: 60_000 })
  await app.register(service, { profiler: { storage: 'memory' }, ...options })
  await declare(app)
  t.teardown(() => app.close())
  return app
}

t.test('the listener that restricts the pages to a role cannot be left to the application', async (t) => {
  t.match(await refusal({
    debug: false,
    leave: ['is-granted'],
    profiler: { production: true, storage: 'memory' },
    profilerRole: 'ROLE_OPERATOR',
    security: { providers: { people: { users: [] } }, firewalls: [{ name: 'all', authenticators: { basic: true } }] }
  }), /"is-granted" cannot be left to the application/)
})

t.test('an error handler of a part of the application answers, and the profile has the error', async (t) => {
  const app = await application(t, async (app) => {
    await app.register(async (part) => {
      part.setErrorHandler((error, _request, reply) => reply.code(500).send({ own: (error as Error).message }))
      part.get('/fails', async () => { throw new Error('broken') })
    })
    await app.register(async (part) => {
      part.setErrorHandler(() => { throw new Error('broken again') })
      part.get('/fails-twice', async () => { throw new Error('broken') })
    })
    await app.register(async (part) => {
      part.setNotFoundHandler((_request, reply) => reply.code(404).send({ own: 'of the part' }))
      part.get('/x', async () => 'x')
    }, { prefix: '/part' })
  })
  const failed = await app.inject({ url: '/fails', headers: HTML })
  t.same(failed.json(), { own: 'broken' })
  t.equal((await profileOf(app, failed)).exceptions.at(-1)?.message, 'broken')
  const twice = await app.inject({ url: '/fails-twice', headers: HTML })
  t.match(twice.body, /<title>broken again/)
  t.equal((await profileOf(app, twice)).exceptions.at(-1)?.message, 'broken again')
  const missed = await app.inject({ url: '/part/nowhere', headers: HTML })
  t.same(missed.json(), { own: 'of the part' })
  const profile = await profileOf(app, missed)
  t.equal(profile.exceptions.at(-1)?.message, 'No route found for "GET http://localhost/part/nowhere"')
  t.equal(profile.events.find(({ listener }) => listener === 'router')?.reason, 'no route matched, and the application answers that itself')
})

t.test('an error handler at the root replaces ours', async (t) => {
  const app = Fastify({ pluginTimeout: 60_000 })
  t.teardown(() => app.close())
  await app.register(service, { profiler: { storage: 'memory' } })
  app.setErrorHandler((error, request, reply) => {
    if (request.url === '/fails-twice') throw new Error('broken again')
    return reply.code(500).send({ own: (error as Error).message })
  })
  app.get('/fails', async () => { throw new Error('broken') })
  app.get('/fails-twice', async () => { throw new Error('broken') })
  t.same((await app.inject({ url: '/fails', headers: HTML })).json(), { own: 'broken' })
  const { exceptions, collectors } = await profileOf(app, await app.inject('/fails-twice'))
  t.match(exceptions, [{ message: 'broken again' }])
  t.match(collectors.otherErrors, [[{ message: 'broken' }]])
})

t.test('a not-found handler at the root before the service stops the start', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ own: 'nothing' }))
  await t.rejects(
    async () => { await app.register(service, { profiler: { storage: 'memory' } }) },
    { message: /^The service sets the not-found handler/ }
  )
})

const SESSION = { secret: SECRET }
const conflicts: Array<[name: string, plugin: () => unknown, options: ServiceOptions]> = [
  ['@fastify/cors', () => fastifyCors, { cors: [{ origin: 'https://other.example' }] }],
  ['@fastify/helmet', () => fastifyHelmet, {}]
]
for (const [name, plugin, options] of conflicts) {
  t.test(`${name} beside the listeners that do the same stops the start, wherever it is registered`, async (t) => {
    const message = new RegExp(`^${name} and .* do the same`)
    const before = Fastify()
    t.teardown(() => before.close())
    await before.register(plugin() as typeof fastifyHelmet)
    await t.rejects(async () => { await before.register(service, { profiler: { storage: 'memory' }, ...options }) }, { message })
    const within = await application(t, async (app) => {
      await app.register(async (part) => { await part.register(plugin() as typeof fastifyHelmet) })
    }, options)
    await t.rejects(async () => { await within.ready() }, { message })
    const without = await application(t, async (app) => {
      await app.register(plugin() as typeof fastifyHelmet)
      app.get('/', async () => 'x')
    }, { leave: name === '@fastify/helmet' ? ['content-security-policy', 'clickjacking', 'xss-protection', 'referrer-policy', 'content-type'] : [] })
    t.equal((await without.inject('/')).statusCode, 200, 'without the listeners it starts')
  })
}

// Only the name decides.
const cookieless = fp(async () => {}, { name: '@fastify/session' })

t.test('sessions of the application beside ours are refused', async (t) => {
  const before = Fastify()
  t.teardown(() => before.close())
  await before.register(cookie)
  await before.register(fastifySession, { secret: SESSION.secret })
  await t.rejects(
    async () => { await before.register(service, { profiler: { storage: 'memory' }, session: SESSION }) },
    { message: /^@fastify\/session and the option session/ }
  )
  const within = await application(t, async (app) => {
    await app.register(async (part) => {
      await part.register(cookieless)
    })
  }, { session: SESSION })
  await t.rejects(async () => { await within.ready() }, { message: /^@fastify\/session and the option session/ }, 'in a part')
  const after = await application(t, () => {}, { session: SESSION })
  t.throws(() => after.decorateRequest('session', null as never), { code: 'FST_ERR_DEC_ALREADY_PRESENT' }, 'afterwards Fastify refuses the second decorator')
})

for (const name of OPTIONAL_LISTENERS) {
  t.test(`${name} can be left to the application`, async (t) => {
    const app = await application(t, (app) => {
      app.get('/', async () => ({ hello: 'world' }))
      app.get('/fails', async () => { throw new Error('no') })
    }, { leave: [name], session: SESSION })
    const response = await app.inject('/')
    t.same(response.json(), { hello: 'world' })
    const { events } = await profileOf(app, response)
    const own = events.filter(({ listener }) => listener === name)
    t.ok(own.length > 0)
    for (const { outcome, reason } of own) t.same([outcome, reason], ['skipped', 'left to the application'])
    t.equal((await app.inject({ url: '/fails', headers: HTML })).statusCode, 500)
    t.equal((await app.inject({ url: '/nowhere', headers: HTML })).statusCode, 404)
  })
}

const refused: Array<[options: object, message: string]> = [
  [{ leave: ['corse'] }, `Option "leave[0]" must be ${expectedValues({ types: ['string'], enum: OPTIONAL_LISTENERS })}, not "corse"`],
  [{ leave: ['cors', 'router'] }, `Option "leave[1]" must be ${expectedValues({ types: ['string'], enum: OPTIONAL_LISTENERS })}, not "router"`],
  [{ leave: 'cors' }, 'Option "leave" must be an array, not a string']
]
for (const [options, message] of refused) {
  t.test(message, async (t) => {
    t.equal(await refusal(options), message)
  })
}

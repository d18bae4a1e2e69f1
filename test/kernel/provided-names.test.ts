import cookie from '@fastify/cookie'
import session from '@fastify/session'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import t from 'tap'
import { build } from '../support/app.js'

// What every application has by the lifecycle, and may want for itself.
const REQUEST = ['locale', 'route', 'attributes', 'pagination', 'paginate', 'addLink', 'asset', 'assetTags', 'preload', 'services', 'cookies']

for (const name of REQUEST) {
  t.test(`the application may call something of its requests ${name}`, async (t) => {
    const app = await build({
      declare: (app) => {
        app.decorateRequest(name, 'of the application')
        app.get('/', async (request) => ({ own: (request as unknown as Record<string, unknown>)[name] }))
      }
    })
    t.teardown(() => app.close())
    for (let i = 0; i < 2; i++) t.same((await app.inject('/')).json(), { own: 'of the application' })
  })
}

t.test('an encapsulated plugin has its own, and the others have ours', async (t) => {
  const app = await build({
    declare: async (app) => {
      app.get('/ours', async (request) => request.locale)
      await app.register(async (child) => {
        child.decorateRequest('locale', { getter: () => 'theirs' })
        child.get('/theirs', async (request) => request.locale)
      })
    }
  })
  t.teardown(() => app.close())
  t.equal((await app.inject('/ours')).body, 'en')
  t.equal((await app.inject('/theirs')).body, 'theirs')
})

t.test('the name of a reply', async (t) => {
  const app = await build({
    declare: (app) => {
      app.decorateReply('cspNonce', { getter: () => ({ script: 'mine', style: 'mine' }) })
      app.get('/', async (_request, reply) => reply.cspNonce.script)
      app.get('/fails', async () => { throw new Error('no') })
    }
  })
  t.teardown(() => app.close())
  t.equal((await app.inject('/')).body, 'mine')
  const page = await app.inject('/fails')
  t.equal(page.statusCode, 500)
  t.notMatch(page.headers['content-security-policy'], 'mine', 'our page has nonces of its own')
})

t.test('cookies and sessions that the application registers itself', async (t) => {
  const app = await build({
    session: false,
    declare: async (app) => {
      await app.register(cookie, { secret: 'the secret of the application' })
      await app.register(session, { secret: 'a secret of the application, long enough for it', cookie: { secure: false } })
      app.get('/', async (request, reply) => {
        const counted = request.session as unknown as { count?: number }
        counted.count = (counted.count ?? 0) + 1
        reply.setCookie('flavour', 'oats', { signed: true })
        return { count: counted.count, flavour: request.unsignCookie(request.cookies.flavour ?? '').value }
      })
    }
  })
  t.teardown(() => app.close())
  const first = await app.inject('/')
  t.same(first.json(), { count: 1, flavour: null })
  t.equal([first.headers['set-cookie']].flat().length, 2)
  const cookies = Object.fromEntries(first.cookies.map(({ name, value }) => [name, value]))
  t.same((await app.inject({ url: '/', cookies })).json(), { count: 2, flavour: 'oats' })
})

t.test('a name of the instance, and the same plugin registered twice by the application is refused as ever', async (t) => {
  const app = await build({ declare: (app: FastifyInstance) => { app.decorate('serializeCookie', () => 'own') } })
  t.teardown(() => app.close())
  t.equal((app.serializeCookie as unknown as () => string)(), 'own')
  const twice = fp(async (app: FastifyInstance) => { app.decorateRequest('locale', { getter (this: FastifyRequest) { return 'x' } }) })
  await t.rejects(build({
    declare: async (app) => {
      await app.register(twice)
      await app.register(twice)
    }
  }), { code: 'FST_ERR_DEC_ALREADY_PRESENT' })
})

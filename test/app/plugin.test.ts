import { get } from 'node:http'
import cookie from '@fastify/cookie'
import fastifyCors from '@fastify/cors'
import fastifyHelmet from '@fastify/helmet'
import fastifySession from '@fastify/session'
import Fastify, { type FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import t, { type Test } from 'tap'
import { hindsight } from '../../app/hindsight.js'
import { LEAVABLE } from '../../app/leave.js'
import type { HindsightOptions } from '../../app/options.js'
import { profileOf } from '../support/app.js'

const TEXT = 'text' as unknown as Error
const HTML = { accept: 'text/html,*/*;q=0.8' }

/** An application that registers the plugin first, as its README says; in memory, so that nothing has to be cleared away. */
async function application (t: Test, declare: (app: FastifyInstance) => unknown = () => {}, options: HindsightOptions = {}): Promise<FastifyInstance> {
  const app = Fastify({ pluginTimeout: 60_000 })
  await app.register(hindsight, { profiler: { storage: 'memory' }, ...options })
  await declare(app)
  t.teardown(() => app.close())
  return app
}

async function reasonsOf (app: FastifyInstance, url = '/'): Promise<Map<string, string | undefined>> {
  const { events } = await profileOf(app, await app.inject(url))
  return new Map(events.map(({ stage, listener, reason }) => [`${stage} ${listener}`, reason]))
}

t.test('the plugin needs no option: pages, profiles, toolbar', async (t) => {
  const app = await application(t, (app) => {
    app.get('/', async (_request, reply) => await reply.type('text/html').send('<!doctype html><title>x</title><body></body>'))
  })
  const page = await app.inject({ url: '/', headers: HTML })
  t.equal(page.statusCode, 200)
  t.match(page.headers['x-debug-token'], /^[0-9a-f]{6}$/)
  t.match(page.body, /_wdt|hindsight/)
  t.equal((await app.inject('/_profiler/')).statusCode, 200)
  t.equal((await app.inject(`/_wdt/${String(page.headers['x-debug-token'])}`)).statusCode, 200)
  t.equal((await reasonsOf(app)).get('kernel.request session'), 'the request brought no cookies')
})

t.test('debug pages are for nobody else, whatever form a client asks for', async (t) => {
  for (const errorPages of ['asked', 'always'] as const) {
    const app = await application(t, (app) => { app.get('/', async () => 'x') }, { errorPages })
    const token = String((await app.inject('/')).headers['x-debug-token'])
    await profileOf(app, await app.inject('/'))
    const origin = await app.listen({ host: '127.0.0.1', port: 0 })
    const statusOf = async (path: string, headers: Record<string, string>): Promise<number | undefined> => await new Promise((resolve, reject) => {
      get(`${origin}${path}`, { headers }, (response) => { response.resume().once('close', () => { resolve(response.statusCode) }) }).once('error', reject)
    })
    const paths = ['/_profiler/', '/_profiler/search.json', '/_profiler/latest', `/_profiler/${token}`, `/_profiler/${token}.md`, `/_profiler/${token}/headers.json`, `/_profiler/${token}/as/curl`, `/_profiler/${token}/replay`, `/_profiler/${token}/compare/${token}`, `/_wdt/${token}`, '/_error/500']
    for (const path of paths) {
      for (const accept of [{}, { accept: '*/*' }, { accept: 'application/json' }, { accept: 'text/html' }]) t.equal(await statusOf(path, { host: 'evil.example', ...accept }), 404, `${path} ${JSON.stringify(accept)}`)
    }
    t.equal(await statusOf('/_profiler/', {}), 200)
  }
})

t.test('what keeps the pages for a role cannot be left to the application', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await t.rejects(async () => await app.register(hindsight, {
    debug: false,
    leave: ['is-granted'],
    profiler: { production: true, role: 'ROLE_OPERATOR', storage: 'memory' },
    security: { providers: { people: { users: [] } }, firewalls: [{ name: 'all', authenticators: { basic: true } }] }
  }), { message: /"is-granted" cannot be left to the application/ })
})

t.test('below a prefix the pages are below it too, and all links lead there', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(async (child) => {
    await child.register(hindsight, { profiler: { storage: 'memory' } })
    child.get('/', async (_request, reply) => await reply.type('text/html').send('<!doctype html><title>x</title><body></body>'))
  }, { prefix: '/shop' })
  const page = await app.inject({ url: '/shop/', headers: HTML })
  const token = String(page.headers['x-debug-token'])
  const link = String(page.headers['x-debug-token-link'])
  t.equal(link, `http://localhost/shop/_profiler/${token}`)
  t.equal((await app.inject({ url: new URL(link).pathname, headers: HTML })).statusCode, 200)
  const data = /data-more="([^"]+)"/.exec(page.body)?.[1] ?? ''
  t.equal(data, `/shop/_wdt/${token}.json`)
  t.equal((await app.inject(data)).json<{ url: string }>().url, link)
  t.notOk((await app.inject('/shop/_profiler/nowhere/at/all')).headers['x-debug-token'], 'its own pages leave no profiles')
})

t.test('debug mode is off where NODE_ENV says production', async (t) => {
  const before = process.env.NODE_ENV
  process.env.NODE_ENV = 'production'
  t.teardown(() => { if (before === undefined) delete process.env.NODE_ENV; else process.env.NODE_ENV = before })
  const app = await application(t, (app) => { app.get('/', async () => 'x') })
  t.equal((await app.inject('/')).headers['x-debug-token'], undefined)
  t.equal((await app.inject('/_profiler/')).statusCode, 404)
})

t.test('twice is refused', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(hindsight, { profiler: { storage: 'memory' } })
  await t.rejects(async () => { await app.register(hindsight) }, { message: 'fastify-hindsight is registered twice' })
})

t.test('who asks for a page gets it; everybody else is answered as Fastify does', async (t) => {
  const declare = (app: FastifyInstance): void => {
    app.get('/fails', async (_request, reply) => {
      reply.header('etag', '"x"')
      throw Object.assign(new Error('broken'), { statusCode: 418, code: 'TEAPOT' })
    })
    app.get('/throws-text', () => { throw TEXT })
    app.post('/valid', { schema: { body: { type: 'object', required: ['a'] } } }, async () => 'x')
  }
  const bare = Fastify()
  declare(bare)
  t.teardown(() => bare.close())
  const app = await application(t, declare)
  const asked: Array<[name: string, request: object]> = [
    ['an error', { url: '/fails' }],
    ['anything is fine', { url: '/fails', headers: { accept: '*/*' } }],
    ['JSON', { url: '/fails', headers: { accept: 'application/json, text/plain, */*' } }],
    ['what is no error', { url: '/throws-text' }],
    ['a body that is not valid', { method: 'POST', url: '/valid', payload: {} }],
    ['a body that cannot be parsed', { method: 'POST', url: '/valid', headers: { 'content-type': 'application/json' }, payload: '{' }],
    ['an unknown media type', { method: 'POST', url: '/valid', headers: { 'content-type': 'x/y' }, payload: 'x' }],
    ['no route', { url: '/nowhere' }],
    ['no method', { method: 'DELETE', url: '/fails' }],
    ['the other trailing-slash form', { url: '/fails/' }]
  ]
  for (const [name, request] of asked) {
    const [ours, theirs] = [await app.inject(request), await bare.inject(request)]
    t.equal(ours.statusCode, theirs.statusCode, name)
    t.equal(ours.body, theirs.body, name)
    for (const header of Object.keys(theirs.headers)) if (header !== 'date') t.equal(ours.headers[header], theirs.headers[header], `${name}: ${header}`)
    t.match((await profileOf(app, ours)).exceptions, [{}], `${name}: the profile has what was raised`)
  }
  for (const type of ['text/html', 'text/markdown', 'text/plain', 'application/problem+json']) {
    for (const [name, request] of asked.filter(([, request]) => !('headers' in request))) {
      const { headers, body } = await app.inject({ ...request, headers: { accept: type } })
      if (name !== 'the other trailing-slash form') t.match(headers['content-type'], type, `${name}, ${type}`)
      t.ok(body.length > 10)
    }
  }
  t.match((await app.inject({ url: '/fails', headers: HTML })).body, /broken/)
})

t.test('a method that no route takes is explained, though Fastify says that there is no route', async (t) => {
  const app = await application(t, (app) => { app.get('/', async () => 'x') })
  const { collectors, status } = await profileOf(app, await app.inject({ method: 'DELETE', url: '/' }))
  t.equal(status, 404)
  t.match(collectors.blocked, [{ kind: 'method', sentence: /those that are there take GET/ }])
})

t.test('the handlers of the application stand in place of ours', async (t) => {
  const app = await application(t, async (app) => {
    app.setErrorHandler((error, _request, reply) => reply.code(500).send({ own: (error as Error).message }))
    app.setNotFoundHandler((_request, reply) => reply.code(404).send({ own: 'nothing' }))
    app.get('/fails', async () => { throw new Error('broken') })
    await app.register(async (child) => {
      child.setNotFoundHandler((_request, reply) => reply.code(404).send({ own: 'of the child' }))
      child.get('/x', async () => 'x')
    }, { prefix: '/child' })
  })
  t.same((await app.inject({ url: '/fails', headers: HTML })).json(), { own: 'broken' })
  const missed = await app.inject({ url: '/nowhere', headers: HTML })
  t.same(missed.json(), { own: 'nothing' })
  t.same((await app.inject({ url: '/child/nowhere', headers: HTML })).json(), { own: 'of the child' })
  const profile = await profileOf(app, missed)
  t.equal(profile.exceptions.at(-1)?.message, 'No route found for "GET http://localhost/nowhere"')
  t.equal(profile.events.find(({ listener }) => listener === 'router')?.reason, 'no route matched, and the application answers that itself')
})

t.test('what the application has set and registered ahead of the plugin stands as well', async (t) => {
  for (const errorPages of ['asked', 'always'] as const) {
    const app = Fastify()
    t.teardown(() => app.close())
    let calls = 0
    app.setErrorHandler((error, request, reply) => {
      calls++
      if (request.url === '/fails-twice') throw new Error('broken again')
      return reply.code(500).send({ own: (error as Error).message })
    })
    app.setNotFoundHandler((_request, reply) => reply.code(404).send({ own: 'nothing' }))
    await app.register(fastifyHelmet, { xFrameOptions: { action: 'sameorigin' } })
    await app.register(fastifyCors, { origin: 'https://app.example' })
    await app.register(hindsight, { errorPages, profiler: { storage: 'memory' }, cors: [{ origin: 'https://other.example' }] })
    for (const url of ['/fails', '/fails-twice']) app.get(url, async () => { throw new Error('broken') })

    const failed = await app.inject({ url: '/fails', headers: { ...HTML, origin: 'https://app.example' } })
    t.same(failed.json(), { own: 'broken' })
    t.equal((await profileOf(app, failed)).exceptions.at(-1)?.message, 'broken')
    t.same((await app.inject({ url: '/nowhere', headers: HTML })).json(), { own: 'nothing' })
    for (const headers of [HTML, { accept: '*/*' }]) {
      calls = 0
      t.match((await app.inject({ url: '/fails-twice', headers })).body, /broken again/, 'the handler behind it tells that it has failed')
      t.equal(calls, 1)
    }

    t.equal(failed.headers['access-control-allow-origin'], 'https://app.example')
    t.equal(failed.headers['x-frame-options'], 'SAMEORIGIN')
    const reasons = await reasonsOf(app, '/fails')
    t.equal(reasons.get('kernel.response cors'), 'left to @fastify/cors, which the application registers')
    t.equal(reasons.get('kernel.response clickjacking'), 'left to @fastify/helmet, which the application registers')
    const { headers } = (await app.inject(`/_profiler/${String(failed.headers['x-debug-token'])}/headers.json`)).json<{ headers: Record<string, Array<{ by: string }>> }>()
    t.equal(headers['x-frame-options']?.[0]?.by, 'a hook or plugin registered ahead of Hindsight')
    t.equal(headers['content-type']?.[0]?.by, 'Fastify')
  }
})

t.test('the service answers all errors itself, and still leaves room for handlers of the application', async (t) => {
  const app = await application(t, (app) => { app.setNotFoundHandler((_request, reply) => reply.code(404).send({ own: 'nothing' })) }, { errorPages: 'always' })
  t.same((await app.inject('/nowhere')).json(), { own: 'nothing' })
  const without = await application(t, (app) => { app.get('/gone', (_request, reply) => { reply.callNotFound() }) }, { errorPages: 'always' })
  t.match((await without.inject('/nowhere')).headers['content-type'], 'text/html')
  t.match((await without.inject('/gone')).headers['content-type'], 'text/html')
})

t.test('plugins that the application registers itself are left to it, and that is said', async (t) => {
  const app = await application(t, async (app) => {
    await app.register(fastifyCors, { origin: 'https://app.example' })
    await app.register(fastifyHelmet, { xFrameOptions: { action: 'sameorigin' }, enableCSPNonces: true })
    await app.register(async (child) => {
      await child.register(cookie)
      await child.register(fastifySession, { secret: 'a secret of the application, long enough for it', cookie: { secure: false } })
      child.get('/', async (request, reply) => {
        Object.assign(request.session, { seen: true })
        return { nonce: reply.cspNonce.script }
      })
    })
  }, { cors: [{ origin: 'https://other.example' }], session: { secret: 'a secret of ours, which is thirty-two characters' } })
  const response = await app.inject({ url: '/', headers: { origin: 'https://app.example' } })
  t.equal(response.statusCode, 200, response.body)
  t.equal(response.headers['x-frame-options'], 'SAMEORIGIN')
  t.equal(response.headers['access-control-allow-origin'], 'https://app.example')
  t.equal([response.headers['set-cookie']].flat().length, 1, 'one session')
  t.match(response.headers['content-security-policy'], `'nonce-${response.json<{ nonce: string }>().nonce}'`)
  const reasons = await reasonsOf(app)
  for (const [place, name] of [['kernel.request cors', 'cors'], ['kernel.response cors', 'cors'], ['kernel.response clickjacking', 'helmet'], ['kernel.response content-security-policy', 'helmet'], ['kernel.response session', 'session']] as const) {
    t.equal(reasons.get(place), `left to @fastify/${name}, which the application registers`)
  }
})

t.test('what a part of the application registers for itself is left to it there, and nowhere else', async (t) => {
  const app = await application(t, async (app) => {
    await app.register(async (part) => {
      await part.register(fastifyHelmet, { xFrameOptions: { action: 'sameorigin' } })
      await part.register(fastifyCors, { origin: 'https://part.example' })
      part.get('/', async () => 'part')
      await part.register(async (within) => { within.get('/within', async () => 'within') })
    }, { prefix: '/part' })
    app.get('/', async () => 'rest')
  }, { cors: [{ origin: 'https://rest.example' }] })
  for (const [url, origin, frames, left] of [
    ['/part', 'https://part.example', 'SAMEORIGIN', true], ['/part/within', 'https://part.example', 'SAMEORIGIN', true], ['/', 'https://rest.example', 'DENY', false],
    ['/nowhere', 'https://rest.example', 'DENY', false]
  ] as const) {
    const response = await app.inject({ url, headers: { origin } })
    t.equal(response.headers['x-frame-options'], frames, url)
    t.equal(response.headers['access-control-allow-origin'], origin, url)
    t.equal((await reasonsOf(app, url)).get('kernel.response clickjacking')?.startsWith('left to @fastify/helmet') ?? false, left, url)
  }
  for (const [url, origin] of [['/', 'https://rest.example'], ['/part', 'https://part.example']] as const) {
    const preflight = await app.inject({ method: 'OPTIONS', url, headers: { 'access-control-request-method': 'GET', origin } })
    t.equal(preflight.headers['access-control-allow-origin'], origin, `a preflight of ${url}`)
  }
})

t.test('an instance is called by its plugins as ever, not by our forty-two', async (t) => {
  const app = await application(t, async (app) => {
    await app.register(fp(async () => {}, { name: 'mine' }))
  })
  t.equal(app.pluginName, 'fastify -> fastify-hindsight -> mine')
  t.ok(app.hasPlugin('mine') && app.hasPlugin('fastify-hindsight') && !app.hasPlugin('nobody'))
})

t.test('a handler that is called with less than Fastify gives is called as it is', async (t) => {
  const app = await application(t, (app) => {
    app.addHook('onRoute', (route) => {
      const { handler } = route
      route.handler = function () { return (handler as unknown as () => unknown).call(this) }
    })
    app.get('/', async () => 'called')
  })
  t.equal((await app.inject('/')).body, 'called')
})

t.test('who registers it in a part of the application is told what that means', async (t) => {
  const lines: string[] = []
  const app = Fastify({ logger: { level: 'warn', stream: { write: (line: string) => { lines.push(line) } } } })
  t.teardown(() => app.close())
  await app.register(async (part) => {
    await part.register(hindsight, { profiler: { storage: 'memory' } })
    part.get('/', async () => 'x')
  })
  t.equal((await app.inject('/')).statusCode, 200)
  t.match(lines.join(''), /registered in a part of the application.*fastify-plugin/)
  const root = Fastify({ logger: { level: 'warn', stream: { write: (line: string) => { lines.push(line) } } } })
  t.teardown(() => root.close())
  lines.length = 0
  await root.register(hindsight, { profiler: { storage: 'memory' } })
  await root.ready()
  t.same(lines, [])
})

t.test('a plugin with sessions of its own, which relies on the cookies that it finds, has them', async (t) => {
  // As @fastify/secure-session does, which registers @fastify/cookie only where nobody has, and as others do, which want it registered.
  const sealing = (brings: boolean) => fp(async function secureSession (app: FastifyInstance) {
    if (brings && !app.hasPlugin('@fastify/cookie')) await app.register(cookie, { secret: 'another secret, of thirty-two characters' })
    app.decorateRequest('session', null as never)
    app.addHook('onRequest', async (request) => { Object.assign(request, { session: { seen: request.cookies.session ?? 'nothing' } }) })
    app.addHook('onSend', async (_request, reply) => { reply.setCookie('session', 'sealed') })
  }, { name: '@fastify/secure-session', ...(!brings && { dependencies: ['@fastify/cookie'] }) })
  const ours = { secret: 'a secret of ours, which is thirty-two characters' }
  for (const [secureSession, session] of [[sealing(true), false], [sealing(true), ours], [sealing(false), false], [sealing(false), ours]] as const) {
    const app = await application(t, async (app) => {
      await app.register(secureSession)
      app.get('/', async (request, reply) => {
        reply.setCookie('other', '1')
        return request.session
      })
    }, { session })
    const response = await app.inject({ url: '/', headers: { cookie: 'session=opened' } })
    t.equal(response.statusCode, 200, response.body)
    t.same(response.json(), { seen: 'opened' })
    t.same(response.cookies.map(({ name, value }) => [name, value]), [['other', '1'], ['session', 'sealed']])
    const { events } = await profileOf(app, response)
    for (const { reason } of events.filter(({ listener }) => listener === 'session')) t.equal(reason, 'left to @fastify/secure-session, which the application registers')
  }
})

for (const name of LEAVABLE) {
  t.test(`${name} can be left to the application`, async (t) => {
    const app = await application(t, (app) => {
      app.get('/', async () => ({ hello: 'world' }))
      app.get('/fails', async () => { throw new Error('no') })
    }, { leave: [name], session: { secret: 'a secret of ours, which is thirty-two characters' } })
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
  [{ leave: ['corse'] }, 'Option "leave[0]": "corse" is no listener; did you mean "cors"?'],
  [{ leave: ['cors', 'router'] }, 'Option "leave[1]": "router" cannot be left to the application, as the other listeners need it'],
  [{ leave: 'cors' }, 'Option "leave" must be an array, not a string'],
  [{ errorPages: 'never' }, 'errorPages: "never" is neither always nor asked']
]
for (const [options, message] of refused) {
  t.test(message, async (t) => {
    const app = Fastify()
    t.teardown(() => app.close())
    await t.rejects(async () => { await app.register(hindsight, options) }, { message })
  })
}

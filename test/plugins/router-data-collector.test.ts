import t from 'tap'
import { build, profileOf } from '../../packages/hindsight/test/support/app.js'

t.test('the profile has the route, its pattern, its parameters and its place', async t => {
  const app = await build(t, {}, async app => {
    app.get('/users/:id', { config: { name: 'user' } }, () => 'x')
    await app.register(async scope => { scope.route({ method: ['GET', 'POST'], url: '/thing', handler: () => 'x' }) }, { prefix: '/api' })
  })
  const { route } = await profileOf(app, await app.inject('/users/7'))
  t.match(route, { name: 'user', pattern: '/users/:id', params: { id: '7' }, methods: ['GET'], handler: /router-data-collector\.test\.ts:6$/ })
  t.match(
    (await profileOf(app, await app.inject('/api/thing'))).route,
    { name: 'GET|POST /api/thing', pattern: '/api/thing', params: {}, methods: ['GET', 'POST'], handler: /router-data-collector\.test\.ts:7$/ }
  )
})

t.test('without a match, the profile has every route with the reason', async t => {
  const app = await build(t, {}, app => {
    app.get('/a', () => 'x')
    app.post('/b', { config: { name: 'make_b' } }, () => 'x')
  })
  const { route, collectors } = await profileOf(app, await app.inject('/ba'))
  t.equal(route, null)
  const lines = [19, 20].map((line) => `${import.meta.filename}:${line}`)
  t.same(collectors.router, {
    tried: [
      { name: 'GET /a', methods: ['GET'], pattern: '/a', why: 'segment 1 is "a", not "ba"', isNear: true, source: lines[0] },
      { name: 'make_b', methods: ['POST'], pattern: '/b', why: 'segment 1 is "b", not "ba"', isNear: true, source: lines[1] }
    ]
  })
})

t.test('secret parameters are masked everywhere in the profile', async t => {
  const app = await build(t, {}, app => {
    app.get('/reset/:token', () => 'x')
    app.get('/fail/:id/:token', request => { throw new Error(`No ${request.url}, no ${(request.params as { token: string }).token}`) })
  })
  for (const [url, shown, id] of [['/reset/', '/reset/******', undefined], ['/fail/7/', '/fail/7/******', '7']] as const) {
    for (const secret of ['s3cret-of-mine', 's3cret%2Fof%20mine', 's3cret%c3%A9', '%733cret-of-mine']) {
      const profile = await profileOf(app, await app.inject(`${url}${secret}?a=b`))
      t.same(profile.route?.params, { ...(id !== undefined && { id }), token: '******' })
      t.ok(profile.url.endsWith(`${shown}?a=b`), profile.url)
      t.equal((profile.collectors.request as { target: string }).target, `${shown}?a=b`)
      t.equal(profile.collectors.router, undefined, 'the route is stored once')
      const { route, url: whole, exceptions, logs, collectors } = profile
      t.notMatch(JSON.stringify([route, whole, exceptions.map(({ message, stack }) => message + stack), logs, collectors.request]), /s3cret|733cret/)
    }
  }
})

t.test('a request whose response fails keeps its route', async t => {
  const app = await build(t, {}, app => {
    app.get('/on-send', { onSend: async () => { throw new Error('boom') } }, () => 'x')
  })
  const { route, exceptions, collectors } = await profileOf(app, await app.inject('/on-send'))
  t.match({ route, exceptions }, { route: { name: 'GET /on-send' }, exceptions: [{ message: 'boom' }] })
  t.equal(collectors.router, undefined)
})

import t from 'tap'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { SecuritySettings } from '../../lib/options.js'
import type { Voter } from '../../lib/security/voters.js'
import type { RouteAttributes } from '../../lib/options.js'
import { basic, build, HTML, profileOf, recordOf, refusal, users } from '../lib/security/support.js'

type IsGranted = NonNullable<RouteAttributes['isGranted']>

class ArticleVoter implements Voter {
  supports (attribute: string, subject: unknown): boolean {
    return attribute === 'EDIT' && typeof subject === 'object' && subject !== null && 'author' in subject
  }

  async vote (_attribute: string, subject: unknown, { user }: Parameters<Voter['vote']>[2]) {
    const { author } = subject as { author: string }
    return { granted: user?.identifier === author, reason: `the author is ${author}` }
  }
}

const settings: SecuritySettings = {
  providers: { people: users },
  roleHierarchy: { ROLE_ADMIN: ['ROLE_EDITOR'], ROLE_EDITOR: ['ROLE_USER', 'ROLE_ADMIN'] },
  firewalls: [{ name: 'main', authenticators: { basic: true }, throttling: false }],
  voters: [new ArticleVoter()]
}

const ada = basic('ada', 'lovelace')
const bob = basic('bob', 'builder')
const route = (isGranted: IsGranted) => (app: FastifyInstance) => { app.get('/a/:id', { config: { isGranted } }, async () => 'x') }

t.test('access depends on roles, voters and the subject', async t => {
  const article = (request: FastifyRequest) => ({ id: 7, author: (request.params as { id: string }).id })
  const table: Array<[string, IsGranted, { url?: string, headers?: Record<string, string> }, number]> = [
    ['a role', 'ROLE_ADMIN', { headers: ada }, 200],
    ['a role of others', 'ROLE_ADMIN', { headers: bob }, 403],
    ['nobody', 'ROLE_ADMIN', {}, 401],
    ['an inherited role', 'ROLE_USER', { headers: ada }, 200],
    ['every user', 'IS_AUTHENTICATED', { headers: bob }, 200],
    ['everybody', 'PUBLIC_ACCESS', {}, 200],
    ['as an object', { attribute: 'ROLE_ADMIN' }, { headers: ada }, 200],
    ['what nobody decides about', 'EDIT', { headers: ada }, 403],
    ['a subject by function', { attribute: 'EDIT', subject: article }, { url: '/a/bob', headers: bob }, 200],
    ['another subject', { attribute: 'EDIT', subject: article }, { url: '/a/ada', headers: bob }, 403],
    ['a subject by name, which no voter supports', { attribute: 'EDIT', subject: 'id' }, { url: '/a/bob', headers: bob }, 403],
    ['each of several', ['ROLE_USER', { attribute: 'EDIT', subject: article }], { url: '/a/bob', headers: bob }, 200],
    ['one of several is missing', ['ROLE_ADMIN', { attribute: 'EDIT', subject: article }], { url: '/a/bob', headers: bob }, 403]
  ]
  for (const [name, isGranted, { url = '/a/1', headers = {} }, status] of table) {
    const app = await build(t, settings, route(isGranted))
    t.equal((await app.inject({ url, headers })).statusCode, status, name)
    t.equal((await app.inject({ method: 'HEAD', url, headers })).statusCode, status, `${name}: HEAD`)
  }
})

t.test('the subject is the converted parameter', async t => {
  const seen: unknown[] = []
  const voter: Voter = { name: 'all', supports: (attribute, subject) => { seen.push([attribute, subject]); return true }, vote: () => true }
  const app = await build(t, { ...settings, voters: [voter] }, app => {
    app.addHook('onRequest', async request => { (request.params as Record<string, unknown>).id = { article: 1 } })
    route({ attribute: 'EDIT', subject: 'id' })(app)
  })
  t.equal((await app.inject({ url: '/a/1', headers: bob })).statusCode, 200)
  t.same(seen[0], ['EDIT', { article: 1 }])
})

t.test('one granting vote is sufficient', async t => {
  const voting = (...ballots: boolean[]): Voter[] => ballots.map((granted, i) => ({ name: `voter ${i}`, supports: () => true, vote: () => granted }))
  const table: Array<[boolean[], status: number]> = [
    [[true], 200],
    [[false], 403],
    [[], 403],
    [[true, false], 200],
    [[true, false, false], 200],
    [[true, true, false], 200]
  ]
  for (const [ballots, status] of table) {
    const app = await build(t, { ...settings, voters: voting(...ballots) }, route('SHIP'))
    t.equal((await app.inject({ url: '/a/1', headers: bob })).statusCode, status, JSON.stringify(ballots))
  }
})

t.test('only true grants', async t => {
  for (const ballot of [undefined, null, 1, 'granted', {}, { granted: 'yes' }]) {
    const app = await build(t, { ...settings, voters: [{ supports: () => true, vote: () => ballot as never }] }, route('SHIP'))
    t.equal((await app.inject({ url: '/a/1', headers: bob })).statusCode, 403, JSON.stringify(ballot))
  }
})

t.test('every vote is recorded with its reason', async t => {
  const app = await build(t, settings, route({ attribute: 'EDIT', subject: request => ({ id: 7, author: 'ada', request: request.id, password: 'hunter2' }) }))
  const response = await app.inject({ url: '/a/1', headers: bob })
  t.same((await recordOf(app, response)).decisions, [{
    by: 'is-granted',
    attribute: 'EDIT',
    subject: 'Object 7',
    granted: false,
    votes: [
      { voter: 'ArticleVoter', vote: 'denied', reason: 'the author is ada' }
    ]
  }])
  const { events } = await profileOf(app, response)
  t.same(events.filter(({ listener }) => listener === 'is-granted').map(({ pass, outcome, reason }) => [pass, outcome, reason]), [
    ['main', 'raised', undefined], ['error', 'skipped', 'not in an error pass']
  ])
})

t.test('request.isGranted() returns the decision', async t => {
  const app = await build(t, settings, app => app.get('/', async request => [
    await request.isGranted('ROLE_EDITOR'), await request.isGranted('EDIT', { author: 'bob' }), await request.isGranted('EDIT')
  ]))
  t.same((await app.inject('/')).json(), [false, false, false])
  t.same((await app.inject({ url: '/', headers: ada })).json(), [true, false, false])
  const response = await app.inject({ url: '/', headers: bob })
  t.same(response.json(), [false, true, false])
  t.same((await recordOf(app, response)).decisions.map(({ by, attribute, granted }) => [by, attribute, granted]), [
    ['request.isGranted', 'ROLE_EDITOR', false], ['request.isGranted', 'EDIT', true], ['request.isGranted', 'EDIT', false]
  ])
})

t.test('a voter that throws is an error, and does not grant', async t => {
  const app = await build(t, { ...settings, voters: [{ supports: () => true, vote: async () => { throw new Error('no connection') } }] }, route('SHIP'))
  t.equal((await app.inject({ url: '/a/1', headers: bob })).statusCode, 500)
})

t.test('a browser is redirected to the login', async t => {
  const app = await build(
    t, { ...settings, firewalls: [{ name: 'main', authenticators: { login: true } }] }, app => { app.get('/login', async () => 'x'); route('ROLE_USER')(app) }
  )
  const response = await app.inject({ url: '/a/1', headers: { ...HTML, host: 'shop.test' } })
  t.equal(response.statusCode, 302)
  t.equal(response.headers.location, 'http://shop.test/login')
})

t.test('invalid attributes stop the start, and name the route', async t => {
  // The shape is checked by the controller-attributes listener.
  const role = 'must be a role or attribute, { attribute, subject }, or a list of these'
  const table: Array<[unknown, string]> = [
    [{ attribute: 'EDIT', subject: 'article' }, 'Route GET /a/:id: config.isGranted: the subject "article" is not a parameter of the route'],
    [{ attribute: 'EDIT', subject: 'i' }, 'Route GET /a/:id: config.isGranted: the subject "i" is not a parameter of the route'],
    [{ attribute: 'EDIT', subjct: 'id' }, 'Route "GET /a/:id": Unknown option "config.isGranted.subjct"; did you mean "subject"?'],
    [{ attribute: 'EDIT', subject: 1 }, 'Route "GET /a/:id": Option "config.isGranted.subject" must be a string or a function, not a number'],
    [{}, 'Route "GET /a/:id": Option "config.isGranted.attribute" is missing'],
    ['', `Route "GET /a/:id": Option "config.isGranted" ${role}, not another string`],
    [null, `Route "GET /a/:id": Option "config.isGranted" ${role}, not null`],
    [[], 'Route GET /a/:id: config.isGranted: the list is empty']
  ]
  for (const [isGranted, message] of table) t.equal(await refusal(settings, route(isGranted as IsGranted)), message)
  t.equal(await refusal(undefined, route('ROLE_ADMIN')), 'Route GET /a/:id: config.isGranted needs the option security, which is not configured')
})

t.test('an error after the check never reaches the handler, even if its value is undefined', async t => {
  for (const raised of ['', 0, undefined]) {
    for (const etag of [() => { throw raised }, async () => { throw raised }]) {
      let handled = 0
      const app = await build(t, settings, (app) => {
        app.get('/a', { config: { isGranted: 'ROLE_ADMIN', cache: { etag } } }, async () => `handled ${++handled}`)
      })
      t.equal((await app.inject({ url: '/a', headers: bob })).statusCode, 403)
      for (let i = 0; i < 3; i++) t.equal((await app.inject({ url: '/a', headers: ada })).statusCode, 500)
      t.equal(handled, 0)
    }
  }
})

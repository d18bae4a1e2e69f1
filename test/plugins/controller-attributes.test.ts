import t from 'tap'
import Fastify from 'fastify'
import { service } from '../../app/service.js'
import type { RouteAttributes } from '../../lib/options.js'
import { build, profileOf } from '../../packages/hindsight/test/support/app.js'

/** What JavaScript users may write, and what the start says to it. */
const mistakes: Array<[config: Record<string, unknown>, message: string]> = [
  [{ tempalte: 'home' }, 'config.tempalte is unknown; did you mean config.template?'],
  [{ Cache: {} }, 'config.Cache is unknown; did you mean config.cache?'],
  [{ param: {} }, 'config.param is unknown; did you mean config.params?'],
  [{ isgranted: 'ROLE_USER' }, 'config.isgranted is unknown; did you mean config.isGranted?'],
  [{ link: [] }, 'config.link is unknown; did you mean config.links?'],
  [{ template: 3 }, 'Option "config.template" must be the name of a template, not a number'],
  [{ template: '' }, 'Option "config.template" must be the name of a template, not another string'],
  [{ template: null }, 'Option "config.template" must be the name of a template, not null'],
  [{ cache: 60 }, 'Option "config.cache" must be an object, not a number'],
  [{ cache: { maxage: 3 } }, 'Unknown option "config.cache.maxage"; did you mean "maxAge"?'],
  [{ cache: { maxAge: 'soon' } }, 'Option "config.cache.maxAge" must be whole seconds, 0 or more, or a duration such as "1 hour", not a string'],
  [{ cache: { maxAge: -1 } }, 'Option "config.cache.maxAge" must be whole seconds, 0 or more, or a duration such as "1 hour", not a number'],
  [{ cache: { sMaxAge: 1.5 } }, 'Option "config.cache.sMaxAge" must be whole seconds, 0 or more, or a duration such as "1 hour", not a number'],
  [{ cache: { public: 'yes' } }, 'Option "config.cache.public" must be a boolean, not a string'],
  [
    { cache: { expires: new Date(NaN) } },
    'Option "config.cache.expires" must be whole seconds, 0 or more, or a duration such as "1 hour" or a valid Date, not an object'
  ],
  [{ cache: { vary: 'Accept' } }, 'Option "config.cache.vary" must be an array, not a string'],
  [{ cache: { vary: ['Accept', 'a b'] } }, 'Option "config.cache.vary[1]" must be a header name, not another string'],
  [{ cache: { etag: '"v1"' } }, 'Option "config.cache.etag" must be a function of the request, not a string'],
  [{ cache: { lastModified: new Date(0) } }, 'Option "config.cache.lastModified" must be a function of the request, not an object'],
  [{ params: ['int'] }, 'Option "config.params" must be an object, not an array'],
  [{ params: { id: 3 } }, 'Option "config.params.id" must be "int", "date", "uuid", the name of an own converter, or { enum: [...] }, not a number'],
  [{ params: { id: {} } }, 'Option "config.params.id.enum" is missing'],
  [{ params: { id: { convertor: 'int' } } }, 'Unknown option "config.params.id.convertor"; use one of enum'],
  [{ security: true }, 'Option "config.security" must be an expression (CEL), not a boolean'],
  [{ isGranted: { role: 'ROLE_USER' } }, 'Unknown option "config.isGranted.role"; use one of attribute, subject'],
  [{ isGranted: ['ROLE_USER', { attribute: 'EDIT', subject: 3 }] }, 'Option "config.isGranted[1].subject" must be a string or a function, not a number'],
  [{ links: { rel: 'preload' } }, 'Option "config.links" must be an array, not an object'],
  [{ links: [{ rel: 'preload' }] }, 'Option "config.links[0].href" is missing'],
  [{ links: [{ rel: 'preload', href: '/a.css', as: 'style' }] }, 'Unknown option "config.links[0].as"; use one of rel, href, attributes'],
  [
    { links: [{ rel: 'preload', href: '/a.css', attributes: { title: { text: 'x' } } }] },
    'Option "config.links[0].attributes.title" must be a string, a number, a boolean or null, not an object'
  ]
]

const valid: Array<Record<string, unknown>> = [
  {}, { template: undefined }, { cache: {} },
  {
    cache: {
      public: true,
      maxAge: 0,
      sMaxAge: '1 hour',
      staleWhileRevalidate: '2d',
      staleIfError: 3,
      mustRevalidate: true,
      immutable: false,
      expires: new Date(0),
      vary: [],
      lastModified: () => new Date(0),
      etag: async () => null
    }
  },
  { cache: { noStore: true, private: true } },
  { security: 'user != null' }, { isGranted: 'ROLE_USER' },
  { isGranted: ['ROLE_USER', { attribute: 'EDIT', subject: () => ({}) }] },
  { links: [] }, { links: [{ rel: 'preload', href: '/a.css', attributes: { as: 'style', crossorigin: true, media: null, n: 1, title: 'x' } }] },
  // Keys of other plugins.
  { rateLimit: { max: 3 }, swagger: {}, cors: true, name: 'home', profile: false, websocket: true, timeout: 3, page: 1, title: 'x', caption: 'y' }
]

async function declared (config: Record<string, unknown>, pattern = '/x'): Promise<string> {
  const app = Fastify()
  try {
    await app.register(service, {
      session: false,
      security: { firewalls: [{ name: 'main', authenticators: { basic: true }, provider: 'none' }], providers: { none: async () => null } }
    })
    app.get(pattern, { config: config as RouteAttributes }, async () => 'fine')
    await app.ready()
    return 'it started'
  } catch (error) {
    return (error as Error).message
  } finally {
    await app.close()
  }
}

t.test('an invalid attribute stops the start', async (t) => {
  for (const [config, message] of mistakes) t.equal(await declared(config), `Route "GET /x": ${message}`, JSON.stringify(config))
  t.equal(
    await declared({ name: 'home', template: 3 }), 'Route "home": Option "config.template" must be the name of a template, not a number',
    'by the route\'s own name'
  )
})

t.test('valid attributes are accepted', async (t) => {
  for (const config of valid) t.equal(await declared(config), 'it started', JSON.stringify(config))
  t.equal(
    await declared({ params: { a: 'int', b: { enum: ['x', 1] }, c: 'date' }, isGranted: { attribute: 'EDIT', subject: 'a' } }, '/x/:a/:b/:c'), 'it started'
  )
})

t.test('an invalid attribute in a route of a plugin stops the start, too', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(service, { session: false })
  app.register(async (scope) => { scope.post('/x', { config: { template: 3 } as unknown as RouteAttributes }, async () => 'fine') }, { prefix: '/scope' })
  await t.rejects(Promise.resolve(app.ready()), { message: 'Route "POST /scope/x": Option "config.template" must be the name of a template, not a number' })
})

t.test('the profile has the attributes of the route', async (t) => {
  const app = await build({
    declare (app) {
      app.get('/some', { config: { name: 'some', cache: { maxAge: 3, etag: function tag () { return 'v1' } } } }, async () => ({}))
      app.get('/none', { config: { name: 'none' } }, async () => ({}))
      app.get('/boom', { config: { cache: { maxAge: 3 } } }, async () => { throw new Error('boom') })
    }
  })
  t.teardown(() => app.close())
  const told = async (url: string): Promise<unknown> => (await profileOf(app, await app.inject(url))).events
    .filter(({ listener }) => listener === 'controller-attributes').map(({ pass, outcome, reason }) => [pass, outcome, reason])
  t.strictSame(await told('/some'), [['main', 'ran', undefined]])
  t.strictSame((await profileOf(app, await app.inject('/some'))).collectors.attributes, { cache: { maxAge: 3, etag: '[function tag]' } })
  t.strictSame(await told('/none'), [['main', 'skipped', 'not configured']])
  t.strictSame(await told('/boom'), [['main', 'ran', undefined], ['error', 'skipped', 'the diagnostic handler declares no attributes']])
  t.strictSame(await told('/nowhere'), [['error', 'skipped', 'not configured']])
})

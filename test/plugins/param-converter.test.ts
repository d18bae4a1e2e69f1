import t, { type Test } from 'tap'
import Fastify, { type FastifyInstance } from 'fastify'
import { service } from '../../app/service.js'
import { NotFoundError } from '../../packages/hindsight/src/http/http-errors.js'
import type { RouteAttributes } from '../../lib/options.js'
import type { ConvertedParams } from '../../lib/attributes.js'
import type { AppConverters } from '../../lib/param-conversion.js'
import { build, listen, profileOf } from '../../packages/hindsight/test/support/app.js'

interface Article { id: number, title: string, password: string }

declare module 'fastify' {
  interface FastifyParamConverters {
    article: Article
    reverse: string
    failing: never
    later: string
    joined: string
  }
}

const ARTICLES = new Map([['7', { id: 7, title: 'On time', password: 'hunter2' }]])
const UUID = '0192F5A7-3B1C-7ABC-8DEF-0123456789ab'

const converters: AppConverters = {
  article: async (id) => ARTICLES.get(id),
  reverse: (text) => [...text].reverse().join(''),
  failing (text) {
    if (text === 'refused') throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' })
    if (text === 'teapot') throw Object.assign(new Error('short and stout'), { statusCode: 418 })
    if (text === 'gone') throw new NotFoundError('it was here yesterday')
    if (text === 'nothing') throw null // eslint-disable-line no-throw-literal
    throw new RangeError(`"${text}" is out of range`)
  },
  // What some query builders are: no promise, but to be waited for.
  later: (text) => ({ then: (resolve: (value: string) => void) => { resolve(`later ${text}`) } }) as unknown as Promise<string>,
  joined: async (text, request) => `${JSON.stringify(request.params)} ${text}`
}

const config = {
  params: { id: 'int', day: 'date', key: 'uuid', state: { enum: ['draft', 'published'] }, page: { enum: [1, 2] } }
} as const satisfies RouteAttributes

function declare (app: FastifyInstance): void {
  app.get('/int/:value', { config: { params: { value: 'int' } } }, async ({ params }) => shown(params))
  app.get('/date/:value', { config: { params: { value: 'date' } } }, async ({ params }) => shown(params))
  app.get('/uuid/:value', { config: { params: { value: 'uuid' } } }, async ({ params }) => shown(params))
  app.get('/enum/:value', { config: { params: { value: { enum: ['draft', 'published', 3] } } } }, async ({ params }) => shown(params))
  app.get('/reverse/:value', { config: { params: { value: 'reverse' } } }, async ({ params }) => shown(params))
  app.get('/failing/:value', { config: { params: { value: 'failing' } } }, async ({ params }) => shown(params))
  app.get('/later/:value', { config: { params: { value: 'later' } } }, async ({ params }) => shown(params))
  app.get('/optional/:value?', { config: { params: { value: 'int' } } }, async ({ params }) => shown(params))
  app.get('/files/*', { config: { params: { '*': 'reverse' } } }, async ({ params }) => shown(params))
  app.get('/two/:first/:second', { config: { params: { first: 'int', second: 'joined' } } }, async ({ params }) => shown(params))
  app.get(
    '/schema/:value', { config: { params: { value: 'int' } }, schema: { params: { type: 'object', properties: { value: { type: 'integer' } } } } },
    async ({ params }) => shown(params)
  )
  app.get('/articles/:article', { config: { name: 'article', params: { article: 'article' } } }, async (request) => {
    const { article } = request.params as { article: Article }
    return { id: article.id, same: request.attributes.article === article && request.route?.params.article === article }
  })
  app.get('/articles/:article/boom', { config: { params: { article: 'article' } } }, async () => { throw new Error('boom') })
  app.get<{ Params: ConvertedParams<typeof config> & { slug: string } }>('/all/:id/:day/:key/:state/:page/:slug', {
    config
  }, async ({ params: { id, day, key, state, page, slug } }) => {
    // Each has the type of what it was converted to.
    const published: boolean = state === 'published'
    const next: 1 | 2 = page
    return { id: id.toFixed(1), day: day.getUTCDate(), key: key.length, published, next, slug: slug.toUpperCase() }
  })
}

function shown (params: unknown): object {
  const [value] = Object.values(params as object).slice(-1) as unknown[]
  return { type: value instanceof Date ? 'date' : typeof value, value }
}

async function start (t: Test, debug = true): Promise<FastifyInstance> {
  const app = await build({ declare, converters, debug })
  t.teardown(() => app.close())
  return app
}

interface Problem { exceptions: Array<{ name: string, message: string }> }

t.test('converters convert valid values', async (t) => {
  const app = await start(t)
  const cases: Array<[url: string, value: unknown, type?: string]> = [
    ['/int/7', 7], ['/int/-7', -7], ['/int/007', 7], ['/int/0', 0], ['/int/9007199254740991', 9007199254740991],
    ['/date/2026-02-28', '2026-02-28T00:00:00.000Z', 'date'], ['/date/2026-02-28T10:00:00+02:00', '2026-02-28T08:00:00.000Z', 'date'],
    ['/date/2024-02-29', '2024-02-29T00:00:00.000Z', 'date'],
    [`/uuid/${UUID}`, UUID.toLowerCase()],
    ['/enum/draft', 'draft'], ['/enum/3', 3],
    ['/reverse/abc', 'cba'], ['/reverse/%C3%A9a', 'aé'],
    ['/later/x', 'later x'],
    ['/optional/3', 3], ['/files/a/b', 'b/a'],
    ['/two/3/x', '{"first":3,"second":"x"} x'],
    ['/schema/12', 12]
  ]
  for (const [url, value, type = typeof value] of cases) {
    const response = await app.inject(url)
    t.equal(response.statusCode, 200, url)
    t.strictSame(response.json(), { type, value }, url)
  }
  t.strictSame((await app.inject('/optional')).json(), { type: 'undefined' }, 'an optional parameter that is missing')
  t.equal((await app.inject({ method: 'HEAD', url: '/int/7' })).statusCode, 200)
  t.equal((await app.inject({ method: 'HEAD', url: '/int/x' })).statusCode, 404)
})

t.test('a value that cannot be converted is a 404 with its reason', async (t) => {
  const app = await start(t)
  const cases: Array<[url: string, converter: string, cause: string, name?: string]> = [
    ['/int/abc', 'int', '"abc" is not an integer'], ['/int/1.5', 'int', '"1.5" is not an integer'], ['/int/0x10', 'int', '"0x10" is not an integer'],
    ['/int/1e3', 'int', '"1e3" is not an integer'], [
      '/int/9007199254740992', 'int', '"9007199254740992" is not an integer'
    ], ['/int/%D9%A7', 'int', '"٧" is not an integer'],
    ['/int/', 'int', '"" is not an integer'], ['/int/7%0A', 'int', '"7\n" is not an integer'],
    [
      '/date/2026-02-29', 'date', '"2026-02-29" is not a date'
    ], ['/date/yesterday', 'date', '"yesterday" is not a date'], ['/date/2026', 'date', '"2026" is not a date'],
    ['/date/2026-01-01T10:00:00', 'date', '"2026-01-01T10:00:00" is not a date'],
    ['/uuid/1', 'uuid', '"1" is not a UUID'], [`/uuid/urn:uuid:${UUID}`, 'uuid', `"urn:uuid:${UUID}" is not a UUID`],
    ['/enum/deleted', 'enum', '"deleted" is none of "draft", "published", "3"'], [
      '/enum/__proto__', 'enum', '"__proto__" is none of "draft", "published", "3"'
    ],
    ['/failing/12', 'failing', '"12" is out of range', 'RangeError'], ['/failing/gone', 'failing', 'it was here yesterday', 'NotFoundError']
  ]
  for (const [url, converter, cause, name = 'ParamConversionError'] of cases) {
    const response = await app.inject({ url, headers: { accept: 'application/json' } })
    t.equal(response.statusCode, 404, url)
    t.match(response.json<Problem>().exceptions.map(({ name, message }) => ({ name, message })), [
      { name, message: cause },
      { name: 'NotFoundError', message: `"value" object not found by the "${converter}" converter.` }
    ], url)
  }
  const missing = await app.inject({ url: '/articles/8', headers: { accept: 'application/json' } })
  t.equal(missing.statusCode, 404)
  t.match(
    missing.json<Problem>().exceptions.map(({ message }) => message),
    ['"article" found nothing for "8"', '"article" object not found by the "article" converter.']
  )
  t.equal((await app.inject('/failing/nothing')).statusCode, 404)
})

t.test('a converter that fails is not a 404', async (t) => {
  const app = await start(t)
  for (const [url, status, message] of [['/failing/refused', 500, 'connect ECONNREFUSED'], ['/failing/teapot', 418, 'short and stout']] as const) {
    const response = await app.inject({ url, headers: { accept: 'application/json' } })
    t.equal(response.statusCode, status, url)
    t.equal(response.json<Problem>().exceptions.at(-1)?.message, message)
  }
})

t.test('the handler receives the converted value everywhere, with its type', async (t) => {
  const app = await start(t)
  t.strictSame((await app.inject('/articles/7')).json(), { id: 7, same: true })
  t.strictSame((await app.inject(`/all/7/2026-02-28/${UUID}/published/2/some-slug`)).json(),
    { id: '7.0', day: 28, key: 36, published: true, next: 2, slug: 'SOME-SLUG' })
})

t.test('the profile has the sent and the converted values', async (t) => {
  const app = await start(t)
  const found = await profileOf(app, await app.inject('/articles/7'))
  t.strictSame(found.collectors.params, { article: { converter: 'article', sent: '7', value: { id: 7, title: 'On time', password: '******' } } })
  t.strictSame(found.route?.params, { article: '7' }, 'the route has the sent value')
  t.match(found.events.find(({ listener }) => listener === 'param-converter'), { outcome: 'ran' })

  const missing = await profileOf(app, await app.inject('/two/x/y'))
  t.strictSame(missing.collectors.params, { first: { converter: 'int', sent: 'x', value: 'x' }, second: { converter: 'joined', sent: 'y', value: 'y' } })
  t.match(missing.events.filter(({ listener }) => listener === 'param-converter'), [
    { pass: 'main', outcome: 'raised' },
    { pass: 'error', outcome: 'skipped', reason: 'the diagnostic handler declares no attributes' }
  ])
  const failed = await profileOf(app, await app.inject('/articles/7/boom'))
  t.strictSame(failed.route?.params, { article: '7' }, 'also when the handler failed')

  const none = await profileOf(app, await app.inject('/nowhere'))
  t.match(none.events.find(({ listener }) => listener === 'param-converter'), { pass: 'error', outcome: 'skipped', reason: 'not configured' })
  t.notOk('params' in none.collectors)
})

t.test('a converter of the application cannot replace a built-in one', async (t) => {
  const message = 'converters.int: "int" is built in; give the application\'s own converter another name'
  await t.rejects(build(t, { converters: { int: () => 3 } as never }), { message })
})

t.test('an invalid converter stops the start', async (t) => {
  const cases: Array<[pattern: string, params: Record<string, unknown>, message: string]> = [
    ['/x/:id', { id: 'artcle' }, 'Route "GET /x/:id": config.params.id names the converter "artcle", which is unknown; use one of int, date, uuid, article'],
    [
      '/x/:id', { id: 'toString' }, 'Route "GET /x/:id": config.params.id names the converter "toString", which is unknown; use one of int, date, uuid, article'
    ],
    ['/x/:id', { slug: 'int' }, 'Route "GET /x/:id": config.params.slug is not a parameter of the pattern "/x/:id", which has "id"'],
    ['/x', { id: 'int' }, 'Route "GET /x": config.params.id is not a parameter of the pattern "/x", which has no parameters'],
    ['/x/::id', { id: 'int' }, 'Route "GET /x/::id": config.params.id is not a parameter of the pattern "/x/::id", which has no parameters'],
    ['/x/:hour(^\\d{2})h:minute(^\\d{2})m', { second: 'int' }, 'Route "GET /x/:hour(^\\d{2})h:minute(^\\d{2})m": config.params.second is not a parameter of ' +
      'the pattern "/x/:hour(^\\d{2})h:minute(^\\d{2})m", which has "hour", "minute"']
  ]
  for (const [pattern, params, message] of cases) {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(service, { session: false, converters: { article: () => null } as AppConverters })
    t.throws(() => app.get(pattern, { config: { params } as RouteAttributes }, async () => 'fine'), { message }, `${pattern} ${JSON.stringify(params)}`)
  }
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(service, { session: false })
  app.get('/:hour(^\\d{2})h:minute(^\\d{2})m', { config: { params: { hour: 'int', minute: 'int' } } }, async ({ params }) => params)
  t.strictSame((await app.inject('/09h30m')).json(), { hour: 9, minute: 30 })

  for (const [converters, message] of [
    [{ article: 'Article' }, 'Option "converters.article" must be a function, not a string']
  ] as const) {
    const other = Fastify()
    t.teardown(() => other.close())
    await t.rejects(
      Promise.resolve(other.register(service, { session: false, converters: converters as unknown as AppConverters })), { message }
    )
  }
})

t.test('conversion works over a socket, also in production', async (t) => {
  for (const debug of [true, false]) {
    const app = await start(t, debug)
    const url = `http://127.0.0.1:${await listen(app)}`
    t.strictSame(await (await fetch(`${url}/articles/7`)).json(), { id: 7, same: true })
    const missing = await fetch(`${url}/articles/${encodeURIComponent('<script>alert(1)</script>')}`, { headers: { accept: 'text/html' } })
    t.equal(missing.status, 404)
    t.notMatch(await missing.text(), /<script>alert/)
  }
})

t.test('concurrent requests have separate values', async (t) => {
  const app = await start(t)
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => app.inject(`/later/${i}`)))
  t.strictSame(answers.map((answer) => answer.json<{ value: string }>().value), Array.from({ length: 50 }, (_, i) => `later ${i}`))
})

import t, { type Test } from 'tap'
import { JSDOM } from 'jsdom'
import LinkHeader from 'http-link-header'
import type { FastifyInstance } from 'fastify'
import type { PaginationSettings, RoutePagination } from '../../lib/options.js'

import { build, listen, profileOf, raw } from '../../packages/hindsight/test/support/app.js'

const articles: RoutePagination = { limit: 10, maxLimit: 50, sort: ['title', 'date'], defaultSort: 'date', direction: 'desc' }

async function start (t: Test, pagination: PaginationSettings = {}): Promise<FastifyInstance> {
  const app = await build({
    pagination,
    declare (app) {
      app.get('/plain', { config: { pagination: true } }, async (request) => request.pagination)
      app.get('/articles', { config: { pagination: articles } }, async (request) => request.pagination)
      app.get('/none', async (request) => ({ pagination: request.pagination }))
      app.get('/api/:total', { config: { pagination: articles } }, async (request) => {
        const page = request.paginate(Number((request.params as { total: string }).total))
        return { ...page, window: page.slidingWindow(3) }
      })
      app.get('/html/:total', { config: { pagination: articles } }, async (request, reply) => {
        const page = request.paginate(Number((request.params as { total: string }).total), { links: false })
        return reply.type('text/plain').send(page.html(3))
      })
      app.get('/undeclared', async (request) => request.paginate(1))
      app.get('/*', { config: { pagination: true } }, async (request) => request.paginate(99).slidingWindow(1).last.url)
    }
  })
  t.teardown(() => app.close())
  return app
}

t.test('the query sets page, limit and order', async t => {
  const app = await start(t)
  for (const [url, expected] of [
    ['/plain', { page: 1, limit: 20, offset: 0, sort: null, direction: 'asc' }],
    ['/plain?page=3&limit=100', { page: 3, limit: 100, offset: 200, sort: null, direction: 'asc' }],
    ['/plain?page=999999999', { page: 999999999, limit: 20, offset: 19999999960, sort: null, direction: 'asc' }],
    ['/articles', { page: 1, limit: 10, offset: 0, sort: 'date', direction: 'desc' }],
    ['/articles?sort=title&direction=asc&page=2', { page: 2, limit: 10, offset: 10, sort: 'title', direction: 'asc' }],
    ['/articles?limit=50&other=x', { page: 1, limit: 50, offset: 0, sort: 'date', direction: 'desc' }],
    ['/none?page=x', { pagination: null }]
  ] as const) t.same((await app.inject(url)).json(), expected, url)
})

t.test('invalid values are refused, with the name of the field and the valid values', async t => {
  const app = await start(t)
  for (const [query, message] of [
    ['page=0', 'Invalid "page": "0" is not a whole number from 1 to 999999999.'],
    ['page=-1', 'Invalid "page": "-1" is not a whole number from 1 to 999999999.'],
    ['page=', 'Invalid "page": "" is not a whole number from 1 to 999999999.'],
    ['page=1.5', 'Invalid "page": "1.5" is not a whole number from 1 to 999999999.'],
    ['page=1e3', 'Invalid "page": "1e3" is not a whole number from 1 to 999999999.'],
    ['page=0x10', 'Invalid "page": "0x10" is not a whole number from 1 to 999999999.'],
    ['page=%201', 'Invalid "page": " 1" is not a whole number from 1 to 999999999.'],
    ['page=1%00', 'Invalid "page": "1\0" is not a whole number from 1 to 999999999.'],
    ['page=%D9%A1', 'Invalid "page": "١" is not a whole number from 1 to 999999999.'],
    ['page=1000000000', 'Invalid "page": "1000000000" is not a whole number from 1 to 999999999.'],
    ['page=1&page=2', 'Invalid "page": it may be given only once, as plain text.'],
    ['limit=51', 'Invalid "limit": "51" is not a whole number from 1 to 50.'],
    ['limit=0', 'Invalid "limit": "0" is not a whole number from 1 to 50.'],
    ['limit=9&limit=9', 'Invalid "limit": it may be given only once, as plain text.'],
    ['sort=password', 'Invalid "sort": "password" is none of title, date.'],
    ['sort=title%3B+DROP', 'Invalid "sort": "title; DROP" is none of title, date.'],
    ['sort=', 'Invalid "sort": "" is none of title, date.'],
    ['sort=constructor', 'Invalid "sort": "constructor" is none of title, date.'],
    ['sort=title&sort=date', 'Invalid "sort": it may be given only once, as plain text.'],
    ['direction=up', 'Invalid "direction": "up" is neither asc nor desc.'],
    ['direction=ASC', 'Invalid "direction": "ASC" is neither asc nor desc.'],
    [`sort=${'x'.repeat(150)}`, `Invalid "sort": "${'x'.repeat(150)}" is none of title, date.`]
  ] as const) {
    const response = await app.inject({ url: `/articles?${query}`, headers: { accept: 'application/json' } })
    const { exceptions } = response.json<{ exceptions: Array<{ message: string, name: string }> }>()
    t.same([response.statusCode, exceptions.at(-1)?.name, exceptions.at(-1)?.message], [400, 'BadRequestError', message], query.slice(0, 40))
  }
  const unsortable = await app.inject({ url: '/plain?sort=title', headers: { accept: 'application/json' } })
  t.match(unsortable.json(), { exceptions: [{ message: 'Invalid "sort": this route has no sortable fields.' }] })
})

t.test('the application sets the bounds', async t => {
  const app = await start(t, { defaultLimit: 5, maxLimit: 7 })
  t.same((await app.inject('/plain?page=2&limit=7')).json(), { page: 2, limit: 7, offset: 7, sort: null, direction: 'asc' })
  t.same((await app.inject('/plain')).json(), { page: 1, limit: 5, offset: 0, sort: null, direction: 'asc' })
  t.equal((await app.inject('/plain?limit=8')).statusCode, 400)
  t.same((await app.inject('/articles?sort=title&direction=asc&limit=50')).json(), { page: 1, limit: 50, offset: 0, sort: 'title', direction: 'asc' })
})

t.test('the number of pages follows from the number of items', async t => {
  const app = await start(t)
  for (const [url, expected, window] of [
    ['/api/95', { total: 95, pages: 10, previous: null, next: 2 }, [1, 2, 3]],
    ['/api/95?page=5', { pages: 10, previous: 4, next: 6 }, [4, 5, 6]],
    ['/api/95?page=10', { pages: 10, previous: 9, next: null }, [8, 9, 10]],
    ['/api/95?page=12', { page: 12, pages: 10, previous: 10, next: null }, [8, 9, 10]],
    ['/api/100', { pages: 10 }, [1, 2, 3]],
    ['/api/0', { total: 0, pages: 1, previous: null, next: null }, [1]],
    ['/api/15?page=2', { pages: 2, previous: 1, next: null }, [1, 2]]
  ] as const) {
    const body = (await app.inject(url)).json<{ window: { pages: Array<{ page: number }> } }>()
    t.match(body, expected, url)
    t.same(body.window.pages.map(({ page }) => page), window, url)
  }
})

t.test('links keep the other parameters and the host', async t => {
  const app = await start(t)
  for (const [url, expected] of [
    ['/api/95?q=a%26b&page=5&q=c&sort=title', [
      ['first', '/api/95?q=a%26b&page=1&q=c&sort=title'], ['prev', '/api/95?q=a%26b&page=4&q=c&sort=title'],
      ['next', '/api/95?q=a%26b&page=6&q=c&sort=title'], ['last', '/api/95?q=a%26b&page=10&q=c&sort=title']
    ]],
    ['/api/95', [['first', '/api/95?page=1'], ['next', '/api/95?page=2'], ['last', '/api/95?page=10']]],
    ['/api/1?limit=1', [['first', '/api/1?limit=1&page=1'], ['last', '/api/1?limit=1&page=1']]],
    ['/api/95?page=12', [['first', '/api/95?page=1'], ['prev', '/api/95?page=10'], ['last', '/api/95?page=10']]],
    ['/api/95?q=%3E%3B%0d%0aX:1%22', [
      ['first', '/api/95?q=%3E%3B%0D%0AX%3A1%22&page=1'], ['next', '/api/95?q=%3E%3B%0D%0AX%3A1%22&page=2'], ['last', '/api/95?q=%3E%3B%0D%0AX%3A1%22&page=10']
    ]]
  ] as const) {
    const { refs } = LinkHeader.parse(String((await app.inject(url)).headers.link))
    t.same(refs.map(({ rel, uri }) => [rel, uri]), expected, url)
  }
  t.equal((await app.inject('/html/95')).headers.link, undefined, 'links can be disabled')
  const port = await listen(app)
  const answer = await raw(port, 'GET //evil.test/x?page=1 HTTP/1.1\r\nHost: localhost\r\n\r\n')
  t.equal(answer?.text, '/.//evil.test/x?page=5')
  t.equal(new URL(answer?.text ?? '', 'http://localhost/').host, 'localhost')
})

t.test('the sliding window is rendered as markup', async t => {
  const app = await start(t)
  const shown = async (url: string): Promise<Array<[string | undefined, string | null]>> => {
    const root = JSDOM.fragment((await app.inject(url)).body)
    return [...root.querySelectorAll('nav[aria-label=Pages] > ul > li')].map(
      (item) => [item.textContent ?? undefined, item.querySelector('a')?.getAttribute('href') ?? null]
    )
  }
  t.same(await shown('/html/95?page=5'), [
    ['Previous', '/html/95?page=4'], ['1', '/html/95?page=1'], ['…', null], ['4', '/html/95?page=4'], ['5', '/html/95?page=5'],
    ['6', '/html/95?page=6'], ['…', null], ['10', '/html/95?page=10'], ['Next', '/html/95?page=6']
  ])
  t.same((await shown('/html/40')).map(([text]) => text), ['1', '2', '3', '4', 'Next'])
  t.same((await shown('/html/95?page=99')).map(([text]) => text), ['Previous', '1', '…', '8', '9', '10'])
  t.equal((await app.inject('/html/10')).body, '', 'one page needs no window')
  const { body } = await app.inject('/html/95?page=2&%22%3E%3Cscript%3E=%3Cb%3E')
  t.notMatch(body, /<script|<b>/)
  t.equal(JSDOM.fragment(body).querySelector('[aria-current=page]')?.getAttribute('href'), '/html/95?page=2&%22%3E%3Cscript%3E=%3Cb%3E')
})

t.test('the profile has the pagination', async t => {
  const app = await start(t)
  const profile = await profileOf(app, await app.inject('/api/95?page=2'))
  t.same(profile.collectors.pagination, {
    page: 2,
    limit: 10,
    offset: 10,
    sort: 'date',
    direction: 'desc',
    total: 95,
    pages: 10,
    sortable: ['title', 'date'],
    maxLimit: 50
  })
  t.match(
    (await profileOf(app, await app.inject('/none'))).events.find(({ listener }) => listener === 'pagination'), { outcome: 'skipped', reason: 'not configured' }
  )
})

t.test('invalid calls of the application are errors', async t => {
  const app = await start(t)
  t.match((await app.inject({ url: '/undeclared', headers: { accept: 'application/json' } })).json(),
    { exceptions: [{ message: 'paginate: the route "GET /undeclared" declares no pagination in its config' }] })
  t.match((await app.inject({ url: '/api/1.5', headers: { accept: 'application/json' } })).json(),
    { exceptions: [{ message: 'paginate: the total must be a whole number from 0, not 1.5' }] })
  for (const [config, message] of [
    [{ limit: 0 }, 'Route "list": Option "config.pagination.limit" must be a whole number from 1, not 0'],
    [{ limit: '5' }, 'Route "list": Option "config.pagination.limit" must be a whole number from 1, not a string'],
    [{ limit: 9, maxLimit: 8 }, 'Route "list": config.pagination.limit is 9, more than maxLimit, which is 8'],
    [{ sort: 'title' }, 'Route "list": Option "config.pagination.sort" must be an array, not a string'],
    [{ defaultSort: 'date' }, 'Route "list": config.pagination.defaultSort "date" is none of sort ()'],
    [{ direction: 'down' }, 'Route "list": Option "config.pagination.direction" must be "asc" or "desc", not "down"'],
    [{ limits: 9 }, 'Route "list": Unknown option "config.pagination.limits"; did you mean "limit"?'],
    [5, 'Route "list": Option "config.pagination" must be true or an object, not a number'],
    [null, 'Route "list": Option "config.pagination" must be true or an object, not null']
  ] as const) {
    await t.rejects(build({ declare: (app) => { app.get('/', { config: { name: 'list', pagination: config as never } }, async () => '') } }), { message })
  }
  for (const [pagination, message] of [
    [{ defaultLimit: 0 }, 'Option "pagination.defaultLimit" must be a whole number from 1, not 0'],
    [{ defaultLimit: 200 }, 'pagination.defaultLimit is 200, more than maxLimit, which is 100'],
    [{ pageSize: 3 }, 'Unknown option "pagination.pageSize"; use one of defaultLimit, maxLimit']
  ] as const) await t.rejects(build({ pagination: pagination as never }), { message })
})

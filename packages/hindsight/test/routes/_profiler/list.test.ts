import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import type { Profile } from '../../../src/store/profile.js'
import { Profiler } from '../../../src/store/profiler.js'
import { MemoryStorage } from '../../../src/store/memory.js'
import { parts } from '../../../src/parts/index.js'
import { profilerPages } from '../../../src/routes/profiler-pages.js'
import { failure, profile, tokens } from '../../parts/fixture.js'
import { HOSTILE } from '../../parts/hostile.js'
import { inBothProducts } from '../../support/products.js'
import { parseHtml } from '../../support/parse-html.js'

const html = { accept: 'text/html' }

async function start (t: Test): Promise<{ app: FastifyInstance, save: (...profiles: Profile[]) => void, load: (path?: string) => Promise<Document> }> {
  const app = fastify()
  const profiler = new Profiler({ storage: new MemoryStorage(), warn: () => {} })
  app.decorate('hindsight', { profiler, lifecycle: null, debug: false, editor: null, parts } as never)
  await app.register(profilerPages, { onlyProfiler: true })
  t.teardown(() => app.close())
  const load = async (path = '') => parseHtml((await app.inject({ url: `/_profiler/${path}`, headers: html })).body)
  return { app, save: (...profiles) => { for (const one of profiles) profiler.save(one) }, load }
}

function routed (pattern: string): Pick<Profile, 'route'> {
  return { route: { name: `GET|HEAD ${pattern}`, pattern, params: {}, methods: ['GET', 'HEAD'] } }
}

const thrown = (token: string, message: string, changes: Partial<Profile> = {}): Profile =>
  profile(token, { status: 500, ...routed('/orders/:id'), exceptions: [{ name: 'TypeError', message, frames: [], stack: '' }], ...changes })
const listed = (document: Document) => [...document.querySelectorAll('.profiles tbody th a')].map((link) => link.textContent)
const texts = (document: Document, selector: string) => [...document.querySelectorAll(selector)].map((element) => element.textContent)

t.test('the list has its columns, and a link in each row', async (t) => {
  const { save, load } = await start(t)
  save(profile('000001', { ...routed('/a/:b'), url: 'http://127.0.0.1:3000/a/1?q=2' }), profile('000002'))
  const document = await load()
  t.same(texts(document, '.profiles thead th'), ['Status', 'Method', 'URL', 'Message', 'Route', 'Duration', 'Time', 'Token'])
  const cells = texts(document, '.profiles tbody:last-child td:nth-child(-n+6)')
  t.same(cells, ['200', 'GET', '/a/1?q=2', '', '/a/:b', '1.25 ms'], 'without the origin, which all have')
  t.equal(texts(document, '.profiles td.c0')[0], '', 'without a route the cell is empty')
  t.equal(document.querySelector('.profiles tbody th a')?.getAttribute('href'), '000002')
  t.equal(document.querySelectorAll('.profiles tbody tr a').length, 2, 'one link in a row')
  save(profile('000003', { url: 'http://other.example/' }))
  t.same(
    texts(await load(), '.profiles td.text'), ['/ · http://other.example', '/robots.txt', '/a/1?q=2'], 'another origin is shown'
  )
})

t.test('long text is cut at its end, and hostile text is escaped', async (t) => {
  const { save, load } = await start(t)
  save(profile('000001', { url: `http://h/start${'x'.repeat(1_000)}end`, method: 'M'.repeat(500) }), thrown(
    '000002', 'y'.repeat(1_000), { url: `http://h/${HOSTILE}`, method: HOSTILE, ip: HOSTILE, route: { name: HOSTILE, pattern: '/', params: {}, methods: [] } }
  ))
  const document = await load()
  t.match(texts(document, '.profiles td.text').at(-1), /^\/startx{74}…$/)
  t.equal(document.querySelectorAll('main :is(script, img, b, [style], [onerror])').length, 0)
})

t.test('column heads sort in both directions, and keep the search', async (t) => {
  const { app, save, load } = await start(t)
  save(profile('000001', { duration: 5 }), profile('000002', { duration: 50, status: 404 }), profile('000003', { duration: 0.5, status: 302 }))
  const head = async (path: string, name: string) => {
    const document = await load(path)
    const cell = [...document.querySelectorAll('.profiles thead th')].find((cell) => cell.textContent === name)
    return [cell?.getAttribute('aria-sort') ?? null, cell?.querySelector('a')?.getAttribute('href'), listed(document).join(' ')]
  }
  t.same(await head('', 'Time'), ['descending', '/_profiler/search?sort=time', '000003 000002 000001'])
  t.same(await head('search?sort=time', 'Time'), ['ascending', '/_profiler/search?', '000001 000002 000003'])
  t.same(await head('search?q=robots&limit=20', 'Duration'), [null, '/_profiler/search?q=robots&limit=20&sort=-duration', '000003 000002 000001'])
  t.same(await head('search?sort=-duration', 'Duration'), ['descending', '/_profiler/search?sort=duration', '000002 000001 000003'])
  t.same(await head('search?sort=duration', 'Duration'), ['ascending', '/_profiler/search?sort=-duration', '000003 000001 000002'])
  t.same(await head('search?sort=-status', 'Status'), ['descending', '/_profiler/search?sort=status', '000002 000003 000001'])
  t.equal((await app.inject('/_profiler/search.json?sort=-duration&limit=2')).json().next, null, 'only the newest first have further pages')
})

t.test('equal failures are grouped at the position of the newest', async (t) => {
  const { save, load } = await start(t)
  save(
    thrown('000001', 'order 17 is locked'), profile('000002', routed('/orders/:id')), thrown('000003', 'order 18 is locked'),
    thrown('000004', 'order 0b9f-77aa is locked'), thrown('000005', 'order 18 is gone'), thrown('000006', 'order 18 is locked', routed('/carts/:id')),
    profile('000007', { status: 500 }), profile('000008', { status: 500 })
  )
  const document = await load()
  const groups = [...document.querySelectorAll('.profiles tbody')].map(
    (body) => [...body.querySelectorAll('th a')].map(({ textContent }) => textContent).join(' ')
  )
  t.same(groups, ['000008', '000007', '000006 000004 000003 000001', '000005', '000002'], 'of all routes')
  t.same(texts(document, '.message:has(.equal)').map((text) => /^.*equal failures/.exec(text)?.[0]), ['×4 equal failures'])
  t.same(texts(document, '.profiles p').length, 2, 'one exception for each group')
  t.equal((await load('search?sort=-duration')).querySelectorAll('label.equal').length, 0, 'another order has no groups')
})

t.test('numbers with decimals and units do not separate equal failures', async (t) => {
  const { save, load } = await start(t)
  save(thrown('000001', 'no answer in 1.5s, -2.25 V'), thrown('000002', 'no answer in 20s, 3.5 V'), thrown('000003', 'no answer in 20ms, 3.5 V'))
  const groups = [...(await load()).querySelectorAll('.profiles tbody')].map((body) => body.querySelectorAll('tr').length)
  t.same(groups, [1, 2])
})

inBothProducts('a group of equal failures has their number, of this page where there are older pages', async (t, build) => {
  const app = await build((app) => app.get('/orders/:id', async () => { throw new Error('the order is locked') }))
  for (let i = 0; i < 5; i++) await app.inject(`/orders/${i}`)
  for (const [query, rows] of [['', 5], ['search?limit=2', 2], ['search?q=error:1', 5]] as const) {
    const document = parseHtml((await app.inject({ url: `/_profiler/${query}`, headers: html })).body)
    t.same([listed(document).length, texts(document, '.equal')], [rows, [`×${rows}${rows === 2 ? ' here' : ''} equal failures`]], query)
  }
})

inBothProducts('the empty list offers a page that does not exist, below the prefix of the application', async (t, build) => {
  const app = await build()
  const load = async () => parseHtml((await app.inject({ url: '/_profiler/', headers: html })).body)
  const link = (await load()).querySelector('.empty a')
  t.equal(link?.textContent, 'Make a first failure')
  const { pathname } = new URL(link?.getAttribute('href') ?? '', 'http://localhost/_profiler/')
  t.equal((await app.inject({ url: pathname, headers: html })).statusCode, 404)
  t.match(texts(await load(), '.profiles tbody .message')[0], /^NotFoundError/)
})

t.test('presets are links, and the search box keeps the query', async (t) => {
  const { save, load } = await start(t)
  save(profile('000001', { duration: 300 }), failure('000002'), thrown('000003', 'x'), profile('000004', { time: new Date().toISOString() }))
  const found: Record<string, unknown> = {}
  for (const link of (await load()).querySelectorAll('.presets a, .top a:is([href$="_profiler/"], [href*=error]):not(.brand, [href*=latest])')) {
    const document = await load(link.getAttribute('href')?.replace('/_profiler/', ''))
    found[link.textContent ?? ''] = listed(document).join(' ')
    t.equal(document.querySelector(':is(.presets, .top) [aria-current]')?.textContent, link.textContent)
  }
  const failures = '000003 000002'
  t.same(found, { Profiles: `000004 ${failures} 000001`, Failures: failures, '5xx': '000003', Slow: '000001', 'Last hour': '000004', Jobs: '' })
  const document = await load('search?q=status:5xx+"<b>"')
  t.equal(document.querySelector<HTMLInputElement>('[name=q]')?.value, 'status:5xx "<b>"')
  t.match(document.querySelector('.empty')?.textContent, 'No profiles match.')
  t.equal(document.querySelector('details')?.hasAttribute('open'), false)
  t.equal((await load('search?status=404')).querySelector('details')?.hasAttribute('open'), true)
  const wrong = await load('search?q=status:50+"a+b"')
  t.equal(wrong.querySelector('[role=alert]')?.textContent, 'Invalid "status": "50" is neither a status such as 404 nor a class such as 4xx.')
  t.equal(wrong.querySelector<HTMLInputElement>('[name=q]')?.value, 'status:50 "a b"')
})

inBothProducts('equal filters are one state, however they are written', async (t, build) => {
  const app = await build()
  const load = async (url: string) => parseHtml((await app.inject({ url, headers: html })).body)
  const hrefs = (document: Document, selector: string) =>
    [...document.querySelectorAll(selector)].filter(({ textContent }) => textContent === 'Failures').map((link) => link.getAttribute('href'))
  const home = await load('/_profiler/')
  t.same(texts(home, '.top nav [aria-current=page]'), ['Profiles'])
  t.same(hrefs(home, '.top nav a, .presets a'), ['/_profiler/search?error=1'])
  for (const [query, current] of [
    ['', 'Profiles'], ['url=&sort=duration', 'Profiles'], ['error=1', 'Failures'], ['error=true&limit=20', 'Failures'], ['q=error:1', 'Failures'],
    ['status=5XX', '5xx'], ['q=status:5xx', '5xx'], ['min_duration=200', 'Slow'], ['slow=>200ms', 'Slow'],
    ['from=1h', 'Last hour'], ['q=from:60m', 'Last hour'],
    ['error=0', undefined], ['error=1&q=status:5xx', undefined], ['from=2h', undefined], ['q=orders', undefined], ['q=error:1&error=1', undefined]
  ] as const) {
    const document = await load(`/_profiler/search?${query}`)
    t.same(texts(document, ':is(.presets, .top nav) [aria-current=page]'), current === undefined ? [] : [current], query)
    t.equal(document.querySelector('details')?.hasAttribute('open'), /^error=(0|1&)|^from=2h|&error/.test(query), query)
  }
})

t.test('requests for icons are muted', async (t) => {
  const { app, save, load } = await start(t)
  save(thrown('000001', 'x'), failure('000002', { url: 'http://h/favicon.ico' }), failure('000003', { url: 'http://h/apple-touch-icon.png' }))
  const document = await load()
  t.same([...document.querySelectorAll('.profiles tbody tr')].map((row) => row.className), ['is-noise', 'is-noise is-equal', 'has-problem'])
  t.equal(document.querySelectorAll('.profiles tbody p').length, 1, 'only the failure shows its message')
  t.equal((await app.inject('/_profiler/latest?error=1')).headers.location, '/_profiler/000001')
  t.equal((await app.inject('/_profiler/latest?status=404')).headers.location, '/_profiler/000003')
  t.equal((await app.inject('/_profiler/latest?url=icon')).headers.location, '/_profiler/000003')
  t.equal((await app.inject('/_profiler/latest')).headers.location, '/_profiler/000001')
})

inBothProducts('the latest profile is none that a browser requested by itself', async (t, build) => {
  const broken = (app: FastifyInstance) => app.get('/broken', async () => { throw new Error('my bug') })
  const decline = (_: FastifyRequest, reply: FastifyReply): void => { reply.callNotFound() }
  const applications: Array<(app: FastifyInstance) => unknown> = [
    () => {},
    (app) => app.get('/*', { config: { name: 'spa' } }, decline),
    (app) => app.get('/*', decline),
    (app) => app.get('/:file', { config: { name: 'file' } }, decline).get('/.well-known/*', { config: { name: 'well_known' } }, decline)
  ]
  for (const [i, declare] of applications.entries()) {
    const app = await build((app) => { broken(app); declare(app) })
    await app.inject('/broken')
    for (const url of ['/favicon.ico', '/.well-known/appspecific/com.chrome.devtools.json', '/app.js.map', '/sw.js', '/manifest.json']) {
      t.equal((await app.inject(url)).statusCode, 404)
    }
    for (const address of ['latest', 'latest?error=1', 'latest?method=GET', 'latest?limit=1&sort=status&cursor=1']) {
      const { location } = (await app.inject(`/_profiler/${address}`)).headers
      t.match((await app.inject(`${location}.json`)).json(), { url: /\/broken$/ }, `${address} of application ${i}`)
    }
    t.match((await app.inject('/_profiler/latest.md?url=sw.js')).headers.location, /\/[0-9a-f]{6}\.md$/)
    const document = parseHtml((await app.inject('/_profiler/search?url=/sw.js')).body)
    const [row] = document.querySelectorAll('.profiles tbody tr')
    t.equal(row?.className, 'is-noise')
    t.notOk(row?.querySelector('.facts'), 'the mark is no value of a collector')
    const { profiles: [found] } = (await app.inject('/_profiler/search.json?url=/sw.js')).json()
    t.equal(found.values.isNoise, '1')
  }
})

t.test('title and icon show the status', async (t) => {
  const { save, load } = await start(t)
  save(thrown('000001', 'x', { url: 'http://h/orders/1042' }), profile('000002'))
  const icon = (document: Document) => document.querySelector('link[rel=icon]')?.getAttribute('href') ?? ''
  const [list, failed, succeeded] = [await load(), await load('000001'), await load('000002')]
  t.same(
    [list.title, failed.title, (await load('000001?panel=logs')).title],
    ['Profiles · Hindsight', '500 GET /orders/1042 · Hindsight', '500 GET /orders/1042 – Logs · Hindsight']
  )
  t.equal(icon(list), icon(succeeded), 'of the first row')
  t.not(icon(failed), icon(succeeded))
  t.match(decodeURIComponent(icon(failed)), /^data:image\/svg\+xml,<svg [^>]*><circle/)
})

t.test('a list of 50 is at most 40 kB of HTML', async (t) => {
  for (const query of ['', `?q=${'long'.repeat(400)}`]) {
    const { app, save } = await start(t)
    for (const [i, token] of tokens(1, 50).entries()) {
      const url = `http://127.0.0.1:3000/orders/${1_000 + i}/items${query}`
      save(i % 5 === 0
        ? thrown(token, `Cannot read properties of undefined (reading 'price${'abcde'.charAt(i / 10)}')`, { url })
        : profile(token, { url, ...routed('/orders/:id/items') }))
    }
    const { rawPayload } = await app.inject({ url: '/_profiler/', headers: html })
    t.ok(rawPayload.length < 40_000, `${rawPayload.length} bytes`)
  }
})

t.test('a list of 50 different failures with long messages and URLs is at most 40 kB of HTML', async (t) => {
  for (const [text, query] of [["Cannot read properties of undefined (reading 'price') of the", 'long%20'], ['<>&"', '&']] as const) {
    const { app, save } = await start(t)
    for (const [i, token] of tokens(1, 50).entries()) {
      const word = 'abcdefg'.charAt(i / 7) + 'abcdefg'.charAt(i % 7)
      save(thrown(token, `${word} ${text} `.repeat(20), { url: `http://127.0.0.1:3000/${word}?q=${query.repeat(400)}` }))
    }
    const { body, rawPayload } = await app.inject({ url: '/_profiler/', headers: html })
    t.equal(body.match(/<tbody>/g)?.length, 50, 'no group')
    t.ok(rawPayload.length < 40_000, `${text}: ${rawPayload.length} bytes`)
  }
})

t.test('a comparison needs two profiles', async (t) => {
  const { save, load } = await start(t)
  save(profile('000001'))
  const document = await load('compare?profile=000001')
  t.same(
    [document.querySelector('h1')?.textContent, document.querySelector('.lead')?.textContent],
    ['Not possible', 'Select two profiles to compare them, one was selected: /_profiler/compare?profile=3fa94c&profile=0b11e2.']
  )
})

t.test('the time of a job that has not ended leaves the others their bars', async (t) => {
  const { save, load } = await start(t)
  const running = { duration: 50_000, status: 0, method: 'JOB', kind: 'job', name: 'import', outcome: 'running' } as Partial<Profile>
  save(profile('000001', { duration: 100 }), profile('000002', { duration: 31 }), profile('000003', running))
  const bars = [...(await load()).querySelectorAll('.profiles tbody .duration')].map(({ className }) => className)
  t.same(bars, ['duration d10', 'duration d3', 'duration d10'])
})

t.test('a success with an error has not the color of a success', async (t) => {
  const { save, load } = await start(t)
  save(thrown('000001', 'late', { status: 200 }), profile('000002'), thrown('000003', 'refused', { status: 500 }))
  const colors = async (path: string) => [...(await load(path)).querySelectorAll('tbody .status')].map(({ className }) => className)
  t.same(await colors(''), ['status status-5', 'status status-2', 'status status-4'])
  t.same((await colors('search?group=failures')).toSorted(), ['status status-4', 'status status-5'])
  t.same([...(await load('000001')).querySelector('section.summary')?.classList ?? []], ['summary', 'is-4'], 'on its page')
  const compared = [...(await load('000001/compare/000002')).querySelectorAll('.card .status')].map(({ className }) => className)
  t.same(compared, ['status status-4', 'status status-2'], 'in a comparison')
})

t.test('columns are shown where rows have values, of machines where these differ, and have a box each', async (t) => {
  const { save, load } = await start(t)
  const values = (machine: string) => ({
    queries: { count: 3 }, 'http-client': { count: 2 }, response: { size: 12_345 }, request: { headers: {} }, config: { machine }
  })
  save(profile('000001', { duration: 100, collectors: values('web-1') }), profile('000002', { duration: 31 }))
  const heads = (document: Document) => texts(document, '.profiles thead th')
  const document = await load()
  t.same(heads(document), ['Status', 'Method', 'URL', 'Message', 'Kind', 'Queries', 'Calls', 'Size', 'Duration', 'Time', 'Token'])
  t.same(texts(document, 'tbody:last-child :is(.c1, .c2, .c3, .c5)'), ['fetch', '3', '2', '12.3 kB'])
  t.same([...document.querySelectorAll('.profiles tbody .duration')].map(({ className }) => className), ['duration d3', 'duration d10'], 'the bars')
  save(profile('000003', { collectors: values('web-2') }))
  const several = await load()
  t.same(texts(several, 'tbody .c4'), ['web-2', '', 'web-1'])
  const boxes = [...several.querySelectorAll<HTMLInputElement>('[name=column]')]
  t.same(boxes.map(({ value, checked, parentElement }) => [value, parentElement?.textContent?.trim(), checked]), [
    ['0', 'Route', false], ['1', 'Kind', false], ['2', 'Queries', true], ['3', 'Calls', true], ['4', 'Machine', true], ['5', 'Size', false]
  ])
  t.equal(boxes[0]?.form ?? null, null, 'no field of the search')
})

inBothProducts('sub-requests are below their parents, and what follows a redirect is called so', async (t, build) => {
  const app = await build((app) => {
    app.get('/leaf', async () => 'leaf')
    app.get('/branch', async () => (await app.inject('/leaf')).body)
    app.get('/tree', async () => (await app.inject('/branch')).body + (await app.inject('/leaf')).body)
  })
  for (const url of ['/leaf', '/tree', '/leaf']) await app.inject(url)
  const rows = async (query = '') => {
    const document = parseHtml((await app.inject({ url: `/_profiler/search?${query}`, headers: html })).body)
    return [...document.querySelectorAll('.profiles tbody tr')].map((row) =>
      `${row.querySelector('td.text')?.firstChild?.textContent}${row.className === 'is-child' ? ' child' : ''}`)
  }
  t.same(await rows(), ['/leaf', '/tree', '/leaf child', '/branch child', '/leaf child', '/leaf'])
  t.same(await rows('sort=time'), ['/leaf', '/leaf', '/branch', '/leaf', '/tree', '/leaf'], 'another order is kept')
})

t.test('a job is below the request that has queued it, also where it is newer', async (t) => {
  const { save, load } = await start(t)
  const job = (token: string, parent: string) =>
    save(profile(token, { kind: 'job', name: `job ${token}`, method: 'JOB', url: `job ${token}`, status: 0, outcome: 'done', parent } as never))
  job('000001', '000003')
  save(profile('000002', { url: '/other' }))
  save(profile('000003', { url: '/order' }))
  save(profile('000004', { url: '/other' }))
  job('000005', '000003')
  job('000006', '000005')
  job('000007', 'ffffff')
  for (const [token, parent] of [['000008', '000009'], ['000009', '000008']] as const) job(token, parent)
  const rows = [...(await load('')).querySelectorAll('.profiles tbody tr')]
  t.same(rows.map((row) =>
    `${row.querySelector('td.text')?.firstChild?.textContent}${row.classList.contains('is-child') ? ' child' : ''}`), [
    'job 000009', 'job 000008', 'job 000007', '/other', '/order', 'job 000006 child', 'job 000005 child', 'job 000001 child', '/other'
  ], 'profiles that are their own ancestors are kept')
})

t.test('groups of failures have a column of revisions where one is known', async (t) => {
  const { save, load } = await start(t)
  const heads = async () => texts(await load('search?group=failures'), '.groups thead th')
  save(thrown('000001', 'x'))
  t.same(await heads(), ['Count', 'Failure', 'Routes', 'First seen', 'Last seen'])
  save(thrown('000002', 'y', { collectors: { config: { revision: '0123456789ab' } } }))
  t.same(await heads(), ['Count', 'Failure', 'Routes', 'Revision', 'First seen', 'Last seen'])
  t.same(texts(await load('search?group=failures'), '.groups td:nth-child(4)'), ['0123456', ''])
})

t.test('a group names the path of its failure', async (t) => {
  const { save, load } = await start(t)
  const url = 'http://127.0.0.1:3000/$&'
  save(thrown('000001', `${url} is unknown`, { url }))
  t.same(texts(await load('search?group=failures'), '.groups td.text a'), ['TypeError: /$& is unknown'])
})

inBothProducts('failures of all pages are in groups of one root cause and line', async (t, build) => {
  const app = await build((app) => {
    const fail = (id: string): never => { throw new Error(`order ${id} is <b>locked</b>`) }
    for (const path of ['orders', 'carts']) {
      app.get(`/${path}/:id`, async ({ params }) => fail((params as { id: string }).id))
    }
    app.get('/other', async () => { throw new TypeError('other') })
    app.get('/fine', async () => 'fine')
  })
  for (const url of ['/orders/1', '/other', '/fine', '/carts/2', '/favicon.ico', '/orders/3']) await app.inject(url)
  const { groups, failures, all, isBounded } = (await app.inject('/_profiler/search.json?group=failures')).json()
  t.same([failures, all, isBounded], [4, 2, false])
  t.match(groups, [
    { count: 3, first: { url: /orders\/1$/ }, last: { url: /orders\/3$/ }, routes: ['GET /orders/:id', 'GET /carts/:id'], failure: /^f[0-9a-f]{8}$/ },
    { count: 1, routes: ['GET /other'] }
  ])
  const load = async (url: string) => parseHtml((await app.inject({ url, headers: html })).body)
  const document = await load('/_profiler/search?group=failures')
  t.same(texts(document, '.groups tbody .number'), ['3', '1'])
  const [line = ''] = texts(document, '.groups small')
  t.match(line, /^packages\/hindsight\/test\/routes\/_profiler\/list\.test\.ts:\d+$/)
  t.equal((await app.inject(`/_profiler/search.json?q=line:${line}`)).json().profiles.length, 3)
  t.match(document.querySelector('.results .note')?.textContent, '4 failures in 2 groups. A group has one root cause')
  t.equal(document.querySelectorAll('main b').length, 0)
  t.same(texts(document, '.top [aria-current]'), ['Groups'])
  t.same(listed(await load(document.querySelector('.groups td.text a')?.getAttribute('href') ?? '')).length, 3)
  t.same(texts(await load('/_profiler/search?group=failures&q=url:/other'), '.groups tbody .number'), ['1'])
  t.match((await load('/_profiler/search?group=x')).querySelector('[role=alert]')?.textContent, 'Invalid "group": only failures are grouped')
})

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http, { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { JSDOM } from 'jsdom'
import t from 'tap'
import { callGroups, identifierPositions, problemOf, sentenceOf } from '../../../src/parts/http-client/groups.js'
import { httpClient } from '../../../src/parts/http-client/index.js'
import type { Data } from '../../../src/parts/read.js'
import type { Profile } from '../../../src/store/profile.js'
import { inBothProducts } from '../../support/products.js'
import { profileOf } from '../../support/app.js'
import { withoutMarks } from '../../support/marks.js'

const call = (path: string, start: number, duration: number | null = 4, source = '/app/src/cart.js:20:7') =>
  ({ method: 'GET', url: `http://stock${path}`, status: 200, start, duration, source })
const sentences = (...calls: ReturnType<typeof call>[]) => callGroups(calls, null).map(sentenceOf)
const problems = (...calls: ReturnType<typeof call>[]) => callGroups(calls, null).map(problemOf)

t.test('calls are grouped by their shape and line', async t => {
  t.same(sentences(...Array.from({ length: 12 }, (_, i) => call(`/items/${i}`, i * 5, i === 3 ? 5 : 4))),
    ['12 × GET http://stock/items/:id from /app/src/cart.js:20, one after another, 49 ms; at the same time about 5 ms'])
  t.same(sentences(call('/a', 0, 9), call('/a', 1, 8)), ['2 × GET http://stock/a from /app/src/cart.js:20, at the same time, 9 ms the longest'])
  t.same(sentences(call('/a', 0), call('/a', 5, 4, '/app/b.js:1:1')),
    ['GET http://stock/a from /app/src/cart.js:20, 4 ms', 'GET http://stock/a from /app/b.js:1, 4 ms'])
  const route = { name: 'x', pattern: '/:name', params: { name: 'ada' }, methods: [] }
  const shapes = (...paths: string[]) => callGroups(paths.map((path, i) => call(path, i * 5)), route).map(({ shape }) => shape)
  t.same(shapes('/users/ada/7'), ['GET http://stock/users/ada/7'], 'the path that was sent')
  t.same(shapes('/users/ada/7', '/users/ada/7?a=1'), ['GET http://stock/users/ada/7'])
  t.same(shapes('/users/ada/7', '/users/ada/8'), ['GET http://stock/users/:id/:id'])
  t.equal(callGroups([call('/a', 0, null), call('/a', 5)], null)[0]?.isSerial, false, 'one has not ended')
  t.same(sentences(call('/a', 0, null)), ['GET http://stock/a from /app/src/cart.js:20, which had not ended'])
})

t.test('many calls one after another, and equal ones, are problems', async t => {
  const many = (length: number, path = (i: number) => `/items/${i}`) => Array.from({ length }, (_, i) => call(path(i), i * 5))
  t.match(problems(...many(5)), [/^5 × GET/])
  t.match(problems(...many(5, () => '/items/7')), [/^The same call several times: 5 × GET/])
  t.same(problems(...many(5).map((one, i) => ({ ...one, start: i * 100 }))), [
    '5 × GET http://stock/items/:id from /app/src/cart.js:20, one after another, 20 ms; at the same time about 4 ms'
  ], 'with pauses between them')
  t.same(problems(...many(5).map((one) => ({ ...one, status: 503 }))), [null], 'another try of a call that failed')
  t.match(sentences(...many(5).map((one) => ({ ...one, status: 503 }))), [/, one after another, 20 ms$/], 'each try needs the result of the one before')
  t.match(problems(...many(5, () => '/me?token=******')), [/^5 × GET/], 'a masked part may differ')
  t.same(problems(...many(4)), [null])
  t.same(problems(call('/a', 0), call('/b', 1), call('/c', 2), call('/d', 3), call('/e', 4)), [null, null, null, null, null])
  t.same(problems(...Array.from({ length: 9 }, (_, i) => call(`/items/${i}`, 0))), [null], 'at the same time')
})

t.test('names in a segment in which the calls of one place differ are identifiers', async t => {
  const of = (paths: string[], places = paths.map(() => 'loop')) => identifierPositions(paths.map((path) => call(path, 0)), places)
  t.same(of(['/items/ada', '/items/bob', '/items/eve/x', '/items/cy']), [2, 2, undefined, 2])
  t.same(of(['/items/ada', '/items/bob', '/items/ada']), [undefined, undefined, undefined], 'two may be different resources')
  t.same(of(['/a/x', '/b/y', '/c/z']), [undefined, undefined, undefined], 'they differ in two segments')
  t.same(of(['/users', '/orders', '/carts'], ['a', 'b', 'c']), [undefined, undefined, undefined], 'several places called one function')
  t.same(of(['/users', '/orders', '/carts'], ['', '', '']), [undefined, undefined, undefined], 'unknown places')
  t.match(sentences(...['ada', 'bob', 'eve'].map((name, i) => ({ ...call(`/items/${name}`, i * 5), identifier: 2 }))), [/^3 × GET http:\/\/stock\/items\/:id /])
})

const stock = createServer((request, response) => {
  const remote = request.url === '/remote' ? 'http://example.com/_profiler/abcdef' : 'http://127.0.0.1:9/_profiler/abcdef'
  response.setHeader('x-debug-token-link', request.url === '/script' ? 'javascript:alert(1)' : remote)
  if (request.url === '/missing') response.statusCode = 404
  response.end('{}')
}).listen(0)
await once(stock, 'listening')
t.teardown(() => stock.close())
const address = `http://127.0.0.1:${(stock.address() as AddressInfo).port}`

/** The line of the first call below. */
const LINE = readFileSync(import.meta.filename, 'utf8').split('\n').findIndex((line) => /^ +for .const path/.test(line)) + 1

inBothProducts('a call has its line, and the profile of a called server of this machine', async (t, build) => {
  const app = await build((app) => {
    app.get('/', async () => {
      for (const path of ['/local', '/remote', '/script']) await (await fetch(address + path)).text()
      await new Promise<void>((resolve) => {
        http.get(`${address}/http`, { agent: false }, (response) => response.resume().once('end', resolve))
      })
      return {}
    })
  })
  const response = await app.inject('/')
  const { collectors } = await profileOf(app, response) as { collectors: Record<string, any> }
  const calls = collectors['http-client'].calls as Array<Record<string, unknown>>
  t.match(calls.map(({ source }) => source), [LINE, LINE, LINE, LINE + 2].map((line) => new RegExp(`http-client/groups\\.test\\.ts:${line}:\\d+$`)))
  t.same(calls.map(({ profile }) => profile), ['http://127.0.0.1:9/_profiler/abcdef', undefined, undefined, 'http://127.0.0.1:9/_profiler/abcdef'])
  const { body } = await app.inject(`/_profiler/${String(response.headers['x-debug-token'])}?panel=http-client`)
  t.match(body, '<a href="http://127.0.0.1:9/_profiler/abcdef">Its profile</a>')
  t.match(body, /from <(?:a|code)[^]*groups\.test\.ts:/)
})

inBothProducts('calls of a loop with names in their paths are one group', async (t, build) => {
  const app = await build((app) => {
    const load = async (path: string) => await (await fetch(address + path)).text()
    app.get('/loop', async () => {
      for (const name of ['ada', 'bob', 'cy', 'dan', 'eve']) await load(`/people/${name}`)
      return {}
    })
    app.get('/list', async () => {
      await load('/users')
      await load('/orders')
      await load('/carts')
      await load('/taxes')
      await load('/stock')
      return {}
    })
  })
  for (const [url, count] of [['/loop', 1], ['/list', 5]] as const) {
    const { collectors, route } = await profileOf(app, await app.inject(url)) as unknown as Profile
    const groups = callGroups((collectors['http-client'] as { calls: Data[] }).calls, route)
    t.equal(groups.length, count)
    if (count === 1) t.match(groups, [{ count: 5, shape: /\/people\/:id$/ }])
  }
})

inBothProducts('equal calls are a problem of the request', async (t, build) => {
  const app = await build((app) => {
    app.get('/', async () => {
      for (let i = 0; i < 5; i++) await (await fetch(`${address}/items/7`)).text()
      return {}
    })
  })
  const stored = await profileOf(app, await app.inject('/')) as unknown as Profile
  const { calls } = stored.collectors['http-client'] as { calls: Data[] }
  // A busy machine makes pauses between them.
  const data: Data = { count: 5, failed: 0, calls: calls.map((call, i) => ({ ...call, start: i * 5, duration: 4 })) }
  const sentence = /^The same call several times: 5 × GET http:\S+\/items\/7 from \S*groups\.test\.ts:\d+, one after another, 20 ms/
  t.match(httpClient.issue?.(data, stored), sentence)
  t.equal(httpClient.panel?.warnings?.(data, stored), 1)
  t.match(httpClient.markdown?.(data, stored, []), [{ title: 'Outgoing calls', text: /5 × GET/ }])
})

inBothProducts('the overview groups calls that are no problem, and links failed ones', async (t, build) => {
  const app = await build((app) => {
    app.get('/', async () => {
      await Promise.all(['/items/1', '/items/2', '/items/3'].map(async (path) => await fetch(address + path)))
      await fetch('http://127.0.0.1:3/').catch(() => {})
      const { status } = await fetch(`${address}/missing`)
      throw new Error(`The stock answered ${status}`)
    })
  })
  const response = await app.inject({ url: '/', headers: { accept: 'text/html' } })
  const texts = (root: ParentNode, selector: string) => [...root.querySelectorAll(selector)].map((one) => one.textContent.replace(/\s+/g, ' ').trim())
  const page = JSDOM.fragment(response.body)
  t.match(texts(page, '.hint .routes li'), [
    /^GET http:\/\/127\.0\.0\.1:3\/ .*groups\.test\.ts:\d+$/,
    /^GET http:\S+\/missing 404 .*groups\.test\.ts:\d+ profile of the called server$/
  ])
  t.equal(page.querySelector<HTMLAnchorElement>('.hint .routes li:last-child > a:last-child')?.href, 'http://127.0.0.1:9/_profiler/abcdef')
  const token = String(response.headers['x-debug-token'])
  const overview = JSDOM.fragment((await app.inject({ url: `/_profiler/${token}`, headers: { accept: 'text/html' } })).body)
  t.match(texts(overview, '.facts-list .failure'), [
    /127\.0\.0\.1:3\/: .*from \S*groups\.test\.ts:\d+$/, /\/missing: 404from \S*groups\.test\.ts:\d+Its profile$/
  ])
  t.match(texts(overview, '.facts-list dd > div:not(.failure)').at(-1), /^3 × GET http:\S+\/items\/:id from \S*groups\.test\.ts:\d+, at the same time, /)
  const { body } = await app.inject({ url: `/_profiler/${token}`, headers: { accept: 'text/markdown' } })
  const markdown = withoutMarks(body)
  t.match(markdown, /- `GET http:\S+\/missing`: 404 \(`.*groups\.test\.ts:\d+`\), profile of the called server: `http:\/\/127\.0\.0\.1:9\/_profiler\/abcdef`/)
})

t.test('a stored address of a profile that is no URL of HTTP is no link', async (t) => {
  for (const address of ['javascript:alert(1)', 'data:text/html,x', '//a.test', 7]) {
    const call = { method: 'GET', url: 'http://a.test/', status: 500, start: 0, duration: 1, profile: address, called: { entries: [{ name: 'x', start: 0 }] } }
    const profile = { url: 'http://b.test/', route: null, collectors: { 'http-client': { count: 1, calls: [call] } } } as unknown as Profile
    const data = profile.collectors['http-client'] as Record<string, unknown>
    const shown = [
      httpClient.panel?.render?.(data, profile, { query: {}, editor: null, parts: [], debug: true }),
      httpClient.hints?.(data, profile),
      httpClient.timeline?.(data, profile)
    ]
    t.notMatch(JSON.stringify(shown), /profile of|Profile of|javascript:|data:text|\/\/a\.test"/, String(address))
  }
})

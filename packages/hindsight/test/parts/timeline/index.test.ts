import { setTimeout as sleep } from 'node:timers/promises'
import { JSDOM } from 'jsdom'
import t from 'tap'
import { overview } from '../../../src/parts/overview/index.js'
import { parts } from '../../../src/parts/index.js'
import { timelineOf } from '../../../src/parts/read.js'
import { timeline } from '../../../src/parts/timeline/index.js'
import { recordQuery } from '../../../src/queries/observe.js'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import { profile } from '../fixture.js'
import { HOSTILE } from '../hostile.js'
import { sample } from '../sample.js'
import { markup, shown, texts } from '../support.js'

const event = (listener: string, start: number, duration: number, stage = 'kernel.request') =>
  ({ stage, listener, pass: 'main', outcome: 'ran', start, duration }) as never
const whole = profile('000001', {
  duration: 10,
  route: { name: 'home', pattern: '/', params: {}, methods: ['GET'], handler: '/app/home.ts:7' },
  events: [event('router', 1, 0.5), event('response', 8, 0.25, 'kernel.response')],
  collectors: {
    performance: { handlerStart: 2, handler: 5, serializeStart: 7, serialize: 0.5, firstByte: 9 },
    'http-client': {
      count: 2,
      calls: [
        { method: 'GET', url: 'http://a.test/', status: 503, start: 3, duration: 2, source: '/app/home.ts:9:3' },
        { method: 'GET', url: 'http://b.test/', status: null, start: 4, duration: null }
      ]
    }
  }
})
const line = (level: string, ms: number, message = level, channel = 'app') =>
  ({ time: new Date(Date.parse(whole.time) + ms).toISOString(), offset: ms, level, channel, message, context: {} }) as never

/** The names of the rows, each below the names of the rows around it. */
const outline = (list: Element | null): unknown[] => [...list?.children ?? []].map((item) => {
  const name = item.querySelector('.name > span')?.textContent ?? ''
  const inner = item.querySelector(':scope > ol')
  return inner === null ? name : [name, ...outline(inner)]
})
const rows = (root: ParentNode) => texts(root, '.waterfall .row')
const ticks = (changes: object) => texts(shown(timeline, profile('000001', { events: [event('a', 0, 0)], ...changes })), '.scale text')
const attributes = (root: ParentNode, selector: string, ...names: string[]) =>
  [...root.querySelectorAll(selector)].map((element) => names.map((name) => element.getAttribute(name)))

t.test('the timeline has a row for each stage, handler, call and serialization, with its line of code', async t => {
  const root = shown(timeline, whole)
  t.same(rows(root), [
    'kernel.request, 1 listener500 µs',
    'handler home/app/home.ts:75 ms',
    'GET / · a.test/app/home.ts:92 ms',
    'GET / · b.testpending',
    'serialization500 µs',
    'kernel.response, 1 listener250 µs'
  ])
  t.same(attributes(root, '.waterfall rect', 'class', 'x', 'width'), [
    [null, '10%', '5%'], [null, '20%', '50%'], ['bar-failed', '30%', '20%'], [null, '40%', '60%'], [null, '70%', '5%'], [null, '80%', '2.5%']
  ])
  t.same(attributes(root, '.waterfall li', 'class').flat(), [
    'bar-listener', 'bar-handler', 'bar-call', 'bar-call', 'bar-serialization', 'bar-listener'
  ])
  t.same(attributes(root, '.more a', 'href').flat(), [
    '?panel=events#event-1', '?panel=router', '?panel=http-client#call-1', '?panel=http-client#call-2', '?panel=request', '?panel=events#event-2'
  ])
  t.same(texts(root, '.more').slice(1, 3), ['at 2 ms the handler of the route home /app/home.ts:7 Open', 'at 3 ms http://a.test/: 503 /app/home.ts:9 Open'])
  t.equal(root.querySelector('.scale .ready')?.getAttribute('x1'), '90%')
})

t.test('a handler that has not ended has a bar until now, and is the slowest part', async t => {
  const { collectors, ...rest } = whole
  const open = { ...rest, status: 499, collectors: { ...collectors, performance: { handlerStart: 2 } } }
  t.same(rows(shown(timeline, open)).slice(1, 3), ['handler home/app/home.ts:7pending', 'GET / · a.test/app/home.ts:92 ms'])
  t.same(attributes(shown(timeline, open), '.waterfall .bar-handler rect', 'x', 'width')[0], ['20%', '80%'])
  t.equal(texts(shown(overview, open), '.facts-list dd')[0], 'handler home pendingGET / · b.test pending')
})

t.test('kinds of entries are chosen by links', async t => {
  const logged = { ...whole, logs: [line('info', 2.5)] }
  const root = shown(timeline, logged)
  t.same(texts(root, '.legend a'), ['All', 'listener 2', 'handler 1', 'log line 1', 'outgoing HTTP call 2', 'serialization 1'])
  t.same(texts(root, '.legend [aria-current]'), ['All'])
  t.same(attributes(root, '.legend a', 'href').flat().slice(0, 3), ['?panel=timeline', '?panel=timeline&kind=listener', '?panel=timeline&kind=handler'])
  t.same(rows(shown(timeline, profile('000001', { logs: [line('error', 0, '')] }))), ['(no message)at < 1 µs'], 'a line that has only an error')
  const calls = shown(timeline, logged, { kind: ['outgoing HTTP call', 'serialization'] })
  t.same(outline(calls.querySelector('.waterfall > ol')), ['GET / · a.test', 'GET / · b.test', 'serialization'])
  t.same(texts(calls, '.legend [aria-current]'), ['outgoing HTTP call 2', 'serialization 1'])
  t.same(attributes(calls, '.legend a', 'href').flat().slice(-3), [
    '?panel=timeline&kind=outgoing+HTTP+call&kind=serialization&kind=log+line', '?panel=timeline&kind=serialization', '?panel=timeline&kind=outgoing+HTTP+call'
  ])
  t.same(outline(shown(timeline, logged, { kind: ['handler', 'log line'] }).querySelector('.waterfall > ol')), [['handler home', 'info']])
  const none = shown(timeline, logged, { kind: '<b>' })
  t.equal(none.querySelectorAll('.row').length, 0)
  t.match(none.textContent, /There are no entries of these kinds\./)
})

t.test('ticks are at 4 to 8 round times', async t => {
  t.same(ticks({ duration: 10 }), ['0', '2 ms', '4 ms', '6 ms', '8 ms', '10 ms'])
  t.same(ticks({ duration: 3 }), ['0', '0.5 ms', '1 ms', '1.5 ms', '2 ms', '2.5 ms', '3 ms'])
  t.same(ticks({ duration: 0.04 }), ['0', '10 µs', '20 µs', '30 µs', '40 µs'])
  t.same(ticks({ duration: 4_321 }), ['0', '1 s', '2 s', '3 s', '4 s'])
  t.same(attributes(shown(timeline, { ...whole, duration: 16 }), '.scale .tick', 'x1').flat(), ['0%', '31.25%', '62.5%', '93.75%'])
  for (let duration = 0.001; duration < 1e6; duration *= 1.07) {
    const labels = ticks({ duration })
    t.ok(labels.length >= 4 && labels.length <= 8, `${duration}: ${labels.join()}`)
  }
})

t.test('the listeners of a stage are one row, as are short hooks', async t => {
  const raised = { ...event('error', 9, 1, 'kernel.response') as object, pass: 'error', outcome: 'raised' } as never
  const hook = (listener: string, start: number, duration: number, plugin?: string) =>
    ({ ...event(listener, start, duration, 'onRequest') as object, source: `/app/${listener}.ts:1`, plugin }) as never
  const root = shown(timeline, profile('000001', {
    duration: 10,
    events: [
      event('cors', 0, 0.25), hook('@fastify/multipart', 0.3, 0.01), hook('onRequest', 0.4, 0.02), hook('authenticate', 0.5, 1), event('router', 2, 0.5),
      hook('short', 3, 0.01), event('etag', 8, 0.25, 'kernel.response'), raised
    ]
  }))
  t.same(outline(root.querySelector('.waterfall > ol')), [
    'kernel.request, 2 listeners', '2 hooks under 1 %', 'onRequest authenticate', 'onRequest short', 'kernel.response, 1 listener',
    'kernel.response, error pass, 1 listener'
  ])
  t.equal(rows(root)[0], 'kernel.request, 2 listeners750 µs')
  const details = [...root.querySelectorAll('.more')]
  t.same(details.slice(0, 2).map((one) => texts(one, 'li')), [
    ['cors 250 µs', 'router 500 µs'], ['onRequest @fastify/multipart 10 µs /app/@fastify/multipart.ts:1', 'onRequest hook /app/onRequest.ts:1 20 µs']
  ])
  t.same(attributes(root, 'li:first-child > details > summary rect', 'x')[0], ['0%'])
  t.same(texts(root, '.row.failed .name'), ['kernel.response, error pass, 1 listener'])
})

t.test('work is below the step or span in which it began, and equal work is one row', async t => {
  const call = (url: string, start: number, duration: number | null = 1) => ({ method: 'GET', url, status: 200, start, duration })
  const span = (name: string, start: number, spanId: string, parentId?: string) => ({ name, kind: 'client', start, duration: 1, spanId, parentId })
  const query = (id: number, start: number, failed = false) => ({
    system: 'sqlite',
    statement: `select ${id}`,
    parameters: [],
    shape: 'select ?',
    start,
    duration: 0.5,
    rows: 1,
    source: '/app/a.ts:1:1',
    ...failed && { error: { message: 'no' } }
  })
  const budget = { work: [], javascript: 20, collection: 0.5, sending: 0, waiting: 0, isShared: false, blocks: [], collections: [{ start: 14, duration: 0.5 }] }
  const root = shown(timeline, profile('000001', {
    duration: 20,
    url: 'https://shop.test:8443/orders?a=1',
    events: [event('authenticate', 1, 3, 'onRequest'), event('shape', 15.2, 0.3, 'preSerialization')],
    logs: [{ ...line('info', 2.5) as object, hook: 1 } as never, line('info', 3, 'of other code')],
    collectors: {
      performance: { handlerStart: 5, handler: 10, serializeStart: 15, serialize: 1, budget },
      queries: { count: 4, queries: [query(1, 11), query(2, 12), query(3, 12.2, true), query(4, 12.4)] },
      'http-client': {
        count: 5,
        calls: [
          { ...call('https://login.test/user?token=x', 2), hook: 1 },
          call('https://shop.test:8443/rates?currency=EUR', 6, null), call('https://shop.test/rates', 7),
          call('http://late.test/', 16), call('unknown', 17)
        ]
      },
      spans: {
        spans: [
          span('select', 8, 'b', 'a'), span('transaction', 7.5, 'a', 'gone'), span('circle', 9, 'd', 'e'), span('of circle', 9.5, 'e', 'd'),
          span('itself', 10, 'f', 'f')
        ]
      }
    }
  }))
  t.same(outline(root.querySelector('.waterfall > ol')), [
    ['onRequest authenticate', 'GET /user · login.test', 'info'],
    'of other code',
    ['handler unnamed', 'GET /rates', 'GET /rates · shop.test', ['transaction', 'select'], ['circle', 'of circle'], 'itself', '3 × select ?', 'select 3',
      'garbage collection'],
    ['serialization', 'preSerialization shape'],
    'GET / · late.test', 'GET unknown'
  ])
  const equal = [...root.querySelectorAll('details')].find((row) => row.textContent?.startsWith('3 ×')) as Element
  t.same(texts(equal, 'li a'), ['select 1', 'select 2', 'select 4'])
  t.match(texts(equal, '.row'), [/\.ts:11\.4 ms$/], 'what overlaps is counted once')
  t.equal(equal.querySelectorAll('rect').length, 2, 'touching bars are one')
})

t.test('what came after the response is below it, and may take longer than the request', async t => {
  const root = shown(timeline, { ...whole, logs: [line('info', 9.5), line('warn', 5_000, 'later')] })
  t.equal(texts(root, '.waterfall h3').join(), 'After the response, on another scale')
  const late = { ...whole, kind: 'job' as const, logs: [line('info', 10.5)] }
  t.equal(texts(shown(timeline, late), '.waterfall h3').join(), 'After the end')
  t.same(outline(root.querySelector('.waterfall h3 + ol')), ['later'])
  t.same(texts(root, '.scale text').slice(-3), ['8 ms', '10 ms', '5 s'])
  t.same(attributes(root, '.scale .break', 'x').flat(), ['80%'], 'the ground is another one where the scale changes')
  t.same(texts(root, '.scale text:not(.minor)'), ['0', '4 ms', '8 ms', '5 s'], 'of a narrow chart')
  t.equal(root.querySelector('.scale .ready')?.getAttribute('x1'), '72%', 'the request has four fifths of the width')
  t.same(attributes(root, '.waterfall .bar-warning rect', 'x').flat(), ['99.7%'])
})

t.test('the time of the page of Hindsight has no width', async t => {
  const { collectors, ...rest } = whole
  const performance = { ...collectors.performance as object, hindsightStart: 7.5, hindsight: 90 }
  const root = shown(timeline, { ...rest, events: [event('response', 98, 0.25, 'kernel.response')], collectors: { performance } })
  t.same(rows(root).slice(-2), ['Hindsight90 ms', 'kernel.response, 1 listener250 µs'])
  t.same(attributes(root, '.waterfall rect', 'x', 'width').slice(-2), [['75%', '0.3%'], ['80%', '2.5%']])
})

t.test('1,000 entries are in pages of less than 150 kB', async t => {
  const call = (i: number) => ({ method: 'GET', url: `http://stock.test/items/of-a-long-name-${i}/stock`, status: 200, start: 3, duration: 1 })
  const calls = Array.from({ length: 500 }, (_, i) => ({ ...call(i), url: `${call(i).url}/${'x'.repeat(i % 7)}y${i}`, source: `/app/lib/stock.ts:${i}:1` }))
  const logs = Array.from({ length: 500 }, (_, i) => ({
    ...line('info', i / 50, `The item ${i} of the order has a message`) as object,
    source: `/app/lib/orders.ts:${i}:7`,
    context: { order: i, customer: 'ada@example.com' }
  }) as never)
  const { collectors, ...rest } = whole
  const many = { ...rest, logs, collectors: { ...collectors, 'http-client': { count: 500, calls } } }
  const editor = (file: string, row: number): string => `vscode://file${file}:${row}:1`
  const pages = Array.from({ length: 6 }, (_, i) => markup(timeline, many, { query: { page: String(i + 1) }, editor }))
  for (const page of pages) t.ok(Buffer.byteLength(page) < 140_000, `${Buffer.byteLength(page)} bytes`)
  const counted = pages.map((page) => JSDOM.fragment(page).querySelectorAll('.row').length)
  t.ok(counted.reduce((sum, count) => sum + count, 0) >= 1_000, counted.join())
  t.match(texts(JSDOM.fragment(pages[1] ?? ''), '.pages').join(), 'Rows 201 to 400 of 1,004. Page 1 2 3 4 5 6')
  t.same(outline(JSDOM.fragment(pages[1] ?? '').querySelector('.waterfall > ol')).map((row) => [row].flat()[0]), ['handler home'],
    'with the row around them')
  const filtered = [1, 2, 3].map((page) => shown(timeline, many, { kind: 'log line', page: String(page) }))
  t.same(filtered.map((page) => page.querySelectorAll('.row').length), [200, 200, 100], 'the filter acts on all entries')
  t.match(texts(filtered[1] as ParentNode, '.pages').join(), 'Rows 201 to 400 of 500. Page 1 2 3')
  t.same(attributes(filtered[1] as ParentNode, '.pages a', 'href').flat(), ['?panel=timeline&kind=log+line', '?panel=timeline&kind=log+line&page=3'])
  for (const page of ['0', '-1', 'x', '9', ['1', '5']]) t.ok(shown(timeline, many, { page }).querySelector('.row'), String(page))

  const equal = Array.from({ length: 500 }, (_, i) => ({ ...call(1), start: 3 + i / 200, duration: 0.001 }))
  const same = shown(timeline, { ...many, collectors: { ...collectors, 'http-client': { count: 500, calls: equal } }, logs: [] })
  t.match(texts(same, '.name').filter((name) => name.includes('×')), [/^500 × GET stock\.test\//])
  t.ok((same.querySelector('.waterfall')?.outerHTML.length ?? Infinity) < 20_000)
  t.ok(texts(same, '.note').includes('450 more entries.'))
  t.notOk(same.querySelector('.pages'))
})

t.test('10,000 log lines are made into a page without quadratic time', async t => {
  const logs = Array.from({ length: 10_000 }, (_, i) => line('info', i / 1_001, `line ${i % 5_000}`))
  const events = Array.from({ length: 100 }, (_, i) => event(`hook ${i}`, i / 10, 0.1, 'onRequest'))
  const page = markup(timeline, { ...whole, events, logs })
  t.ok(Buffer.byteLength(page) < 150_000)
  t.match(texts(JSDOM.fragment(page), '.legend a'), ['All', 'hook 100', 'log line 10,000'])
})

t.test('the overview has the rows that explain most', async t => {
  const nameOf = (i: number): string => String.fromCharCode(97 + i % 26).repeat(1 + Math.floor(i / 26))
  const calls = Array.from({ length: 200 }, (_, i) =>
    ({ method: 'GET', url: `http://a.test/${nameOf(i)}`, status: i === 7 ? 500 : 200, start: 3 + i / 1000, duration: i === 150 ? null : i / 40 }))
  const { collectors, ...rest } = whole
  const root = JSDOM.fragment(markup(overview, { ...rest, collectors: { ...collectors, 'http-client': { count: 500, calls } } }))
  t.same(outline(root.querySelector('.waterfall > ol')), [
    ['handler home', ...[7, 150, 196, 197, 198, 199].map((i) => `GET /${nameOf(i)} · a.test`)]
  ])
  t.notOk(root.querySelector('.legend'))
  t.same(attributes(root, '.waterfall ~ .note a', 'href').flat(), ['?panel=timeline'])
})

t.test('hostile and invalid data is shown safely', async t => {
  t.same(timelineOf(parts, sample()).map(({ name, failed }) => [name, failed]),
    [['incoming plain', false], ['router', true], ['error', false], ['clickjacking', false], ['GET plain', true], ['plain', true], ['plain', false]])
  t.equal(shown(timeline, sample(HOSTILE)).querySelectorAll('script, img, style, [style]').length, 0)
  const broken = shown(timeline, profile('000001', {
    duration: 0, events: [event('a', 0, 0)], logs: [{} as never], collectors: { 'http-client': { calls: [{ start: 'x' }, {}] } }
  }))
  t.notMatch(broken.querySelector('.waterfall')?.innerHTML, /NaN|Infinity|undefined/)
  t.equal(broken.querySelectorAll('.row').length, 1)
  t.match(shown(timeline, profile('000001')).textContent, /Nothing was recorded\./)
})

inBothProducts('entries of a request are nested below the code in which they began', async (t, build) => {
  const query = async (statement: string): Promise<void> => {
    const end = recordQuery({ system: 'sqlite', statement })
    await sleep(2)
    end({ rows: 1 })
  }
  let answered = (): void => {}
  const isAnswered = new Promise<void>((resolve) => { answered = resolve })
  const app = await build((app) => {
    app.addHook('preHandler', async function loadUser (request) {
      request.log.info('loading the user')
      await query('select 1')
    })
    app.addHook('preSerialization', async function shape (_request, _reply, payload) { return payload })
    app.get('/', async (request) => {
      await query('select 2')
      request.log.warn('in the handler')
      isAnswered.then(async () => {
        await sleep(20)
        request.log.info('later')
        await query('select 3')
      }).catch(() => {})
      return { a: 1 }
    })
  })
  const response = await app.inject('/')
  answered()
  let stored = await profileOf(app, response)
  for (let left = 200; left > 0 && !(stored.collectors.queries as { queries: object[] }).queries[2]; left--) {
    await sleep(50)
    stored = await profileOf(app, response)
  }
  const root = shown(timeline, stored)
  // Memory may be reclaimed at any time.
  const isOfRequest = (name: string): boolean => !name.includes('garbage collection')
  const nested = outline(root.querySelector('.waterfall > ol')).filter(Array.isArray)
    .map((row) => row.map((one) => [one].flat()[0] as string).filter(isOfRequest))
  t.same(nested.filter(([name]) => name === 'preHandler loadUser'), [['preHandler loadUser', 'loading the user', 'select 1']])
  t.match(nested.find(([name]) => name?.startsWith('handler')), [/^handler/, 'select 2', 'in the handler'])
  t.same(nested.filter(([name]) => name === 'serialization'), [['serialization', 'preSerialization shape']])
  t.ok(texts(root, '.waterfall h3 + ol .name > span').includes('later'))
  for (const name of ['loading the user', 'in the handler', 'later']) {
    const row = [...root.querySelectorAll('.row')].find((one) => one.querySelector('.name > span')?.textContent === name)
    t.match(row?.querySelector('small')?.textContent, /timeline\/index\.test\.ts:\d+$/, name)
  }
})

inBothProducts('what a hook has started and does not await is below it', async (t, build) => {
  const send = (statement: string): void => { recordQuery({ system: 'sqlite', statement })({ rows: 1 }) }
  const later = (statement: string, log?: { info: (text: string) => void }): void => {
    setTimeout(() => {
      send(statement)
      log?.info(`line of ${statement}`)
      fetch(`${address}/call`).catch(() => {})
    }, 5)
  }
  const app = await build((app) => {
    app.addHook('onRequest', async function asynchronous ({ log, url }) { if (url === '/') later('select a', log) })
    app.addHook('onRequest', function callback ({ url }, _reply, done) {
      if (url === '/') later('select b')
      done()
      if (url === '/') send('select c')
    })
    app.addHook('preParsing', function builder ({ url }) {
      const then = (resolve: () => void): void => {
        if (url === '/') send('select g')
        resolve()
      }
      return { then } as unknown as Promise<undefined>
    })
    app.addHook('preHandler', function timer ({ url }, _reply, done) {
      if (url !== '/') return done()
      setTimeout(() => {
        send('select d')
        done()
      }, 2)
    })
    app.addHook('onSend', async function slow ({ url }, _reply, payload) {
      if (url === '/') await sleep(30)
      return payload
    })
    app.get('/', async () => {
      await sleep(15)
      send('select e')
      later('select f')
      return {}
    })
    app.get('/call', async () => ({}))
  })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const response = await app.inject('/')
  await sleep(50)
  const stored = await profileOf(app, response)
  const rows = outline(shown(timeline, stored).querySelector('.waterfall > ol')).map((row) => [row].flat() as string[])
    .filter(([name]) => /^(?:(?:on|pre)\w+ (?:async|callback|builder|timer|slow)|handler|select)/.test(String(name)))
    .map((row) => row.filter((name) => !name.includes('garbage')).map((name) => name.replace(/ · 127[\d.:]+/, '')))
  t.same(rows, [
    ['onRequest asynchronous', 'select a', 'line of select a', 'GET /call'], ['onRequest callback', 'select c', 'select b', 'GET /call'],
    ['preParsing builder', 'select g'], ['preHandler timer', 'select d'],
    ['handler GET /', 'select e'], ['onSend slow'], ['select f']
  ])
})

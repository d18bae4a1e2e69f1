import t from 'tap'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import formbody from '@fastify/formbody'
import fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { readProfile } from '../../../src/store/profile.js'
import { Profiler, type ProfilerOptions } from '../../../src/store/profiler.js'
import { MemoryStorage } from '../../../src/store/memory.js'
import { recordOf } from '../../../src/store/summary.js'
import { ISOLATION } from '../../../src/reading/pages/layout.js'
import { serviceParts } from '../../../../../lib/parts/index.js'
import { parts as packageParts } from '../../../src/parts/index.js'
import { profilerPages } from '../../../src/routes/profiler-pages.js'
import { failure, profile, tokens } from '../../parts/fixture.js'
import { HOSTILE } from '../../parts/hostile.js'
import { inBothProducts } from '../../support/products.js'
import { visibleText } from '../../../src/view/text.js'
import { sample } from '../../parts/sample.js'
import { parseHtml } from '../../support/parse-html.js'

/** The parts of a profile of the service. */
const parts = [...packageParts, ...serviceParts]

async function start (t: Test, options: Partial<ProfilerOptions> = {}): Promise<FastifyInstance> {
  const app = fastify()
  const profiler = new Profiler({ storage: new MemoryStorage(), warn: () => {}, ...options })
  app.decorate('hindsight', { profiler, lifecycle: null, debug: false, editor: null, parts } as never)
  await app.register(profilerPages, { onlyProfiler: true })
  t.teardown(() => app.close())
  return app
}

const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const json = { accept: 'application/json' }
const page = (body: string) => parseHtml(body)

t.test('a profile is HTML for browsers and JSON for programs', async t => {
  const app = await start(t)
  const stored = sample()
  app.hindsight.profiler.save(stored)
  for (const [url, headers, type] of [
    ['/_profiler/3fa94c', html, 'text/html; charset=utf-8'],
    ['/_profiler/3fa94c', {}, 'text/html; charset=utf-8'],
    ['/_profiler/3fa94c', { accept: '*/*' }, 'text/html; charset=utf-8'],
    ['/_profiler/3fa94c', json, 'application/json; charset=utf-8'],
    ['/_profiler/3fa94c', { accept: 'text/html;q=0.5, application/json' }, 'application/json; charset=utf-8'],
    ['/_profiler/3fa94c.json', html, 'application/json; charset=utf-8']
  ] as const) {
    const response = await app.inject({ url, headers })
    t.equal(response.statusCode, 200, url)
    t.equal(response.headers['content-type'], type, `${url} ${JSON.stringify(headers)}`)
    t.equal(response.headers['cache-control'], 'no-store')
    t.equal(response.headers.vary, url.endsWith('.json') ? undefined : 'accept')
    if (type.startsWith('application')) t.same(response.json(), readProfile(stored))
  }
})

t.test('a profile links those that were stored before and after it', async t => {
  const app = await start(t)
  // A request that began first may be stored last.
  const timeOf = (i: number): string => new Date(Date.UTC(2026, 0, 2) + 1_000 * Math.floor(i / 3) - (i === 40 ? 9_000 : 0)).toISOString()
  const times = new Map(tokens(1, 60).map((token, i) => [token, timeOf(i)]))
  for (const [token, time] of times) app.hindsight.profiler.save(profile(token, { time }))
  const all = [...times.keys()]
  for (const i of [0, 1, 2, 24, 25, 39, 40, 41, 58, 59] as const) {
    const document = page((await app.inject({ url: `/_profiler/${all[i]}`, headers: html })).body)
    const linked = ['next', 'prev'].map((rel) => document.querySelector(`.summary [rel=${rel}]`)?.getAttribute('href')?.slice(-6))
    t.same(linked, [all[i - 1], all[i + 1]], `${i}`)
  }
})

t.test('the page respects its own policy', async t => {
  const app = await start(t)
  app.hindsight.profiler.save(sample())
  const { headers, body } = await app.inject({ url: '/_profiler/3fa94c', headers: html })
  const [, style = '', script = ''] = /style-src 'nonce-([^']+)'; script-src 'nonce-([^']+)'/.exec(String(headers['content-security-policy'])) ?? []
  t.ok(style.length > 16 && script.length > 16 && style !== script)
  t.equal(
    headers['content-security-policy'],
    `default-src 'none'; style-src 'nonce-${style}'; script-src 'nonce-${script}'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; ` +
      'frame-ancestors \'none\''
  )
  const document = page(body)
  t.equal(document.querySelectorAll(`style, [style], script:not([nonce="${script}"]), link[rel=stylesheet]:not([nonce="${style}"])`).length, 0)
  const sources = [...document.querySelectorAll('[src], link[href]')].map(element => element.getAttribute('href') ?? element.getAttribute('src') ?? '')
  t.match(sources, [/^data:image\/svg\+xml,%3Csvg/, /^\/_profiler\/assets\/[0-9a-f]{16}\.css$/, /^\/_profiler\/assets\/[0-9a-f]{16}\.js$/])
})

t.test('shared files are immutable, and pages are not stored', async t => {
  const app = await start(t)
  app.hindsight.profiler.save(sample())
  const { body } = await app.inject({ url: '/_profiler/3fa94c', headers: html })
  let weight = 0
  for (const [url = '', type] of [
    [/href="(\/_profiler\/assets\/[^"]+css)"/.exec(body)?.[1], 'text/css; charset=utf-8'], [
      /src="(\/_profiler\/assets\/[^"]+)"/.exec(body)?.[1], 'text/javascript; charset=utf-8'
    ]
  ] as const) {
    const response = await app.inject(url)
    t.match(response.headers, { 'content-type': type, 'cache-control': 'private, max-age=31536000, immutable', ...ISOLATION }, url)
    weight += response.rawPayload.length
  }
  t.ok(weight < 40_000, `${weight} bytes of CSS and JavaScript`)
  t.match(
    (await app.inject('/_profiler/assets/0000000000000000.js')).json(),
    { statusCode: 404, message: 'Asset "0000000000000000.js" was not found: load the page again.' }
  )
})

t.test('other origins can neither frame nor read the responses of the profiler', async t => {
  const app = await start(t)
  app.hindsight.profiler.save(profile('000001'))
  for (const url of ['/_profiler/', '/_profiler/search.json', '/_profiler/000001', '/_profiler/000001.json', '/_profiler/latest', '/_profiler/ffffff']) {
    t.match(
      (await app.inject(url)).headers,
      { 'x-frame-options': 'DENY', 'cross-origin-resource-policy': 'same-origin', 'cross-origin-opener-policy': 'same-origin' }, url
    )
  }
})

t.test('pages are small', async t => {
  const app = await start(t)
  app.hindsight.profiler.save(sample())
  const shown = page((await app.inject({ url: '/_profiler/3fa94c', headers: html })).body)
  for (const link of shown.querySelectorAll('.menu a')) {
    const { rawPayload } = await app.inject({ url: `/_profiler/3fa94c${link.getAttribute('href')}`, headers: html })
    t.ok(rawPayload.length < 60_000, `${link.textContent}: ${rawPayload.length}`)
  }
  for (const token of tokens(1, 60)) app.hindsight.profiler.save(failure(token))
  const { rawPayload } = await app.inject({ url: '/_profiler/', headers: html })
  t.ok(rawPayload.length < 40_000, `the list of 50: ${rawPayload.length}`)
})

t.test('the menu links to every panel and marks those with problems', async t => {
  const app = await start(t)
  app.hindsight.profiler.save(sample())
  const document = page((await app.inject({ url: '/_profiler/3fa94c', headers: html })).body)
  t.equal(document.querySelector('.panel h2')?.textContent, 'Overview', 'the default panel')
  t.equal(document.querySelector('[aria-current=page]')?.getAttribute('href'), '?panel=overview')
  t.same([...document.querySelectorAll('.menu-groups > ul > li > a')].map(link => link.textContent), [
    'Overview', 'Request', 'Errors 2 errors', 'Logs 1 error', 'Timeline', 'Calls 1 error', 'CPU', 'Headers and hooks 1 error', 'Environment', 'Custom',
    'Broken 1 error'
  ])
  t.same([...document.querySelectorAll('.menu li li a')].map(link => link.textContent), [
    'Job', 'Session', 'Routing', 'Parameters 1 error', 'Attributes', 'Security', 'Locale', 'Pagination 1 error', 'Other errors 1 error', 'Spans', 'Trace',
    'CORS 1 error', 'Content Security Policy', 'HTTP cache', 'Links', 'Assets', 'Template'
  ])
  app.hindsight.profiler.save(profile('000001'))
  const empty = page((await app.inject({ url: '/_profiler/000001', headers: html })).body)
  t.same(
    [...empty.querySelectorAll('.menu details :is(summary, a)')].map(link => link.textContent),
    ['4 without data', 'Errors', 'Logs', 'Headers and hooks', 'Security']
  )
  for (const link of document.querySelectorAll('.menu a')) {
    const response = await app.inject({ url: `/_profiler/3fa94c${link.getAttribute('href')}`, headers: html })
    t.equal(response.statusCode, 200)
    t.equal(page(response.body).querySelector('[aria-current=page]')?.getAttribute('href'), link.getAttribute('href'))
  }
})

t.test('an unknown or malformed token is a 404', async t => {
  const app = await start(t)
  app.hindsight.profiler.save(profile('000001'))
  for (const [segment, token] of [
    ['000002', '000002'], ['000002.json', '000002'], ['abc', 'abc'], ['ABCDEF', 'ABCDEF'], ['0000011', '0000011'], ['%2e%2e%2fpackage', '../package'],
    ['..%2f..%2fetc%2fpasswd', '../../etc/passwd'], ['__proto__', '__proto__'], ['%25s%25d', '%s%d'], ['000001%00', '000001\0'], ['.json', '']
  ] as const) {
    const response = await app.inject({ url: `/_profiler/${segment}`, headers: html })
    t.equal(response.statusCode, 404, segment)
    if (/json$/.test(segment)) t.match(response.json(), { code: 'HINDSIGHT_TOKEN_NOT_FOUND', message: `Token "${token}" was not found.` }, segment)
    else t.match(page(response.body).querySelector('.lead')?.textContent, `Token "${visibleText(token)}" was not found.`, segment)
    t.match((await app.inject({ url: `/_profiler/${segment}`, headers: json })).json(), { code: 'HINDSIGHT_TOKEN_NOT_FOUND' }, segment)
  }
})

t.test('an unknown panel is an error that lists the panels', async t => {
  const app = await start(t)
  app.hindsight.profiler.save(profile('000001'))
  const response = await app.inject({ url: '/_profiler/000001?panel=__proto__', headers: html })
  t.equal(response.statusCode, 404)
  const sentence = 'Panel "__proto__" was not found; this profile has: overview, request, router, exceptions, logs, timeline, events, security.'
  t.equal(page(response.body).querySelector('.lead')?.textContent, sentence)
  const asJson = await app.inject({ url: '/_profiler/000001?panel=__proto__', headers: json })
  t.match([asJson.statusCode, asJson.json()], [404, { message: sentence }])
})

t.test('data that a panel cannot read affects only that panel', async t => {
  const storage = new MemoryStorage()
  storage.put([{ ...recordOf(profile('000001')), json: JSON.stringify({ ...profile('000001'), events: [null], exceptions: [{ frames: [{ excerpt: 1 }] }] }) }])
  const app = await start(t, { storage })
  for (const panel of ['events', 'exceptions', 'request']) {
    const response = await app.inject({ url: `/_profiler/000001?panel=${panel}`, headers: html })
    t.equal(response.statusCode, 200, panel)
    t.equal(page(response.body).querySelector('.failure') !== null, panel !== 'request', panel)
  }
})

t.test('members of unexpected types are shown as text, and other data are refused', async t => {
  const storage = new MemoryStorage()
  const headers = { host: 'localhost', 'x-odd': { toString: 'x' }, 'x-list': [{ valueOf: 'x', toString: 1 }] }
  const odd = { ...profile('000001'), collectors: { request: { headers, body: { toString: 'x' } }, response: { headers } } }
  storage.put([
    { ...recordOf(profile('000001')), json: JSON.stringify(odd) }, { ...recordOf(profile('000002')), json: JSON.stringify({ ...odd, url: { toString: 'x' } }) }
  ])
  const app = await start(t, { storage })
  Object.assign(app.hindsight, { debug: true })
  const paths = (token: string): string[] => ['', '.json', '.md', '/differences', '/compare/000001', ...['curl', 'test'].map(
    name => `/as/${name}`
  ),
  ...['request', 'overview'].map(name => `?panel=${name}`)].map(path => `/_profiler/${token}${path}`)
  for (const path of paths('000001')) {
    const { statusCode, body } = await app.inject({ url: path, headers: html })
    t.equal(statusCode, 200, path)
    if (path.endsWith('.md')) t.match(body, 'x-odd: {"toString":"x"}')
  }
  const problem = 'The stored profile is not in the format of this version: "url" must be a string.'
  for (const path of paths('000002')) {
    const response = await app.inject({ url: path, headers: html })
    t.equal(response.statusCode, 400, path)
    const text = path.endsWith('.json') || path.endsWith('.md')
      ? response.json<{ message: string }>().message
      : page(response.body).querySelector('.lead')?.textContent
    t.equal(text, problem, path)
  }
})

t.test('latest redirects to the newest profile or failure', async t => {
  const app = await start(t)
  for (const url of ['/_profiler/latest', '/_profiler/latest.json', '/_profiler/latest?error=1']) {
    const response = await app.inject(url)
    t.equal(response.statusCode, 404, url)
    t.equal(response.json().code, 'HINDSIGHT_NO_PROFILE')
  }
  app.hindsight.profiler.save(failure('000001'))
  app.hindsight.profiler.save(profile('000002'))
  for (const [url, location] of [
    ['latest', '000002'], ['latest?panel=logs', '000002?panel=logs'], [
      'latest?error=1&panel=a%26b', '000001?panel=a%26b'
    ], ['latest?error=0', '000002'], ['latest?error=1', '000001'], ['latest.json', '000002.json'], ['latest.json?error=1', '000001.json']
  ] as const) {
    const response = await app.inject(`/_profiler/${url}`)
    t.equal(response.statusCode, 302, url)
    t.equal(response.headers.location, `/_profiler/${location}`, url)
    t.equal(response.headers['cache-control'], 'no-store')
  }
})

t.test('the list has the stored profiles, newest first, in pages', async t => {
  const app = await start(t)
  t.match((await app.inject({ url: '/_profiler/', headers: html })).body, /No request has been profiled yet/)
  for (const token of tokens(1, 5)) app.hindsight.profiler.save(token === '000004' ? failure(token) : profile(token))
  const document = page((await app.inject({ url: '/_profiler/?limit=3', headers: html })).body)
  t.same([...document.querySelectorAll('tbody th a')].map(link => link.getAttribute('href')), ['000005', '000004', '000003'])
  t.same([...document.querySelectorAll('tr.has-problem th')].map(cell => cell.textContent), ['000004'])
  const next = document.querySelector('a[rel=next]')?.getAttribute('href') ?? ''
  const rest = page((await app.inject({ url: next, headers: html })).body)
  t.same([...rest.querySelectorAll('tbody th')].map(cell => cell.textContent), ['000002', '000001'])
  t.equal(rest.querySelector('a[rel=next]'), null)
})

t.test('the list is available as JSON', async t => {
  const app = await start(t)
  app.hindsight.profiler.save(profile('000001'))
  app.hindsight.profiler.save(profile('000002'))
  const first = (await app.inject({ url: '/_profiler/?limit=1', headers: json })).json()
  t.same(first.profiles, [{
    token: '000002',
    time: '2026-01-02T03:04:05.678Z',
    method: 'GET',
    url: 'http://127.0.0.1:3000/robots.txt',
    status: 200,
    ip: '127.0.0.1',
    duration: 1.25,
    error: false,
    route: null,
    exception: null,
    warnings: 0,
    parent: null,
    pinned: false
  }])
  const second = (await app.inject({ url: `/_profiler/?limit=1&cursor=${first.next}`, headers: json })).json()
  t.match(second, { profiles: [{ token: '000001' }], next: null })
})

t.test('an invalid criterion is an error that names it', async t => {
  const app = await start(t)
  for (const [url, message] of [
    ['?limit=501', 'Invalid "limit": "501" is not a whole number from 1 to 500.'],
    ['?limit=1&limit=2', 'Invalid "limit": it may be given only once.'],
    ['?cursor=x', 'Invalid "cursor": "x" is not one of a previous page.'],
    ['search?status=40', 'Invalid "status": "40" is neither a status such as 404 nor a class such as 4xx.'],
    ['search?statu=404', 'Invalid "statu": there is no such criterion; use one of token, ip, method, status, url, route, exception, min_duration, slow, ' +
      'from, since, until, error, parent, issues, kind, outcome, job, failure, line, queries, n+1, calls, revision, machine, size, ' +
      'attempt, waited, q, sort, limit, cursor.'],
    ['latest?error=yes', 'Invalid "error": "yes" is neither 1 nor 0.'],
    ['latest?limit=0', 'Invalid "limit": "0" is not a whole number from 1 to 500.'],
    ['stream?sort=foo', 'Invalid "sort": "foo" is none of -time, time, -duration, duration, -status, status.'],
    ['stream?ip=me', 'Invalid "ip": "me" is not an IP address.'],
    ['search?sort=url', 'Invalid "sort": "url" is none of -time, time, -duration, duration, -status, status.'],
    ['stream?limit=1&limit=2', 'Invalid "limit": it may be given only once.'],
    ['?cursor=9999999999999999', 'Invalid "cursor": "9999999999999999" is not one of a previous page.']
  ] as const) {
    const response = await app.inject({ url: `/_profiler/${url}`, headers: json })
    t.equal(response.statusCode, 400, url)
    t.equal(response.json().message, message, url)
    if (/^(?:latest|stream)/.test(url)) continue
    const shown = await app.inject({ url: `/_profiler/${url}`, headers: html })
    t.equal(shown.statusCode, 400, url)
    t.equal(page(shown.body).querySelector('[role=alert]')?.textContent, message)
  }
  const form = page((await app.inject({ url: '/_profiler/search?url=<b>&status=40', headers: html })).body)
  t.equal(form.querySelector('input[name=url]')?.getAttribute('value'), '<b>', 'what was written is there to be mended')
})

t.test('a search has matching profiles with their problems, and keeps its criteria on each page', async t => {
  const app = await start(t)
  const warning = { time: '2026-01-02T03:04:05.678Z', level: 'warn' as const, channel: 'app', message: 'careful', context: {} }
  for (const token of tokens(1, 9)) app.hindsight.profiler.save(token < '000005' ? failure(token) : profile(token, { logs: [warning] }))
  const url = '/_profiler/search?status=4xx&limit=3&url=ROBOTS&method='
  const first = await app.inject({ url, headers: json })
  t.match(first.json(), { profiles: [{ token: '000004' }, { token: '000003' }, { token: '000002' }], next: String })
  t.same((await app.inject('/_profiler/search.json?status=4xx&limit=3&url=ROBOTS')).json(), first.json())
  const document = page((await app.inject({ url, headers: html })).body)
  t.same([...document.querySelectorAll('tr.has-problem p')].length, 1, 'once for equal failures')
  t.equal(document.querySelector('input[name=status]')?.getAttribute('value'), '4xx')
  const next = document.querySelector('a[rel=next]')?.getAttribute('href') ?? ''
  const rest = page((await app.inject({ url: next, headers: html })).body)
  t.same([...rest.querySelectorAll('tbody th a')].map(link => link.textContent), ['000001'])
  const all = page((await app.inject({ url: '/_profiler/', headers: html })).body)
  t.equal(all.querySelectorAll('tr.has-warning').length, 5)
  t.equal(all.querySelector('tr.has-warning .warning-line')?.textContent, 'Logs: careful')
  t.match(page((await app.inject({ url: '/_profiler/search?url=nowhere', headers: html })).body).querySelector('main')?.textContent, /No profiles match\./)
})

t.test('/latest redirects to the newest profile that matches the criteria', async t => {
  const app = await start(t)
  app.hindsight.profiler.save(profile('000001', { status: 404 }))
  app.hindsight.profiler.save(profile('000002'))
  t.equal((await app.inject('/_profiler/latest?status=404')).headers.location, '/_profiler/000001')
  t.equal((await app.inject('/_profiler/latest.json?method=GET')).headers.location, '/_profiler/000002.json')
  t.match((await app.inject('/_profiler/latest?status=500')).json(), { statusCode: 404, message: 'No matching profile has been stored yet.' })
  t.match((await app.inject('/_profiler/latest?error=1')).json(), { statusCode: 404, message: 'No failure has been stored yet.' })
})

inBothProducts('errors of JSON paths are JSON', async (t, build) => {
  const app = await build()
  for (const [url, status] of [['search.json?status=zz', 400], ['ffffff.json', 404], ['latest.json?error=2', 400]] as const) {
    const answer = await app.inject({ url: `/_profiler/${url}`, headers: html })
    t.equal(answer.statusCode, status, url)
    t.match(answer.headers['content-type'], /json/, url)
  }
})

inBothProducts('the forms of a page work with any parser of the application', async (t, build) => {
  for (const declare of [
    () => {}, (app: FastifyInstance) => app.register(formbody),
    (app: FastifyInstance) => app.addContentTypeParser('application/x-www-form-urlencoded', (_request, _payload, done) => done(null, null))
  ]) {
    const app = await build(declare)
    await app.inject('/nowhere')
    const token = (await app.hindsight.profiler.latest())?.token ?? ''
    const form = page((await app.inject({ url: `/_profiler/${token}`, headers: html })).body).querySelector('.pin-form')
    const payload = new URLSearchParams(
      [...form?.querySelectorAll('[name]') ?? []].map(field => [field.getAttribute('name') ?? '', field.getAttribute('value') ?? ''])
    ).toString()
    const answer = await app.inject(
      { method: 'POST', url: form?.getAttribute('action') ?? '', headers: { 'content-type': 'application/x-www-form-urlencoded', host: 'localhost' }, payload }
    )
    t.equal(answer.statusCode, 303)
    t.equal((await app.hindsight.profiler.stats()).pinned, 1)
  }
})

t.test('the list shows the number of lost profiles', async t => {
  const app = await start(t, { maxQueue: 1 })
  for (const token of tokens(1, 3)) app.hindsight.profiler.save(profile(token))
  t.match((await app.inject({ url: '/_profiler/', headers: html })).body, /2 profiles of this process were lost: 2 because the queue was full\. Last reason: /)
})

t.test('a profile is pinned only with the form of its page', async t => {
  const app = await start(t)
  for (const token of ['000001', '000002']) app.hindsight.profiler.save(profile(token))
  const form = page((await app.inject({ url: '/_profiler/000001', headers: html })).body).querySelector('.pin-form')
  const field = (name: string) => form?.querySelector(`[name=${name}]`)?.getAttribute('value') ?? ''
  const body = { form_token: field('form_token'), pinned: field('pinned') }
  const url = form?.getAttribute('action') ?? ''
  t.equal(body.pinned, '1')
  const post = async (payload: object, headers: Record<string, string> = {}, to = url) => await app.inject({
    method: 'POST',
    url: to,
    headers: {
      'content-type': 'application/x-www-form-urlencoded', ...headers
    },
    payload: new URLSearchParams(payload as Record<string, string>).toString()
  })
  for (const [payload, headers] of [
    [{ pinned: '1' }, {}],
    [{ ...body, form_token: 'x' }, {}],
    [{ ...body, form_token: `${body.form_token}x` }, {}],
    [body, { 'sec-fetch-site': 'cross-site' }],
    [body, { 'sec-fetch-site': 'same-site' }]
  ] as const) t.equal((await post(payload, headers)).statusCode, 403, JSON.stringify([payload, headers]))
  t.equal((await app.hindsight.profiler.stats()).pinned, 0)
  t.equal((await post({ ...body, pinned: 'yes' })).json().message, 'Invalid "pinned": it is neither 1 nor 0.')
  t.equal((await post(body, {}, '/_profiler/00000f/pin')).statusCode, 404)
  const done = await post(body, { 'sec-fetch-site': 'same-origin' })
  t.match([done.statusCode, done.headers.location], [303, '/_profiler/000001'])
  t.equal((await app.hindsight.profiler.stats()).pinned, 1)
  t.match((await app.inject({ url: '/_profiler/000001', headers: html })).body, /Pinned: it is kept until you unpin it/)
  t.equal((await post({ ...body, pinned: '0' })).statusCode, 303)
  t.equal((await app.hindsight.profiler.stats()).pinned, 0)
})

t.test('a profile links to its parent and its children', async t => {
  const app = await start(t)
  app.hindsight.profiler.save(profile('000001'))
  app.hindsight.profiler.save(profile('000002', { parent: '000001' }))
  const hrefs = async (token: string) => [
    ...page((await app.inject({ url: `/_profiler/${token}`, headers: html })).body).querySelectorAll('.panel a[href^="/_profiler/"]')
  ].map(link => link.getAttribute('href'))
  t.same(await hrefs('000001'), ['/_profiler/000002', '/_profiler/search?parent=000001'])
  t.same(await hrefs('000002'), ['/_profiler/000001'])
})

t.test('text is copied, and files are downloaded', async t => {
  const app = await start(t)
  app.hindsight.profiler.save(profile('000001'))
  const document = page((await app.inject({ url: '/_profiler/000001', headers: html })).body)
  const hrefs = (selector: string) => [...document.querySelectorAll(selector)].map(link => link.getAttribute('href'))
  t.same(hrefs('a[data-copy]'), ['/_profiler/000001.md', ...['curl', 'test'].map(name => `/_profiler/000001/as/${name}`)])
  t.same(hrefs('a[download]'), ['curl', 'test'].map(name => `/_profiler/000001/as/${name}`))
})

t.test('the stream sends new profiles, to a limited number of clients', async t => {
  const app = await start(t)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const origin = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  app.hindsight.profiler.save(profile('000001'))
  const read = async (enough: (text: string) => boolean, act = () => {}) => {
    const stop = new AbortController()
    const response = await fetch(`${origin}/_profiler/stream?status=404`, { signal: stop.signal })
    let text = ''
    act()
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      if (enough(text)) break
    }
    stop.abort()
    return { response, text }
  }
  const { response, text } = await read(text => text.includes('000003'), () => {
    for (const token of ['000002', '000003']) app.hindsight.profiler.save(failure(token))
  })
  t.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.equal(response.headers.get('cache-control'), 'no-store')
  const [retry, ...events] = text.trim().split('\n\n')
  t.equal(retry, 'retry: 2000')
  t.same(events.map(event => JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? '').token), ['000002', '000003'])
})

t.test('hostile text is escaped on both pages', async t => {
  const app = await start(t)
  app.hindsight.profiler.save({ ...sample(HOSTILE), method: HOSTILE, ip: HOSTILE, time: HOSTILE })
  for (const url of ['/_profiler/', '/_profiler/3fa94c?panel=request']) {
    const { body } = await app.inject({ url, headers: html })
    const document = page(body)
    t.equal(document.querySelectorAll('script:not([nonce]), img, b').length, 0, url)
    t.match(document.querySelector('main')?.textContent, /<script>alert\(1\)<\/script>/, url)
    t.notMatch(body, /[\0\u001b\u202e]/, url)
  }
})

t.test('the routes have names, and declare what the plugin is given', async t => {
  const app = fastify()
  const configs: unknown[] = []
  app.addHook('onRoute', route => { if (route.method === 'GET') configs.push([route.url, route.config]) })
  app.decorate('hindsight', { profiler: new Profiler({ storage: new MemoryStorage() }), lifecycle: null, debug: false, editor: null, parts } as never)
  await app.register(profilerPages, { config: { profile: false }, onlyProfiler: true })
  t.teardown(() => app.close())
  t.match(configs, [
    ['/_profiler/assets/:name', { name: '_profiler_asset', profile: false }],
    ['/_profiler/', { name: '_profiler_home', profile: false }],
    ['/_profiler/search', { name: '_profiler_search', profile: false }],
    ['/_profiler/search.json', { name: '_profiler_search_json', profile: false }],
    ['/_profiler/latest', { name: '_profiler_latest', profile: false }],
    ['/_profiler/latest.json', { name: '_profiler_latest', profile: false }],
    ['/_profiler/latest.md', { name: '_profiler_latest', profile: false }],
    ['/_profiler/stream', { name: '_profiler_stream', profile: false }],
    ['/_profiler/:token', { name: '_profiler', profile: false }]
  ])
  const waiting = configs.find((config) => Array.isArray(config) && config[0] === '/_profiler/waiting.json')
  t.match(waiting, ['/_profiler/waiting.json', { name: '_profiler_waiting', profile: false }], 'a route of a part')
})

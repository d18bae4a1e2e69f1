import t from 'tap'
import type { Test } from 'tap'
import fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { JSDOM } from 'jsdom'
import { Profiler } from '../../../plugins/profiler/profiler.js'
import { MemoryStorage } from '../../../plugins/profiler/storage/memory.js'
import profilerRoutes from '../../../routes/_profiler/index.js'
import { failure, profile, tokens } from '../../profiler/fixture.js'
import { HOSTILE } from '../../profiler/hostile.js'
import { sample } from '../../profiler/sample.js'

async function start (t: Test): Promise<FastifyInstance> {
  const app = fastify()
  app.decorate('profiler', new Profiler({ storage: new MemoryStorage() }))
  app.decorateReply('cspNonce', { getter: () => ({ script: 'SCRIPTNONCE', style: 'STYLENONCE' }) })
  await app.register(profilerRoutes, { prefix: '/_profiler' })
  t.teardown(() => app.close())
  return app
}

const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const json = { accept: 'application/json' }
const page = (body: string) => new JSDOM(body).window.document

t.test('a profile is a page to a browser and JSON to a program', async t => {
  const app = await start(t)
  const stored = sample()
  app.profiler.save(stored)
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
    if (type.startsWith('application')) t.same(response.json(), stored)
  }
})

t.test('the page has a policy of its own, and keeps to it', async t => {
  const app = await start(t)
  app.profiler.save(sample())
  const { headers, body } = await app.inject({ url: '/_profiler/3fa94c', headers: html })
  t.equal(headers['content-security-policy'], "default-src 'none'; style-src 'nonce-STYLENONCE'; script-src 'nonce-SCRIPTNONCE'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
  const document = page(body)
  t.ok([...document.querySelectorAll('style')].every(style => style.nonce === 'STYLENONCE' || style.getAttribute('nonce') === 'STYLENONCE'))
  t.equal(document.querySelectorAll('style').length, 1)
  t.equal(document.querySelectorAll('[style], script:not([nonce])').length, 0)
  t.same([...document.querySelectorAll('[src], link[href]')].map(element => element.getAttribute('href') ?? element.getAttribute('src')), ['data:,'])
})

t.test('the menu leads to every panel and says which has a problem', async t => {
  const app = await start(t)
  app.profiler.save(sample())
  const document = page((await app.inject({ url: '/_profiler/3fa94c', headers: html })).body)
  t.equal(document.querySelector('h2')?.textContent, 'Exceptions', 'the first panel with a problem')
  t.equal(document.querySelector('[aria-current=page]')?.getAttribute('href'), '/_profiler/3fa94c?panel=exceptions')
  t.same([...document.querySelectorAll('.menu a')].map(link => link.textContent), [
    'Request / Response', 'Exceptions● (has a problem) 2', 'Logs● (has a problem) 2', 'Events● (has a problem) 4',
    'Routing', 'Security 1', 'Performance',
    'HTTP client● (has a problem) 201', 'Session', 'CORS● (has a problem)', 'Content Security Policy', 'HTTP cache', 'Locale', 'Pagination● (has a problem)', 'Configuration',
    'Custom', 'Broken● (has a problem)'
  ])
  for (const link of document.querySelectorAll('.menu a')) {
    const response = await app.inject({ url: link.getAttribute('href') ?? '', headers: html })
    t.equal(response.statusCode, 200)
    t.equal(page(response.body).querySelector('[aria-current=page]')?.getAttribute('href'), link.getAttribute('href'))
  }
})

t.test('an unknown or malformed token is not found', async t => {
  const app = await start(t)
  app.profiler.save(profile('000001'))
  for (const [segment, token] of [
    ['000002', '000002'], ['000002.json', '000002'], ['abc', 'abc'], ['ABCDEF', 'ABCDEF'], ['0000011', '0000011'], ['%2e%2e%2fpackage', '../package'],
    ['..%2f..%2fetc%2fpasswd', '../../etc/passwd'], ['__proto__', '__proto__'], ['%25s%25d', '%s%d'], ['000001%00', '000001\0'], ['.json', '']
  ] as const) {
    const response = await app.inject({ url: `/_profiler/${segment}`, headers: html })
    t.equal(response.statusCode, 404, segment)
    t.match(response.json(), { code: 'HINDSIGHT_TOKEN_NOT_FOUND', message: `Token "${token}" was not found.` }, segment)
  }
})

t.test('a panel that is not there is named, with those that are', async t => {
  const app = await start(t)
  app.profiler.save(profile('000001'))
  const response = await app.inject({ url: '/_profiler/000001?panel=__proto__', headers: html })
  t.equal(response.statusCode, 404)
  t.equal(response.json().message, 'Panel "__proto__" was not found; this profile has: request, exceptions, logs, events, router, security, performance.')
})

t.test('data that no panel understands costs only that panel', async t => {
  const app = await start(t)
  app.profiler.save(profile('000001', { logs: [null], exceptions: [null] } as never))
  for (const panel of ['logs', 'exceptions', 'request']) {
    const response = await app.inject({ url: `/_profiler/000001?panel=${panel}`, headers: html })
    t.equal(response.statusCode, 200, panel)
    t.equal(page(response.body).querySelector('.failure') !== null, panel !== 'request', panel)
  }
})

t.test('the latest leads to the newest profile or failure', async t => {
  const app = await start(t)
  for (const url of ['/_profiler/latest', '/_profiler/latest.json', '/_profiler/latest?error=1']) {
    const response = await app.inject(url)
    t.equal(response.statusCode, 404, url)
    t.equal(response.json().code, 'HINDSIGHT_NO_PROFILE')
  }
  app.profiler.save(failure('000001'))
  app.profiler.save(profile('000002'))
  for (const [url, location] of [
    ['latest', '000002'], ['latest?error=0', '000002'], ['latest?error=1', '000001'], ['latest.json', '000002.json'], ['latest.json?error=1', '000001.json']
  ] as const) {
    const response = await app.inject(`/_profiler/${url}`)
    t.equal(response.statusCode, 302, url)
    t.equal(response.headers.location, `/_profiler/${location}`, url)
    t.equal(response.headers['cache-control'], 'no-store')
  }
})

t.test('the list shows what is stored, newest first, page by page', async t => {
  const app = await start(t)
  t.match((await app.inject({ url: '/_profiler/', headers: html })).body, /No request has been profiled yet/)
  for (const token of tokens(1, 5)) app.profiler.save(token === '000004' ? failure(token) : profile(token))
  const document = page((await app.inject({ url: '/_profiler/?limit=3', headers: html })).body)
  t.same([...document.querySelectorAll('tbody th a')].map(link => link.getAttribute('href')), ['/_profiler/000005', '/_profiler/000004', '/_profiler/000003'])
  t.same([...document.querySelectorAll('tr.has-problem th')].map(cell => cell.textContent), ['000004'])
  const next = document.querySelector('a[rel=next]')?.getAttribute('href') ?? ''
  const rest = page((await app.inject({ url: next, headers: html })).body)
  t.same([...rest.querySelectorAll('tbody th')].map(cell => cell.textContent), ['000002', '000001'])
  t.equal(rest.querySelector('a[rel=next]'), null)
})

t.test('the list as JSON', async t => {
  const app = await start(t)
  app.profiler.save(profile('000001'))
  app.profiler.save(profile('000002'))
  const first = (await app.inject({ url: '/_profiler/?limit=1', headers: json })).json()
  t.same(first.profiles, [{
    token: '000002', time: '2026-01-02T03:04:05.678Z', method: 'GET', url: 'http://127.0.0.1:3000/robots.txt', status: 200, ip: '127.0.0.1', duration: 1.25, error: false,
    route: null, exception: null, warnings: 0, parent: null, pinned: false
  }])
  const second = (await app.inject({ url: `/_profiler/?limit=1&cursor=${first.next}`, headers: json })).json()
  t.match(second, { profiles: [{ token: '000001' }], next: null })
})

t.test('a criterion that is wrong is refused by its name', async t => {
  const app = await start(t)
  for (const [url, message] of [
    ['?limit=0', 'Invalid "limit": "0" is not a whole number from 1 to 500.'],
    ['?limit=501', 'Invalid "limit": "501" is not a whole number from 1 to 500.'],
    ['?limit=x', 'Invalid "limit": "x" is not a whole number from 1 to 500.'],
    ['?limit=', 'Invalid "limit": "" is not a whole number from 1 to 500.'],
    ['?limit=1e2', 'Invalid "limit": "1e2" is not a whole number from 1 to 500.'],
    ['?limit=1&limit=2', 'Invalid "limit": it may be given only once.'],
    ['?cursor=x', 'Invalid "cursor": "x" is not one of a previous page.'],
    ['latest?error=yes', 'Invalid "error": "yes" is neither 1 nor 0.']
  ] as const) {
    const response = await app.inject(`/_profiler/${url}`)
    t.equal(response.statusCode, 400, url)
    t.equal(response.json().message, message, url)
  }
})

t.test('hostile text stays text on both pages', async t => {
  const app = await start(t)
  app.profiler.save({ ...sample(HOSTILE), method: HOSTILE, ip: HOSTILE, time: HOSTILE })
  for (const url of ['/_profiler/', '/_profiler/3fa94c?panel=request']) {
    const { body } = await app.inject({ url, headers: html })
    const document = page(body)
    t.equal(document.querySelectorAll('script, img, b').length, 0, url)
    t.match(document.querySelector('main')?.textContent, /<script>alert\(1\)<\/script>/, url)
    t.notMatch(body, /[\0\u001b\u202e]/, url)
  }
})

t.test('the routes are named, and are not profiled themselves', async t => {
  const app = fastify()
  const configs: unknown[] = []
  app.addHook('onRoute', route => { if (route.method === 'GET') configs.push([route.url, route.config]) })
  app.decorate('profiler', new Profiler({ storage: new MemoryStorage() }))
  await app.register(profilerRoutes, { prefix: '/_profiler' })
  t.teardown(() => app.close())
  t.match(configs, [
    ['/_profiler/', { name: '_profiler_home', profile: false }],
    ['/_profiler/latest', { name: '_profiler_latest', profile: false }],
    ['/_profiler/latest.json', { name: '_profiler_latest', profile: false }],
    ['/_profiler/:token', { name: '_profiler', profile: false }]
  ])
})

import { JSDOM } from 'jsdom'
import { failure, profile } from '../../parts/fixture.js'
import { HOSTILE } from '../../parts/hostile.js'
import { ISOLATION } from '../../../src/reading/pages/layout.js'
import { listen, raw } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'

const route = { name: 'robots', pattern: '/robots.txt', params: {}, methods: ['GET'] }

inBothProducts('the route sends the toolbar of a stored profile', async (t, build) => {
  const app = await build()
  const log = (level: 'info' | 'error' | 'fatal') => ({ time: '2026-01-02T03:04:05.678Z', level, channel: 'app', message: 'm', context: {} })
  app.hindsight.profiler.save(profile(
    '00000a',
    { route, logs: [log('info'), log('error'), log('fatal')], collectors: { performance: { handler: 0.5, firstByte: 1, process: { heapAfter: 12_345_678 } } } }
  ))
  app.hindsight.profiler.save(failure('00000b'))
  app.hindsight.profiler.save(failure('00000e', { status: 200 }))
  app.hindsight.profiler.save(profile('00000d', { route: { ...route, name: 'HEAD|GET /static/*' } }))
  app.hindsight.profiler.save(profile('00000c', { method: HOSTILE, route: { ...route, name: HOSTILE } }))

  const data = {
    token: '00000a',
    url: 'http://localhost/_profiler/00000a',
    time: profile('00000a').time,
    status: 200,
    method: 'GET',
    route: 'robots',
    pattern: '/robots.txt',
    handler: null,
    duration: 1.25,
    handlerDuration: 0.5,
    firstByte: 1,
    logs: 3,
    errors: 2,
    warnings: 0,
    exception: null,
    calls: { count: 0, failed: 0 },
    queries: { count: 0, failed: 0, duration: 0 }
  }
  t.same((await app.inject('/_wdt/00000a.json')).json(), data)
  t.same((await app.inject({ url: '/_wdt/00000a', headers: { accept: 'application/json' } })).json(), data)

  const response = await app.inject({ url: '/_wdt/00000a', headers: { accept: 'text/html' } })
  t.match(response.headers, { 'content-type': 'text/html; charset=utf-8', 'cache-control': /no-store/, 'x-debug-token': undefined })
  const bar = JSDOM.fragment(response.body).querySelector<HTMLTemplateElement>('hindsight-toolbar > template')?.content
  t.same(
    [...bar?.querySelectorAll('.head') ?? []].map((item) => item.textContent),
    ['Status: 200', 'Route: GET robots', 'Time: 1.25 ms', 'Log: 2 errors', '0 requests', 'Profile 00000a']
  )
  t.match(response.headers, ISOLATION)
  t.equal(bar?.querySelector('a')?.getAttribute('href'), data.url)
  const policy = response.headers['content-security-policy']
  t.match(policy, `style-src 'nonce-${bar?.querySelector('link')?.getAttribute('nonce')}'`)
  const script = JSDOM.fragment(response.body).querySelector('script')
  t.match(policy, `script-src 'nonce-${script?.getAttribute('nonce')}'`)

  t.match((await app.inject('/_wdt/00000b.json')).json(), { status: 404, route: null })
  t.match((await app.inject('/_wdt/00000b')).body, 'no route')
  t.equal((await app.inject('/_wdt/00000e')).body.match(/class="(?:small|item status) status-4"/g)?.length, 2, 'a success with an error')
  t.match((await app.inject('/_wdt/00000d')).body, '<span class="name">/static/*</span>', 'without the methods')
  const hostile = JSDOM.fragment((await app.inject('/_wdt/00000c')).body).querySelector<HTMLTemplateElement>('template')?.content
  t.equal(hostile?.querySelectorAll('script, img, b').length, 0)
  t.match(hostile?.textContent, '<script>alert(1)</script>')
})

inBothProducts('the toolbar leads to the form that records a CPU profile, but for a job', async (t, build) => {
  const app = await build()
  const linkOf = async (token: string) => /href="([^"]*replay[^"]*)"/.exec((await app.inject(`/_wdt/${token}`)).body)?.[1]
  app.hindsight.profiler.save(profile('00000a'))
  app.hindsight.profiler.save(profile('00000c', { kind: 'job', name: 'mail' }))
  const link = await linkOf('00000a')
  t.equal(link, 'http://localhost/_profiler/00000a/replay?cpu=1')
  t.match((await app.inject({ url: link ?? '', headers: { accept: 'text/html' } })).body, 'name="cpu" value="1" checked>')
  t.equal(await linkOf('00000c'), undefined, 'a job')
})

inBothProducts('an unknown or invalid token is a 404', async (t, build, product) => {
  const app = await build()
  for (const token of ['ffffff', 'FFFFFF', 'x', '..%2f..%2fetc%2fpasswd', 'x.json.json', '%00']) {
    const response = await app.inject({ url: `/_wdt/${token}`, headers: { accept: 'application/json' } })
    t.equal(response.statusCode, 404, token)
    const message = `Token "${decodeURIComponent(token).replace(/\.json$/, '')}" was not found.`
    t.match(response.json(), product === 'service' ? { exceptions: [{ message }] } : { detail: message }, token)
  }
  t.equal((await app.inject({ method: 'POST', url: '/_wdt/ffffff' })).statusCode, 404, 'whatever the method')
})

inBothProducts('clients without access, and production, receive a 404', async (t, build) => {
  const app = await build()
  app.hindsight.profiler.save(profile('00000a'))
  const port = await listen(app)
  t.equal((await raw(port, 'GET /_wdt/00000a HTTP/1.1\r\nHost: localhost\r\n\r\n'))?.status, 200)
  t.equal((await raw(port, 'GET /_wdt/00000a HTTP/1.1\r\nHost: rebound.example\r\n\r\n'))?.status, 404)
  const production = await build(undefined, { debug: false })
  t.equal((await production.inject('/_wdt/00000a')).statusCode, 404)
})

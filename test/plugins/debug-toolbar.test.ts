import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import type { FastifyInstance } from 'fastify'
import { toolbarAssets } from '../../packages/hindsight/src/reading/pages/layout.js'
import { build, listen, profileOf, raw, type BuildOptions } from '../../packages/hindsight/test/support/app.js'
import { parseHtml } from '../../packages/hindsight/test/support/parse-html.js'

const HTML = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Ü</title></head><body><p>Ü</p></body></html>\n'
const BAR = /<hindsight-toolbar>.*<\/hindsight-toolbar>/s

type Setup = NonNullable<BuildOptions['declare']>

async function start (t: Test, options: BuildOptions = {}, setup: Setup = () => {}): Promise<FastifyInstance> {
  const app = await build({
    ...options,
    declare (app) {
      app.get('/', { config: { name: 'home' } }, async (_request, reply) => reply.type('text/html').send(HTML))
      app.get('/errors', { config: { name: '<script>alert(1)</script>"' } }, async (request, reply) => {
        request.log.error('one')
        request.log.fatal('two')
        request.log.warn('three')
        return reply.code(503).type('text/html').send(HTML)
      })
      app.get('/buffer', async (_request, reply) => reply.type('text/html').send(Buffer.from(HTML)))
      app.get('/latin', async (_request, reply) => reply.type('text/html; charset=iso-8859-1').send(Buffer.from(HTML, 'latin1')))
      app.get('/lie', async (_request, reply) => reply.type('text/html').send(Buffer.from(HTML, 'latin1')))
      app.get('/upper', async (_request, reply) => reply.type('Text/HTML; Charset="UTF-8"').send(HTML.replace('</body>', '</BODY\n >')))
      app.get('/twice', async (_request, reply) => reply.type('text/html').send(HTML.replace('<p>', '<script>"</body>"</script><p>')))
      app.get('/nobody', async (_request, reply) => reply.type('text/html').send('<p>no body'))
      app.get('/text', async (_request, reply) => reply.type('text/plain').send(HTML))
      app.get('/xhtml', async (_request, reply) => reply.type('application/xhtml+xml').send(HTML))
      app.get('/json', async () => ({ html: HTML }))
      app.get('/untyped', async (_request, reply) => reply.header('content-type', 'text/htmlx').send(HTML))
      app.get('/attachment', async (_request, reply) => reply.header('content-disposition', 'Attachment; filename=a.html').type('text/html').send(HTML))
      app.get('/inline', async (_request, reply) => reply.header('content-disposition', 'inline').type('text/html').send(HTML))
      app.get('/gzip', async (_request, reply) => reply.header('content-encoding', 'gzip').type('text/html').send(HTML))
      app.get('/part', async (_request, reply) => reply.code(206).header('content-range', 'bytes 0-9/10').type('text/html').send(HTML))
      app.get('/stream', async (_request, reply) => reply.type('text/html').send(Readable.from([HTML])))
      app.get('/redirect', async (_request, reply) => reply.code(302).header('location', '/').type('text/html').send(HTML))
      app.get('/slashed/', async () => 'x')
      app.get('/fail', async () => { throw new Error('no') })
      app.get('/unprofiled', { config: { profile: false } }, async (_request, reply) => reply.type('text/html').send(HTML))
      return setup(app)
    }
  })
  t.teardown(() => app.close())
  return app
}

function barOf (body: string): DocumentFragment | null {
  const template = parseHtml(body).querySelector<HTMLTemplateElement>('body > hindsight-toolbar:last-child > template')
  return template?.content ?? null
}

const heads = (bar: ParentNode | null): Array<string | undefined> =>
  [...bar?.querySelectorAll('.head') ?? []].map((item) => item.textContent?.replace(/\s+/g, ' ').trim())
const noncesOf = (body: string): Record<'style' | 'script', string | undefined> => ({
  style: /<link rel="stylesheet" href="[^"]+" nonce="([^"]+)">/.exec(body)?.[1],
  script: /<script src="[^"]+" nonce="([^"]+)"/.exec(body)?.[1]
})
const facts = (bar: ParentNode | null, item: string): Array<string | undefined> =>
  [...bar?.querySelectorAll(`.${item} .pop div`) ?? []].map((fact) => fact.textContent?.trim())

t.test('the toolbar is inserted before the end of the body, and the page is otherwise unchanged', async t => {
  const app = await start(t)
  for (const url of ['/', '/buffer', '/upper', '/inline', '/twice']) {
    const response = await app.inject(url)
    t.ok(barOf(response.body), url)
    t.equal(Number(response.headers['content-length']), response.rawPayload.length, `${url}: its length is right`)
    t.match(response.headers['x-debug-token-link'], /^http:\/\/localhost\/_profiler\/[0-9a-f]{6}$/)
  }
  t.equal((await app.inject('/')).body.replace(BAR, ''), HTML)
  t.match((await app.inject('/twice')).body, '"</body>"</script>', 'the last end tag of the body is used')
})

t.test('the toolbar shows status, route, time, log and token', async t => {
  const app = await start(t)
  const response = await app.inject('/')
  const bar = barOf(response.body)
  const token = String(response.headers['x-debug-token'])
  t.match(heads(bar), ['Status: 200', 'Route: GET home', /^Time: [\d.]+ (ms|µs|s)$/, /^Log: \d+ logs?$/, '0 requests', `Profile ${token}`])
  t.match(facts(bar, 'route'), ['Routehome', 'Pattern/', /^Handler.*debug-toolbar\.test\.ts:\d+$/])
  t.match(bar?.querySelector('.route dd a')?.getAttribute('href'), /^vscode:\/\/file\/.+\/test\/plugins\/debug-toolbar\.test\.ts:\d+:1$/)
  t.match(facts(bar, 'time'), [/^Handler[\d.]+ (ms|µs|s)$/, /^Response ready[\d.]+ (ms|µs|s)$/])
  t.equal(bar?.querySelector('.profile a')?.getAttribute('href'), response.headers['x-debug-token-link'])
  t.equal(bar?.querySelector('.route a')?.getAttribute('href'), `${response.headers['x-debug-token-link']}?panel=router`)
  t.equal(bar?.querySelector('.bad'), null)
  const failing = barOf((await app.inject('/errors')).body)
  t.match(heads(failing), ['Status: 503', 'Route: GET <script>alert(1)</script>"', /^Time/, 'Log: 2 errors 1 warning'])
  t.same(
    [...failing?.querySelectorAll('.logs span:is(.bad, .warn)') ?? []].map(({ className, textContent }) => [className, textContent]),
    [['bad', '2 errors'], ['warn', '1 warning']]
  )
  t.equal(failing?.querySelector('script, [onclick], [style]'), null)
  t.ok(failing?.querySelector('.logs.bad'))
})

t.test('the toolbar shows outgoing calls', async t => {
  const other = createServer((_request, response) => { response.writeHead(503).end('x') })
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  t.teardown(() => other.close())
  const app = await start(t, {}, (app) => {
    app.get('/all', { config: { cache: { etag: () => 'a' } } }, async (_request, reply) => {
      await fetch(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`)
      return reply.type('text/html').send(HTML)
    })
  })
  const bar = barOf((await app.inject('/all')).body)
  t.match(heads(bar).slice(4), ['Outgoing calls: 1 call', '0 requests', /^Profile/])
  t.same(facts(bar, 'calls'), ['Outgoing calls1', 'Failed1'])
  t.ok(bar?.querySelector('.calls.bad'))
})

t.test('the toolbar has at most 15 kB', async t => {
  const app = await start(t)
  const [bar = ''] = BAR.exec((await app.inject('/')).body) ?? []
  const size = [bar, toolbarAssets.style.content, toolbarAssets.script.content].reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  t.ok(size <= 15_000, `${size} bytes with its script and stylesheet`)
  t.ok(Buffer.byteLength(bar) < 3_000, `${Buffer.byteLength(bar)} bytes`)
})

t.test('responses other than complete HTML pages have no toolbar', async t => {
  const app = await start(t)
  for (const [url, headers] of [
    ['/', { 'x-requested-with': 'XMLHttpRequest' }],
    ['/', { 'sec-fetch-dest': 'empty' }],
    ['/', { 'sec-fetch-dest': 'image' }],
    ['/nobody', {}], ['/text', {}], ['/xhtml', {}], ['/json', {}], ['/untyped', {}], ['/attachment', {}], ['/gzip', {}], ['/part', {}],
    ['/stream', {}], ['/redirect', {}], ['/slashed', {}], ['/latin', {}], ['/lie', {}], ['/fail', {}], ['/nowhere', {}]
  ] as const) {
    const response = await app.inject({ url, headers })
    t.notMatch(response.body, 'hindsight-toolbar', `${url} ${JSON.stringify(headers)}`)
    t.ok(response.headers['x-debug-token-link'], `${url}: the header is there`)
  }
  t.equal((await app.inject('/nobody')).body, '<p>no body')
  for (const url of ['/unprofiled', '/_profiler/']) {
    const response = await app.inject(url)
    t.notMatch(response.body, 'hindsight-toolbar', url)
    t.equal(response.headers['x-debug-token-link'], undefined, url)
  }
  for (const destination of ['document', 'iframe']) {
    t.match((await app.inject({ url: '/', headers: { 'sec-fetch-dest': destination } })).body, BAR, destination)
  }
})

t.test('the toolbar is shown only in debug mode, with access, and unless it is switched off', async t => {
  const off = await (await start(t, { toolbar: false })).inject('/')
  t.equal(off.body, HTML)
  t.ok(off.headers['x-debug-token-link'])
  t.equal((await (await start(t, { debug: false })).inject('/')).body, HTML)
  const port = await listen(await start(t))
  const stranger = await raw(port, 'GET / HTTP/1.1\r\nHost: rebound.example\r\n\r\n')
  t.equal(stranger?.text, HTML)
  t.equal(stranger?.headers['x-debug-token-link'], undefined)
})

t.test('over a socket the content length is correct, also for HEAD', async t => {
  const port = await listen(await start(t))
  for (const url of ['/', '/buffer']) {
    const page = await raw(port, `GET ${url} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    t.match(page?.text, BAR)
    t.ok(page?.text.endsWith('</hindsight-toolbar></body></html>\n'))
    t.equal(Number(page?.headers['content-length']), page?.body.length)
  }
  t.equal(await (await fetch(`http://127.0.0.1:${port}/`, { headers: { 'sec-fetch-dest': 'document' } })).text().then((text) => text.replace(BAR, '')), HTML)
  const head = await raw(port, 'HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  t.equal(head?.status, 200)
})

t.test('the policies get nonces of the toolbar if they need them', async t => {
  const contentSecurityPolicy = { enforce: { 'default-src': ["'self'"] }, reportOnly: { 'default-src': ['https://a.test'] } }
  const app = await start(t, { contentSecurityPolicy }, (app) => {
    app.get('/drawn', async (_request, reply) => { const { style } = reply.cspNonce; return reply.type('text/html').send(HTML.replace('Ü', style)) })
  })
  const { headers, body } = await app.inject('/')
  const { style, script } = noncesOf(body)
  t.match(style, /^[A-Za-z0-9+/]{22}==$/)
  t.match(script, /^[A-Za-z0-9+/]{22}==$/)
  t.not(style, script)
  t.equal(headers['content-security-policy'], "default-src 'self'", 'which allows its files already')
  t.equal(
    headers['content-security-policy-report-only'],
    `default-src https://a.test; style-src https://a.test 'nonce-${style}'; script-src https://a.test 'nonce-${script}'`
  )
  const drawn = await app.inject('/drawn')
  const own = /<title>(.*)<\/title>/.exec(drawn.body)?.[1] ?? ''
  t.equal(drawn.headers['content-security-policy'], `default-src 'self';style-src 'self' 'nonce-${own}'`)
  t.match(drawn.headers['content-security-policy-report-only'], `'nonce-${own}' 'nonce-${noncesOf(drawn.body).style}'`)
  t.not(noncesOf(drawn.body).style, own)
  t.notMatch((await app.inject('/json')).headers['content-security-policy-report-only'], 'nonce')
})

t.test('policies of a route are extended', async t => {
  const app = await start(t, { contentSecurityPolicy: false }, (app) => {
    app.get(
      '/policy', async (request, reply) => reply.header('content-security-policy', (request.query as { is: string | string[] }).is).type('text/html').send(HTML)
    )
    app.get('/meta', async (_request, reply) =>
      reply.type('text/html').send(HTML.replace('<meta', '<meta http-equiv="Content-Security-Policy" content="style-src \'nonce-own\'"><meta')))
  })
  for (const [policies, extended] of [
    [["style-src 'self' 'unsafe-inline'"], null],
    [["script-src 'nonce-own' 'strict-dynamic'"], ["script-src 'nonce-own' 'strict-dynamic' 'nonce-SC'"]],
    [["script-src 'self', script-src 'nonce-own'", "style-src 'none'"], ["script-src 'self',script-src 'nonce-own' 'nonce-SC'", "style-src 'nonce-ST'"]]
  ] as const) {
    const { headers, body } = await app.inject({ url: '/policy', query: { is: [...policies] } })
    const { style, script } = noncesOf(body)
    const sent = [headers['content-security-policy']].flat().map(
      (policy) => policy?.replace(`nonce-${style}`, 'nonce-ST').replace(`nonce-${script}`, 'nonce-SC')
    )
    t.same(sent, extended ?? policies, policies.join())
    t.ok(barOf(body), policies.join())
  }
  for (const policy of ["style-src 'unsafe-inline'", "default-src 'none'", "script-src 'unsafe-inline'", 'sandbox']) {
    const { headers, body } = await app.inject({ url: '/policy', query: { is: policy } })
    t.equal(body, HTML, policy)
    t.equal(headers['content-security-policy'], policy)
  }
  t.notMatch((await app.inject('/meta')).body, BAR, 'one within the page cannot be extended')
  t.equal((await app.inject('/')).headers['content-security-policy'], undefined)
})

t.test('the profile has the event of the toolbar', async t => {
  const app = await start(t)
  const response = await app.inject('/errors')
  const profile = await profileOf(app, response)
  t.equal(profile.status, 503)
  t.match(profile.events.find(({ listener }) => listener === 'debug-toolbar'), { outcome: 'ran' })
})

import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { JSDOM } from 'jsdom'
import type { FastifyInstance } from 'fastify'
import { build, listen, profileOf, raw, type BuildOptions } from '../support/app.js'
import { chromium } from '../support/browser.js'

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
        return reply.code(503).type('text/html').send(HTML)
      })
      app.get('/buffer', async (_request, reply) => reply.type('text/html').send(Buffer.from(HTML)))
      app.get('/latin', async (_request, reply) => reply.type('text/html; charset=iso-8859-1').send(Buffer.from(HTML, 'latin1')))
      app.get('/lie', async (_request, reply) => reply.type('text/html').send(Buffer.from(HTML, 'latin1')))
      app.get('/upper', async (_request, reply) => reply.type('Text/HTML; Charset="UTF-8"').send(HTML.replace('</body>', '</BODY\n >')))
      app.get('/twice', async (_request, reply) => reply.type('text/html').send(HTML.replace('<p>', '<script>"</body>"</script><p>')))
      app.get('/nobody', async (_request, reply) => reply.type('text/html').send('<!doctype html><p>no body'))
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
  const template = new JSDOM(body).window.document.querySelector<HTMLTemplateElement>('body > hindsight-toolbar:last-child > template')
  return template?.content ?? null
}

const texts = (bar: ParentNode | null): Array<string | undefined> => [...bar?.querySelectorAll('li') ?? []].map((item) => item.textContent?.replace(/\s+/g, ' ').trim())

t.test('a page has the bar before the end of its body, and is otherwise the same', async t => {
  const app = await start(t)
  for (const url of ['/', '/buffer', '/upper', '/inline', '/twice']) {
    const response = await app.inject(url)
    t.ok(barOf(response.body), url)
    t.equal(Number(response.headers['content-length']), response.rawPayload.length, `${url}: its length is right`)
    t.match(response.headers['x-debug-token-link'], /^http:\/\/localhost\/_profiler\/[0-9a-f]{6}$/)
  }
  t.equal((await app.inject('/')).body.replace(BAR, ''), HTML)
  t.match((await app.inject('/twice')).body, '"</body>"</script>', 'the last end of a body is meant')
})

t.test('what the bar tells', async t => {
  const app = await start(t)
  const response = await app.inject('/')
  const bar = barOf(response.body)
  const token = String(response.headers['x-debug-token'])
  const [status, route, time, logs, errors, profile] = texts(bar)
  t.same([status, route, errors, profile], ['200', 'GEThome', '0 errors', `Profile ${token}`])
  t.match(time, /^[\d.,]+ ms$/)
  t.match(logs, /^\d+ logs$/)
  t.equal(bar?.querySelector('a')?.getAttribute('href'), response.headers['x-debug-token-link'])
  t.equal(bar?.querySelector('.some'), null)
  const failing = barOf((await app.inject('/errors')).body)
  t.match(texts(failing), ['503', 'GET<script>alert(1)</script>"', /ms$/, /logs$/, '2 errors'])
  t.equal(failing?.querySelector('script, [onclick], [style]'), null)
  t.ok(failing?.querySelector('.errors.some'))
})

t.test('where there is none', async t => {
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
  t.equal((await app.inject('/nobody')).body, '<!doctype html><p>no body')
  for (const url of ['/unprofiled', '/_profiler/']) {
    const response = await app.inject(url)
    t.notMatch(response.body, 'hindsight-toolbar', url)
    t.equal(response.headers['x-debug-token-link'], undefined, url)
  }
  for (const destination of ['document', 'iframe']) {
    t.match((await app.inject({ url: '/', headers: { 'sec-fetch-dest': destination } })).body, BAR, destination)
  }
})

t.test('only in debug mode, for those who may see it, and unless it is switched off', async t => {
  const off = await (await start(t, { toolbar: false })).inject('/')
  t.equal(off.body, HTML)
  t.ok(off.headers['x-debug-token-link'])
  t.equal((await (await start(t, { debug: false })).inject('/')).body, HTML)
  const port = await listen(await start(t))
  const stranger = await raw(port, 'GET / HTTP/1.1\r\nHost: rebound.example\r\n\r\n')
  t.equal(stranger?.text, HTML)
  t.equal(stranger?.headers['x-debug-token-link'], undefined)
})

t.test('over a socket the length is right, for HEAD too', async t => {
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

t.test('the policy is extended by the nonce of the bar alone', async t => {
  const app = await start(t, { contentSecurityPolicy: { enforce: { 'default-src': ["'self'"], 'script-src': ["'none'"] }, reportOnly: { 'default-src': ["'none'"] } } }, (app) => {
    app.get('/own', async (_request, reply) => reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'").type('text/html').send(HTML))
    app.get('/drawn', async (_request, reply) => { const { style } = reply.cspNonce; return reply.type('text/html').send(HTML.replace('Ü', style)) })
  })
  const response = await app.inject('/')
  const nonce = barOf(response.body)?.querySelector('style')?.getAttribute('nonce')
  t.match(nonce, /^[A-Za-z0-9+/]{22}==$/)
  t.equal(response.headers['content-security-policy'], `default-src 'self'; script-src 'none'; style-src 'self' 'nonce-${nonce}'`)
  t.equal(response.headers['content-security-policy-report-only'], `default-src 'none'; style-src 'nonce-${nonce}'`)
  t.equal((await app.inject('/own')).headers['content-security-policy'], "default-src 'none'; style-src 'unsafe-inline'")
  const drawn = await app.inject('/drawn')
  const own = /<title>(.*)<\/title>/.exec(drawn.body)?.[1] ?? ''
  t.match(drawn.headers['content-security-policy'], `'nonce-${own}' 'nonce-`)
  t.notMatch(barOf(drawn.body)?.querySelector('style')?.getAttribute('nonce'), own)
  t.notMatch((await app.inject('/json')).headers['content-security-policy'], 'nonce')
  const none = await (await start(t, { contentSecurityPolicy: false })).inject('/')
  t.match(none.body, BAR)
  t.equal(none.headers['content-security-policy'], undefined)
})

t.test('the profile tells what the bar told', async t => {
  const app = await start(t)
  const response = await app.inject('/errors')
  const profile = await profileOf(app, response)
  t.equal(profile.status, 503)
  t.match(profile.events.find(({ listener }) => listener === 'debug-toolbar'), { outcome: 'ran' })
})

t.test('in a browser: shown, folded away, and gone in print', async t => {
  const browser = await chromium(t)
  if (browser === undefined) return
  const app = await start(t, {}, (app) => {
    app.get('/hostile', async (_request, reply) => reply.header('content-security-policy', "style-src 'unsafe-inline'").type('text/html').send(HTML.replace('</head>',
      '<style>* { all: unset !important; display: none !important; position: static !important; opacity: 0 !important } html, body, p { display: block !important; opacity: 1 !important }</style></head>')))
  })
  const port = await listen(app)
  for (const width of [360, 1280]) {
    const page = await browser.newPage({ viewport: { width, height: 300 } })
    const problems: string[] = []
    page.on('console', (message) => { if (message.type() === 'error' && !message.text().includes('404')) problems.push(message.text()) })
    for (const url of ['/', '/hostile']) {
      await page.goto(`http://127.0.0.1:${port}${url}`)
      const bar = page.locator('hindsight-toolbar .frame')
      const box = await bar.boundingBox()
      t.equal(Math.round((box?.y ?? 0) + (box?.height ?? 0)), 300, `${url} ${width}: at the bottom`)
      t.ok(box !== null && box.x >= 0 && Math.round(box.x + box.width) === width, `${url} ${width}: within the window`)
      t.ok(await page.locator('hindsight-toolbar a').isVisible())
      await page.locator('hindsight-toolbar .fold').check()
      t.notOk(await page.locator('hindsight-toolbar a').isVisible(), 'folded')
      await page.emulateMedia({ media: 'print' })
      t.notOk(await bar.isVisible(), 'not printed')
      await page.emulateMedia({ media: 'screen' })
    }
    await page.goto(`http://127.0.0.1:${port}/`)
    const shifts = await page.evaluate(() => {
      const height = (): number => document.documentElement.scrollHeight
      const top = (): number => document.querySelector('p')?.getBoundingClientRect().top ?? -1
      const before = [height(), top()]
      document.querySelector('hindsight-toolbar')?.remove()
      return [before, [height(), top()], Object.keys(window).filter((name) => /hindsight/i.test(name)).length] as const
    })
    t.same(shifts[0], shifts[1], 'the page lies as it would without')
    t.equal(shifts[2], 0, 'no global names')
    t.same(problems, [])
    await page.goto(`http://127.0.0.1:${port}/`)
    await page.locator('hindsight-toolbar a').click()
    t.match(await page.title(), /^200 GET .* – /)
    await page.close()
  }
})

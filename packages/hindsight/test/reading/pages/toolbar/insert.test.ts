import t, { type Test } from 'tap'
import Fastify, { type FastifyInstance } from 'fastify'
import { service } from '../../../../../../app/service.js'
import { build, type BuildOptions } from '../../../support/app.js'
import { inBothProducts } from '../../../support/products.js'
import { parseHtml } from '../../../support/parse-html.js'

const HTML = '<!doctype html><html lang="en"><head><title>Page</title></head><body><p>Ü</p></body></html>\n'
const VALIDATORS = { etag: '"a"', 'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT', 'accept-ranges': 'bytes' }

/** An application whose route `/` answers with the headers of the query and the markup of `head` in its page. */
async function start (t: Test, product: 'package' | 'service', options: BuildOptions = {}): Promise<FastifyInstance> {
  const app = await build({
    contentSecurityPolicy: false,
    ...options,
    declare (app) {
      app.get('/', async (request, reply) => {
        const { head = '', ...headers } = request.query as Record<string, string>
        return reply.type('text/html').headers(headers).send(HTML.replace('<head>', `<head>${head}`))
      })
    }
  })
  t.teardown(() => app.close())
  if (product === 'package') Object.assign(app.hindsight, { lifecycle: null })
  return app
}

const toolbarOf = (body: string): Element | null => parseHtml(body).querySelector('hindsight-toolbar')
const linkOf = (body: string): Element | null | undefined => toolbarOf(body)?.querySelector('template')?.content.querySelector('link')

t.test('the package changes no policy, and the toolbar respects all policies', async (t) => {
  const app = await start(t, 'package')
  for (const [headers, expected] of [
    [{}, true],
    [{ 'content-security-policy': "default-src 'self'" }, true],
    [{ 'content-security-policy': "script-src 'none'; style-src 'self'" }, false],
    [{ 'content-security-policy': "script-src 'strict-dynamic' 'nonce-a'" }, false],
    [{ 'content-security-policy': "default-src 'nonce-a'" }, false],
    [{ 'content-security-policy': "default-src 'self', style-src 'none'" }, false],
    [{ 'content-security-policy-report-only': "default-src 'none'" }, false],
    [{ 'content-security-policy': "default-src 'self'", 'content-security-policy-report-only': "script-src 'nonce-a'" }, false],
    [{ head: '<meta http-equiv="Content-Security-Policy" content="style-src \'none\'">' }, false]
  ] as const) {
    const { headers: sent, body } = await app.inject({ url: '/', query: headers })
    t.equal(toolbarOf(body)?.querySelector('script') != null, expected, JSON.stringify(headers))
    t.notMatch(body, 'nonce="')
    for (const name of ['content-security-policy', 'content-security-policy-report-only'] as const) {
      t.equal(sent[name], (headers as Record<string, string>)[name], name)
    }
  }
})

t.test('with the package a page with the toolbar has no validators, and the correct length', async (t) => {
  const app = await start(t, 'package')
  const changed = await app.inject({ url: '/', query: { ...VALIDATORS, 'content-length': String(Buffer.byteLength(HTML)) } })
  t.match(changed.headers, { etag: undefined, 'last-modified': undefined, 'accept-ranges': undefined })
  t.equal(Number(changed.headers['content-length']), changed.rawPayload.length)
  const same = await app.inject({ url: '/', query: { ...VALIDATORS, 'content-security-policy': "default-src 'none'" } })
  t.match(same.headers, VALIDATORS)
  t.equal(same.body, HTML)
  t.match((await (await start(t, 'service')).inject({ url: '/', query: VALIDATORS })).headers, VALIDATORS)
})

t.test('the files of the toolbar have URLs', async (t) => {
  const app = await start(t, 'package', { trustedProxies: ['127.0.0.1'] })
  const hrefOf = async (query: Record<string, string> = {}, headers: Record<string, string> = {}): Promise<string | null | undefined> =>
    linkOf((await app.inject({ url: '/', query, headers })).body)?.getAttribute('href')
  t.match(await hrefOf(), /^\/_profiler\/assets\/[0-9a-f]{16}\.css$/)
  t.match(await hrefOf({ head: '<base href="/app/">' }), /^\/_profiler\//)
  t.equal(await hrefOf({ head: '<base target=x href="https://cdn.example/x/">' }), undefined, 'files of another origin')
  t.match(await hrefOf({}, { 'x-forwarded-prefix': '/shop' }), /^\/shop\/_profiler\//)
  for (const address of [await hrefOf() ?? '', toolbarOf((await app.inject('/')).body)?.querySelector('script')?.getAttribute('src') ?? '']) {
    t.equal((await app.inject(address)).statusCode, 200, address)
  }
})

t.test('the toolbar works below a prefix', async (t) => {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(() => app.close())
  await app.register(async (part) => {
    await part.register(service, { debug: true, profiler: { storage: 'memory' } })
    part.get('/a/page', async (_request, reply) => reply.type('text/html').send(HTML))
  }, { prefix: '/part' })
  const { body } = await app.inject('/part/a/page')
  for (const address of [linkOf(body)?.getAttribute('href'), toolbarOf(body)?.querySelector('script')?.getAttribute('src')]) {
    t.match(address, /^\/part\/_profiler\/assets\//)
    t.equal((await app.inject(address ?? '')).statusCode, 200, address ?? '')
  }
})

const CACHEABLE = {
  'cache-control': 'public, max-age=600',
  expires: 'Fri, 01 Jan 2027 00:00:00 GMT',
  'cdn-cache-control': 'max-age=600',
  'surrogate-control': 'max-age=600',
  'vercel-cdn-cache-control': 'max-age=600'
}

inBothProducts('a page with the toolbar is not cached; other pages keep their headers', async (t, _build, product) => {
  const app = await start(t, product)
  const { headers, body } = await app.inject({ url: '/', query: CACHEABLE })
  t.ok(toolbarOf(body), product)
  t.equal(headers['cache-control'], 'no-store', product)
  t.match(headers, { expires: undefined, 'cdn-cache-control': undefined, 'surrogate-control': undefined, 'vercel-cdn-cache-control': undefined })
  for (const request of [{ remoteAddress: '203.0.113.9' }, { headers: { 'sec-fetch-dest': 'empty' } }]) {
    const other = await app.inject({ url: '/', query: CACHEABLE, ...request })
    t.equal(toolbarOf(other.body), null)
    t.match(other.headers, CACHEABLE, product)
  }
})

inBothProducts('the toolbar is inserted where the body of a document ends, wherever else that text is', async (t, build) => {
  const BAR = '<hindsight-toolbar>'
  const pages: Array<[page: string, before: string | null]> = [
    ['<body><h1>a</h1></body></html><!-- after </body> -->', '</body></html><!--'],
    ['<body><h1>a</h1></BODY ></html>', '</BODY >'],
    ['<body><!-- </body> --><p>a</p></body>', '</body>'],
    ['<body><script>const s = "</body>"</script></body>', '</body>'],
    ['<body>a</body><script>const s = "</body>"</script>', '</body><script>'],
    ['<body><textarea></body></textarea></body >', '</body >'],
    ['<body><p title="</body>" class=\'</body>\'>a</p></body\n>', '</body\n>'],
    ['<body><p title=don\'t>it\'s</p></body>', '</body>'],
    ['<body><style>a::after { content: "</body>" }</style>', ''],
    ['<body><script>const s = "<body></body>"</script></html>', '</html>'],
    ['<body>a<!-- </body>', null],
    ['<body></bodyguard></body/>', '</body/>'],
    ['<body><p>a</p></body></p title="</body>">', '</body></p'],
    ['<body>a</body class=">"></html>', '</body class'],
    ['<body></body><template></body></template>', '</body><template>'],
    ['<body><template></body>', null],
    ['<body></body><noscript></body></noscript>', '</body><noscript>'],
    ['<body></body><!a </body><? </body></ </body>', '</body><!a'],
    ['<body><!--><p>a</p></body><!-- a --!></body>', '</body>'],
    ['<body><textarea title=">"></textarea><p ="></body>', '</body>'],
    ['<body></body><plaintext></body>', '</body><plaintext>'],
    ['<body></body><svg><title></title></body>', '</body><svg>'],
    ['<body><svg viewBox="0 0 1 1"><path d=""/></svg><SVG/></body>', '</body>'],
    ['<body><p>a</p></body><script><!-- <script> "</script></body>"\n//--></script>', '</body><script>'],
    ['<body><script>\n<!-- write("<script></script>")\n//-->\n</script></body>', '</body>'],
    ['<body><script><!-- "<script>" --></script></body>', '</body>'],
    // `</body>` and `</html>` are optional.
    ['<!doctype html><title>a</title><p>b</p>', ''],
    ['<HTML><p>b</p></HTML>\n', '</HTML>'],
    ['<body><p>b</p><textarea>', null],
    ['<body><p>b</p><!-- a', null],
    ['<!doctype html><frameset><frame></frameset></html>', null],
    ['<p>A part of a page</p>', null]
  ]
  const app = await build((app) => { app.get('/', async (request, reply) => reply.type('text/html').send((request.query as { page: string }).page)) })
  for (const [page, before] of pages) {
    const { body } = await app.inject({ url: '/', query: { page } })
    const at = body.indexOf(BAR)
    if (before === null) t.equal(at, -1, page)
    else t.equal(body.slice(at).split('</hindsight-toolbar>')[1]?.startsWith(before), true, page)
  }
})

inBothProducts('the place of the toolbar is found in linear time', async (t, build) => {
  const app = await build((app) => {
    app.get('/:part', async (request, reply) => reply.type('text/html').send((request.params as { part: string }).part.repeat(100_000)))
  })
  const parts = ['<!--', '<script', '<script ', '<!', '<a b', '<a b= ', '<a =', '<a ="', '<a =\'', '</body', '<textarea>', '<script><!--<script></script>']
  for (const part of parts) {
    t.equal((await app.inject({ url: `/${encodeURIComponent(part)}` })).statusCode, 200, part)
  }
})

inBothProducts('the toolbar is readable in any charset', async (t, build, product) => {
  const app = await build((app) => {
    app.get('/', { config: { name: 'straße 𝒳' } }, async (_request, reply) => reply.type('text/html').send(HTML))
  }, product === 'service' ? { contentSecurityPolicy: false } : {})
  const { body } = await app.inject({ url: '/', headers: { accept: 'text/html' } })
  const markup = /<hindsight-toolbar>.*<\/hindsight-toolbar>/s.exec(body)?.[0] ?? ''
  t.match(markup, /^[\0-\x7f]+$/)
  t.match(toolbarOf(body)?.querySelector('template')?.content.textContent, 'straße 𝒳')
})

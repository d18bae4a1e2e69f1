import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { testdir } from '../../packages/hindsight/test/support/folder.js'
import { build, inMemory, profileOf } from '../../packages/hindsight/test/support/app.js'
import { ROOT, runSnippet, snippetsOf } from '../../packages/hindsight/test/support/snippets.js'
import { fragmentsOf } from './fragments.js'

const JSON_ONLY = { accept: 'application/json' }
const folder = testdir(t)
process.chdir(folder)
process.env.SESSION_SECRET = 'a secret of the tests, thirty-two characters and more'
t.teardown(() => process.chdir(ROOT))

function write (file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true })
  writeFileSync(join(folder, file), text)
}

/** Runs a piece of a page with what it leaves out; its application, closed after the test, and its other exports. */
async function run<T extends object> (t: Test, page: string, change: (code: string) => string = (code) => code): Promise<{ app: FastifyInstance } & T> {
  const piece = fragmentsOf(`docs/${page}`)[0]
  if (piece === undefined) throw new Error(`${page} has no piece`)
  const code = change(piece.code)
  const exported = await runSnippet(
    { ...piece, code: /^export const app\b/m.test(code) ? code : `${code}\nexport { app }\n` }, folder
  ) as { app: FastifyInstance } & T
  t.teardown(() => exported.app.close())
  return exported
}

t.test('assets.md', async (t) => {
  const { app } = await run(t, 'reference/assets.md')
  t.equal((await app.inject('/')).body, '<link rel="stylesheet" href="/table.css"><table></table><table></table>')
})

t.test('controller-attributes.md', async (t) => {
  const { app } = await run(t, 'reference/controller-attributes.md')
  const answer = await app.inject({ url: '/articles/7', headers: { authorization: 'Bearer x' } })
  t.equal(answer.statusCode, 200)
  t.match(
    answer.headers,
    { 'content-type': 'text/html; charset=utf-8', 'last-modified': 'Fri, 02 Jan 2026 03:04:05 GMT', link: '</app.css>; rel="preload"; as="style"' }
  )
  t.equal(answer.body, 'articles/show{"article":{"id":7}}')
  t.equal((await app.inject('/articles/7')).statusCode, 401)
  t.equal((await app.inject('/articles/seven')).statusCode, 404)
  t.match((await profileOf(app, answer)).collectors.attributes, { template: 'articles/show', isGranted: 'ROLE_USER' }, 'the panel Attributes')
})

t.test('controller-attributes.md shows the messages of invalid attributes', async (t) => {
  const [printed = ''] = snippetsOf('docs/reference/controller-attributes.md').filter(({ language }) => language === '').map(({ code }) => code)
  const configs = [{ name: 'article', cache: { maxAge: 'soon' } }, { name: 'article', tempalte: 'articles/show' }]
  const messages = await Promise.all(configs.map(async (config) => {
    try {
      const app = await build({ declare: (app) => app.get('/', { config: config as object }, async () => 'x') })
      await app.close()
      return 'it started'
    } catch (error) {
      return (error as Error).message
    }
  }))
  t.equal(`${messages.join('\n')}\n`, printed)
})

t.test('http-cache.md', async (t) => {
  const { app, calls } = await run<{ calls: string[] }>(t, 'reference/http-cache.md')
  const first = await app.inject('/articles/7')
  t.equal(first.body, 'the article')
  t.match(first.headers, {
    'cache-control': /^(?=.*\bpublic\b)(?=.*\bmax-age=60\b)(?=.*\bs-maxage=600\b)(?=.*\bstale-while-revalidate=30\b)/,
    vary: /Accept-Language/i,
    'last-modified': 'Wed, 07 Jan 2026 00:00:00 GMT',
    etag: /^".+"$/
  })
  for (const [name, headers, status] of [
    ['the tag that it has', { 'if-none-match': first.headers.etag }, 304],
    ['a weak one', { 'if-none-match': `W/${String(first.headers.etag)}` }, 304],
    ['the date', { 'if-modified-since': first.headers['last-modified'] }, 304],
    ['another tag', { 'if-none-match': '"x"' }, 200]
  ] as const) {
    calls.length = 0
    const answer = await app.inject({ url: '/articles/7', headers: headers as Record<string, string> })
    t.equal(answer.statusCode, status, name)
    t.equal(calls.length, status === 200 ? 1 : 0, `${name}: the handler`)
  }
  const secret = await app.inject({ url: '/articles/7', headers: { authorization: 'Basic x' } })
  t.match(secret.headers['cache-control'], /max-age=0, must-revalidate, private/)
})

t.test('links.md', async (t) => {
  const { app } = await run(t, 'reference/links.md')
  const { body, headers: { link } } = await app.inject('/')
  t.equal(body, 'hello')
  t.equal(link, '</app.css>; rel="preload"; as="style", <https://cdn.example>; rel="preconnect", </about>; rel="author"; title*=UTF-8\'\'%C3%9Cber%20mich')
  await t.rejects(
    run(t, 'reference/links.md', (code) => code.replace("rel: 'preconnect'", "rel: 'pré'")), /^Route "[^"]+": links: .*"pré" is not a relation type/
  )
})

t.test('locale.md', async (t) => {
  for (const [locale, welcome] of [['en', 'Welcome'], ['fr', 'Bienvenue']] as const) write(`words/${locale}.js`, `export default { welcome: '${welcome}' }\n`)
  const { app } = await run(t, 'reference/locale.md', (code) => code.replace('port: 3000', 'port: 0'))
  const price = (locale: string): string => new Intl.NumberFormat(locale, { style: 'currency', currency: 'EUR' }).format(12.5)
  for (const [name, url, language, status, body, contentLanguage] of [
    ['the route decides', '/fr/welcome', 'en', 200, 'Bienvenue', 'fr'],
    ['one that is not enabled', '/de/welcome', 'en', 404, null, undefined],
    ['as it is written', '/FR/welcome', 'en', 404, null, undefined],
    ['the client decides, by its region', '/price', 'fr-CA, en;q=0.5', 200, price('fr'), 'fr'],
    ['q=0 is heeded', '/price', 'fr;q=0', 200, price('en'), 'en'],
    ['else the default', '/price', undefined, 200, price('en'), 'en']
  ] as const) {
    const answer = await app.inject({ url, headers: { ...JSON_ONLY, ...(language !== undefined && { 'accept-language': language }) } })
    t.equal(answer.statusCode, status, name)
    if (body !== null) t.equal(answer.body, body, name)
    t.equal(answer.headers['content-language'], contentLanguage, name)
  }
  t.match((await app.inject('/price')).headers.vary, /Accept-Language/i)
})

t.test('pagination.md', async (t) => {
  const { app, asked } = await run<{ asked: object[] }>(t, 'reference/pagination.md')
  const page = await app.inject({ url: '/articles?page=2&sort=title', headers: { accept: 'text/html' } })
  t.equal(page.statusCode, 200)
  t.same(asked, [{ limit: 10, offset: 10, sort: 'title', direction: 'desc' }])
  for (const relation of ['first', 'prev', 'next', 'last']) t.match(page.headers.link, `rel="${relation}"`)
  t.match(page.body, /<ul><li>one<\/li><li>two<\/li><\/ul><nav class="pagination"/)
  t.same((await app.inject({ url: '/articles', headers: JSON_ONLY })).json(), ['one', 'two'])
  for (const query of ['limit=500', 'page=0', 'sort=author', 'page=1&page=2']) t.equal((await app.inject(`/articles?${query}`)).statusCode, 400, query)
  t.match(
    (await app.inject({ url: '/articles?limit=500', headers: { accept: 'text/plain' } })).body, 'Invalid "limit": "500" is not a whole number from 1 to 50.'
  )
})

t.test('param-converter.md', async (t) => {
  const { app } = await run(t, 'reference/param-converter.md', (code) => code.replace(/^ {2}params\.state\b.*$/m, '$&\n  return params'))
  t.same(
    (await app.inject('/articles/7/2026-01-02/draft')).json(),
    { article: { title: 'On time', author: 'grace' }, day: '2026-01-02T00:00:00.000Z', state: 'draft' }
  )
  for (const [name, url, cause] of [
    ['nothing found', '/articles/8/2026-01-02/draft', '"article" found nothing for "8"'],
    ['no date', '/articles/7/2026-02-30/draft', '"day" object not found by the "date" converter.'],
    ['no member', '/articles/7/2026-01-02/lost', 'state']
  ] as const) {
    const answer = await app.inject({ url, headers: { accept: 'text/plain' } })
    t.equal(answer.statusCode, 404, name)
    t.ok(answer.body.includes(cause), `${name}: ${answer.body.slice(0, 300)}`)
  }
  t.match(
    (await app.inject({ url: '/articles/8/2026-01-02/draft', headers: { accept: 'text/plain' } })).body,
    '"article" object not found by the "article" converter.'
  )
})

t.test('login.md', async (t) => {
  const { app } = await run(t, 'how-to/login.md')
  const page = await app.inject({ url: '/admin', headers: { accept: 'text/html' } })
  t.same([page.statusCode, new URL(String(page.headers.location)).pathname], [302, '/login'])
  const form = await app.inject({ url: '/login', headers: { cookie: cookieOf(page) } })
  const fields = Object.fromEntries([...form.body.matchAll(/<input name="([^"]+)"(?: value="([^"]*)")?(?: type="\w+"(?: value="([^"]*)")?)?>/g)]
    .map(([, name = '', value = '', hidden = '']) => [name, value + hidden]))
  t.match(form.body, /<form method="post" action="\/login">/)
  const login = await app.inject({
    method: 'POST',
    url: '/login',
    headers: { cookie: cookieOf(form) || cookieOf(page), accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ ...fields, _username: 'ada', _password: 'secret of ada' }).toString()
  })
  t.same([login.statusCode, login.headers.location], [302, 'http://localhost/admin'])
  const session = { cookie: cookieOf(login) }
  t.equal((await app.inject({ url: '/admin', headers: session })).body, 'for administrators')
  const home = (await app.inject({ url: '/', headers: session })).json<{ user: string, logout: string }>()
  t.match(home, { user: 'ada', logout: /^\/logout\?/ })
  t.same((await app.inject('/')).json<{ user: unknown }>().user, null)
  const bearer = { authorization: 'Bearer token-of-grace' }
  for (const [url, headers, status] of [
    ['/api/articles/1', bearer, 200], ['/api/articles/2', bearer, 403], ['/api/articles/1', { authorization: 'Bearer x' }, 401]
  ] as const) {
    const answer = await app.inject({ method: 'PUT', url, headers })
    t.equal(answer.statusCode, status, url)
    if (status === 403) t.match(JSON.stringify((await profileOf(app, answer)).collectors.security), /the author is ada/)
  }
  t.equal((await app.inject({ url: home.logout, headers: session })).statusCode, 302)
  t.same((await app.inject({ url: '/', headers: session })).json<{ user: unknown }>().user, null, 'logged out')
})

function cookieOf ({ headers }: { headers: Record<string, unknown> }): string {
  return headers['set-cookie'] === undefined ? '' : String(headers['set-cookie']).split(';', 1)[0] ?? ''
}

t.test('template.md', async (t) => {
  write('views/articles/show.eta', '<h1><%= it.title %></h1>')
  const { app } = await run(t, 'reference/template.md')
  const { headers, body } = await app.inject('/articles/7')
  t.match([headers['content-type'], body], ['text/html; charset=utf-8', '<h1>On time</h1>'])
  const { app: wrong } = await run(t, 'reference/template.md', (code) => code.replace("'articles/show'", "'articles/shw'"))
  t.match((await wrong.inject({ url: '/articles/7', headers: { accept: 'text/plain' } })).body, 'articles/shw')
  await t.rejects(run(t, 'reference/template.md', (code) => code.replace(/^await app\.register\(view.*$/m, '') + '\nawait app.ready()'), /\/articles\/:id/)
})

t.test('service.md', async (t) => {
  write('routes/hello.ts', snippetsOf('docs/how-to/service.md').find(({ language }) => language === 'ts')?.code ?? '')
  const app = await build({ routesDir: join(folder, 'routes'), profiler: inMemory() })
  t.teardown(() => app.close())
  const answer = await app.inject('/hello')
  t.same(answer.json(), { hello: 'world' })
  const profile = await profileOf(app, answer)
  t.equal(profile.route?.name, 'hello')
  t.ok(profile.logs.some(({ message }) => message === 'a client said hello'))
})

t.test('README.md', async (t) => {
  const [piece] = fragmentsOf('README.md')
  const { app } = await runSnippet(
    { ...piece as NonNullable<typeof piece>, code: `${piece?.code.replace('port: 3000', 'port: 0')}\nexport { app }\n` }, folder
  ) as { app: FastifyInstance }
  t.teardown(() => app.close())
  t.same((await app.inject('/')).json(), { hello: 'world' })
  t.equal((await app.inject('/_profiler/')).statusCode, 200)
})

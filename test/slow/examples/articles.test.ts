import { spawn } from 'node:child_process'
import { join } from 'node:path'
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import t, { type Test } from 'tap'
import { options as serverOptions } from '../../../app/app.js'
import { testdir } from '../../../packages/hindsight/test/support/folder.js'
import { listen, profileOf } from '../../../packages/hindsight/test/support/app.js'
import { chromium } from '../../../packages/hindsight/test/slow/support/browser.js'

const ROOT = join(import.meta.dirname, '../../..')
const SECRET = 'a secret of the tests, thirty-two characters and more'
const BEARER = { authorization: 'Bearer a-token-of-ada-for-the-tour' }
const DRAFT = { title: 'A new one', body: 'First.\n\nSecond <b>.' }

interface Options { directory?: string, sendMail?: (mail: object) => Promise<void> }

// The example merges types of its own into Fastify's: it is a program of its own to the compiler.
const place = new URL('../../../examples/articles/app.ts', import.meta.url).href
const { default: articles } = await import(place) as { default: FastifyPluginAsync<Options & { service: object }> }

async function start (t: Test, { debug = true, ...options }: Options & { debug?: boolean } = {}): Promise<FastifyInstance> {
  const app = Fastify({ ...serverOptions, logger: { level: 'silent' } }) as unknown as FastifyInstance
  t.teardown(() => app.close())
  await app.register(articles, { service: { debug, session: { secret: SECRET } }, ...options })
  await app.ready()
  return app
}

/** A browser without the browser: it keeps its cookie, and finds the fields of forms. */
class Visitor {
  readonly app: FastifyInstance
  cookie = ''

  constructor (app: FastifyInstance) { this.app = app }

  async get (url: string, headers: Record<string, string> = {}) {
    return this.#kept(
      await this.app.inject({ url, headers: { ...this.#headers(), ...headers } })
    )
  }

  /** Fills in the form of a page, and sends it where that page says. */
  async submit (page: string, fields: Record<string, string>, to?: string) {
    const { body } = await this.get(page)
    const form = body.slice(body.indexOf('<main'))
    const token = /name="_csrf_token" value="([^"]+)"/.exec(form)?.[1] ?? ''
    return await this.post(to ?? /<form[^>]* action="([^"]+)"/.exec(form)?.[1] ?? page, { _csrf_token: token, ...fields })
  }

  async post (url: string, fields: Record<string, string> = {}) {
    return this.#kept(await this.app.inject({
      method: 'POST',
      url,
      headers: { ...this.#headers(), 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(fields).toString()
    }))
  }

  async login (name: string, page = '/en/login') { return await this.submit(page, { _username: name, _password: name }) }

  #headers () { return { accept: 'text/html', ...this.cookie !== '' && { cookie: this.cookie } } }

  #kept<R extends { headers: Record<string, unknown> }> (response: R): R {
    const set = [response.headers['set-cookie']].flat()[0]
    if (typeof set === 'string') this.cookie = set.split(';', 1)[0] as string
    return response
  }
}

t.test('the root redirects by Accept-Language, and the path of a page decides its language', async (t) => {
  const visitor = new Visitor(await start(t))
  t.equal((await visitor.get('/', { 'accept-language': 'fr-CA, en;q=0.5' })).headers.location, '/fr/articles')
  t.equal((await visitor.get('/')).headers.location, '/en/articles')
  const french = await visitor.get('/fr/articles', { 'accept-language': 'en' })
  t.match(french.headers, { 'content-language': 'fr' })
  t.match(french.body, /<html lang="fr">[^]*Allers-retours[^]*href="\/en\/articles" lang="en"[^]*12 février 2026/)
  t.equal((await visitor.get('/de/articles')).statusCode, 404)
})

t.test('the list has pages and an order, and invalid parameters are a 400', async (t) => {
  const visitor = new Visitor(await start(t))
  const first = await visitor.get('/en/articles')
  t.equal(first.body.match(/<h2/g)?.length, 6)
  t.match(first.headers.link, /<\/en\/articles\?page=2>; rel="next"/)
  t.match(first.body, /_wdt|_profiler/, 'the toolbar')
  t.match((await visitor.get('/en/articles?sort=title&direction=asc')).body, /304 is a success/)
  t.match((await visitor.get('/en/articles?page=9')).body, /nothing on this page/)
  t.equal((await visitor.get('/en/articles?limit=500')).statusCode, 400)
  t.equal((await visitor.get('/en/articles?sort=author')).statusCode, 400)
})

t.test('the contents with a query for each article have a finding, those with one query have a budget', async (t) => {
  const app = await start(t)
  const headers = { accept: 'text/html' }
  const [slow, fast] = [await app.inject({ url: '/en/contents/slow', headers }), await app.inject({ url: '/en/contents', headers })]
  t.match([slow.statusCode, fast.statusCode], [200, 200])
  const titles = (body: string): unknown => body.match(/<li lang.*/g)
  t.same(titles(slow.body), titles(fast.body))
  t.equal(slow.body.match(/<li lang/g)?.length, 13)
  const findings = async (response: typeof slow): Promise<unknown[]> => {
    const { count, findings } = (await profileOf(app, response)).collectors.queries as { count: number, findings: Array<{ text: string }> }
    return [count, ...findings.map(({ text }) => text)]
  }
  t.match(await findings(slow), [
    14,
    /^N\+1: `select \* from articles where id = \?` 13 times from examples\/articles\/store\.ts:\d+ after the 13 rows of \S+store\.ts:\d+, /
  ])
  t.same(await findings(fast), [1])
})

t.test('the page of an article is public, and private for logged-in users', async (t) => {
  const visitor = new Visitor(await start(t))
  t.equal((await visitor.get('/en/articles/1')).headers['cache-control'], 'no-store', 'with the toolbar')
  const script = { 'sec-fetch-dest': 'empty' }
  const { headers, body } = await visitor.get('/en/articles/1', script)
  t.match(headers, { 'cache-control': 'max-age=0, public, s-maxage=60', etag: '"1.1"', 'last-modified': 'Tue, 14 Jan 2025 00:00:00 GMT', vary: 'Cookie' })
  t.notMatch(body, /Delete/)
  t.equal((await visitor.get('/en/articles/1', { 'if-none-match': '"1.1"' })).statusCode, 304)
  for (const id of ['99', 'x', '0', '1.5']) t.equal((await visitor.get(`/en/articles/${id}`)).statusCode, 404, id)
  await visitor.login('ada')
  const own = await visitor.get('/en/articles/1', { ...script, 'if-none-match': '"1.1"' })
  t.match([own.statusCode, own.headers['cache-control'], own.headers.etag], [200, /private/, undefined])
  t.match(own.body, /Delete/)
})

t.test('login and logout have the language of the client, and redirect to the requested page', async (t) => {
  const app = await start(t)
  const visitor = new Visitor(app)
  t.match((await visitor.get('/fr/articles/new')).headers.location, /\/login$/)
  t.equal((await visitor.get('/login', { 'accept-language': 'fr' })).headers.location, '/fr/login')
  t.match((await visitor.submit('/fr/login', { _username: 'ada', _password: 'wrong' })).headers.location, /\/login$/)
  t.equal((await visitor.get('/login')).headers.location, '/fr/login', 'the session has the language')
  t.match((await visitor.get('/fr/login')).body, /role="alert">Le nom ou le mot de passe est incorrect/)
  t.match((await visitor.post('/login', { _username: 'ada', _password: 'ada' })).headers.location, /\/login$/, 'no token, no login')
  const before = visitor.cookie
  t.match((await visitor.login('ada', '/fr/login')).headers.location, /\/fr\/articles\/new$/)
  t.not(visitor.cookie, before, 'a new session id')
  t.equal((await visitor.get('/fr/login')).headers.location, '/')
  t.equal((await visitor.get('/')).headers.location, '/fr/articles')
  const logout = /action="(\/logout[^"]+)"/.exec((await visitor.get('/fr/articles')).body)?.[1] as string
  t.match(await visitor.post('/logout'), { statusCode: 403 })
  t.match((await visitor.post(logout)).headers.location, /\/$/)
  t.match((await visitor.get('/en/articles')).body, /Log in/)
})

t.test('roles and voters decide about writing and changing', async (t) => {
  const app = await start(t)
  const [ada, grace, rita] = [new Visitor(app), new Visitor(app), new Visitor(app)]
  await Promise.all([ada.login('ada'), grace.login('grace'), rita.login('rita')])
  t.equal((await rita.get('/en/articles/new')).statusCode, 403)
  const made = await grace.submit('/en/articles/new', DRAFT)
  t.match([made.statusCode, made.headers.location], [303, '/en/articles/14'], 'an editor inherits the role of an author')
  t.match((await grace.get('/en/articles/14')).body, /<p>First\.<\/p>\s*<p>Second &lt;b&gt;\.<\/p>/)
  t.equal((await grace.post('/en/articles/new', DRAFT)).statusCode, 403, 'without a token')

  const again = await grace.submit('/fr/articles/new', { title: ' ', body: 'kept' })
  t.equal(again.statusCode, 422)
  t.match(again.body, /<textarea[^>]*>\nkept</)
  t.match(again.body, /Un titre a de 1 à 120 caractères/)
  t.match(again.headers['content-security-policy'], /script-src 'self' 'nonce-/)

  const refused = await ada.get('/en/articles/14/edit')
  t.equal(refused.statusCode, 403)
  t.match(JSON.stringify((await profileOf(app, refused)).collectors.security), /the author is grace/)
  t.equal((await ada.post('/en/articles/14/delete')).statusCode, 403)

  t.equal((await grace.submit('/en/articles/14/edit', { title: 'Changed', body: 'Text' })).statusCode, 303)
  t.match((await new Visitor(app).get('/en/articles/14')).headers, { etag: '"14.2"' })
  t.equal((await grace.submit('/en/articles/14/edit', { title: 'No text' })).statusCode, 422)
  t.equal((await grace.submit('/en/articles/14', {})).headers.location, '/en/articles', 'deleted')
  t.equal((await grace.get('/en/articles/14')).statusCode, 404)
  t.equal((await grace.submit('/en/articles/new', DRAFT)).headers.location, '/en/articles/15', 'no number is used twice')
})

t.test('the API lists and creates articles, with authentication', async (t) => {
  const app = await start(t)
  const list = await app.inject('/api/articles?limit=2')
  t.match(list.json(), [{ id: 13, locale: 'en', createdAt: '2026-02-12T00:00:00.000Z' }, { id: 12 }])
  t.match(list.headers.link, /<\/api\/articles\?limit=2&page=2>; rel="next".*<\/api\/articles\?limit=2&page=7>; rel="last"/)
  const anonymous = await app.inject({ method: 'POST', url: '/api/articles', payload: {} })
  t.match([anonymous.statusCode, anonymous.headers['www-authenticate']], [401, /Basic realm="Articles", Bearer realm="Articles"/])
  const basic = `Basic ${Buffer.from('rita:rita').toString('base64')}`
  t.equal((await app.inject({ method: 'POST', url: '/api/articles', headers: { authorization: basic }, payload: DRAFT })).statusCode, 403)
  t.equal((await app.inject({ method: 'POST', url: '/api/articles', headers: BEARER, payload: { title: 'no body' } })).statusCode, 400)
  const made = await app.inject({ method: 'POST', url: '/api/articles', headers: BEARER, payload: DRAFT })
  t.match([made.statusCode, made.headers.location, made.json()], [201, '/api/articles/14', { id: 14, author: 'ada' }])

  const change = (headers: object, id = 14) => app.inject({ method: 'PUT', url: `/api/articles/${id}`, headers: { ...BEARER, ...headers }, payload: DRAFT })
  t.equal((await change({})).statusCode, 200)
  t.equal((await change({}, 2)).statusCode, 403, 'an article of grace')
  t.equal((await app.inject({ url: '/api/articles/14', headers: { 'if-none-match': '"14.2"' } })).statusCode, 304)
  t.equal((await app.inject({ method: 'DELETE', url: '/api/articles/14', headers: BEARER })).statusCode, 204)
  t.equal((await app.inject('/api/articles/14')).statusCode, 404)

  const preflight = { method: 'OPTIONS', url: '/api/articles', headers: { origin: 'https://reader.example', 'access-control-request-method': 'POST' } } as const
  t.match((await app.inject(preflight)).headers, { 'access-control-allow-origin': '*', 'access-control-max-age': '600' })
  const cross = { origin: 'https://reader.example' }
  t.match((await app.inject({ url: '/api/articles', headers: cross })).headers, { 'access-control-expose-headers': 'ETag, Link, Location' })
  t.notOk((await app.inject({ url: '/en/articles', headers: cross })).headers['access-control-allow-origin'])
})

t.test('the deliberate failure has its page in debug mode and in production', async (t) => {
  const failed = await (await start(t)).inject({ url: '/articles/broken', headers: { accept: 'application/json' } })
  t.match([failed.statusCode, failed.json()], [500, { exceptions: [{ name: 'SyntaxError' }, { message: 'The article of yesterday.json cannot be imported' }] }])
  const production = await start(t, { debug: false })
  const { statusCode, body } = await production.inject({ url: '/articles/broken', headers: { accept: 'text/html' } })
  t.equal(statusCode, 500)
  t.notMatch(body, /yesterday|site\.ts/)
  t.notMatch((await production.inject('/en/articles')).body, /_profiler/)
})

t.test('stored articles are available after a restart', async (t) => {
  const directory = join(testdir(t), 'articles')
  const first = await start(t, { directory })
  await first.inject({ method: 'POST', url: '/api/articles', headers: BEARER, payload: DRAFT })
  await first.close()
  const second = await start(t, { directory })
  t.match((await second.inject('/api/articles?limit=1')).json(), [{ id: 14, title: 'A new one' }])
})

t.test('one command starts the example', async (t) => {
  const child = spawn(process.execPath, ['--import=tsx', 'examples/articles/server.ts'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, PORT: '0', HOST: '127.0.0.1', NODE_ENV: 'development', DATA_DIR: testdir(t) },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  let log = ''
  for await (const chunk of child.stdout) {
    log += String(chunk)
    if (/Server listening at/.test(log)) break
  }
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(log)?.[0]
  t.equal((await fetch(`${url}/en/articles`)).status, 200)
  child.kill('SIGTERM')
  t.equal(await ended, 0)
})

t.test('in a browser login, writing and switching the language work without errors', async (t) => {
  const browser = await chromium(t)
  if (browser === undefined) return
  const origin = `http://127.0.0.1:${await listen(await start(t))}`
  const page = await browser.newPage({ locale: 'en-GB' })
  const complaints: string[] = []
  page.on('console', (message) => { if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text()) })
  page.on('pageerror', (error) => complaints.push(error.message))

  await page.goto(`${origin}/`)
  t.equal(page.url(), `${origin}/en/articles`)
  t.ok(await page.getByRole('link', { name: /Profile/ }).count(), 'the toolbar is there')
  await page.getByRole('link', { name: 'Log in' }).click()
  await page.getByLabel('Name').fill('ada')
  await page.getByLabel('Password').fill('ada')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('link', { name: 'Write an article' }).click()
  await page.getByLabel('Title').fill('Written in a browser')
  await page.getByLabel('Text').fill('One.')
  t.equal(await page.locator('#left').textContent(), '4996 characters left', 'the inline script runs')
  t.equal(await page.locator('#left').evaluate((element) => getComputedStyle(element).float), 'right', 'the inline style holds')
  await page.getByRole('button', { name: 'Save' }).click()
  t.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Written in a browser')
  await page.getByRole('link', { name: 'Français' }).click()
  t.equal(page.url(), `${origin}/fr/articles/14`)
  await page.getByRole('button', { name: 'Se déconnecter' }).click()
  // What is stored is asked for again, and shown as it was: its policy is still its own.
  for (let visits = 0; visits < 2; visits++) await page.goto(`${origin}/en/articles/14`)
  t.equal(await page.getByText('Delete').count(), 0, 'a page without a user')
  t.same(complaints, [], 'no errors, no violations of the policy')
})

t.test('a new article is announced by a mail, whose attempts are jobs of the request', async (t) => {
  const mails: object[] = []
  const app = await start(t, {
    sendMail: async (mail) => { if (mails.push(mail) === 1) throw new Error('the server of mails is down') }
  })
  const response = await app.inject({ method: 'POST', url: '/api/articles', headers: BEARER, payload: DRAFT })
  t.equal(response.statusCode, 201)
  await (app as unknown as { mails: { drain: () => Promise<void> } }).mails.drain()
  t.same(mails, [{ to: 'readers', subject: 'A new one' }, { to: 'readers', subject: 'A new one' }])
  const { token } = await profileOf(app, response)
  const { profiles } = await app.hindsight.profiler.search({ criteria: { parent: token }, limit: 10 })
  t.match(profiles, [
    { url: 'send mail', values: { outcome: 'done', job: 'send mail 1', attempt: '2' } }, { url: 'send mail', values: { outcome: 'failed' } }
  ])
})

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import Fastify, { type FastifyInstance, type InjectOptions } from 'fastify'
import t from 'tap'
import { attach } from '../../app/attach.js'
import { attachOptions } from '../../app/attach-options.js'
import type { Profile } from '../../plugins/profiler/profile.js'
import { MemoryStorage } from '../../plugins/profiler/storage/memory.js'
import { listen, raw } from '../support/app.js'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')
const HTML = { accept: 'text/html' }

/** An application that knows nothing of us, and uses the names that we would like to have. */
function declare (app: FastifyInstance): void {
  app.decorateRequest('locale', 'of the application')
  app.decorateReply('cspNonce', 'mine' as never)
  app.addHook('onRequest', async function mine (_request, reply) { reply.header('x-mine', '1') })
  app.addHook('onSend', async function stamp (_request, reply, payload) {
    reply.header('x-sent', '1')
    return payload
  })
  app.get('/', async (request) => ({ locale: request.locale }))
  app.get('/page', async (_request, reply) => await reply.type('text/html').send('<!doctype html><body>x</body>'))
  app.get('/fails', async () => { throw new Error('broken') })
  app.get('/own', { errorHandler: (error, _request, reply) => { reply.code(500).send({ own: (error as Error).message }) } }, async () => { throw new Error('broken') })
  app.post('/valid', { config: { cache: 'of the application', template: 1 } as never, schema: { body: { type: 'object', required: ['a'] } } }, async (request) => request.body)
}

async function attached (t: { teardown: (fn: () => unknown) => void }, more: (app: FastifyInstance) => void = () => {}): Promise<FastifyInstance> {
  const app = Fastify({ pluginTimeout: 60_000 })
  attach(app, { debug: true, profiler: { storage: new MemoryStorage() } })
  declare(app)
  more(app)
  t.teardown(() => app.close())
  await app.ready()
  return app
}

async function latest (app: FastifyInstance, query = ''): Promise<Profile> {
  for (;;) {
    const answer = await app.inject(`/_profiler/latest.json${query}`)
    if (answer.statusCode === 302) return (await app.inject(String(answer.headers.location))).json<Profile>()
    await sleep(10)
  }
}

const asked: Array<[name: string, request: InjectOptions]> = [
  ['a route', { url: '/' }],
  ['a page', { url: '/page', headers: HTML }],
  ['a failure', { url: '/fails' }],
  ['a failure that a handler of the route answers', { url: '/own', headers: HTML }],
  ['no route', { url: '/nowhere' }],
  ['the other trailing-slash form', { url: '/page/' }],
  ['no method', { method: 'DELETE', url: '/page' }],
  ['a preflight', { method: 'OPTIONS', url: '/', headers: { origin: 'https://x.example', 'access-control-request-method': 'GET' } }],
  ['a host that is none', { url: '/', headers: { host: 'a b' } }],
  ['a body', { method: 'POST', url: '/valid', payload: { a: 1 } }],
  ['a body that is not valid', { method: 'POST', url: '/valid', payload: {} }],
  ['a body that cannot be parsed', { method: 'POST', url: '/valid', headers: { 'content-type': 'application/json' }, payload: '{' }],
  ['HEAD', { method: 'HEAD', url: '/' }]
]

t.test('it answers what it would answer without', async (t) => {
  const app = await attached(t)
  const bare = Fastify()
  declare(bare)
  t.teardown(() => bare.close())
  for (const [name, request] of asked) {
    const [ours, theirs] = [await app.inject(request), await bare.inject(request)]
    t.equal(ours.statusCode, theirs.statusCode, name)
    t.equal(ours.body, theirs.body, name)
    t.same({ ...ours.headers, date: '' }, { ...theirs.headers, date: '' }, `${name}: headers`)
  }
  t.equal(app.printRoutes(), bare.printRoutes(), 'the same routes')
})

t.test('it has profiles, diagnostic pages and the pages of the profiler', async (t) => {
  const app = await attached(t)
  const page = await app.inject({ url: '/fails', headers: HTML })
  t.equal(page.statusCode, 500)
  t.match(page.body, /<title>broken/)
  t.match(page.headers['content-security-policy'], /^default-src 'none'; style-src 'nonce-/)
  const profile = await latest(app)
  t.equal(profile.exceptions.at(-1)?.message, 'broken')
  t.ok(profile.events.some(({ listener, source }) => listener === 'mine' && /attach\.test\.ts:\d+$/.test(source ?? '')))
  await app.inject('/nowhere')
  t.match((await latest(app, '?status=404')).exceptions.at(-1)?.message, /^No route found for "GET http:\/\/localhost\/nowhere"/)
  const list = await app.inject({ url: '/_profiler/', headers: HTML })
  t.equal(list.statusCode, 200)
  t.notOk(list.headers['x-mine'], 'no hook of the application has to do with it')
  t.equal((await app.inject({ url: `/_profiler/${profile.token}?panel=events`, headers: HTML })).statusCode, 200)
})

t.test('over the network the token is told, and strangers see nothing', async (t) => {
  const app = await attached(t)
  const port = await listen(app)
  const ask = async (path: string, host = `127.0.0.1:${port}`): Promise<Awaited<ReturnType<typeof raw>>> =>
    await raw(port, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept: text/html\r\nConnection: close\r\n\r\n`)
  t.match((await ask('/'))?.headers['x-debug-token'], /^[0-9a-f]{6}$/)
  t.equal((await ask('/_profiler/'))?.status, 200)
  t.equal((await ask('/', 'evil.example'))?.headers['x-debug-token'], undefined)
  t.equal((await ask('/_profiler/', 'evil.example'))?.status, 404)
  t.notMatch((await ask('/fails', 'evil.example'))?.text, /attach\.test/)
})

t.test('handlers of the application, and its log', async (t) => {
  const lines: string[] = []
  const app = Fastify({ pluginTimeout: 60_000, logger: { level: 'debug', stream: { write: (line: string) => { lines.push(line) } } } })
  attach(app, { debug: true, profiler: { storage: new MemoryStorage() } })
  app.setErrorHandler((error, _request, reply) => reply.code(500).send({ own: (error as Error).message }))
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ own: 'nothing' }))
  app.get('/fails', async (request) => {
    request.log.info('about to fail')
    throw new Error('broken')
  })
  t.teardown(() => app.close())
  t.same((await app.inject({ url: '/fails', headers: HTML })).json(), { own: 'broken' })
  t.same((await app.inject({ url: '/nowhere', headers: HTML })).json(), { own: 'nothing' })
  t.same(lines.map((line) => (JSON.parse(line) as { msg: string }).msg), ['incoming request', 'about to fail', 'request completed', 'incoming request', 'request completed'])
  t.ok((await latest(app, '?status=500')).logs.some(({ message }) => message === 'about to fail'))
})

t.test('what the environment says', async (t) => {
  t.equal(attachOptions({ NODE_ENV: 'production' }), null)
  t.equal(attachOptions({ PROFILER: 'off' }), null)
  t.equal(attachOptions({ NODE_ENV: 'production', PROFILER: 'errors', STORAGE_URL: 'memory' })?.debug, false)
  t.match(attachOptions({ STORAGE_URL: 'memory', DEBUG_HOSTS: 'dev.example', EDITOR_URL: 'zed' }), { debug: true, debugHosts: ['dev.example'], editor: 'zed' })
  t.same(Object.keys(Object(attachOptions({ STORAGE_URL: 'memory', PROFILER_ROLE: 'ROLE_OPERATOR' })?.profiler)).filter((name) => name === 'role'), [], 'a role would stop the start of an application without security')
  t.throws(() => attachOptions({ PROFILER: 'some' }), { message: /PROFILER/ })
})

t.test('the preload: an application that says nothing of us, as an ES module and as CommonJS', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-preload-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const body = `
const app = Fastify()
app.get('/', async () => ({ hello: 'world' }))
app.inject('/').then(async (response) => {
  const profiles = () => app.inject({ url: '/_profiler/', headers: { accept: 'application/json' } })
  let list = await profiles()
  while (list.statusCode === 200 && list.json().profiles.length === 0) list = await profiles()
  console.log(JSON.stringify([response.json(), list.statusCode, list.json().profiles.map(({ url }) => url)]))
  await app.close()
})
`
  writeFileSync(join(folder, 'app.mjs'), `import Fastify from 'fastify'\n${body}`)
  writeFileSync(join(folder, 'app.cjs'), `const Fastify = require('fastify')\n${body}`)
  const tsx = join(ROOT, 'node_modules/tsx/dist/esm/index.mjs')
  for (const file of ['app.mjs', 'app.cjs']) {
    const { stdout } = await run(process.execPath, [`--import=${tsx}`, `--import=${join(ROOT, 'app/register.ts')}`, file], { cwd: folder, env: { ...process.env, NODE_ENV: 'development', STORAGE_URL: 'memory' } })
    t.same(JSON.parse(stdout), [{ hello: 'world' }, 200, ['http://localhost/']], file)
  }
})

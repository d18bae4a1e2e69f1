import { get, listen, statusOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import { Profiler } from '../../../src/store/profiler.js'
import { MemoryStorage } from '../../../src/store/memory.js'

const markdown = { accept: 'text/markdown' }
const TYPE = 'text/markdown; charset=utf-8'

inBothProducts('a profile is sent as Markdown, by Accept or by its path', async (t, build) => {
  const app = await build((app) => { app.get('/fail', async () => { throw new Error('it failed') }) })
  const token = String((await app.inject('/fail')).headers['x-debug-token'])
  for (const [url, headers, type, vary] of [
    [`/_profiler/${token}`, markdown, TYPE, 'accept'],
    [`/_profiler/${token}.md`, {}, TYPE, undefined],
    [`/_profiler/${token}.md`, { accept: 'application/json' }, TYPE, undefined],
    [`/_profiler/${token}`, { accept: 'text/html, text/markdown;q=0.5' }, 'text/html; charset=utf-8', 'accept'],
    [`/_profiler/${token}.json`, markdown, 'application/json; charset=utf-8', undefined]
  ] as const) {
    const response = await app.inject({ url, headers })
    t.equal(response.statusCode, 200, url)
    t.equal(response.headers['content-type'], type, `${url} ${JSON.stringify(headers)}`)
    t.equal(response.headers['cache-control'], 'no-store')
    t.equal(response.headers.vary, vary)
    if (type === TYPE) t.match(response.body, '`it failed`')
  }
  const missing = await app.inject('/_profiler/00000f.md')
  t.same([missing.statusCode, missing.headers['content-type']], [404, TYPE])
  t.match(missing.body, 'Token "00000f" was not found.')
  for (const url of ['/_profiler/..%2fx.md', `/_profiler/${token}.md.json`, `/_profiler/${token}.txt`]) {
    t.equal((await app.inject({ url, headers: markdown })).statusCode, 404, url)
  }
})

inBothProducts('a part of a profile is sent as a whole', async (t, build) => {
  const app = await build((app) => {
    app.get('/hot', async () => {
      const before = process.cpuUsage()
      while (process.cpuUsage(before).user < 200_000) for (let i = 0; i < 100_000; i++) Math.sqrt(i)
      return 'done'
    })
  })
  const token = String((await app.inject({ url: '/hot', headers: { 'x-hindsight-cpu': '1' } })).headers['x-debug-token'])
  const cpu = await app.inject(`/_profiler/${token}.md?part=cpu`)
  t.match(cpu.body, /\n## CPU profile\n\n```text from: code or input\nmost time in one line: \S+\.ts:\d+, .*\n {5}self {6}share {6}total {2}function\n/)
  t.ok(cpu.body.split('\n').filter((line) => / (?:ms|µs) /.test(line)).length <= 10)
  t.equal((await app.inject({ url: `/_profiler/${token}?part=cpu`, headers: markdown })).body, cpu.body)
  t.match((await app.inject(`/_profiler/${token}.md?part=config`)).body, /\n```json from: code or input\n\{\n/)
  t.equal((await app.inject('/_profiler/latest.md?part=cpu')).headers.location, `/_profiler/${token}.md?part=cpu`)
  const unknown = await app.inject(`/_profiler/${token}.md?part=nope`)
  t.same([unknown.statusCode, unknown.headers['content-type']], [404, TYPE])
  t.match(unknown.body, /Part "nope" was not found; this profile has: overview, /)
})

inBothProducts('the redirect to the newest profile keeps the format', async (t, build) => {
  const app = await build((app) => {
    app.get('/ok', async () => 'fine')
    app.get('/fail', async () => { throw new Error('it failed') })
  })
  const token = String((await app.inject('/fail')).headers['x-debug-token'])
  await app.inject('/ok')
  for (const [url, headers, location] of [
    ['/_profiler/latest?error=1', markdown, `/_profiler/${token}.md`],
    ['/_profiler/latest.md?error=1', {}, `/_profiler/${token}.md`],
    ['/_profiler/latest?error=1', { accept: 'application/json' }, `/_profiler/${token}`],
    ['/_profiler/latest.json?error=1', markdown, `/_profiler/${token}.json`],
    ['/_profiler/latest?error=1', {}, `/_profiler/${token}`]
  ] as const) {
    const { statusCode, headers: { location: to } } = await app.inject({ url, headers })
    t.same([statusCode, to], [302, location], `${url} ${JSON.stringify(headers)}`)
  }
  const port = await listen(app)
  const followed = await fetch(`http://127.0.0.1:${port}/_profiler/latest?error=1`, { headers: markdown })
  t.same([followed.status, followed.redirected, followed.headers.get('content-type')], [200, true, TYPE])
  t.match(await followed.text(), '`it failed`')
  t.equal((await app.inject({ url: '/_profiler/latest.md?error=2', headers: {} })).headers['content-type'], TYPE, 'a mistake is answered in the same form')
})

inBothProducts('Markdown is sent only to clients with access', async (t, build) => {
  const app = await build((app) => { app.get('/fail', async () => { throw new Error('it failed') }) })
  const token = String((await app.inject('/fail')).headers['x-debug-token'])
  const port = await listen(app)
  for (const path of [`/_profiler/${token}.md`, '/_profiler/latest.md']) {
    t.equal(statusOf(await get(port, path, { Host: 'stranger.example' })), 404, path)
    t.equal(statusOf(await get(port, path, { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors' })), 403, path)
    t.ok([200, 302].includes(statusOf(await get(port, path))), path)
  }
  const production = await build(undefined, { debug: false })
  t.equal((await production.inject('/_profiler/latest.md')).statusCode, 404)
})

inBothProducts('an unavailable store is reported, by the package as a problem in JSON', async (t, build, product) => {
  const app = await build()
  const storage = new MemoryStorage()
  storage.get = () => { throw new Error('gone_away <b>') }
  const { profiler } = app.hindsight
  const broken = new Profiler({ storage, warn: () => {} })
  profiler.find = (token) => broken.find(token)
  const response = await app.inject('/_profiler/00000f.md')
  if (product === 'service') {
    t.same([response.statusCode, response.headers['content-type']], [503, 'text/markdown; charset=utf-8'])
    t.match(response.body, 'The store of profiles failed: gone_away')
    return
  }
  t.same([response.statusCode, response.headers['content-type']], [503, 'application/problem+json; charset=utf-8'])
  t.match(response.json(), { status: 503, detail: 'The store of profiles failed: gone_away <b>' })
})

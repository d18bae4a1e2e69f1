import { readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { loadApplication } from '../../../src/cli/commands/lifecycle.js'
import { COMMANDS, executeCommand } from '../../../src/cli/run.js'
import type { Profile } from '../../../src/store/profile.js'
import { testdir } from '../../support/folder.js'
import { newest } from '../../support/app.js'
import type { TestedProduct } from '../../support/products.js'
import { snippetsOf } from '../../support/snippets.js'
import { endLimits } from '../../support/timers.js'

const ROOT = join(import.meta.dirname, '../../../../..')
const NEVER = 60_000

/** A command as the shell would run it. */
async function lifecycle (...args: string[]): Promise<{ code: number, out: string, err: string }> {
  const out = new PassThrough()
  const err = new PassThrough()
  const code = await executeCommand(['lifecycle', ...args], out, err)
  out.end()
  err.end()
  return { code, out: await text(out), err: await text(err) }
}

async function loaded (path: string, timeout?: number): Promise<{ app: FastifyInstance, order: Awaited<ReturnType<typeof loadApplication>> }> {
  const order = await loadApplication(path, timeout)
  return { app: order.app, order }
}

const folders = new WeakSet<Test>()

function file (t: Test, name: string, content: string): string {
  if (!folders.has(t)) testdir(t)
  folders.add(t)
  const path = join(t.testdirName, name)
  writeFileSync(path, content)
  return path
}

const IMPORTS: Record<TestedProduct, string> = {
  package: "import product from 'fastify-hindsight'",
  service: `import { service as product } from '${pathToFileURL(join(ROOT, 'app/service.ts')).href}'`
}

/** An application of every kind of plugin, hook and route, with one of the products. */
const application = (product: TestedProduct, options: string): string => `
import fp from 'fastify-plugin'
${IMPORTS[product]}
export default fp(async function application (app) {
  await app.register(product, ${options})
  app.addHook('onRequest', async function first () {})
  await app.register(fp(async function auth (app) {
    app.addHook('onRequest', function checkKey (request, reply, done) { done() })
    await null
    app.addHook('preHandler', async function loadUser () {})
    app.addHook('onSend', async function stamp (request, reply, payload) { return payload })
  }, { name: 'auth' }))
  app.addHook('onRequest', async function afterAuth () {})
  async function shared () {}
  app.get('/', async function home () { return { hello: 'world' } })
  app.register(async function admin (app) {
    app.addHook('onRequest', (request, reply, done) => { done() })
    app.addHook('preSerialization', async function wrap (request, reply, payload) { return payload })
    app.get('/users/:id', {
      preParsing: async function read () {},
      preValidation: async function ofRoute () {},
      preHandler: [async function ofRouteToo () {}],
      onResponse: async function told () {}
    }, async function user () { return {} })
    app.register(async function inner (app) {
      app.addHook('preHandler', shared)
      app.post('/deep', { onSend: async function last (request, reply, payload) { return payload } }, async function deep () { return {} })
    })
    app.addHook('preHandler', shared)
  }, { prefix: '/admin' })
  app.addHook('onError', async function failed () {})
  app.addHook('onResponse', function measure (request, reply, done) { done() })
})`

// In production no response names its profile.
async function stored (app: FastifyInstance, url: string): Promise<Profile> {
  for (let tries = 0; tries < 100; tries++) {
    const profile = await newest(app).catch(() => null)
    if (profile?.url.endsWith(url) === true) return profile
    await sleep(10)
  }
  throw new Error(`No profile of ${url}`)
}

/** The printed routes: the name of each, and its hooks with what is in parentheses. */
function routesOf (lines: readonly string[]): Array<{ name: string, steps: Array<{ hook: string, text: string }> }> {
  return lines.join('\n').split('\n\n').map((block) => {
    const [name = '', ...rest] = block.split('\n')
    let hook = ''
    const steps = rest.flatMap((line) => {
      if (line.startsWith('    ')) return [{ hook, text: line.trim() }]
      hook = line.trim()
      return []
    })
    return { name, steps }
  })
}

/** The name of a printed hook in a profile, where one without a name has that of its plugin. */
const nameOf = (text: string): string => text.replace(/ \(.*$/, '')

const OF_ROUTES = ['read', 'ofRoute', 'ofRouteToo', 'told', 'last']

for (const [product, environment, options] of [
  ['package', 'debug', '{ debug: true, profiler: { storage: "memory" } }'],
  ['service', 'debug', '{ debug: true, profiler: { storage: "memory" }, cors: [{ origin: true }] }'],
  ['service', 'production', '{ debug: false, profiler: { storage: "memory", production: true } }']
] as const) {
  t.test(`the printed order is the order of execution, in ${environment} mode (${product})`, async (t) => {
    const { app, order } = await loaded(file(t, 'app.js', application(product, options)))
    t.teardown(() => app.close())
    const routes = routesOf(order.lines())
    t.same(routes.map(({ name }) => name), ['GET /', 'GET /admin/users/:id', 'POST /admin/deep'])
    for (const [i, [method, url]] of ([['GET', '/'], ['GET', '/admin/users/7'], ['POST', '/admin/deep']] as const).entries()) {
      const response = await app.inject({ method, url })
      t.equal(response.statusCode, 200)
      const profile = await stored(app, url)
      const steps = routes[i]?.steps.filter(({ hook, text }) => hook !== 'onError' && hook !== 'handler' && !/\(route\b/.test(text)) ?? []
      // The next test has the hooks of routes.
      const ran = profile.events.filter(({ listener, outcome }) => !OF_ROUTES.includes(listener) && outcome !== 'skipped')
      const expected = ran.map(({ stage, listener }) => stage.startsWith('kernel.') ? `${stage} ${listener}` : listener)
      const skipped = profile.events.filter(({ outcome }) => outcome === 'skipped').map(({ stage, listener }) => `${stage} ${listener}`)
      t.same(steps.map(({ text }) => nameOf(text)).filter((text) => !skipped.includes(text)), expected, url)
      t.ok(steps.length > (product === 'service' ? 15 : 5))
    }
    const here = relative(process.cwd(), join(t.testdirName, 'app.js'))
    const [home = '', user = ''] = order.lines().join('\n').split('\n\n')
    t.match(home, new RegExp(
      `^GET /\n {2}onRequest\n${product === 'service' ? ' {4}kernel\\.request [^]*\n' : ''} {4}first \\(${here}\\)\n` +
        ` {4}checkKey \\(auth, ${here}\\)\n {4}afterAuth \\(${here}\\)\n {2}preHandler\n`
    ))
    t.match(home, `    loadUser (${here})\n  handler\n    home (${here})\n  onSend\n`)
    t.match(home, `\n  onError\n    failed (${here})`)
    if (product === 'service') t.match(user, `  preHandler\n    kernel.controller${environment === 'debug' ? ' router-data-collector' : ''}`)
    t.match(user, `    shared (admin, ${here})\n    ofRouteToo (route, admin, ${here})\n  handler\n    user (admin, ${here})\n`)
    t.match(user, `\n    admin (${here})\n`)
    t.notMatch(home + user, /recordCpu|countOthers|keepAborted|keepProfile|\.js:\d/)
  })
}

const ORDERED = `
export const ran = []
const step = (name) => ({ async [name] () { ran.push(name) } })[name]
async function handler () { ran.push('handler'); return {} }
const twice = step('twice')
export default async function application (app) {
  app.addHook('onSend', step('first'))
  app.register(async function parent (app) {
    app.addHook('onRequest', step('ofParent'))
    app.get('/parent', { onRequest: step('ofRoute'), preHandler: [step('a'), twice, step('b')], onSend: step('sent') }, handler)
    app.register(async function child (app) {
      app.addHook('onRequest', step('ofChild'))
      app.get('/child', { preHandler: undefined }, handler)
    })
    app.addHook('onRequest', step('afterChild'))
  })
  app.addHook('onRequest', step('afterParent'))
  await app.register(async function sibling (app) {
    app.get('/sibling', handler)
    app.after(() => { app.addHook('onRequest', step('inAfter')) })
    app.addHook('onRequest', step('ofSibling'))
  })
  app.addHook('preHandler', twice)
  app.addHook('preHandler', twice)
  app.addHook('onRequest', step('last'))
  app.get('/both', handler)
}
`

t.test('hooks are printed in the order in which Fastify runs them', async (t) => {
  const path = file(t, 'ordered.mjs', ORDERED)
  const { app, order } = await loaded(path)
  t.teardown(() => app.close())
  const { ran } = await import(pathToFileURL(path).href) as { ran: string[] }
  const routes = routesOf(order.lines())
  t.same(routes.map(({ name }) => name), ['GET /parent', 'GET /child', 'GET /sibling', 'GET /both'])
  for (const { name, steps } of routes) {
    ran.length = 0
    t.equal((await app.inject(name.replace('GET ', ''))).statusCode, 200)
    t.same(steps.map(({ text }) => nameOf(text)), ran, `${name}: when this fails, the release of Fastify has another order than the command lifecycle`)
    t.ok(ran.length > 5)
  }
})

t.test('errors of plugins reach the application as without the command', async (t) => {
  const { app } = await loadApplication(file(t, 'errors.cjs', `module.exports = async function (app) {
    app.register(async () => { throw new Error('no database') })
    app.addHook('onRequest', async function later () {})
    app.after((error) => { app.decorate('failure', error?.message) })
  }
  module.exports[Symbol.for('skip-override')] = true`))
  t.teardown(() => app.close())
  t.equal((app as unknown as { failure: string }).failure, 'no database')
})

const PLAIN = `
import Fastify from 'fastify'
const app = Fastify({ logger: true })
app.addHook('onRequest', async function first () {})
app.addHook('onRoute', (route) => { if (route.url === '/\\u001b[31m') route.preHandler = [async function limit () {}] })
app.all('/any', async () => 'x')
app.get('/\\u001b[31m', Object.defineProperty(async () => 'x', 'name', { value: 'red\\u001b[31m\\n  onRequest' }))
app.get('/host', { constraints: { host: /^a/ } }, async function ofHost () {})
await app.listen({ port: 1 })
throw new Error('what follows does not run')
`

t.test('an application that creates its own instance and listens needs no plugin', async (t) => {
  const path = file(t, 'server.mjs', PLAIN)
  const here = relative(process.cwd(), path)
  const { code, out, err } = await lifecycle(path)
  t.same([code, err], [0, ''])
  t.equal(out, [
    ['ALL /any', `    ${here}`],
    ['GET /␛[31m', `    red␛[31m␊  onRequest (${here})`, `    limit (route, ${here})`],
    ['GET /host', `    ofHost (${here})`]
  ].map(([title, handler, added]) =>
    [title, '  onRequest', `    first (${here})`, ...added === undefined ? [] : ['  preHandler', added], '  handler', handler, ''].join('\n')).join('\n'))
})

t.test('an order that cannot be printed is an error with its reason', async (t) => {
  const missing = join(t.testdirName, 'missing.js')
  for (const [name, content, args, code, message] of [
    ['a.mjs', PLAIN, ['--route', 'GET /none'], 1, /There is no route "GET \/none"\. Did you mean "GET \/host"\?\n$/],
    ['e.mjs', 'throw new Error("no \\u001b[31mdatabase")', [], 1, /e\.mjs cannot be loaded: no ␛\[31mdatabase \(.*e\.mjs:1\)\n$/],
    ['f.mjs', 'export default async function (app) { throw new Error("no database") }', [], 1, /f\.mjs cannot be loaded: no database \(.*f\.mjs:1\)\n$/],
    ['h.mjs', 'import Fastify from "fastify"\nconst app = Fastify()\napp.register(async () => { throw new Error("no database") })\napp.listen({ port: 1 }, ' +
      '() => process.exit(1))', [], 1, /h\.mjs cannot be loaded: no database \(.*h\.mjs:3\)\n$/]
  ] as const) {
    const answer = await lifecycle(file(t, name, content), ...args)
    t.match(answer, { code, out: '', err: message }, name)
  }
  t.match(await lifecycle(missing), { code: 1, err: /missing\.js cannot be loaded: Cannot find module/ })
  t.match(await lifecycle(), { code: 1, err: /arguments given: 0/ })
  await t.rejects(
    loadApplication(file(t, 'i.mjs', 'export const x = 1'), 10), { message: /i\.mjs cannot be loaded: it makes no Fastify instance and exports no plugin/ }
  )
})

t.test('a file exports a plugin, an application or a function, or listens itself', async (t) => {
  for (const [name, content] of [
    ['exported.mjs', 'import Fastify from "fastify"\nconst app = Fastify()\napp.get("/", async () => 1)\nexport default app'],
    [
      'late.mjs',
      'import Fastify from "fastify"\nsetTimeout(() => { const app = Fastify(); app.get("/", async () => 1); app.listen({ port: 1 }, () => {}) }, 20)'
    ],
    ['common.cjs', 'const app = require("fastify")()\napp.get("/", async () => 1)\nmodule.exports = app'],
    ['plugin.cjs', 'module.exports = function (app, options, done) { app.get("/", async () => 1)\ndone() }'],
    ['function.mjs', 'import Fastify from "fastify"\nexport default () => { const app = Fastify(); app.get("/", async () => 1); return app }'],
    ['compiled.cjs', 'exports.__esModule = true\nexports.default = async (app) => { app.get("/", async () => 1) }']
  ] as const) {
    const { app, order } = await loaded(file(t, name, content), NEVER)
    t.same(routesOf(order.lines()).map(({ name }) => name), ['GET /'], name)
    t.equal(app.server.listening, false)
    await app.close()
  }
})

t.test('an application that does not close is abandoned after the timeout', async (t) => {
  const path = file(t, 'a.mjs', 'export default async function (app) { app.addHook("onClose", () => new Promise(() => {})); app.get("/", async () => 1) }')
  const limits = endLimits(t, 5_000)
  t.match(await lifecycle(path), { code: 0, out: /^GET \/\n/ })
  t.ok(limits.includes(5_000))
})

t.test('the example of docs/how-to/lifecycle-contract.md has the printed order', async (t) => {
  const page = readFileSync(join(ROOT, 'docs/how-to/lifecycle-contract.md'), 'utf8')
  const snippets = snippetsOf('docs/how-to/lifecycle-contract.md')
  const [code = '', told = ''] = ['js', 'text'].map((wanted) => snippets.find(({ language }) => language === wanted)?.code)
  t.ok(code.length > 100 && told.length > 100)
  const path = file(t, 'app.js', code)
  const here = relative(process.cwd(), path)
  const { out, code: exit } = await lifecycle(path, '--route', 'GET /articles/:id')
  t.equal((await lifecycle(path, '--route', '/articles/:id')).out, out)
  t.equal(exit, 0)
  t.equal(out.replaceAll(here, 'app.js'), told)
  const { options = {} } = await COMMANDS.lifecycle?.load() ?? {}
  for (const [, flag = ''] of page.matchAll(/hindsight lifecycle app\.js --([a-z]+)/g)) t.ok(flag in options, flag)
})

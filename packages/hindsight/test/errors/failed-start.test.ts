import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import Fastify, { type FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import t from 'tap'
import { firstDeclaration, placeOfFailedStart, withRegistration } from '../../src/errors/failed-start.js'
import { hindsight } from '../../src/hindsight.js'
import { inBothProducts } from '../support/products.js'

const THIS = fileURLToPath(import.meta.url)
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'hindsight-start-')))
t.teardown(() => rmSync(folder, { recursive: true }))

/** The place of a text of this file. */
function placeOfText (text: string): string {
  const source = readFileSync(THIS, 'utf8')
  return `${relative(process.cwd(), THIS)}:${source.slice(0, source.indexOf(text)).split('\n').length}`
}

async function raised (run: () => unknown): Promise<unknown> {
  try {
    await run()
  } catch (error) {
    return error
  }
}

inBothProducts('a schema that cannot be compiled has the place of its route', async (t, build) => {
  for (const [text, declare] of [
    ["app.post('/orders'", (app: FastifyInstance) => { app.post('/orders', { schema: { body: { type: 'none' } } }, async () => 1) }],
    ["app.get('/prices'", (app: FastifyInstance) => { app.get('/prices', { schema: { response: { 200: { $ref: 'none#' } } } }, async () => 1) }]
  ] as const) {
    let started: FastifyInstance | undefined
    const error = await raised(async () => await build((app) => {
      started = app
      app.post('/orders/refunds', async () => 1)
      declare(app)
    }))
    t.match(error, { code: /^FST_ERR_SCH_/ })
    t.equal(placeOfFailedStart(error, started && [started.hindsight.routeTable]), placeOfText(text))
    t.equal(placeOfFailedStart(error), '', 'without the routes, no place is certain')
  }
})

inBothProducts('the second declaration of a route has the place of the first', async (t, build) => {
  for (const [text, declare] of [
    ['first orders', (app: FastifyInstance) => {
      app.get('/orders/:id', { constraints: { host: 'a.test' } }, async () => 0)
      app.get('/orders/:id', async () => 'the first orders')
      app.get('/orders/:order', async () => 2)
    }],
    ['implied', (app: FastifyInstance) => { app.get('/stock', async () => 1); app.head('/stock', async () => 2) }],
    ['first for some', (app: FastifyInstance) => {
      app.route({ method: ['PUT', 'POST'], url: '/both', handler: async () => 'the first for some' })
      app.post('/both', async () => 2)
    }]
  ] as const) {
    let started: FastifyInstance | undefined
    const error = await raised(async () => await build((app) => {
      started = app
      declare(app)
    }))
    t.match(error, { code: 'FST_ERR_DUPLICATED_ROUTE' }, text)
    const place = placeOfText(text === 'implied' ? "['implied'" : `'the ${text}`)
    t.equal(firstDeclaration(error, started === undefined ? [] : [started.hindsight.routeTable]), place)
  }
  t.equal(firstDeclaration(new Error('another'), []), undefined)
})

t.test('a missing module has the file that imports it, and other errors the call of the application', async (t) => {
  const [module, script] = [join(folder, 'routes.mjs'), join(folder, 'routes.cjs')]
  writeFileSync(module, "import 'no-such-package'\n")
  writeFileSync(script, "require('no-such-package')\n")
  t.equal(placeOfFailedStart(await raised(async () => await import(pathToFileURL(module).href))), `${module}:1`)
  t.equal(placeOfFailedStart(await raised(() => createRequire(script)(script) as unknown)), `${script}:1`)
  t.equal(placeOfFailedStart(new Error('no database')), placeOfText("new Error('no database')"))
  t.equal(placeOfFailedStart('no database'), '', 'a text has no place')
})

inBothProducts('a plugin that Fastify refuses has no place: no call of the application is in the stack', async (t, build) => {
  const plugin = fp(async function orders () {}, { name: 'orders', dependencies: ['database'] })
  const error = await raised(async () => await build((app) => { app.register(Promise.resolve({ default: plugin })) }))
  t.match(error, { code: 'FST_ERR_PLUGIN_DEPENDENCY_NOT_REGISTERED' })
  t.equal(placeOfFailedStart(error), '')
})

t.test('errors of Hindsight for the application lose their calls, and no others', (t) => {
  const refusal = new Error('registered twice', { cause: 1 })
  refusal.stack = `Error: registered twice\n    at begin (${join(import.meta.dirname, '../../src/hindsight.ts')}:50:11)`
  const shown = withRegistration(refusal, []) as Error
  t.equal(shown.stack, 'Error: registered twice')
  t.equal(shown.cause, 1)
  for (const other of [new Error('of the application'), new TypeError('a fault'), 'a text']) t.equal(withRegistration(other, [new Error()]), other)
  t.end()
})

t.test('what Hindsight refuses has the place where it is registered', async (t) => {
  t.equal(fp(hindsight, { fastify: '5.x', name: 'fastify-hindsight' }), hindsight, 'it may be wrapped once more')
  const [app, first, second] = [Fastify(), Fastify(), Fastify()]
  const error = await raised(async () => { await app.register(hindsight, { mask: 3 } as never) })
  t.match(error, { message: 'Option "mask" must be an array, not a number' })
  t.equal(placeOfFailedStart(error), placeOfText('await app.register(hindsight, {'))
  t.notMatch((error as Error).stack, /src.hindsight\.ts|avvio/)
  first.register(hindsight, { debug: 1 } as never)
  second.register(hindsight)
  t.equal(placeOfFailedStart(await raised(() => first.ready())), '', 'which one of two is not certain')
  await second.ready()
  await second.close()
})

import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { OPTIONS } from '../../packages/hindsight/src/check-options.js'
import { PRODUCTS, pluginOf, type TestedProduct } from '../../packages/hindsight/test/support/products.js'
import { environmentPage, optionsPage } from '../../docs/scripts/options.js'
import { committed, GENERATED, generated } from '../../docs/scripts/reference.js'
import { PROFILE_SCHEMA } from '../../docs/scripts/profile.js'

for (const path of Object.keys(GENERATED)) {
  t.test(`${path} is current`, async (t) => {
    t.equal(committed(path), await generated(path), 'npm run docs:reference writes it')
  })
}

t.test('an option or variable without a description is an error', async (t) => {
  const { debug } = OPTIONS
  const before = { ...debug }
  for (const description of [undefined, '']) {
    // Both products have the same schema.
    Object.assign(debug ?? {}, { description })
    t.throws(optionsPage, { message: 'The option debug has no description' })
    t.throws(environmentPage, { message: 'The option debug has no description' })
  }
  Object.assign(debug ?? {}, before)
})

t.test('the JSON Schema of profiles validates real profiles', async (t) => {
  const ajv = new Ajv({ strict: true, allowUnionTypes: true, allErrors: true })
  // The package is CommonJS, whose default export is the function itself for Node.js.
  ;(addFormats as unknown as (ajv: Ajv) => void)(ajv)
  const validate = ajv.compile(JSON.parse(readFileSync(PROFILE_SCHEMA, 'utf8')) as object)
  const isValid = (profile: unknown): unknown => validate(profile) || validate.errors
  for (const product of PRODUCTS) {
    const app = await application(t, product)
    for (const [url, status] of [['/', 200], ['/nowhere', 404], ['/broken', 500], ['/many', 500], ['/injects', 200], ['/redirects', 302]] as const) {
      const { headers, statusCode } = await app.inject({ url, headers: { accept: 'text/html' } })
      t.equal(statusCode, status)
      await app.hindsight.profiler.flush()
      const stored = JSON.parse(JSON.stringify(await app.hindsight.profiler.find(String(headers['x-debug-token'])))) as Record<string, unknown>
      t.same([stored.status, isValid(stored)], [status, true], `${product}: ${url}, as it is stored`)
      const { body } = await app.inject(`/_profiler/${String(headers['x-debug-token'])}.json`)
      t.same(isValid(JSON.parse(body)), true, `${product}: ${url}, as the route sends it`)
      t.not(isValid({ ...stored, unknown: 1 }), true, 'another member is refused')
      t.not(isValid({ ...stored, events: [{ stage: 'onRequest' }] }), true, 'so is an event without its members')
    }
  }
})

async function application (t: Test, product: TestedProduct): Promise<FastifyInstance> {
  const app = Fastify({ pluginTimeout: 60_000, logger: { level: 'info', stream: { write: () => {} } } }) as unknown as FastifyInstance
  t.teardown(() => app.close())
  await app.register(pluginOf(product), { debug: true, profiler: { storage: 'memory' } })
  app.addHook('onRequest', async function readTenant (_request, reply) { reply.header('x-tenant', 'blue') })
  app.get('/', async ({ log }) => { log.info({ count: 1 }, 'a line'); return { hello: 'world' } })
  app.get('/broken', async () => { throw new Error('broken', { cause: new TypeError('the cause') }) })
  app.get('/many', async () => { throw new AggregateError([new Error('one'), new Error('two')], 'several') })
  app.get('/injects', async () => (await app.inject('/')).json<unknown>())
  app.get('/redirects', async (_request, reply) => reply.redirect('/'))
  return app
}

'use strict'
// A suite of 300 tests as fastify-cli generates them: each makes the application, injects a request, and closes it.
const assert = require('node:assert')
const test = require('node:test')
const Fastify = require('fastify')

const TESTS = 300
const ROUTES = 20
const hindsight = process.env.WITH_PLUGIN === '1' ? require('../../packages/hindsight/dist/index.cjs') : null

function build () {
  const app = Fastify()
  if (hindsight !== null) app.register(hindsight, { profiler: { dataDir: process.env.BENCH_FOLDER } })
  const id = { type: 'object', properties: { id: { type: 'integer' } } }
  const item = { type: 'object', properties: { id: { type: 'integer' }, name: { type: 'string' } } }
  app.register(async (scope) => {
    for (let i = 0; i < ROUTES; i++) {
      const schema = { params: id, response: { 200: item } }
      scope.get(`/items${i}/:id`, { schema }, async (request) => ({ id: request.params.id, name: `item ${i}` }))
    }
  })
  return app
}

for (let i = 0; i < TESTS; i++) {
  test(`request ${i}`, async (t) => {
    const app = build()
    t.after(() => app.close())
    const response = await app.inject(`/items${i % ROUTES}/${i}`)
    assert.deepStrictEqual(response.json(), { id: i, name: `item ${i % ROUTES}` })
  })
}

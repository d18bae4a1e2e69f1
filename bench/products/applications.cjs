'use strict'
// The applications of the table of products, as their authors would write them.
const Fastify = require('fastify')

const HOOKS = 30
const QUERIES = 10
const LINES = 5

/** A route and nothing else. */
function hello (add) {
  const app = add(Fastify())
  app.get('/', async () => ({ hello: 'world' }))
  return app
}

/** 30 hooks, a validated query, a response schema, and five log lines. */
function hooks (add) {
  const app = add(Fastify({ logger: { level: 'info', file: '/dev/null' } }))
  for (let i = 0; i < HOOKS; i++) {
    const hook = (_request, _reply, done) => { done() }
    app.addHook('onRequest', Object.defineProperty(hook, 'name', { value: `hook${i}` }))
  }
  const schema = {
    querystring: { type: 'object', properties: { page: { type: 'integer', default: 1 } } },
    response: { 200: { type: 'object', properties: { page: { type: 'integer' }, name: { type: 'string' } } } }
  }
  app.get('/', { schema }, async (request) => {
    for (let line = 0; line < LINES; line++) request.log.info({ line }, 'A step was done')
    return { page: request.query.page, name: 'articles' }
  })
  return app
}

/** A page with ten queries of SQLite and two calls of another service. */
function page (add, observe) {
  const { DatabaseSync } = require('node:sqlite')
  const database = observe(new DatabaseSync(':memory:'))
  database.exec('create table item (id integer primary key, name text)')
  for (let id = 1; id <= QUERIES; id++) database.exec(`insert into item values (${id}, 'item ${id}')`)
  const select = database.prepare('select id, name from item where id = ?')
  const app = add(Fastify())
  app.get('/', async () => {
    const items = []
    for (let id = 1; id <= QUERIES; id++) items.push(select.get(id))
    const stocks = []
    for (const id of [1, 2]) {
      const response = await fetch(`${process.env.SINK}/stock/${id}`)
      stocks.push(await response.json())
    }
    return { items, stocks }
  })
  return app
}

/** A route that fails 18 calls deep, with a cause. */
function failure (add) {
  const app = add(Fastify({ logger: { level: 'info', file: '/dev/null' } }))
  app.get('/', async () => failDeep(18))
  return app
}

function failDeep (depth) {
  if (depth > 0) return failDeep(depth - 1)
  try {
    throw new TypeError('Cannot read properties of undefined (reading \'title\')')
  } catch (cause) {
    throw new Error('The article could not be shown', { cause })
  }
}

module.exports = { hello, hooks, page, failure }

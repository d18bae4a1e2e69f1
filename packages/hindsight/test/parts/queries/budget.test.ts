import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { pluginOf } from '../../support/products.js'
import { observe } from '../../../src/queries.js'
import { recordQuery } from '../../../src/queries/observe.js'
import { beginQuery, callAsync } from '../../../src/queries/query.js'
import { hindsight } from '../../../src/hindsight.js'
import { findLibrary } from '../../../src/store/sqlite/availability.js'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'

const { DatabaseSync } = createRequire(import.meta.url)(findLibrary() as string) as typeof import('@photostructure/sqlite')
const json = { accept: 'application/json' }
const html = { accept: 'text/html', 'sec-fetch-dest': 'document' }

function shop (t: Test) {
  const database = observe(new DatabaseSync(':memory:'))
  t.teardown(() => database.close())
  database.exec('create table item (id integer primary key, name text)')
  for (let id = 1; id <= 13; id++) database.prepare('insert into item values (?, ?)').run(id, `item ${id}`)
  const find = (id: unknown): unknown => database.prepare('select * from item where id = ?').get(id as number)
  const all = (): unknown[] => database.prepare('select id from item').all() as unknown[]
  const loop = (): unknown[] => all().map((row) => find((row as { id: number }).id))
  return { database, find, all, loop }
}

const OVER = new RegExp('^GET /loop sent 14 queries, and its budget is 5\\. N\\+1: `select \\* from item where id = \\?` 13 times from ' +
  'packages/hindsight/test/parts/queries/budget\\.test\\.ts:\\d+ after the 13 rows of packages/hindsight/test/parts/queries/budget\\.test\\.ts:\\d+, ')

inBothProducts('a request over the budget of its route fails with the cause', async (t, build) => {
  const { find, loop, all } = shop(t)
  const app = await build((app) => {
    const config = { hindsight: { maxQueries: 5 } }
    app.get('/loop', { config }, async () => loop())
    app.get('/in-budget', { config }, async () => [1, 2, 3, 4, 5].map(find))
    app.get('/none', { config: { hindsight: { maxQueries: 0 } } }, async () => all())
    app.get('/text', { config }, async () => { loop(); return 'text' })
    app.get('/stream', { config }, async () => { loop(); return Readable.from(['a', 'b']) })
    app.get('/fails', { config }, async () => { loop(); throw new Error('own') })
    app.get('/free', async () => loop())
    app.get('/empty', { config: { hindsight: {} } }, async () => loop())
  })
  const response = await app.inject({ url: '/loop', headers: json })
  t.equal(response.statusCode, 500)
  const { message, detail } = response.json() as { message?: string, detail?: string }
  t.match(message ?? detail, OVER)
  const { exceptions } = await profileOf(app, response)
  t.match(exceptions.at(-1)?.message, OVER)

  const page = await app.inject({ url: '/loop', headers: html })
  t.match([page.statusCode, page.body], [500, /^<!DOCTYPE html>[^]*N\+1: `select \* from item/i])
  t.equal((await app.inject({ url: '/in-budget', headers: json })).statusCode, 200)
  t.match((await app.inject({ url: '/none', headers: json })).body,
    /GET \/none sent 1 query, and its budget is 0\. Most often: `select id from item`, 1 time from .*\/parts\/queries\/budget\.test\.ts:\d+/)
  for (const url of ['/text', '/stream']) t.match((await app.inject({ url, headers: json })).body, /sent 14 queries/, url)
  t.match((await app.inject({ url: '/fails', headers: json })).body, /"own"/, 'the response about an error is kept')
  for (const url of ['/free', '/empty']) t.equal((await app.inject({ url, headers: json })).statusCode, 200, url)
  const head = await app.inject({ method: 'HEAD', url: '/loop' })
  t.equal(head.statusCode, 500)
})

inBothProducts('by option a request over its budget is only logged', async (t, build) => {
  const { loop } = shop(t)
  const lines: string[] = []
  const logger = { level: 'warn', stream: { write: (line: string) => { lines.push((JSON.parse(line) as { msg: string }).msg) } } }
  const app = await build((app) => app.get('/loop', { config: { hindsight: { maxQueries: 5 } } }, async () => loop()), { queryBudget: 'warn' }, { logger })
  const { statusCode, body } = await app.inject({ url: '/loop', headers: json })
  t.equal(statusCode, 200)
  t.equal(JSON.parse(body).length, 13)
  t.match(lines, [OVER])
  t.equal(lines.length, 1)
})

inBothProducts('a budget also holds without profiles, and for routes of plugins', async (t, build) => {
  const { loop } = shop(t)
  const app = await build((app) => app.register(async (app) => {
    app.get('/loop', { config: { hindsight: { maxQueries: 5 } } }, async () => loop())
  }), { profiler: false })
  t.equal((await app.inject({ url: '/loop', headers: json })).statusCode, 500)
})

inBothProducts('hooks and the error handler of the application', async (t, build) => {
  const { loop } = shop(t)
  const sent: unknown[] = []
  const app = await build((app) => app.register(async (app) => {
    app.setErrorHandler(async ({ code }: Error & { code?: string }, _request, reply) => reply.code(418).send({ code }))
    app.addHook('onSend', async (_request, _reply, payload) => { sent.push(String(payload).slice(0, 6)) })
    app.get('/loop', { config: { hindsight: { maxQueries: 5 } } }, async () => loop())
  }))
  const { statusCode, body } = await app.inject({ url: '/loop', headers: json })
  t.same([statusCode, JSON.parse(body)], [418, { code: 'HINDSIGHT_QUERY_BUDGET' }])
  t.same(sent, ['[{"id"', '{"code'])
})

function budgetsOf (onSend: unknown): number {
  return [onSend].flat().filter((hook) => (hook as { name?: string } | undefined)?.name === 'checkBudget').length
}

t.test('outside debug mode there is no budget, and no hook', async (t) => {
  const { loop } = shop(t)
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(hindsight, { debug: false })
  const hooks: unknown[] = []
  app.addHook('onRoute', ({ onSend }) => { hooks.push(budgetsOf(onSend)) })
  app.get('/loop', { config: { hindsight: { maxQueries: 5 } } }, async () => loop())
  t.equal((await app.inject('/loop')).statusCode, 200)
  t.same(hooks, [0, 0])
})

t.test('in debug mode, routes without a budget have no hook', async (t) => {
  const app = Fastify({ pluginTimeout: 60_000 })
  t.teardown(() => app.close())
  await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
  const hooks: unknown[] = []
  app.addHook('onRoute', ({ onSend }) => { hooks.push(budgetsOf(onSend)) })
  app.get('/free', async () => 'a')
  app.get('/loop', { config: { hindsight: { maxQueries: 5 } }, onSend: async () => {} }, async () => 'a')
  await app.ready()
  t.same(hooks, [0, 0, 1, 1], 'each with its HEAD route')
})

for (const product of ['package', 'service'] as const) {
  t.test(`a wrong budget stops the start (${product})`, async (t) => {
    const declare = async (settings: object): Promise<string> => {
      const app: FastifyInstance = Fastify({ pluginTimeout: 60_000 })
      t.teardown(() => app.close())
      await app.register(pluginOf(product), { debug: true, profiler: false })
      try {
        app.get('/a', { config: { hindsight: settings } }, async () => 'a')
        await app.ready()
        return 'it started'
      } catch (error) {
        return (error as Error).message
      }
    }
    t.equal(await declare({ maxQueries: -1 }), 'Route "GET /a": Option "config.hindsight.maxQueries" must be a whole number from 0, not -1')
    t.equal(await declare({ maxQuery: 5 }), 'Route "GET /a": Unknown option "config.hindsight.maxQuery"; use one of maxQueries')
  })
}

inBothProducts('the query of a driver does not count beside that of its ORM', async (t, build) => {
  const app = await build((app) => app.get('/', { config: { hindsight: { maxQueries: 1 } } }, async () => {
    const query = { system: 'postgresql', statement: 'select * from item' }
    await callAsync(beginQuery({ ...query, isOuter: true }), async () => {
      await sleep(1)
      recordQuery(query)()
    }, () => undefined)
    return {}
  }))
  const response = await app.inject({ url: '/', headers: json })
  t.equal(response.statusCode, 200)
  t.match((await profileOf(app, response)).collectors.queries, { count: 1, queries: { length: 1 } })
})

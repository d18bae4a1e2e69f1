import mysql from 'mysql2'
import promises from 'mysql2/promise'
import oldest from 'mysql2-3.20/promise'
import t from 'tap'
import { profileOf } from '../../support/app.js'
import { mariaServer } from '../support/mariadb.js'
import { inBothProducts, type TestedProduct } from '../../support/products.js'

const TABLE = ['create table item (id int primary key, name varchar(20))', 'insert into item values (1, \'one\'), (2, \'two\')']
const SOURCE = /mysql\.test\.ts:\d+:\d+$/

t.test('mysql2, by its channels', async (t) => {
  const server = await mariaServer(t)
  if (!server) return
  const pool = promises.createPool({ ...server, connectionLimit: 1 })
  t.teardown(() => pool.end())
  for (const statement of TABLE) await pool.query(statement)

  inBothProducts('queries of a pool and of its connections', async (t, build) => {
    const callbacks = mysql.createPool({ ...server, connectionLimit: 1 })
    t.teardown(() => new Promise<void>((resolve) => callbacks.end(() => resolve())))
    const app = await build((app) => app.get('/', async () => {
      await pool.query('select * from item where id > ?', [0])
      await pool.execute('select * from item where id = ?', [1])
      await pool.query('update item set name = ?', ['x'])
      await pool.query('select nothing from item').catch(() => {})
      const connection = await pool.getConnection()
      await connection.query('select 5')
      connection.release()
      await new Promise<void>((resolve) => callbacks.query('select 6', () => resolve()))
      await new Promise<void>((resolve) => {
        callbacks.getConnection((_error, connection) => {
          connection.query('select 7', () => {
            connection.release()
            resolve()
          })
        })
      })
    }))
    const { collectors } = await profileOf(app, await app.inject('/'))
    t.match(collectors.queries, {
      count: 7,
      failed: 1,
      queries: [
        { system: 'mysql', statement: 'select * from item where id > 0', source: SOURCE, rows: 2, wait: Number },
        { statement: 'select * from item where id = ?', parameters: [1], source: SOURCE, rows: 1, wait: Number },
        { statement: 'update item set name = \'x\'', source: SOURCE, rows: 2 },
        { error: { code: 'ER_BAD_FIELD_ERROR', errno: 1054, sqlState: '42S22' }, source: SOURCE, rows: null },
        { statement: 'select 5', source: SOURCE },
        { statement: 'select 6', source: SOURCE, wait: Number },
        { statement: 'select 7', source: SOURCE }
      ]
    })
  }, t)

  inBothProducts('the oldest release that publishes its queries', async (t, build) => {
    const pool = oldest.createPool({ ...server, connectionLimit: 1 })
    t.teardown(() => pool.end())
    const app = await build((app) => app.get('/', async () => {
      await pool.query('select 1 as n')
      await pool.execute('select ? as n', [2])
    }))
    const { collectors } = await profileOf(app, await app.inject('/'))
    t.match(collectors.queries, {
      queries: [{ system: 'mysql', statement: 'select 1 as n', source: SOURCE, rows: 1, wait: Number }, { parameters: [2], source: SOURCE, rows: 1 }]
    })
  }, t)

  inBothProducts('a pool whose connections are taken: each query is one of its own request', async (t, build, product: TestedProduct) => {
    const app = await build((app) => app.get('/:n', async (request) => {
      await pool.query(`select sleep(0.05), ${(request.params as { n: number }).n}, '${product}'`)
    }))
    const responses = await Promise.all([1, 2, 3, 4].map((n) => app.inject(`/${n}`)))
    for (const [i, response] of responses.entries()) {
      const { collectors } = await profileOf(app, response)
      t.match(collectors.queries, { count: 1, queries: [{ statement: `select sleep(0.05), ${i + 1}, '${product}'`, source: SOURCE, wait: Number }] })
    }
  }, t)

  inBothProducts('a query of a callback is one of the request that sent the first one', async (t, build) => {
    const callbacks = mysql.createPool({ ...server, connectionLimit: 1 })
    t.teardown(() => new Promise<void>((resolve) => callbacks.end(() => resolve())))
    const app = await build((app) => app.get<{ Params: { n: string } }>('/:n', ({ params: { n } }, reply) => {
      callbacks.query(`select ${n}`, () => {
        callbacks.getConnection((_error, connection) => connection.execute('select ?', [n], () => {
          connection.release()
          connection.query(`select 'last', ${n}`, () => { reply.send('x') })
        }))
      })
    }))
    const first = await app.inject('/1')
    const responses = await Promise.all([2, 3].map((n) => app.inject(`/${n}`)))
    for (const [i, response] of [first, ...responses].entries()) {
      const { collectors } = await profileOf(app, response)
      const n = String(i + 1)
      t.match(collectors.queries, { count: 3, queries: [{ statement: `select ${n}` }, { parameters: [n] }, { statement: `select 'last', ${n}` }] })
    }
  }, t)
})

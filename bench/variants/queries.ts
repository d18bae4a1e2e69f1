import { DatabaseSync } from '@photostructure/sqlite'
import type { FastifyInstance } from 'fastify'
import { Redis } from 'ioredis'
import pg from 'pg'
import type { Test } from 'tap'
import { observe } from '../../packages/hindsight/src/queries.js'
import { connectTo, freePort } from '../../packages/hindsight/test/support/ports.js'
import { postgresServer } from '../../packages/hindsight/test/support/postgres.js'
import { serverFolder, startServer } from '../../packages/hindsight/test/support/server-process.js'
import { debugging } from './hindsight.js'
import type { Variants } from './shared.js'

const COLUMNS = ['a', 'b', 'c', 'd', 'e']

/** Sends a query of an application: one of five statements, with a value. */
type Send = (column: number, value: number) => unknown

/** A route that sends 50 queries: ten loops over five statements. */
function querying (app: FastifyInstance, send: Send): FastifyInstance {
  return app.get('/', async () => {
    let queries = 0
    for (let value = 0; value < 10; value++) {
      for (let column = 0; column < COLUMNS.length; column++) {
        await send(column, value)
        queries++
      }
    }
    return { queries }
  })
}

type Observe = <T extends object>(client: T) => T

async function sqlite (app: FastifyInstance, observed: Observe): Promise<FastifyInstance> {
  const database = observed(new DatabaseSync(':memory:'))
  database.exec("create table item (id integer primary key, name text); insert into item values (1, 'one')")
  const statements = COLUMNS.map((name) => database.prepare(`select id, name as ${name} from item where id = ? and name <> ?`))
  return querying(app, (column, value) => statements[column]?.all(1, `name ${value}`))
}

/** A server of a database ends with the application. */
function endedWith (app: FastifyInstance): Test {
  return { teardown: (end: () => Promise<void>) => app.addHook('onClose', async () => await end()) } as unknown as Test
}

async function postgres (app: FastifyInstance, observed: Observe): Promise<FastifyInstance> {
  const server = await postgresServer(endedWith(app), {}, { ...process.env, CI: 'true' })
  await server?.psql("create table item (id int primary key, name text); insert into item values (1, 'one')")
  const pool = observed(new pg.Pool({ connectionString: server?.url }))
  app.addHook('onClose', async () => await pool.end())
  const statements = COLUMNS.map((name) => `select id, name as ${name} from item where id = $1 and name <> $2`)
  return querying(app, (column, value) => pool.query(statements[column] ?? '', [1, `name ${value}`]))
}

async function redis (app: FastifyInstance): Promise<FastifyInstance> {
  const port = await freePort()
  const folder = serverFolder(endedWith(app), 'redis')
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder]
  await startServer(endedWith(app), 'redis-server', args, { folder, isReady: () => connectTo(port) })
  const client = new Redis(port, '127.0.0.1')
  app.addHook('onClose', async () => { await client.quit() })
  return querying(app, (column, value) => client.get(`${COLUMNS[column]}:${value}`))
}

const plain: Observe = (client) => client

/** Applications whose queries are recorded, and the same without that. */
export const variants: Variants = {
  'queries:sqlite': async () => await sqlite(await debugging(), observe),
  'queries:sqlite-plain': async () => await sqlite(await debugging({ queries: false }), plain),
  'queries:pg': async () => await postgres(await debugging(), observe),
  'queries:pg-plain': async () => await postgres(await debugging({ queries: false }), plain),
  'queries:ioredis': async () => await redis(await debugging()),
  'queries:ioredis-plain': async () => await redis(await debugging({ queries: false }))
}

import { DatabaseSync } from '@photostructure/sqlite'
import Fastify, { type FastifyInstance } from 'fastify'
import { service } from '../../app/service.js'
import { hindsight } from '../../packages/hindsight/src/hindsight.js'
import { observe } from '../../packages/hindsight/src/queries.js'
import type { HindsightOptions } from '../../packages/hindsight/src/options.js'
import { boundConnections, serverOptions } from '../../lib/server-options.js'
import { FEATURES, hello, storeFolder, type Variants } from './shared.js'

// As `npm start` has them.
function bounded (): FastifyInstance {
  const app = Fastify(serverOptions()) as unknown as FastifyInstance
  boundConnections(app, {})
  return app
}

async function withHindsight (options: HindsightOptions): Promise<FastifyInstance> {
  const app = bounded()
  await app.register(service, { ...FEATURES, ...options })
  return app
}

type Database = InstanceType<typeof DatabaseSync>

/** A route that sends 50 queries of an application: ten loops over five statements. */
async function querying (observed: (database: Database) => Database): Promise<FastifyInstance> {
  const database = observed(new DatabaseSync(':memory:'))
  database.exec('create table item (id integer primary key, name text)')
  database.exec('insert into item values (1, \'one\')')
  const statements = ['a', 'b', 'c', 'd', 'e'].map((name) => database.prepare(`select id, name as ${name} from item where id = ? and name <> ?`))
  const app = await debugging()
  return app.get('/', () => {
    let rows = 0
    for (let i = 0; i < 10; i++) {
      for (const statement of statements) rows += statement.all(1, `name ${i}`).length
    }
    return { rows }
  })
}

function debugging (): Promise<FastifyInstance> {
  return withHindsight({ debug: true, profiler: { storage: 'sqlite', dataDir: storeFolder() } })
}

/** Hindsight in its modes. */
export const variants: Variants = {
  'hindsight:production': async () => hello(await withHindsight({})),
  'hindsight:observe': async () => {
    const app = Fastify()
    await app.register(hindsight, { debug: false })
    return hello(app)
  },
  'hindsight:errors': async () => {
    return hello(await withHindsight({ profiler: { production: true, onlyExceptions: true, dataDir: storeFolder() } }))
  },
  'hindsight:debug': async () => hello(await debugging()),
  'hindsight:debug-observe': async () => {
    const app = Fastify()
    await app.register(hindsight, { debug: true, profiler: { storage: 'sqlite', dataDir: storeFolder() } })
    return hello(app)
  },
  'hindsight:queries': () => querying(observe),
  'hindsight:unobserved': () => querying((database) => database)
}

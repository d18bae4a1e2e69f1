import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import { channel, subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runInThisContext } from 'node:vm'
import { Ajv } from 'ajv'
import t from 'tap'
import { PROFILE_SCHEMA } from '../../../../../docs/scripts/profile.js'
import { LIBRARIES } from '../../../src/parts/queries/channels.js'
import { QUERY_CHANNEL } from '../../../src/queries/channel.js'
import { recordQuery } from '../../../src/queries/observe.js'
import { announceQuery, beginQuery, callAsync, callBack, callSync, endQuery, type Query } from '../../../src/queries/query.js'
import { formatTime } from '../../../src/view/components.js'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import { BROKEN, declareArticles, queriesOf, unknownColumn } from './database.js'

inBothProducts('the JSON of a profile has the queries as its schema describes them', async (t, build) => {
  const app = await build(declareArticles)
  const stored = await profileOf(app, await app.inject('/articles'))
  const { queries, groups, findings, ...totals } = queriesOf(stored)
  t.match(totals, { count: 26, duration: Number, failed: 0 })
  t.same(Object.keys(totals).sort(), ['count', 'duration', 'failed'])
  const place = /test\/parts\/queries\/database\.ts:\d+:\d+$/
  t.match(queries[2], {
    system: 'sqlite',
    statement: 'select name from users where id = ?',
    parameters: [1],
    start: Number,
    duration: Number,
    rows: 1,
    source: place,
    shape: 'select name from users where id = ?'
  })
  t.same(Object.keys(queries[2] ?? {}).sort(), ['duration', 'parameters', 'rows', 'shape', 'source', 'start', 'statement', 'system'])
  t.same(queries[1]?.parameters, [])
  t.match(groups.find(({ kind }) => kind !== null), {
    shape: 'select name from users where id = ?',
    statement: 'select name from users where id = ?',
    system: 'sqlite',
    count: 24,
    distinct: 24,
    duration: Number,
    sources: [place],
    kind: 'n+1'
  })
  t.same(findings.map(({ kind, queries }) => [kind, queries.length]), [['n+1', 24]])
  const broken = await profileOf(app, await app.inject('/broken/7'))
  t.match(queriesOf(broken).queries.at(-1), {
    parameters: [17, '******'], rows: null, error: { message: 'column "titel" does not exist', code: '42703', hint: 'Perhaps "title".', position: 12 }
  })
  t.equal(queriesOf(broken).failed, 1)
  const validate = new Ajv({ strict: false, validateFormats: false }).compile(JSON.parse(readFileSync(PROFILE_SCHEMA, 'utf8')) as object)
  for (const one of [stored, broken]) t.ok(validate(JSON.parse(JSON.stringify(one))), JSON.stringify(validate.errors))
  const wrong = structuredClone(stored) as unknown as { collectors: { queries: { groups: Array<{ kind: unknown }> } } }
  wrong.collectors.queries.groups = [{ ...wrong.collectors.queries.groups[0], kind: 1 }]
  t.notOk(validate(wrong), 'the schema describes the queries')
})

inBothProducts('the time of a loop is compared with that of the request, without the time of the toolbar', async (t, build) => {
  const app = await build((app) => {
    app.get('/', async (_request, reply) => {
      for (let id = 0; id < 5; id++) recordQuery({ system: 'sqlite', statement: 'select * from item where id = ?', parameters: [id] })({ rows: 1 })
      return await reply.type('text/html').send('<!doctype html><body>list</body>')
    })
  })
  const response = await app.inject('/')
  t.match(response.body, /hindsight/i, 'it has a toolbar')
  const profile = await profileOf(app, response)
  t.match(queriesOf(profile).findings[0]?.text, new RegExp(` of ${formatTime(profile.duration)}$`))
})

inBothProducts('the position of an error is that in the masked statement', async (t, build) => {
  const statement = "select * from users where api_token = 'a long secret \u{1F600}' and titel = 1"
  const app = await build((app) => {
    app.get('/', async () => {
      recordQuery({ system: 'postgresql', statement })({ error: unknownColumn([...statement.slice(0, statement.indexOf('titel'))].length + 1) })
      recordQuery({ system: 'postgresql', statement: BROKEN })({ error: Object.assign(new Error('no'), { position: 'x' }) })
    })
  })
  const [first, second] = queriesOf(await profileOf(app, await app.inject('/'))).queries
  t.equal(first?.statement, "select * from users where api_token = '******' and titel = 1")
  t.equal(first?.statement.slice(Number(first.error?.position) - 1).startsWith('titel'), true)
  t.equal(second?.error?.position, 'x')
})

inBothProducts('messages of Prisma are recorded without their excerpt of the code', async (t, build) => {
  const message = '\nInvalid `prisma.user.create()` invocation in\n/srv/a.ts:3:9\n\n→ 3 await prisma.user.create(\nUnique constraint failed on `name`'
  const app = await build((app) => {
    app.get('/', async () => recordQuery({ system: 'prisma', statement: 'User.create' })({ error: new Error(message) }))
  })
  const [query] = queriesOf(await profileOf(app, await app.inject('/'))).queries
  t.same(query?.error, { message: 'Unique constraint failed on `name`' })
})

inBothProducts('messages of a database have no values of secret columns', async (t, build) => {
  const details = [
    ['Key (api_token)=(abc123) already exists.', 'Key (api_token)=****** already exists.'],
    ['Key (tenant, password)=(1, abc123) already exists.', 'Key (tenant, password)=****** already exists.'],
    ['Key (name)=(abc) already exists.', 'Key (name)=(abc) already exists.'],
    ['Failing row contains (1, abc123, null).', 'Failing row contains (******).']
  ] as const
  const app = await build((app) => {
    app.get('/', async () => {
      for (const [detail] of details) recordQuery({ system: 'postgresql', statement: 'x' })({ error: Object.assign(new Error('failed'), { detail }) })
      for (const name of ['users.api_token', 'users.name']) {
        recordQuery({ system: 'mysql', statement: 'x' })({ error: new Error(`Duplicate entry 'abc' for key '${name}'`) })
      }
    })
  })
  const errors = queriesOf(await profileOf(app, await app.inject('/'))).queries.map(({ error }) => error)
  t.same(errors.slice(0, 4).map((error) => error?.detail), details.map(([, shown]) => shown))
  t.same(errors.slice(4).map((error) => error?.message), [
    "Duplicate entry '******' for key 'users.api_token'", "Duplicate entry 'abc' for key 'users.name'"
  ])
})

inBothProducts('of more than 500 queries the rest is counted and grouped', async (t, build) => {
  const app = await build((app) => {
    app.get('/', async () => {
      for (let id = 0; id < 510; id++) recordQuery({ system: 'sqlite', statement: `insert into t values (${id})` })({ rows: 1 })
      recordQuery({ system: 'sqlite', statement: 'insert into u values (1)' })({ error: new Error('no such table') })
    })
  })
  const { count, failed, queries, groups } = queriesOf(await profileOf(app, await app.inject('/')))
  t.same([count, failed, queries.length], [511, 1, 500])
  t.match(groups, [{ shape: 'insert into t values (?)', count: 510 }, { shape: 'insert into u values (?)', count: 1 }])
  t.same(Object.keys(groups[1] ?? {}).sort(), Object.keys(groups[0] ?? {}).sort())
})

inBothProducts('of many further statements the last ones are counted together', async (t, build) => {
  const app = await build((app) => {
    app.get('/', async () => {
      for (let i = 0; i < 500; i++) recordQuery({ system: 'redis', statement: 'PING' })()
      for (let i = 0; i < 130; i++) recordQuery({ system: 'sqlite', statement: `insert into t${i} values (1)` })()
    })
  })
  const { count, groups } = queriesOf(await profileOf(app, await app.inject('/')))
  t.same([count, groups.length], [630, 102])
  t.match(groups.find(({ shape }) => shape === '…'), { count: 30, system: 'sqlite', statement: '…' })
  t.equal(groups.reduce((sum, { count }) => sum + count, 0), 630)
})

inBothProducts('findings count the queries beyond the first 500, too', async (t, build) => {
  const find = (id: number): void => { recordQuery({ system: 'sqlite', statement: 'select * from item where id = ?', parameters: [id] })({ rows: 1 }) }
  const app = await build((app) => {
    app.get('/loop', async () => {
      recordQuery({ system: 'sqlite', statement: 'select * from item' })({ rows: 600 })
      for (let id = 0; id < 600; id++) find(id)
    })
    app.get('/two-loops', async () => {
      for (let id = 0; id < 300; id++) find(id)
      for (let id = 0; id < 300; id++) find(id + 300)
    })
  })
  const textsAt = async (path: string): Promise<string[]> =>
    queriesOf(await profileOf(app, await app.inject(path))).findings.map(({ text }) => text)
  t.match(await textsAt('/loop'), [/` 600 times from \S+ after the 600 rows of \S+, at least /])
  t.match(await textsAt('/two-loops'), [/` 600 times from /], 'of one helper')
})

inBothProducts('a statement that node:sqlite publishes is recorded once', async (t, build) => {
  // As Node.js 24.22 publishes it, when the statement has ended.
  const publish = (): void => { channel('sqlite.db.query').publish({ sql: "select id from item where name = 'one'", duration: 3_000_000 }) }
  const app = await build((app) => {
    app.get('/', async () => { publish() })
    app.get('/observed', async () => callSync(beginQuery({ system: 'sqlite', statement: 'select 1' }), publish, () => 1))
  })
  const [found, ...others] = queriesOf(await profileOf(app, await app.inject('/'))).queries
  t.match(found, { system: 'sqlite', statement: "select id from item where name = 'one'", rows: null, duration: 3, source: /collector\.test\.ts/ })
  t.same(others, [])
  const { queries } = queriesOf(await profileOf(app, await app.inject('/observed')))
  t.match(queries, [{ statement: 'select 1' }])
})

/** Publishes what mssql 12.4 and later do for a method that returns a promise. */
const byMssql = async (of: string, context: object, result: unknown): Promise<unknown> =>
  await tracingChannel(`mssql:${of}`).tracePromise(async () => result instanceof Error ? await Promise.reject(result) : result, context)

inBothProducts('what mssql publishes', async (t, build) => {
  const [rows, ids] = [{ recordset: [{ id: 1 }, { id: 2 }], rowsAffected: [2] }, { requestId: 1, poolId: 1 }]
  const command = 'select * from [item] where id = @id'
  const app = await build((app) => {
    app.get('/', async () => {
      await byMssql('query', { command, parameters: ['id'], ...ids }, rows)
      await byMssql('batch', { command: "delete from item where name = 'one'", ...ids }, { recordset: undefined, rowsAffected: [1, 2] })
      await byMssql('execute', { procedure: 'dbo.stock', parameters: ['id'], ...ids }, { recordset: [], rowsAffected: [] })
      await byMssql('bulk', { table: 'dbo.item', rowCount: 4, ...ids }, { rowsAffected: 4 })
      await byMssql('prepared-statement:execute', { statement: command, parameters: ['id'], handle: 1 }, new Error('broken')).catch(() => {})
      await new Promise((resolve) => {
        const send = (callback: (error: null, recordsets: unknown) => void): void => { callback(null, [[{ id: 1 }]]) }
        tracingChannel('mssql:query').traceCallback(send, 0, { command: 'select 1 as id', ...ids }, undefined, resolve)
      })
    })
    app.get('/loop', async () => { for (let id = 0; id < 5; id++) await byMssql('query', { command, parameters: ['id'], ...ids }, rows) })
  })
  const { queries } = queriesOf(await profileOf(app, await app.inject('/')))
  t.match(queries, [
    { system: 'microsoft.sql_server', statement: command, parameters: [], rows: 2, shape: 'select * from [item] where id = ?', source: /collector\.test\.ts/ },
    { statement: /^delete/, rows: 3 }, { statement: 'exec dbo.stock', rows: 0 }, { statement: 'insert bulk dbo.item', rows: 4 },
    { statement: command, rows: null, error: { message: 'broken' } }, { statement: 'select 1 as id', rows: 1 }
  ])
  const { findings, groups } = queriesOf(await profileOf(app, await app.inject('/loop')))
  t.match(findings, [{ kind: 'repeated' }], 'whether the values are the same is unknown')
  t.match(groups, [{ count: 5, distinct: 5 }])
})

t.test('the documents have a row for each library that publishes its queries', async (t) => {
  const text = readFileSync(new URL('../../../../../docs/how-to/queries.md', import.meta.url), 'utf8')
  for (const { name, since } of LIBRARIES) {
    const row = since === undefined ? `Releases of \`${name}\` with the channel` : `| \`${name}\` | ${since} |`
    t.match(text, row)
  }
})

inBothProducts('a callback has the context of its request in each copy of the package', async (t, build) => {
  const other = new AsyncLocalStorage<string>()
  const enter: Query['enter'] = (callback, self, results) => other.run('other', Reflect.apply, callback, self, results)
  const record = (query: unknown): void => { Object.assign(query as Query, { enter }) }
  subscribe(QUERY_CHANNEL, record)
  t.teardown(() => unsubscribe(QUERY_CHANNEL, record))
  const connection = new AsyncResource('connection')
  let context: string | undefined
  const app = await build((app) => {
    app.get('/', async () => await new Promise((resolve) => {
      const query = beginQuery({ system: 'sqlite', statement: 'select 1' })
      callBack(query, [() => {
        context = other.getStore()
        recordQuery({ system: 'sqlite', statement: 'select 2' })()
        resolve('x')
      }], ([callback]) => connection.runInAsyncScope(callback as () => void), () => 1)
    }))
  })
  const { queries } = queriesOf(await profileOf(app, await app.inject('/')))
  t.same(queries.map(({ statement }) => statement), ['select 1', 'select 2'])
  t.equal(context, 'other')
})

/** Sends a query of an ORM, which does what `run` does. */
async function ofOrm (system: string, statement: string, run: () => unknown): Promise<void> {
  await callAsync(beginQuery({ system, statement, isOuter: true }), async () => {
    await sleep(1)
    await run()
  }, () => undefined)
}

inBothProducts('queries of a driver are parts of the one of an ORM that runs, and complete it', async (t, build) => {
  const send = (system: string, statement: string): void => recordQuery({ system, statement })({ rows: 3 })
  let late = (): void => {}
  const app = await build((app) => app.get('/', async () => {
    await Promise.all(['a', 'b'].map((name) => ofOrm('prisma', `${name}.findMany`, () => {
      send('postgresql', `select * from ${name}`)
      send('postgresql', 'select 1')
      send('redis', 'PING')
    })))
    await ofOrm('mariadb', 'select 2', () => send('mysql', 'select 2'))
    await ofOrm('mysql', 'select 3', () => ofOrm('mysql', 'select 4', () => { late = AsyncResource.bind(() => send('mysql', 'select 5')) }))
    late()
    send('mysql', 'select 6')
    return 'x'
  }))
  const { count, queries } = queriesOf(await profileOf(app, await app.inject('/')))
  t.same(queries.map(({ statement, rows }) => `${statement} ${rows}`), [
    'a.findMany 3', 'b.findMany 3', 'PING 3', 'PING 3', 'select 2 3', 'select 3 null', 'select 4 null', 'select 5 3', 'select 6 3'
  ])
  t.equal(count, 9)
})

inBothProducts('a query that is announced has one of its driver, also where it has ended', async (t, build) => {
  const send = (statement: string): void => recordQuery({ system: 'mysql', statement })({ rows: 3 })
  const app = await build((app) => app.get('/', async () => {
    for (const statement of ['select 1', 'COMMIT;']) {
      const query = beginQuery({ system: 'mysql', statement, isOuter: true }) as Query
      announceQuery(query)
      if (statement === 'COMMIT;') endQuery(query)
      recordQuery({ system: 'redis', statement: 'PING' })()
      send(`${statement} of the driver`)
      endQuery(query)
      send('select 2')
    }
    return 'x'
  }))
  const { queries } = queriesOf(await profileOf(app, await app.inject('/')))
  t.same(queries.map(({ statement }) => statement), ['select 1', 'PING', 'select 2', 'COMMIT;', 'PING', 'select 2'])
})

inBothProducts('a command to another collection than that of the ORM is a query of its own', async (t, build) => {
  const send = (statement: string): void => recordQuery({ system: 'mongodb', statement })({ rows: 3 })
  const app = await build((app) => app.get('/', async () => {
    await ofOrm('mongodb', 'users.findOne', () => {
      send('users.find')
      send('audit.insert')
    })
    return 'x'
  }))
  const { queries } = queriesOf(await profileOf(app, await app.inject('/')))
  t.same(queries.map(({ statement, rows }) => `${statement} ${rows}`), ['users.findOne 3', 'audit.insert 3'])
})

/** A query that is sent when it is awaited, by the code of a package. */
const lazily = runInThisContext('(send) => ({ then (resolve) { const end = send(); setImmediate(() => { end({ rows: 1 }); resolve([]) }) } })',
  { filename: '/app/node_modules/lazy/index.js' }) as (send: () => unknown) => Promise<unknown[]>
const lazyQuery = (): Promise<unknown[]> => lazily(recordQuery.bind(null, { system: 'sqlite', statement: 'select name from item', parameters: [] }))

inBothProducts('a lazy query that the handler has returned: its line is unknown, but not its handler', async (t, build) => {
  const repository = async (): Promise<unknown[]> => lazyQuery()
  const lines = readFileSync(import.meta.filename, 'utf8').split('\n')
  const lineOf = (text: string): number => lines.findIndex((line) => line.includes(`app.get('/${text}'`)) + 1
  const app = await build((app) => {
    app.get('/returned', async () => lazyQuery())
    app.get('/sync', () => lazyQuery())
    app.get('/repository', async () => await repository())
    app.get('/together', async () => await Promise.all([1, 2, 3, 4, 5].map(async () => await repository())))
    app.get('/hooked', { preHandler: (_request, _reply, done) => { done() } }, async () => lazyQuery())
  })
  const placesOf = async (path: string): Promise<unknown[]> => {
    const profile = await profileOf(app, await app.inject(`/${path}`))
    return queriesOf(profile).queries.map(({ source, sender }) => [source?.replace(/^.*\//, '').replace(/:\d+$/, '') ?? null, sender?.replace(/\(.*\//, '(')])
  }
  for (const path of ['returned', 'sync', 'repository']) {
    t.same(await placesOf(path), [[null, `the handler of GET /${path} (collector.test.ts:${lineOf(path)})`]])
  }
  t.same(await placesOf('hooked'), [[null, undefined]], 'a hook of the route may have sent it')
  const together = await profileOf(app, await app.inject('/together'))
  const place = `the handler of GET /together (${relative('', import.meta.filename)}:${lineOf('together')})`
  t.match(queriesOf(together).findings.map(({ text }) => text.split(', ')[0]), [`The same query: \`select name from item\` 5 times from ${place}`])
})

import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createMask } from '../../../src/mask/mask.js'
import { queryReader } from '../../../src/parts/queries/mask-query.js'
import { recordQuery } from '../../../src/queries/observe.js'
import { profileMarkdown } from '../../support/marks.js'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import { queriesOf } from './database.js'

/** Errors of databases that repeat a value of their query, with their fields; `S` is the value. */
const errors: ReadonlyArray<readonly [system: string, statement: string, parameters: unknown, error: object]> = [
  ['postgresql', 'update users set password = $1 where id = $2', ['S', 7700],
    { message: 'invalid input syntax for type integer: "S"', where: "unnamed portal parameter $1 = 'S'" }],
  ['postgresql', 'insert into users (id, password) values ($1, $2)', [7700, 'S'],
    { message: 'new row violates check constraint', detail: 'Failing row contains (7700, S, (x), null).' }],
  ['postgresql', 'insert into users (id, password) values ($1, $2)', [7700, 'S'],
    { message: 'duplicate key value', detail: 'Key (id, lower(password))=(7700, S) already exists.' }],
  ['postgresql', 'select * from users where data ->> $1 = $2', ['password', 'S'], { message: 'invalid token S at character 5' }],
  ['mysql', "update users set pin = 'S' where id = 7700", undefined, { message: "Incorrect integer value: 'S' for column 'pin' at row 1" }],
  ['mysql', "update users set password = 'S' were", undefined,
    { message: "You have an error in your SQL syntax near 'S' were' at line 1", sql: "update users set password = 'S' were" }],
  ['mysql', 'insert into users (id, password) values (?, ?)', [7700, 'S'], { message: "Duplicate entry 'S' for key 'users.id'" }],
  ['postgresql', 'select * from users where password = $1', ['S'],
    { name: 'QueryFailedError', message: 'no', query: 'select * from users where password = $1', parameters: ['S'], driverError: { parameters: ['S'] } }],
  ['postgresql', 'update users set password = $$S$$ where id = 7700', undefined, { message: 'invalid value: "S"' }],
  ['microsoft.sql_server', "update users set password = N'S' where id = 7700", undefined, { message: 'Violation of a constraint, the value is (S).' }],
  ['postgresql', "select * from users where password like 'S%'", undefined, { message: 'invalid pattern "S"' }],
  ['redis', 'HGET', ['tokens', 'S'], { message: 'WRONGTYPE', command: { name: 'hget', args: ['tokens', 'S'] } }],
  ['redis', 'MSET', [{ 'token:1': 'S' }], { message: 'ERR no such entry "S"' }],
  ['mongodb', 'users.find', [{ $expr: { $eq: ['$password', 'S'] } }], { message: 'cannot compare "S" with $password' }],
  ['prisma', 'User.create', { data: { id: 7700, password: 'S' } },
    { message: 'Invalid `prisma.user.create()` invocation:\n{\n  data: {\n    id: 7700,\n    password: "S"\n  }\n}' }]
]
const SECRETS = ['hunt er2', 'orchid', "it's \"S\" 100%", 'a1b2c3d4e5f6', '48151623']

inBothProducts('a secret of a query does not come back in its error, in exceptions and in log lines', async (t, build, product) => {
  let [secret, i] = ['', 0]
  const written = (value: unknown, quoted = (text: string) => text): unknown =>
    JSON.parse(JSON.stringify(value).replace(/\bS\b/g, () => JSON.stringify(quoted(secret)).slice(1, -1)))
  const app = await build((app) => {
    app.get('/', async ({ log }) => {
      const [system, statement, parameters, fields] = errors[i] as (typeof errors)[number]
      const sql = written(statement, (text) => text.replaceAll("'", "''")) as string
      const error = Object.assign(new Error(), written(fields))
      error.stack = `Error: ${error.message}\n    at ${import.meta.filename}:1:1`
      recordQuery({ system, statement: sql, parameters: parameters === undefined ? parameters : written(parameters) })({ error })
      log.error(error, `failed with ${secret}`)
      log.info({ given: [secret], url: `/login?next=${encodeURIComponent(secret)}` }, 'user 7700, orchids')
      throw new Error(`The query failed: ${error.message}`, { cause: error })
    })
  })
  for (secret of SECRETS) {
    const forms = [secret, JSON.stringify(secret).slice(1, -1), secret.replaceAll("'", "''"), secret.replaceAll("'", '&#39;').replaceAll('"', '&quot;')]
    for (i of errors.keys()) {
      const sent = async (accept: string) => await app.inject({ url: '/', headers: { accept } })
      // With the other product these are answers of Fastify.
      const others = product === 'service' ? [await sent('application/json'), await sent('text/plain')] : []
      const responses = [await sent('text/html'), ...others]
      const stored = await profileOf(app, responses[0] ?? null)
      const panels = await Promise.all(['queries', 'logs', 'exceptions'].map((panel) => app.inject(`/_profiler/${stored.token}?panel=${panel}`)))
      const texts = [JSON.stringify(stored), profileMarkdown(stored), ...[...responses, ...panels].map(({ body }) => body)]
      const name = `${String(errors[i]?.[0])} ${i} ${secret}`
      for (const [page, text] of texts.entries()) {
        t.notOk(forms.some((form) => text.replaceAll('orchids', '').includes(form)), `${name}, page ${page}`)
      }
      t.match(JSON.stringify(stored.logs), /user 7700, orchids/, `${name}: other words stay`)
      t.equal(queriesOf(stored).queries.length, 1)
    }
  }
})

inBothProducts('a secret does not come back after the response', async (t, build) => {
  const app = await build((app) => {
    app.get('/', ({ log }, reply) => {
      reply.send('sent')
      reply.raw.on('close', () => setTimeout(() => {
        recordQuery({ system: 'mysql', statement: 'update users set password = ?', parameters: ['orchid'] })({ error: new Error("Data 'orchid'") })
        log.warn('later orchid')
        Promise.reject(new Error('rejected orchid')).catch((error: unknown) => log.error(error, 'late'))
      }, 50))
    })
  })
  const response = await app.inject('/')
  const { token } = await profileOf(app, response)
  let stored = ''
  for (let tries = 0; tries < 400 && !stored.includes('rejected'); tries++) {
    await sleep(50)
    stored = JSON.stringify(await app.hindsight.profiler.find(token))
  }
  t.match(stored, /later \*{6}/)
  t.match(stored, /rejected \*{6}/)
  t.notMatch(stored, /orchid/)
})

const FLOWER = /orchid/

inBothProducts('a secret in double quotes does not come back', async (t, build) => {
  const statements = [['mysql', 'update users set password = "orchid" where id = 7700'], ['oracle', 'alter user ann identified by "orchid"']] as const
  const app = await build((app) => app.get('/', async ({ log }) => {
    for (const [system, statement] of statements) recordQuery({ system, statement })({ error: new Error("Duplicate entry 'orchid'") })
    log.warn('with orchid')
  }))
  const stored = await profileOf(app, await app.inject('/'))
  t.notMatch(JSON.stringify(stored) + profileMarkdown(stored), FLOWER)
  const shown = queriesOf(stored).queries.map(({ statement }) => statement)
  t.same(shown, ['update users set password = "******" where id = ******', 'alter user ann identified by "******"'])
})

/** A literal that ends at a quote of its secret, or not at all, and what databases repeat of it. */
const broken = [
  ['postgresql', "select * from users where password = 'my 'orchid iris'", 'syntax error at or near "orchid"'],
  ['postgresql', "alter user ann password 'my'orchid'", 'unrecognized role option "orchid"'],
  ['postgresql', "select * from users where password = 'orchid", 'unterminated quoted string at or near "\'orchid"'],
  ['postgresql', "update users set password = '{\"a\": orchid}'", 'invalid input syntax for type json: JSON data, line 1: {"a": orchi...'],
  ['mysql', 'select * from users where password = "my"orchid"', "near 'orchid\"' at line 1"],
  ['mysql', 'select * from users where password = "my orchid', "near '\"my orchid' at line 1"],
  ['sqlite', "insert into users (id, password) values (1, 'my'orchid')", 'near "orchid": syntax error']
] as const

inBothProducts('a part of a literal that a message repeats', async (t, build) => {
  let [system, statement, message] = ['', '', '']
  const app = await build((app) => app.get('/', async ({ log }) => {
    const error = Object.assign(new Error(message), { sql: statement })
    recordQuery({ system, statement })({ error })
    log.warn(error, 'failed')
    throw error
  }))
  for ([system, statement, message] of broken) {
    const response = await app.inject({ url: '/', headers: { accept: 'text/html' } })
    const stored = await profileOf(app, response)
    const panel = await app.inject(`/_profiler/${stored.token}?panel=queries`)
    t.notMatch(JSON.stringify(stored) + profileMarkdown(stored) + response.body + panel.body, /orchi/, statement)
  }
})

inBothProducts('queries that are only counted have no secrets', async (t, build) => {
  const app = await build((app) => {
    app.get('/', async () => {
      for (let i = 0; i < 500; i++) recordQuery({ system: 'redis', statement: 'PING' })()
      for (const secret of ['orchid', 'orchis']) recordQuery({ system: 'redis', statement: 'AUTH', parameters: [secret] })({ error: new Error(`no ${secret}`) })
      recordQuery({ system: 'sqlite', statement: 'pragma key = "orchid"' })()
      throw new Error('with orchid')
    })
  })
  const stored = await profileOf(app, await app.inject('/'))
  t.notMatch(JSON.stringify(stored), /orchi[ds]/)
  t.same(queriesOf(stored).groups.map(({ statement, count }) => [statement, count]), [['PING', 500], ['AUTH', 2], ['pragma key = "******"', 1]])
})

/** Errors of clients that are not observed: of Drizzle, TypeORM, Sequelize, Knex and ioredis. */
const unobserved = [
  { query: 'update users set api_token = $1', params: ['orchid'] },
  { query: 'update users set api_token = ?', parameters: ['orchid'], driverError: { code: 'E1' } },
  { sql: 'update users set api_token = :token', parameters: { token: 'orchid', id: 'orchid' } },
  { sql: 'update users set api_token = ?', bindings: ['orchid'] },
  { command: { name: 'hset', args: ['user:1', 'password', 'orchid'] } }
]

inBothProducts('parameters in errors of clients that are not observed', async (t, build) => {
  let fields = {}
  const app = await build((app) => app.get('/', async ({ log }) => {
    log.error(Object.assign(new Error('logged'), fields))
    log.warn({ failed: fields, other: 'iris' }, 'fields')
    throw Object.assign(new Error('thrown'), fields)
  }))
  for (fields of unobserved) {
    const response = await app.inject({ url: '/', headers: { accept: 'text/html' } })
    const stored = await profileOf(app, response)
    t.notMatch(JSON.stringify(stored) + profileMarkdown(stored), FLOWER, JSON.stringify(fields))
    t.match(JSON.stringify([stored.logs, stored.exceptions]), /\*{6}[^]*iris/)
    t.notMatch(response.body, FLOWER)
  }
})

t.test('no statement with a secret stays in memory', async (t) => {
  const read = queryReader(createMask())
  const isKept = (statement: string): boolean => {
    const { texts } = read('mysql', statement, [])
    return read('mysql', statement, []).texts === texts
  }
  for (const statement of ['select * from users where api_token = ? limit 10', 'select * from item where id = 7']) t.ok(isKept(statement), statement)
  for (const statement of [
    "select * from users where api_token = 'orchid'", 'update users set pin = 482913', "call login('orchid')", 'select "orchid"',
    'select 1 -- postgres://a:orchid@host'
  ]) t.notOk(isKept(statement), statement)
})

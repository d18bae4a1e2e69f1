import { execFile } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { isLong } from '../support/long.js'
import { link, pack, unpack } from '../support/packed.js'
import { postgresServer } from '../support/postgres.js'

const run = promisify(execFile)
const FIXTURE = join(import.meta.dirname, 'support/drivers-app.mts')
const folder = mkdtempSync(join(tmpdir(), 'hindsight-drivers-'))
const project = join(folder, 'project')
const SOURCE = readFileSync(FIXTURE, 'utf8')
/** What the types of the fixture leave in JavaScript. */
const erased = SOURCE.replace('new Map<string, unknown>()', 'new Map()').replace(/ as \{ collectors: .*$/m, '')
const required = erased.replace(/^import (\w+), (\{.*\}) from '(\w+)'$/m, "const $1 = require('$3'); const $2 = $1")
  .replace(/^import (.*) from '(\w+)'$/gm, "const $1 = require('$2')")

t.teardown(() => rmSync(folder, { recursive: true, force: true }))

t.before(async () => {
  const { filename } = await pack(folder)
  const packages = ['fastify', 'pg', 'pg-cursor', 'pg-query-stream', 'postgres', 'mongodb', 'tsx', 'ts-node', 'typescript', '@types/node', 'undici-types']
  for (const name of [...await unpack(join(folder, filename), project), ...packages]) link(project, name)
  writeFileSync(join(project, 'package.json'), '{ "private": true }')
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: { module: 'commonjs', target: 'es2022', esModuleInterop: true } }))
  writeFileSync(join(project, 'app.mjs'), erased)
  writeFileSync(join(project, 'app.cjs'), required)
  writeFileSync(join(project, 'app.ts'), SOURCE)
  writeFileSync(join(project, 'app.mts'), SOURCE)
})

/** Of the long form. */
const FURTHER: typeof CASES = [
  ['the preload by --require', ['--require=fastify-hindsight/register', 'app.cjs']],
  ['tsx, ES modules', ['--import=fastify-hindsight/register', '--import=tsx', 'app.mts']],
  // With --import, Node.js 20 loads the application as an ES module.
  ['ts-node', ['--require=fastify-hindsight/register', '-r', 'ts-node/register/transpile-only', 'app.ts']],
  ...'typescript' in process.features
    ? [['types erased by Node.js', ['--import=fastify-hindsight/register', 'app.mts']]] as Array<[string, string[]]>
    : []
]
const SQLITE = `import Fastify from 'fastify'
import { DatabaseSync } from 'node:sqlite'
const database = new DatabaseSync(':memory:')
const app = Fastify()
app.get('/', async () => database.prepare('select 1 as one where 2 = ?').all(2))
app.get('/busy', async () => {
  const before = process.cpuUsage()
  const statement = database.prepare('with recursive n (i) as (select 1 union all select i + 1 from n where i < 1000) select i from n')
  while (process.cpuUsage(before).user < 60_000) statement.all()
})
void (async () => {
  await app.listen({ port: 0 })
  const collected = async (path, headers) => {
    const response = await fetch(app.listeningOrigin + path, { headers })
    const profile = await fetch(app.listeningOrigin + '/_profiler/' + response.headers.get('x-debug-token') + '.json')
    return (await profile.json()).collectors
  }
  console.log(JSON.stringify((await collected('/')).queries))
  console.log(JSON.stringify((await collected('/busy', { 'x-hindsight-cpu': '1' })).cpu.functions))
  process.exit()
})()
`
const PRELOAD = '--import=fastify-hindsight/register'
const CASES: ReadonlyArray<[name: string, args: string[]]> = [
  ['ES modules', [PRELOAD, 'app.mjs']],
  ['CommonJS', [PRELOAD, 'app.cjs']],
  ['tsx, CommonJS', [PRELOAD, '--import=tsx', 'app.ts']],
  ...isLong ? FURTHER : []
]

/** The oldest releases that are supported; the other tests have the newest ones. */
const OLDEST = { pg: 'pg-8.0', postgres: 'postgres-3.0', mongodb: 'mongodb-4.0' }

interface Result { facts: unknown[], sent: Record<string, unknown[][] | undefined>, printed: string }

async function result (args: string[], env: NodeJS.ProcessEnv = {}, cwd = project): Promise<Result> {
  const { stdout, stderr } = await run(process.execPath, args, { cwd, env: { ...process.env, NODE_ENV: 'development', ...env } })
  return { ...JSON.parse(/^\{"facts".*\}$/m.exec(stdout)?.[0] ?? '{}') as Result, printed: stderr }
}

for (const [name, args] of CASES) {
  t.test(`drivers are observed without code: ${name}`, async (t) => {
    const { facts, sent, printed } = await result(args)
    t.same(facts, [true, true, true, true, true, 'function', true], 'classes are as without Hindsight, and a client of mongodb is observed')
    t.match(printed, /\(ready for queries of pg \d+\.\d+\.\d+, postgres \d+\.\d+\.\d+, mongodb \d+\.\d+\.\d+\)/)
    const file = join(project, args.at(-1) as string)
    const placeOf = (text: string): RegExp => new RegExp(`^${file}:${SOURCE.slice(0, SOURCE.indexOf(text)).split('\n').length}:`)
    const place = placeOf('pool.query(')
    for (const route of ['named', 'member', 'subclass']) {
      t.match(sent[route], [['postgresql', 'select label from bottle where id = $1', [7], place]], route)
    }
    // It was not sent: postgres.js has described no value.
    t.match(sent.postgres, [['postgresql', 'select label from bottle where id = ?', [], placeOf("app.get('/postgres'")]])
  })
}

t.test('the oldest releases of drivers', async (t) => {
  const old = join(folder, 'oldest')
  cpSync(project, old, { recursive: true, verbatimSymlinks: true })
  for (const [name, alias] of Object.entries(OLDEST)) {
    const place = join(old, 'node_modules', name)
    rmSync(place)
    symlinkSync(join(import.meta.dirname, '../packages/node_modules', alias), place)
  }
  // An ES module has only the default export of this pg.
  const lines = erased.replace("import pg, { Client, Pool } from 'pg'", "import pg from 'pg'; const { Client, Pool } = pg")
  writeFileSync(join(old, 'app.mjs'), lines)
  for (const file of ['app.mjs', 'app.cjs']) {
    const { facts, sent, printed } = await result([PRELOAD, file], {}, old)
    t.same(facts, [true, true, true, true, true, 'function', true], file)
    t.match(printed, /\(ready for queries of pg\b.*, postgres\b.*, mongodb\b/)
    const source = new RegExp(`^${join(old, file)}:\\d+:\\d+$`)
    for (const route of ['named', 'member', 'subclass']) {
      t.match(sent[route], [['postgresql', 'select label from bottle where id = $1', [7], source]], `${file} ${route}`)
    }
    t.match(sent.postgres, [['postgresql', 'select label from bottle where id = ?', [], source]])
  }
})

t.test('the stack of a module that is missing names the hooks of imports, and has no source of them', async (t) => {
  writeFileSync(join(project, 'missing.mjs'), "import 'no-such-package'\n")
  const started = await run(process.execPath, [PRELOAD, 'missing.mjs'], { cwd: project }).catch((error: { stderr: string }) => error)
  t.match(started.stderr, /Cannot find package 'no-such-package'/)
  t.notMatch(started.stderr, 'data:')
})

t.test('HINDSIGHT_QUERIES=off prepares no driver', async (t) => {
  const { facts, sent, printed } = await result([PRELOAD, 'app.mjs'], { HINDSIGHT_QUERIES: 'off' })
  t.notMatch(printed, /with queries/)
  t.same(facts, [true, true, true, true, true, 'function', false])
  t.same(sent, {}, 'no route has a query')
})

t.test('an application with PostgreSQL sees the same with the preload', async (t) => {
  const server = await postgresServer(t)
  if (server === null) return
  await server.psql('create table item (id int primary key)')
  copyFileSync(join(import.meta.dirname, 'support/pg-program.mjs'), join(project, 'program.mjs'))
  const show = async (queries: string): Promise<[seen: string, sent: unknown[][]]> => {
    const { stdout } = await run(process.execPath, [PRELOAD, 'program.mjs'], {
      cwd: project, env: { ...process.env, NODE_ENV: 'development', HINDSIGHT_QUERIES: queries, DATABASE_URL: server.url }
    })
    return [/^\|[^]*^(?=\[)/m.exec(stdout)?.[0] ?? stdout, JSON.parse(/^\[.*\]$/m.exec(stdout)?.[0] ?? '') as unknown[][]]
  }
  const [seen, sent] = await show('on')
  const [before, none] = await show('off')
  t.equal(seen, before)
  t.match(seen, /'ok'|generate|ROLLBACK/)
  t.same(none, [])
  const statements = ['select 8::bigint as big', 'select $1::int as n', 'select current_user as who', 'begin', 'insert into item values ($1)',
    'insert into item values ($1)', 'insert into item values (1)', 'rollback', 'select generate_series(1, 5) as n',
    'select generate_series(6, 7) as n', 'select count(*) from item', 'select nothing']
  t.same(sent.map(([statement]) => statement), statements)
  t.same(sent.filter(([,, source]) => !/program\.mjs:\d+:\d+$/.test(String(source))), [], 'each has its line')
  t.same(sent.flatMap(([,,, code]) => code ?? []), ['23505', '42703'])
})

t.test('a driver that is loaded before the preload is named where nothing of it is observed', async (t) => {
  writeFileSync(join(project, 'early.cjs'), "globalThis.pg = require('pg')")
  writeFileSync(join(project, 'late.mjs'), `import Fastify from 'fastify'
const { pg } = globalThis
const silent = (await import('node:net')).createServer((socket) => socket.on('error', () => {})).listen(0)
const pool = new pg.Pool({ host: '127.0.0.1', port: silent.address().port, user: 'u', database: 'd', connectionTimeoutMillis: 300 })
const app = Fastify()
app.get('/', async () => await pool.query('select 1').catch(() => []))
const { headers } = await app.inject('/')
console.log((await app.inject('/_profiler/' + headers['x-debug-token'] + '.md')).body)
process.exit()`)
  const env = { ...process.env, NODE_ENV: 'development' }
  const { stdout } = await run(process.execPath, ['--require=./early.cjs', '--require=fastify-hindsight/register', 'late.mjs'], { cwd: project, env })
  t.match(stdout, /pg 8\.\d+\.\d+ is loaded, and its queries are not recorded: /)
})

t.test('in production no driver is prepared', async (t) => {
  const script = "import pg from 'pg'; import { types } from 'node:util'; console.log(types.isProxy(pg), types.isProxy(pg.Pool))"
  const show = async (env: string): Promise<string> =>
    (await run(process.execPath, [PRELOAD, '--input-type=module', '-e', script], { cwd: project, env: { ...process.env, NODE_ENV: env } })).stdout.trim()
  t.equal(await show('production'), 'false false')
  t.equal(await show('development'), 'true true')
})

// The package itself is compiled when it is installed.
t.test('the function of better-sqlite3 is observed with and without new', async (t) => {
  const place = join(project, 'node_modules/better-sqlite3')
  mkdirSync(place)
  writeFileSync(join(place, 'package.json'), '{ "name": "better-sqlite3", "version": "12.0.0" }')
  writeFileSync(join(place, 'index.js'), `function Database (file) {
    if (new.target === undefined) return new Database(file)
  }
  for (const name of ['prepare', 'exec', 'pragma', 'function']) Database.prototype[name] = () => name
  module.exports = Database`)
  const script = "import Database from 'better-sqlite3'\n" +
    "console.log([new Database('x'), Database('x')].map((one) => [one instanceof Database, Object.hasOwn(one, 'prepare')]).flat().join())"
  const show = async (queries: string): Promise<string> => (await run(process.execPath, [PRELOAD, '--input-type=module', '-e', script], {
    cwd: project, env: { ...process.env, NODE_ENV: 'development', HINDSIGHT_QUERIES: queries }
  })).stdout.trim()
  t.equal(await show('on'), 'true,true,true,true')
  t.equal(await show('off'), 'true,false,true,false')
})

// Where it is loaded can be observed since Node.js 22.15.
if (nodeModule.isBuiltin('node:sqlite') && 'registerHooks' in nodeModule) {
  t.test('node:sqlite is observed without code', async (t) => {
    writeFileSync(join(project, 'sqlite.mjs'), SQLITE)
    writeFileSync(join(project, 'sqlite.cjs'), SQLITE.replace(/^import (.*) from '(.*)'$/gm, "const $1 = require('$2')"))
    for (const file of ['sqlite.mjs', 'sqlite.cjs']) {
      const { stdout } = await run(process.execPath, [PRELOAD, file], { cwd: project, env: { ...process.env, NODE_ENV: 'development' } })
      const { queries } = JSON.parse(/^\{"count".*\}$/m.exec(stdout)?.[0] ?? '{}') as { queries: object[] }
      t.match(queries, [{ statement: 'select 1 as one where 2 = ?', parameters: [2], rows: 1, source: new RegExp(`${file}:5:`) }], file)
      const functions = JSON.parse(/^\[\{"name".*\]$/m.exec(stdout)?.[0] ?? '[]') as Array<{ name: string }>
      t.match(functions.find(({ name }) => name === 'StatementSync.all'), { file: 'node:sqlite', kind: 'node' }, file)
    }
  })
}

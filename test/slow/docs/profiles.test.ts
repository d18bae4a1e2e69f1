import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { storageContract } from '../../../packages/hindsight/src/storage-contract.js'
import { MemoryStorage } from '../../../packages/hindsight/src/store/memory.js'
import { DEFAULT_DATA_DIR, openStorage, STORE_FILE } from '../../../packages/hindsight/src/store/open.js'
import { SCHEMA_VERSION } from '../../../packages/hindsight/src/store/sqlite/database.js'
import type { ProfileStorage } from '../../../packages/hindsight/src/store/storage.js'
import { recordOf } from '../../../packages/hindsight/src/store/summary.js'
import { failure, profile } from '../../../packages/hindsight/test/parts/fixture.js'
import { testdir } from '../../../packages/hindsight/test/support/folder.js'
import { findPostgres, postgresServer } from '../../../packages/hindsight/test/support/postgres.js'
import { ROOT, runSnippet, snippetsOf, type Snippet } from '../../../packages/hindsight/test/support/snippets.js'

type Database = InstanceType<typeof import('@photostructure/sqlite')['DatabaseSync']>

const run = promisify(execFile)
const SCHEMA = 'docs/reference/storage-schema.md'
const STORE = 'docs/how-to/store.md'
const text = readFileSync(join(ROOT, SCHEMA), 'utf8').replaceAll(/\s+/g, ' ')
/** The commands of the page that call a program. */
const commandsOf = (program: string): string[] => snippetsOf(SCHEMA).filter(({ language }) => language === 'sh')
  .flatMap(({ code }) => code.replaceAll(/\\\n */g, '').split('\n').filter((line) => line.startsWith(`${program} `)))

const stored = [
  profile('00000a', { time: '2025-12-31T00:00:00.000Z' }),
  profile('00000b', { time: '2026-01-02T03:04:05.000Z', url: 'http://h/second' }),
  failure('00000c', { time: '2026-01-02T03:04:06.000Z', status: 500, url: 'http://h/third' })
]
const [{ message = '' } = {}] = stored[2]?.exceptions ?? []

async function filled (t: Test, options: Parameters<typeof openStorage>[0]): Promise<ProfileStorage> {
  const storage = await openStorage(options)
  t.teardown(() => storage.close())
  await storage.put(stored.map(recordOf))
  return storage
}

/** A folder in which the commands of the page find the store of an application that was started there. */
async function started (t: Test): Promise<{ storage: ProfileStorage, cwd: string, file: string }> {
  const cwd = testdir(t)
  const dataDir = join(cwd, DEFAULT_DATA_DIR)
  mkdirSync(dataDir, { recursive: true })
  return { storage: await filled(t, { dataDir }), cwd, file: join(dataDir, STORE_FILE) }
}

/** The rows of a table of the page, each as its cells; an empty first cell is that of the row before. */
function rowsOf (page: string, firstHeading: string): string[][] {
  const lines = readFileSync(join(ROOT, page), 'utf8').split('\n')
  const start = lines.findIndex((line) => line.startsWith(`| ${firstHeading} |`))
  const rows = lines.slice(start + 2, lines.findIndex((line, i) => i > start && !line.startsWith('|')))
  let first = ''
  return rows.map((line) => {
    const [name = '', ...rest] = line.split('|').slice(1, -1).map((cell) => cell.trim())
    if (name !== '') first = name
    return [first, ...rest]
  })
}

const plain = (cell = ''): string[] => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)

t.test('the schema: the columns of the page are those of both databases', async (t) => {
  const profiles = rowsOf(SCHEMA, 'column').map(([name, type = '']) => [plain(name)[0] ?? '', type])
  const tables: Record<string, string[]> = { profiles: profiles.map(([name = '']) => name) }
  for (const [table, columns] of rowsOf(SCHEMA, 'table')) {
    const [name = ''] = plain(table)
    tables[name] = [...tables[name] ?? [], ...plain(columns)]
  }
  t.same(Object.keys(tables), ['profiles', 'profile_totals', 'form_secret'])

  await t.test('SQLite', async (t) => {
    const { file } = await started(t)
    const library = isBuiltin('node:sqlite') ? 'node:sqlite' : '@photostructure/sqlite'
    const { DatabaseSync } = createRequire(import.meta.url)(library) as { DatabaseSync: new (path: string) => Database }
    const database = new DatabaseSync(file)
    t.teardown(() => database.close())
    const columnsOf = (name: string): Array<{ name: string, type: string }> => database.prepare(`pragma table_info(${name})`).all() as never
    t.same(Object.fromEntries(columnsOf('profiles').map(({ name, type }) => [name, type.toLowerCase()])), Object.fromEntries(profiles))
    for (const [name, columns] of Object.entries(tables)) t.same(columnsOf(name).map(({ name }) => name).sort(), [...columns].sort(), name)
    t.same(database.prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by rowid").all().map(
      (row) => (row as { name: string }).name
    ), Object.keys(tables))
    t.match(text, new RegExp(`\`pragma user_version\` is the version of the schema, ${SCHEMA_VERSION}\\.`))
  })

  await t.test('PostgreSQL', async (t) => {
    const postgres = await postgresServer(t)
    if (postgres === null) return
    await filled(t, { storage: postgres.url })
    const columnsOf = async (name: string): Promise<string[]> => (await postgres.psql(
      `select column_name from information_schema.columns where table_schema = 'hindsight' and table_name = '${name}' order by ordinal_position`
    )).split('\n')
    for (const [name, columns] of Object.entries(tables)) t.same((await columnsOf(name)).sort(), [...columns].sort(), name)
  })
})

const without = spawnSync('sqlite3', ['--version']).error !== undefined && process.env.CI === undefined && 'the program sqlite3 is not installed'

t.test('the commands with sqlite3, while the store is open', { skip: without }, async (t) => {
  const { storage, cwd, file } = await started(t)
  const commands = commandsOf('sqlite3')
  t.equal(commands.length, 3)
  const [newest = '', messages = '', removal = ''] = commands
  const shell = async (command: string): Promise<string> => (await run('bash', ['-c', command], { cwd })).stdout
  t.equal(await shell(newest), [...stored].reverse().map(({ token, time, status, url }) => `${token}|${time}|${status}|${url}\n`).join(''))
  t.equal(await shell(messages), `${message}\n`)

  await storage.put(Array.from(
    { length: 200 },
    (_, i) => recordOf(profile(`f${String(i).padStart(5, '0')}`, { time: '2025-01-01T00:00:00.000Z', collectors: { text: 'x'.repeat(10_000) } }))
  ))
  t.match(await storage.stats(), { profiles: 203 })
  const before = statSync(file).size + statSync(`${file}-wal`).size
  await shell(removal)
  t.ok(statSync(file).size + statSync(`${file}-wal`).size < before / 4, 'the space is given back')
  const bytes = stored.slice(1).reduce((sum, one) => sum + Buffer.byteLength(JSON.stringify(one)), 0)
  t.match(await storage.stats(), { profiles: 2, failures: 1, bytes })
  t.same((await storage.search({ limit: 9 })).profiles.map(({ token }) => token), ['00000c', '00000b'])
})

t.test('the command with psql', async (t) => {
  const postgres = await postgresServer(t)
  if (postgres === null) return
  const storage = await filled(t, { storage: postgres.url })
  const [command = '', ...others] = commandsOf('psql')
  t.same(others, [])
  const env = { ...process.env, STORAGE_URL: postgres.url, PATH: `${findPostgres()}:${process.env.PATH}` }
  const { stdout } = await run('bash', ['-c', command.replace('psql ', 'psql -X -q -A -t ')], { env })
  t.equal(stdout, `${message}\n`)
  await postgres.psql("delete from hindsight.profiles where time < '2026-01-01'")
  t.match(await storage.stats(), { profiles: 2, failures: 1 })
})

t.test('with the preload an application starts even if its store cannot be written', async (t) => {
  const folder = testdir(t, { file: '' })
  writeFileSync(join(folder, 'app.mjs'), `
import Fastify from 'fastify'
const app = Fastify()
app.get('/', async () => 'hello')
const { body } = await app.inject('/')
const { statusCode, body: page } = await app.inject('/_profiler/')
await app.close()
process.stdout.write(JSON.stringify({ body, statusCode, isReported: page.includes('1 profile of this process was lost') }))
`)
  const args = ['--import=tsx', `--import=${pathToFileURL(join(ROOT, 'packages/hindsight/src/register.ts')).href}`, 'app.mjs']
  const { stdout } = await run(process.execPath, args, { cwd: folder, env: { ...process.env, DATA_DIR: join(folder, 'file/data') } })
  t.same(JSON.parse(stdout), { body: 'hello', statusCode: 503, isReported: true })
})

const marked = (wanted: string): Snippet => {
  const found = snippetsOf(STORE).find(({ mark }) => mark === wanted)
  if (found === undefined) throw new Error(`${STORE} has no piece marked "${wanted}"`)
  return found
}

t.test('a store of your own', async (t) => {
  const folder = testdir(t)
  process.chdir(folder)
  t.teardown(() => process.chdir(ROOT))
  writeFileSync(join(folder, 'storage.mjs'), marked('run: store').code)
  const { app } = await runSnippet(marked('run: application with a store'), folder) as { app: FastifyInstance }
  t.teardown(() => app.close())
  t.equal((await app.inject('/broken')).statusCode, 500)
  await app.hindsight.profiler.flush()
  const lines = readFileSync('failures.ndjson', 'utf8').trim().split('\n')
  t.match(lines.map((line) => JSON.parse(line) as object), [{ status: 500, exceptions: [{ message: 'no' }] }])
  const methods = rowsOf(STORE, 'method').map(([name = '']) => /\w+/.exec(name)?.[0] ?? '')
  const store = new MemoryStorage() as unknown as Record<string, unknown>
  t.same(methods.filter((name) => typeof store[name] !== 'function').sort(), ['secret', 'settle', 'warmUp'], 'the optional ones')
  t.equal(methods.length, 10)
})

t.test('the contract test of a store of your own', async (t) => {
  const folder = testdir(t)
  const code = marked('run: store').code + marked('run: contract').code.replace(/^import .*storage\.mjs'\n/m, '')
  const results = await Promise.all([code, code.replace('super.put(profiles)', 'super.put(profiles.slice(1))')].map(async (code, i) => {
    const file = join(folder, `contract-${i}.ts`)
    writeFileSync(file, code)
    // As a run of its own.
    const { NODE_TEST_CONTEXT: _context, ...env } = process.env
    const args = ['--import=tsx', '--test-reporter=tap', file]
    return await run(process.execPath, args, { cwd: folder, env }).then(
      ({ stdout }) => ({ code: 0, stdout }), (error: { code: number, stdout: string }) => error
    )
  }))
  const cases = storageContract(() => new MemoryStorage()).length
  t.match(results[0], { code: 0, stdout: new RegExp(`^# pass ${cases}$`, 'm') })
  t.equal(results[1]?.code, 1, 'a store that loses profiles fails')
})

import diagnostics from 'node:diagnostics_channel'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import nodeModule, { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { MemoryStorage } from '../../src/store/memory.js'
import { DEFAULT_DATA_DIR, NO_SQLITE, openStorage, STORE_FILE, type OpenStorageOptions } from '../../src/store/open.js'
import { recordOf } from '../../src/store/summary.js'
import { profile } from '../parts/fixture.js'
import { testdir } from '../support/folder.js'

let workers = 0
diagnostics.subscribe('worker_threads', () => { workers++ })
const unwanted = (message: string): void => { t.fail(message) }

t.test('opening starts no thread and creates no file', async (t) => {
  const dataDir = join(testdir(t), 'new')
  for (const options of [{ dataDir }, { dataDir, storage: 'sqlite' }, { storage: 'memory' }, { dataDir, checkPlace: false }] satisfies OpenStorageOptions[]) {
    const storage = await openStorage({ warn: unwanted, ...options })
    t.equal(workers, 0)
    await storage.close()
  }
  t.same(readdirSync(dataDir), ['.gitignore'], 'in a new folder')
  t.equal(readFileSync(join(dataDir, '.gitignore'), 'utf8'), '*\n')
})

t.test('sqlite is the default, in its folder', async (t) => {
  const dataDir = testdir(t)
  for (const options of [{ maxProfiles: 7 }, { storage: 'sqlite', maxProfiles: 8 }] satisfies OpenStorageOptions[]) {
    const storage = await openStorage({ dataDir, warn: unwanted, ...options })
    await storage.put([recordOf(profile('000001'))])
    t.match(
      await storage.stats(), { engine: 'sqlite', place: join(dataDir, STORE_FILE), profiles: 1, maxProfiles: options.maxProfiles, maxBytes: 256 * 1024 * 1024 }
    )
    await storage.close()
  }
  t.equal(DEFAULT_DATA_DIR, 'node_modules/.cache/hindsight')
})

t.test('the memory store has no file', async (t) => {
  const dataDir = testdir(t)
  const storage = await openStorage({ storage: 'memory', dataDir, maxBytes: 5_000, warn: unwanted })
  await storage.put([recordOf(profile('000001'))])
  t.match(await storage.stats(), { engine: 'memory', profiles: 1, maxProfiles: 10_000, maxBytes: 5_000 })
  await storage.close()
  t.same(readdirSync(dataDir), [])
})

t.test('a PostgreSQL address opens no connection, and no message has its password', async (t) => {
  for (const scheme of ['postgres', 'postgresql', 'POSTGRES']) {
    // Nothing listens at port 1.
    const storage = await openStorage({ storage: `${scheme}://user:s3cret@127.0.0.1:1/profiles`, warn: unwanted })
    const error = await Promise.resolve(storage.stats()).catch((error: Error & { code?: string }) => error)
    t.match(error, { code: 'HINDSIGHT_STORAGE_UNUSABLE', message: '"postgres' })
    t.match(error, { message: '127.0.0.1:1/profiles' })
    t.notMatch(error, { message: 's3cret' })
    await storage.close()
  }
})

t.test('a text that names no store is refused, and the message has no part of it', async (t) => {
  const invalid = [
    'redis', '', 'sqlite:', 'redis://localhost:6379', 'redis://user:s3cret@localhost:6379', 'redis://user:s3@cret@localhost:6379',
    'postgress//u:s3cret@h/x', 'postgress://u:s3cret@h/x', 'postgres//u:s3cret@h/x', 'postgres:/u:s3cret@h/x', 'postgres:u:s3cret@h/x', 'postgres://',
    'postgres:///',
    'u:s3cret@h/x', 'mysql://h/x?password=s3cret', 'postgres://u:5/s3cret@h/x', 'postgres://u:5?s3cret@h/x', 'postgres://u:5#s3cret@h/x',
    'postgres://u:s3cret@h:99999/x'
  ]
  for (const storage of invalid) {
    const error = await openStorage({ storage, warn: unwanted }).then(() => null, (error: Error) => error)
    t.equal(error?.message, 'profiler.storage (STORAGE_URL): it is neither sqlite nor memory, nor an address such as ' +
      'postgres://user:password@localhost:5432/hindsight, in which special characters are percent-encoded', storage)
    t.notMatch(inspect(error), 's3', storage)
  }
  for (const storage of ['postgres:///hindsight', 'postgres://h/x?user=a@b', 'postgres://u:p%40%2F%3F%23@h/x', 'postgres://%2Fvar%2Frun/x']) {
    await (await openStorage({ storage, warn: unwanted })).close()
  }
})

t.test('a custom store is used unchanged', async (t) => {
  const storage = new MemoryStorage()
  t.equal(await openStorage({ storage, maxProfiles: 5 }), storage)
})

t.test('a folder that cannot be written is an error at once, or with the first profile', async (t) => {
  const folder = testdir(t, { file: '' })
  const dataDir = join(folder, 'file', 'data')
  await t.rejects(openStorage({ dataDir, warn: unwanted }), { code: 'HINDSIGHT_STORAGE_UNUSABLE', message: /ENOTDIR|EEXIST/ })
  const storage = await openStorage({ dataDir, checkPlace: false, warn: unwanted })
  t.teardown(() => storage.close())
  await t.rejects(async () => await storage.put([recordOf(profile('000001'))]), { code: 'HINDSIGHT_STORAGE_UNUSABLE', message: /ENOTDIR|EEXIST/ })
  const place = join(folder, 'taken')
  mkdirSync(join(place, STORE_FILE), { recursive: true })
  await t.rejects(openStorage({ dataDir: place, warn: unwanted }), { message: `The store "${join(place, STORE_FILE)}" cannot be used: it is not a file` })
})

const resolver = nodeModule as unknown as { _resolveFilename: (name: string, ...args: unknown[]) => string }

/** Until the end of the test, neither Node.js nor a package has SQLite. */
function hideSqlite (t: Test): void {
  const { isBuiltin } = nodeModule
  const { _resolveFilename } = resolver
  const replace = (functions: object): void => {
    Object.assign(nodeModule, functions)
    syncBuiltinESMExports()
  }
  t.teardown(() => { replace({ isBuiltin, _resolveFilename }) })
  replace({
    isBuiltin: (name: string) => name !== 'node:sqlite' && isBuiltin(name),
    _resolveFilename: (name: string, ...args: unknown[]) => _resolveFilename(name === '@photostructure/sqlite' ? 'missing-package' : name, ...args)
  })
}

t.test('without SQLite profiles are kept in memory, and one warning names the package to install', async (t) => {
  hideSqlite(t)
  const dataDir = join(testdir(t), 'new')
  const warnings: string[] = []
  for (const storage of ['sqlite', 'memory', undefined]) {
    const opened = await openStorage({ dataDir, maxProfiles: 9, warn: (message) => warnings.push(message), ...(storage !== undefined && { storage }) })
    await opened.put([recordOf(profile('000001'))])
    t.match(await opened.stats(), { engine: 'memory', profiles: 1, maxProfiles: 9 })
    t.equal(opened.constructor.name, 'MemoryStorage')
    await opened.close()
  }
  t.same(warnings, [`Profiles are kept in memory only: ${NO_SQLITE}.`])
  t.match(NO_SQLITE, '@photostructure/sqlite')
})

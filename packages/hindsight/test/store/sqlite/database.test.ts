import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { SqliteStorage } from '../../../src/store/sqlite.js'
import { checkWritable } from '../../../src/store/sqlite/availability.js'
import { failure, profile, tokens } from '../../parts/fixture.js'
import { asides, checkpoint, connection, isConsistent, listed, opened, openedByCommand, place, put } from '../support.js'

const FILES = ['profiles.db', 'profiles.db-lock', 'profiles.db-shm', 'profiles.db-wal']

t.test('a file that is not a sound database is set aside when it is opened', async (t) => {
  const made = place(t)
  const first = new SqliteStorage({ path: made })
  await put(first, tokens(1, 2_000).map((token) => failure(token)))
  await first.close()
  checkpoint(t, made)
  const sound = readFileSync(made)
  const damaged = Buffer.from(sound)
  for (let at = 4_096; at < damaged.length; at += 4_096) damaged.fill(0xFF, at, at + 100)
  const cases: Array<[name: string, make: (t: Test, path: string) => void, reason: string]> = [
    ['garbage', (_, path) => writeFileSync(path, Buffer.alloc(40_000, 'no store')), 'file is not a database'],
    ['a short text', (_, path) => writeFileSync(path, 'no store'), 'file is not a database'],
    ['cut in its middle', (_, path) => { writeFileSync(path, sound); truncateSync(path, sound.length >> 1) }, 'database disk image is malformed'],
    [
      'cut in its middle, within a page', (_, path) => { writeFileSync(path, sound); truncateSync(path, (sound.length >> 1) + 99) },
      'database disk image is malformed'
    ],
    ['cut after its first page', (_, path) => { writeFileSync(path, sound); truncateSync(path, 4_096) }, 'database disk image is malformed'],
    ['damaged pages', (_, path) => writeFileSync(path, damaged), 'database disk image is malformed']
  ]
  for (const [name, make, reason] of cases) {
    await t.test(name, async (t) => {
      const path = place(t)
      make(t, path)
      const bytes = readFileSync(path)
      const warnings: string[] = []
      const storage = opened(t, { path, warn: (message) => warnings.push(message) })
      for (const token of ['000001', '001999']) await storage.get(token)
      await listed(storage)
      await put(storage, [profile('000001')])
      const [aside = ''] = asides(path)
      t.same(warnings, [`The store "${path}" cannot be read (${reason}). It was set aside as "${join(dirname(path), aside)}"; a new one is created.`])
      // The header says how the file is written.
      t.ok(readFileSync(join(dirname(path), aside)).subarray(100).equals(bytes.subarray(100)), 'its bytes are kept')
      t.same(await isConsistent(t, storage), ['000001'])
    })
  }
})

t.test('a file that is damaged while it is open is set aside', async (t) => {
  const overwrite = (path: string, from: number, bytes: number): void => {
    const file = openSync(path, 'r+')
    for (let at = from; at < statSync(path).size; at += 4_096) writeSync(file, Buffer.alloc(bytes, 0xFF), 0, bytes, at)
    closeSync(file)
  }
  const cases: Array<[name: string, damage: (path: string) => void, reason: RegExp]> = [
    ['every page', (path) => overwrite(path, 0, 4_096), /file is not a database/],
    ['the begin of every page but the first', (path) => overwrite(path, 4_096, 100), /malformed/],
    ['emptied', (path) => truncateSync(path), /file is not a database|malformed/],
    ['cut in its middle', (path) => truncateSync(path, statSync(path).size >> 1), /malformed/],
    ['replaced by a text', (path) => writeFileSync(path, 'hello'), /file is not a database/]
  ]
  for (const [name, damage, reason] of cases) {
    await t.test(name, async (t) => {
      const path = place(t)
      const warnings: string[] = []
      const storage = opened(t, { path, warn: (message) => warnings.push(message) })
      // More than the cache of the connection holds.
      for (let at = 1; at <= 3_000; at += 200) {
        await put(storage, tokens(at, at + 199).map((token) => profile(token, { collectors: { text: 'x'.repeat(4_000) } })))
      }
      checkpoint(t, path)
      damage(path)
      await put(storage, [profile('00000a')])
      for (const token of tokens(1, 3_000)) await storage.get(token)
      await listed(storage)
      await put(storage, [profile('00000b')])
      t.equal(warnings.length, 1)
      t.match(warnings[0], reason)
      t.equal(asides(path).length, 1)
      const left = await isConsistent(t, storage)
      t.equal(left[0], '00000b')
      t.ok(left.length <= 2, 'no part of the damaged file remains')
      t.match(await storage.search({ limit: 1 }), { head: String(left.length) })
    })
  }
})

t.test('a file of an earlier schema is set aside once by an application, and not by a command', async (t) => {
  const path = place(t)
  const first = new SqliteStorage({ path })
  await put(first, [profile('000001')])
  await first.close()
  const other = connection(t, path)
  other.exec('pragma user_version = 1')
  other.close()
  const message = `The store "${path}" cannot be used: its schema has version 1, an earlier one than 2`
  await t.rejects(listed(await openedByCommand(t, path)), { code: 'HINDSIGHT_STORAGE_UNUSABLE', message })
  t.equal(asides(path).length, 0)
  const warnings: string[] = []
  const application = opened(t, { path, warn: (text) => warnings.push(text) })
  await put(application, [profile('000002')])
  t.same(await listed(application), ['000002'])
  t.equal(asides(path).length, 1)
  t.same(warnings, [`The store "${path}" cannot be read (its schema has version 1, an earlier one than 2). ` +
    `It was set aside as "${path}.set-aside"; a new one is created.`])
})

t.test('a database of another version or program is an error, and is not changed', async (t) => {
  const advice = 'use another folder \\(profiler\\.dataDir, DATA_DIR\\), or remove it$'
  const cases: Array<[sql: string, reason: string]> = [
    ['pragma user_version = 99', 'its schema has version 99, and this version of fastify-hindsight supports 2; '],
    ['drop table profiles; drop table profile_totals; create table requests (id integer); pragma user_version = 0', 'it is a database of another program; ']
  ]
  for (const [sql, reason] of cases) {
    const path = place(t)
    const first = new SqliteStorage({ path })
    await put(first, [profile('000001')])
    const other = connection(t, path)
    other.exec(sql)
    const second = await openedByCommand(t, path)
    const unusable = { code: 'HINDSIGHT_STORAGE_UNUSABLE', statusCode: 503, message: new RegExp(`^The store "${path}" cannot be used: ${reason}${advice}`) }
    await t.rejects(listed(second), unusable, 'a command')
    await first.close()
    other.close()
    const bytes = readFileSync(path)
    const application = opened(t, { path })
    await t.rejects(put(application, [profile('000002')]), unusable, 'an application')
    await t.rejects(listed(application), unusable)
    t.ok(readFileSync(path).equals(bytes), sql)
    t.same(asides(path), [])
  }
})

t.test('what is dropped in the database is created again, and no profile is lost by it', async (t) => {
  const drops: Array<[sql: string, kept: number]> = [
    ['drop table profile_totals', 2], ['drop table form_secret', 2], ['drop index profiles_by_error', 2], ['drop trigger profiles_inserted', 2],
    ['drop table profiles', 0]
  ]
  for (const [sql, kept] of drops) {
    for (const isOpen of [true, false]) {
      const path = place(t)
      let storage = opened(t, { path })
      await put(storage, [profile('000001'), failure('000002')])
      if (!isOpen) await storage.close()
      const other = connection(t, path)
      other.exec(sql)
      other.close()
      const reader = await openedByCommand(t, path)
      if (sql === 'drop table profiles') await t.rejects(listed(reader), { message: /no such table: profiles$/ }, 'a command creates nothing')
      // Nothing shows an open store that these are missing.
      if (/index|trigger/.test(sql)) await storage.close()
      if (!isOpen || /index|trigger/.test(sql)) storage = opened(t, { path })
      t.match(await storage.secret(), /^[0-9A-F]{64}$/)
      await put(storage, [profile('000003')])
      t.equal((await isConsistent(t, storage)).length, kept + 1, `${sql}, ${isOpen ? 'open' : 'closed'}`)
      t.same(asides(path), [])
    }
  }
})

t.test('a file without a column of its version is set aside', async (t) => {
  const path = place(t)
  const warnings: string[] = []
  const storage = opened(t, { path, warn: (message) => warnings.push(message) })
  await put(storage, [profile('000001')])
  const other = connection(t, path)
  other.exec('alter table profiles drop column route')
  other.close()
  await put(storage, [profile('000002')])
  t.same(await isConsistent(t, storage), ['000002'])
  t.match(warnings, [/no column named route.*set aside/])
})

t.test('a store that may not be replaced is not set aside, whatever it contains', async (t) => {
  const path = place(t)
  writeFileSync(path, Buffer.alloc(40_000, 'no store'))
  const bytes = readFileSync(path)
  const reader = await openedByCommand(t, path)
  for (let i = 0; i < 3; i++) {
    await t.rejects(listed(reader), { code: 'HINDSIGHT_STORAGE_UNUSABLE', message: `The store "${path}" cannot be used: file is not a database` })
  }
  t.ok(readFileSync(path).equals(bytes))
  t.same(asides(path), [])
  const warnings: string[] = []
  await put(opened(t, { path, warn: (message) => warnings.push(message) }), [profile('000001')])
  t.equal(warnings.length, 1, 'the application replaces it')
  t.same(await listed(reader), ['000001'], 'the reader reads the new file')
})

t.test('no file that was set aside is replaced', async (t) => {
  const path = place(t)
  for (let i = 0; i < 3; i++) {
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true })
    writeFileSync(path, `garbage ${i}`)
    const storage = new SqliteStorage({ path, warn: () => {} })
    await put(storage, [profile('000001')])
    await storage.close()
  }
  const names = ['profiles.db.set-aside', 'profiles.db.set-aside-2', 'profiles.db.set-aside-3']
  t.same(readdirSync(dirname(path)).filter((name) => !FILES.includes(name)).sort(), names)
  t.same(names.map((name) => readFileSync(join(dirname(path), name), 'utf8')), ['garbage 0', 'garbage 1', 'garbage 2'])
})

t.test('a folder at the path is not changed', async (t) => {
  const path = place(t)
  mkdirSync(path)
  writeFileSync(join(path, 'a'), 'of somebody')
  const unusable = { code: 'HINDSIGHT_STORAGE_UNUSABLE', statusCode: 503, message: `The store "${path}" cannot be used: it is not a file` }
  const storage = opened(t, { path })
  await t.rejects(put(storage, [profile('000001')]), unusable)
  await t.rejects(listed(storage), unusable)
  t.throws(() => checkWritable(path), unusable)
  t.equal(readFileSync(join(path, 'a'), 'utf8'), 'of somebody')
  rmSync(path, { recursive: true })
  await put(storage, [profile('000001')])
  t.same(await listed(storage), ['000001'], 'it works when the folder is removed')
})

t.test('if no file can be created, the error names the reason', async (t) => {
  const folder = dirname(place(t))
  writeFileSync(join(folder, 'file'), '')
  const path = join(folder, 'file', 'profiles.db')
  const unusable = { code: 'HINDSIGHT_STORAGE_UNUSABLE', message: /^The store ".*profiles\.db" cannot be used: .*(?:ENOTDIR|EEXIST)/ }
  await t.rejects(put(opened(t, { path }), [profile('000001')]), unusable)
  t.throws(() => checkWritable(path), unusable)
})

t.test('damage within texts affects only these profiles', async (t) => {
  const path = place(t)
  const first = new SqliteStorage({ path })
  await put(first, tokens(1, 1_000).map((token) => profile(token, { url: `http://h/${token}`, collectors: { text: 'y'.repeat(3_000) } })))
  await first.close()
  checkpoint(t, path)
  const bytes = readFileSync(path)
  for (let at = bytes.indexOf('yyyyyyyy'); at !== -1 && at < bytes.length / 2; at = bytes.indexOf('yyyyyyyy', at + 100_000)) bytes.write('"}', at)
  writeFileSync(path, bytes)
  const storage = opened(t, { path })
  const read = await Promise.all(tokens(1, 1_000).map(async (token) => await storage.get(token)))
  const lost = read.filter((found) => found === undefined).length
  t.ok(lost > 0 && lost < 100, `${lost} of 1,000`)
  t.equal((await listed(storage)).length, 1_000)
  t.same(asides(path), [])
})

import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import t from 'tap'
import { SqliteStorage } from '../../../../src/store/sqlite.js'
import { checkWritable } from '../../../../src/store/sqlite/availability.js'
import { failure, profile, tokens } from '../../../parts/fixture.js'
import { isLong } from '../../../support/long.js'
import { asides, isConsistent, listed, opened, PER_BATCH, place, put, run, until, writer } from '../../../store/support.js'

const ROUNDS = isLong ? 5 : 2
const FILES = ['profiles.db', 'profiles.db-lock', 'profiles.db-shm', 'profiles.db-wal']

t.test('a store that is removed while it is open is created again, for all its users', async (t) => {
  const ways: Array<[name: string, remove: (path: string) => void]> = [
    ['with its folder', (path) => rmSync(dirname(path), { recursive: true })],
    ['alone', (path) => rmSync(path)],
    ['with its lock and its log', (path) => { for (const suffix of ['', '-lock', '-wal', '-shm']) rmSync(path + suffix) }]
  ]
  for (const [name, remove] of ways) {
    await t.test(name, async (t) => {
      const path = place(t)
      const warnings: string[] = []
      const warn = (message: string): void => { warnings.push(message) }
      const [first, second] = [opened(t, { path, warn }), opened(t, { path, warn })]
      await put(first, tokens(1, 30).map((token) => profile(token)))
      remove(path)
      await Promise.all([put(first, [profile('00000a')]), put(second, [failure('00000b')])])
      t.same(warnings, [`The store "${path}" was removed; a new one is created.`])
      t.same((await isConsistent(t, second)).sort(), ['00000a', '00000b'])
      const other = writer(t, path, 'c', 3)
      t.equal(await other.ended, 0)
      t.equal((await isConsistent(t, first)).length, 2 + 3 * PER_BATCH)
      // A new folder has one more.
      t.same(readdirSync(dirname(path)).filter((name) => name !== '.gitignore').sort(), FILES)
    })
  }
})

t.test('several processes whose store is removed continue in one new store', async (t) => {
  const path = place(t)
  const storage = opened(t, { path, maxProfiles: 5_000, maxBytes: 2 ** 26, warn: () => {} })
  const others = [writer(t, path, 'a'), writer(t, path, 'b')]
  await until(() => others.every(({ written }) => written() > 0))
  for (let round = 0; round < ROUNDS; round++) {
    // At once: a removal file by file could remove a part of the new store too.
    const [removed, aside] = [round % 2 === 0 ? dirname(path) : path, `${dirname(path)}-removed`]
    renameSync(removed, aside)
    rmSync(aside, { recursive: true })
    await until(async () => {
      await put(storage, [profile('cccccc')])
      const found = await listed(storage)
      return ['a', 'b', 'c'].every((prefix) => found.some((token) => token.startsWith(prefix)))
    })
  }
  t.same(others.map(({ exitCode }) => exitCode()), [null, null], 'no process has failed')
  for (const { kill } of others) kill()
  await Promise.all(others.map(({ ended }) => ended))
  await isConsistent(t, storage)
})

t.test('a damaged file is set aside once by all processes that open it', async (t) => {
  const path = place(t)
  writeFileSync(path, Buffer.alloc(40_000, 'no store'))
  const others = ['a', 'b', 'c'].map((prefix) => writer(t, path, prefix, 5))
  t.same(await Promise.all(others.map(({ ended }) => ended)), [0, 0, 0])
  t.equal(others.flatMap(({ warnings }) => warnings()).length, 1)
  t.equal(asides(path).length, 1)
  t.equal((await isConsistent(t, opened(t, { path }))).length, 3 * 5 * PER_BATCH)
})

t.test('a write-ahead log that is damaged while closed costs only its own profiles', async (t) => {
  const path = place(t)
  const process = writer(t, path, 'a')
  await until(() => process.written() > 20)
  process.kill()
  await process.ended
  t.ok(statSync(`${path}-wal`).size > 0)
  writeFileSync(`${path}-wal`, Buffer.alloc(100_000, 0xFF))
  const storage = opened(t, { path })
  await isConsistent(t, storage)
  await put(storage, [profile('00000b')])
  t.equal((await isConsistent(t, storage))[0], '00000b')
})

t.test('a file of the store that is in the way is repaired, or named', async (t) => {
  for (const suffix of ['-lock', '-wal', '-shm', '-lock-journal']) {
    const path = place(t)
    const first = new SqliteStorage({ path })
    await put(first, [profile('000001')])
    await first.close()
    writeFileSync(path + suffix, Buffer.alloc(40_000, 'garbage '))
    const [storage, other] = [opened(t, { path }), writer(t, path, 'a', 2)]
    await put(storage, [profile('000002')])
    t.equal(await other.ended, 0)
    const tokens = await isConsistent(t, storage)
    t.equal(tokens.length, 2 + 2 * PER_BATCH, suffix)
    t.same(asides(path), [])
  }
  for (const suffix of ['-lock', '-wal', '-shm']) {
    const path = place(t)
    mkdirSync(path + suffix)
    const storage = opened(t, { path })
    const unusable = { code: 'HINDSIGHT_STORAGE_UNUSABLE', message: `The store "${path}" cannot be used: "${path}${suffix}" is not a file` }
    await t.rejects(put(storage, [profile('000001')]), unusable)
    t.throws(() => checkWritable(path), unusable)
    rmSync(path + suffix, { recursive: true })
    await put(storage, [profile('000001')])
    t.same(await listed(storage), ['000001'], 'it works when the folder is removed')
  }
})

t.test('without permission the error names the reason', { skip: process.platform === 'win32' && 'Windows has no file modes' }, async (t) => {
  const path = place(t)
  const storage = opened(t, { path })
  await put(storage, [profile('000001')])
  const { code, output, errors } = await run('unprivileged.ts', [path])
  t.equal(code, 0, errors)
  const reason = `HINDSIGHT_STORAGE_UNUSABLE The store "${path}" cannot be used: EACCES: permission denied`
  const { check, put: written, ...read } = JSON.parse(output) as Record<string, string>
  for (const message of [check, written]) t.equal(message?.slice(0, reason.length), reason)
  t.same(read, { get: 'done', search: 'done' }, 'it can be read')
  t.same(await listed(storage), ['000001'])
})

t.test('a file that cannot grow rejects writes, and can be read', { skip: process.platform === 'win32' && 'Windows has no such limit' }, async (t) => {
  const path = place(t)
  // A limit of the shell stands for a full disk.
  const { code, output, errors } = await run('full.ts', [path], 'ulimit -f 2000')
  t.equal(code, 0, errors)
  const {
    written, messages, listed: found, read, warnings
  } = JSON.parse(output) as { written: number, messages: string[], listed: number, read: number, warnings: string[] }
  t.ok(written > 0 && written < 400, `${written} of 400 written`)
  t.ok(messages.length > 0)
  for (const message of messages) t.match(message, `Error: The store "${path}" cannot be used: `)
  t.same([found, read], [written, written])
  t.same([warnings, asides(path)], [[], []], 'it is not damaged')
  const storage = opened(t, { path })
  t.equal((await isConsistent(t, storage)).length, written)
  await put(storage, [profile('00000a')])
  t.equal((await storage.get('00000a'))?.token, '00000a')
})

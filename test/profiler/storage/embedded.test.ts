import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { open } from 'lmdb'
import t, { type Test } from 'tap'
import { openEmbeddedStorage, type EmbeddedStorage, type EmbeddedStorageOptions } from '../../../plugins/profiler/storage/embedded.js'
import { failure, profile, tokens } from '../fixture.js'
import { storageContract } from './contract.js'

const WRITER = join(import.meta.dirname, 'processes/writer.ts')
const PER_BATCH = 20

function place (t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'profiles')
}

async function opened (t: Test, options: EmbeddedStorageOptions): Promise<EmbeddedStorage> {
  const storage = await openEmbeddedStorage({ warn: (message) => t.fail(message), ...options })
  t.teardown(() => storage.close())
  return storage
}

const listed = async (storage: EmbeddedStorage): Promise<string[]> => (await storage.search({ limit: 100_000 })).profiles.map(({ token }) => token)
const asides = (path: string): string[] => readdirSync(dirname(path)).filter((name) => name.startsWith(`${basename(path)}.set-aside-`))

/** A process that writes; how many batches it told of, when it has ended. */
function writer (path: string, prefix: string, batches = Infinity): { started: Promise<unknown>, told: () => number, kill: () => void, ended: Promise<number | null> } {
  const child = spawn(process.execPath, ['--import=tsx', WRITER, path, prefix, String(batches)], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => { output += text })
  const started = once(child.stdout, 'data')
  return { started, told: () => output.split('\n').length - 2, kill: () => { child.kill('SIGKILL') }, ended: once(child, 'close').then(([code]) => code as number | null) }
}

/** What is listed can be read, is listed once, and is as many as the store says. */
async function isConsistent (t: Test, storage: EmbeddedStorage): Promise<string[]> {
  const found = await listed(storage)
  const { profiles, failures } = await storage.stats()
  t.equal(found.length, profiles, 'as many as are counted')
  t.equal(new Set(found).size, found.length, 'each once')
  t.equal((await storage.search({ limit: 100_000, criteria: { error: true } })).profiles.length, failures, 'as many failures as are counted')
  const unread: string[] = []
  for (const token of found) if ((await storage.get(token))?.token !== token) unread.push(token)
  t.same(unread, [], 'all are read')
  return found
}

t.test('contract', (t) => storageContract(t, async (bounds) => await openEmbeddedStorage({ path: place(t), ...bounds })))

t.test('what was put is there after a restart', async (t) => {
  const path = place(t)
  const first = await openEmbeddedStorage({ path })
  await first.put([...tokens(1, 600).map((token) => profile(token)), failure('00000a')])
  await first.pin('000300', true)
  const before = await first.search({ limit: 1_000 })
  const stats = await first.stats()
  await first.close()
  const second = await opened(t, { path })
  t.strictSame(await second.search({ limit: 1_000 }), before)
  t.strictSame(await second.stats(), stats)
  t.strictSame((await second.search({ limit: 1, after: before.head })).profiles, [])
  await second.put([profile('00000b')])
  t.same((await second.search({ limit: 5, after: before.head })).profiles.map(({ token }) => token), ['00000b'])
})

t.test('bounds that were lowered hold from the next write on', async (t) => {
  const path = place(t)
  const first = await openEmbeddedStorage({ path, maxProfiles: 20_000 })
  await first.put(tokens(1, 12_000).map((token) => profile(token)))
  await first.close()
  const second = await opened(t, { path, maxProfiles: 100 })
  await second.put([profile('00000a')])
  t.same(await isConsistent(t, second), ['00000a', ...tokens(11_902, 12_000).reverse()])
})

t.test('nobody else may read it', async (t) => {
  const path = place(t)
  await opened(t, { path })
  for (const file of [path, `${path}-lock`]) t.equal(statSync(file).mode & 0o777, 0o600, file)
})

t.test('who is told no bounds takes those of the others', async (t) => {
  const path = place(t)
  const service = await opened(t, { path, maxProfiles: 20_000 })
  await service.put(tokens(1, 11_000).map((token) => profile(token)))
  const command = await opened(t, { path })
  t.match(await command.stats(), { profiles: 11_000, maxProfiles: 20_000, maxBytes: 256 * 1024 * 1024 })
  await command.pin('000001', true)
  await command.put([profile('00000a')])
  t.match(await service.stats(), { profiles: 11_001, pinned: 1 })
})

t.test('two processes write and read one store at once', async (t) => {
  const path = place(t)
  const storage = await opened(t, { path, maxProfiles: 5_000, maxBytes: 2 ** 26 })
  const others = [writer(path, 'a', 40), writer(path, 'b', 40)]
  await Promise.all(others.map(({ started }) => started))
  for (let round = 0; round < 40; round++) {
    await storage.put([profile(`c${String(round).padStart(5, '0')}`)])
    await storage.search({ limit: 10, criteria: { url: `/b/${round}` } })
  }
  t.same(await Promise.all(others.map(({ ended }) => ended)), [0, 0])
  const found = await isConsistent(t, storage)
  t.same(['a', 'b', 'c'].map((prefix) => found.filter((token) => token.startsWith(prefix)).length), [800, 800, 40])
})

t.test('a process that is killed while it writes loses no batch that was written', async (t) => {
  const path = place(t)
  for (const prefix of ['1', '2', '3', '4']) {
    const process = writer(path, prefix)
    await process.started
    while (process.told() < 5) await sleep(5)
    await sleep(Math.random() * 60)
    process.kill()
    await process.ended
    const told = process.told()
    const storage = await openEmbeddedStorage({ path, warn: (message) => t.fail(message) })
    const found = (await isConsistent(t, storage)).filter((token) => token.startsWith(prefix)).length
    t.equal(found % PER_BATCH, 0, 'a batch is there as a whole, or not at all')
    t.ok(found >= told * PER_BATCH && found <= (told + 2) * PER_BATCH, `${found} profiles of ${told} batches`)
    await storage.put([profile('00000a')])
    await storage.close()
  }
})

t.test('a file that grows is mapped once', { skip: process.platform !== 'linux' && 'only Linux tells what is mapped' }, async (t) => {
  const path = place(t)
  const storage = await opened(t, { path })
  const maps = (): number => readFileSync('/proc/self/maps', 'utf8').split('\n').filter((line) => line.endsWith(path)).length
  for (let batch = 0; batch < 4; batch++) {
    const written = tokens(batch * 250, batch * 250 + 249)
    await storage.put(written.map((token) => profile(token, { url: `http://localhost/${token.repeat(500)}` })))
    t.type(await storage.get(written[0] as string), 'object')
  }
  t.ok(statSync(path).size > 2_000_000)
  t.equal(maps(), 1)
})

t.test('a store at its bound does not grow', async (t) => {
  const path = place(t)
  const storage = await opened(t, { path, maxProfiles: 2_000 })
  const sizes: number[] = []
  for (let turnover = 0; turnover < 8; turnover++) {
    for (let at = 0; at < 2_000; at += 50) {
      await storage.put(Array.from({ length: 50 }, (_, i) => {
        const token = (turnover * 2_000 + at + i).toString(16).padStart(6, '0')
        const changes = { url: `http://h/${token}`, collectors: { text: 'x'.repeat(Math.random() * 8_000) } }
        return i % 9 === 0 ? failure(token, changes) : profile(token, changes)
      }))
    }
    sizes.push(statSync(path).size)
  }
  const [, settled = 0] = sizes
  // One that took new room for each round would have several times that; free pages that lie apart make it somewhat larger.
  t.ok(sizes.slice(2).every((size) => size <= settled * 1.6), sizes.join(' '))
  t.match(await storage.stats(), { profiles: 2_000 })
  await isConsistent(t, storage)
})

t.test('a purge of many leaves the rest, and what is pinned', async (t) => {
  const storage = await opened(t, { path: place(t) })
  const all = tokens(1, 3_000)
  await storage.put(all.map((token, i) => profile(token, { status: i % 10 === 0 ? 201 : 404 })))
  await storage.pin('000002', true)
  t.equal(await storage.purge({ status: '404' }), 2_699)
  const rest = all.filter((_, i) => i % 10 === 0 || i === 1).reverse()
  t.same(await isConsistent(t, storage), rest)
  t.equal(await storage.pin('000002', false), true)
  t.same(await isConsistent(t, storage), rest)
  await storage.pin('000001', true)
  t.equal(await storage.purge(), 300)
  t.same(await isConsistent(t, storage), ['000001'])
  t.equal((await storage.get('000001'))?.status, 201)
})

t.test('one path that is opened twice', async (t) => {
  const path = place(t)
  const first = await openEmbeddedStorage({ path })
  const second = await opened(t, { path })
  await Promise.all([first.put([profile('000001')]), second.put([profile('000002')])])
  await first.close()
  await second.put([profile('000003')])
  t.equal((await isConsistent(t, second)).length, 3)
  await t.rejects(first.search({ limit: 1 }), { message: `The store "${path}" is closed.` })
})

t.test('a thread that opens the same path, and ends', async (t) => {
  const path = place(t)
  const storage = await opened(t, { path, maxProfiles: 5_000 })
  await storage.put([profile('000001')])
  const code = `import('tsx/esm/api').then(({ register }) => { register(); return import(${JSON.stringify(pathToFileURL(WRITER).href)}) })`
  const worker = new Worker(code, { eval: true, argv: [path, 'a', '5'], execArgv: [], stdout: true })
  t.same(await once(worker, 'exit'), [0])
  await storage.put([profile('000002')])
  t.equal((await isConsistent(t, storage)).length, 102)
})

t.test('closing while it is read and written', async (t) => {
  const path = place(t)
  const storage = await openEmbeddedStorage({ path })
  await storage.put(tokens(1, 2_000).map((token) => profile(token)))
  const under = Promise.allSettled([storage.put([profile('00000a')]), storage.search({ limit: 10_000, criteria: { url: 'robots' } })])
  await Promise.all([storage.close(), storage.close()])
  t.equal((await under)[0]?.status, 'fulfilled')
  t.equal(storage.has('000001'), false)
  const calls: Array<() => Promise<unknown>> = [() => storage.get('000001'), () => storage.stats(), () => storage.put([profile('00000b')]), () => storage.purge(), () => storage.search({ limit: 1 })]
  for (const call of calls) {
    await t.rejects(async () => { await call() }, { code: 'HINDSIGHT_STORAGE_CLOSED', message: `The store "${path}" is closed.` })
  }
  t.equal((await opened(t, { path })).has('00000a'), true)
})

t.test('a store that is removed while it is open begins anew, for all who use it', async (t) => {
  for (const [name, remove] of [
    ['with its folder', (path) => rmSync(dirname(path), { recursive: true })],
    ['alone, its lock stays', (path) => rmSync(path)],
    ['with its lock', (path) => { for (const file of [path, `${path}-lock`]) rmSync(file) }]
  ] as Array<[string, (path: string) => void]>) {
    await t.test(name, async (t) => {
      const path = place(t)
      const warnings: string[] = []
      const warn = (message: string): void => { warnings.push(message) }
      const first = await opened(t, { path, warn })
      const second = await opened(t, { path, warn })
      await first.put(tokens(1, 30).map((token) => profile(token)))
      // Closed after it was moved away from.
      const reading = first.search({ limit: 100, criteria: { url: 'robots' } })
      remove(path)
      await Promise.all([first.put([profile('00000a')]), second.put([failure('00000b')])])
      t.equal((await reading).profiles.length, 30)
      t.same(warnings, [`The store "${path}" was removed; a new one begins.`])
      t.same((await isConsistent(t, second)).sort(), ['00000a', '00000b'])
      const other = writer(path, 'c', 3)
      t.equal(await other.ended, 0)
      t.equal((await isConsistent(t, first)).length, 62)
      t.same(readdirSync(dirname(path)).sort(), ['profiles', 'profiles-lock'])
    })
  }
})

t.test('several processes whose store is removed go on in one new store', async (t) => {
  const path = place(t)
  const storage = await opened(t, { path, maxProfiles: 5_000, maxBytes: 2 ** 26, warn: () => {} })
  const others = [writer(path, 'a'), writer(path, 'b')]
  await Promise.all(others.map(({ started }) => started))
  for (let round = 0; round < 5; round++) {
    // At once: what is removed file by file takes the lock of a store that was begun meanwhile with it.
    const [gone, aside] = [round % 2 === 0 ? dirname(path) : path, `${dirname(path)}-gone`]
    renameSync(gone, aside)
    rmSync(aside, { recursive: true })
    let missing = ['a', 'b', 'c']
    for (const until = performance.now() + 10_000; missing.length > 0 && performance.now() < until; await sleep(5)) {
      await storage.put([profile('cccccc')])
      const found = await listed(storage)
      missing = missing.filter((prefix) => !found.some((token) => token.startsWith(prefix)))
    }
    t.same(missing, [], 'all are there')
  }
  for (const { kill } of others) kill()
  await Promise.all(others.map(({ ended }) => ended))
  await isConsistent(t, storage)
})

t.test('a batch packs what comes, can be read meanwhile, and is written as a whole', async (t) => {
  const storage = await opened(t, { path: place(t), maxBytes: 100_000 })
  const batch = storage.batch()
  const all = tokens(1, 150).map((token, i) => i % 10 === 0 ? failure(token) : profile(token, { collectors: { i } }))
  for (const one of all) batch.add(one)
  t.throws(() => batch.add(profile('../../x')), { message: /Invalid token/ })
  batch.add(profile('00ffff', { collectors: { text: 'x'.repeat(100_001) } }))
  t.same(await listed(storage), [], 'nothing is written yet')
  for (const one of all) t.strictSame(batch.get(one.token), JSON.parse(JSON.stringify(one)))
  t.equal(batch.get('00ffff'), undefined, 'too large for the store')
  t.equal(batch.get('ffffff'), undefined)
  await batch.write()
  t.same((await isConsistent(t, storage)).sort(), tokens(1, 150))
  for (const one of all) t.strictSame(await storage.get(one.token), JSON.parse(JSON.stringify(one)))
})

t.test('a batch of a store that is closed is refused', async (t) => {
  const storage = await openEmbeddedStorage({ path: place(t) })
  const before = storage.batch()
  before.add(profile('000001'))
  await storage.close()
  await t.rejects(before.write(), { code: 'HINDSIGHT_STORAGE_CLOSED' })
  const behind = storage.batch()
  behind.add(profile('000001'))
  await t.rejects(behind.write(), { code: 'HINDSIGHT_STORAGE_CLOSED' })
})

t.test('a token that is none is refused, with its batch', async (t) => {
  const storage = await opened(t, { path: place(t) })
  await t.rejects(storage.put([profile('000001'), profile('../../x')]), { statusCode: 400, message: 'Invalid token "../../x": a profile is stored by six lower-case hexadecimal digits.' })
  t.same(await listed(storage), [])
})

t.test('what is no sound store is set aside', async (t) => {
  const whole = place(t)
  const made = await openEmbeddedStorage({ path: whole })
  await made.put(tokens(1, 2_000).map((token) => failure(token)))
  await made.close()
  const bytes = readFileSync(whole)
  const garbage = Buffer.alloc(40_000, 'no store')
  const flipped = Buffer.from(bytes)
  for (let at = 8_192 + 18; at < flipped.length; at += 4_096) flipped[at] = 0xFF
  const cases: Array<[name: string, make: (path: string) => unknown, reason: string]> = [
    ['garbage', (path) => writeFileSync(path, garbage), 'it is no store'],
    ['a short text', (path) => writeFileSync(path, 'x'), 'it was cut short'],
    ['cut in its middle', (path) => { writeFileSync(path, bytes); truncateSync(path, bytes.length >> 1) }, 'it was cut short, or a page is damaged'],
    ['cut behind its first page', (path) => { writeFileSync(path, bytes); truncateSync(path, 4_096) }, 'it was cut short'],
    ['damaged pages', (path) => writeFileSync(path, flipped), 'a page is damaged'],
    ['another format', async (path) => {
      const old = open<string, string>({ path, noSubdir: true, encoding: 'string' })
      await old.put('state', JSON.stringify({ format: 0 }))
      await old.close()
    }, 'its format is 0, and this version knows 3'],
    ['a store of something else', async (path) => {
      const other = open<string, string>({ path, noSubdir: true, encoding: 'string' })
      await other.put('state', 'no JSON')
      await other.close()
    }, 'it has no format that is known']
  ]
  for (const [name, make, reason] of cases) {
    await t.test(name, async (t) => {
      const path = place(t)
      await make(path)
      const warnings: string[] = []
      const storage = await opened(t, { path, warn: (message) => warnings.push(message) })
      const [aside = ''] = asides(path)
      t.same(warnings, [`The store "${path}" cannot be read (${reason}). It was set aside as "${join(dirname(path), aside)}"; a new one begins.`])
      await storage.put([profile('000001')])
      t.same(await listed(storage), ['000001'])
    })
  }
})

t.test('a folder in its place is somebody’s, and left alone', async (t) => {
  const path = place(t)
  mkdirSync(path)
  writeFileSync(join(path, 'a'), 'mine')
  await t.rejects(openEmbeddedStorage({ path }), { message: `The store "${path}" cannot be used: what is in its place is no file` })
  t.equal(readFileSync(join(path, 'a'), 'utf8'), 'mine')
  await t.rejects(openEmbeddedStorage({ path: '' }), { message: 'The store "" cannot be used: the path is empty' })
})

t.test('no more than two are kept of what was set aside', async (t) => {
  const path = place(t)
  for (let i = 0; i < 4; i++) {
    writeFileSync(path, `garbage ${i}`)
    await (await openEmbeddedStorage({ path, warn: () => {} })).close()
    await sleep(2)
  }
  t.same(asides(path).map((name) => readFileSync(join(dirname(path), name), 'utf8')), ['garbage 2', 'garbage 3'])
})

t.test('damage that is not seen at once costs no more than what is damaged', async (t) => {
  const path = place(t)
  const made = await openEmbeddedStorage({ path })
  await made.put(tokens(1, 1_000).map((token) => profile(token, { url: `http://h/${token}`, collectors: { text: 'y'.repeat(3_000) } })))
  await made.close()
  const bytes = readFileSync(path)
  for (let at = bytes.indexOf('yyyyyyyy'); at !== -1 && at < bytes.length / 2; at = bytes.indexOf('yyyyyyyy', at + 100_000)) bytes.write('"}', at)
  writeFileSync(path, bytes)
  const storage = await opened(t, { path })
  const gone = []
  for (const token of tokens(1, 1_000)) if (await storage.get(token) === undefined) gone.push(token)
  t.ok(gone.length > 0 && gone.length < 100, `${gone.length} of 1,000`)
  t.equal((await listed(storage)).length, 1_000)
})

t.test('where nothing can be written, opening says so', async (t) => {
  const folder = dirname(place(t))
  writeFileSync(join(folder, 'file'), '')
  await t.rejects(openEmbeddedStorage({ path: join(folder, 'file', 'profiles') }), { code: 'HINDSIGHT_STORAGE_UNUSABLE', message: `The store "${join(folder, 'file', 'profiles')}" cannot be used: ` })
  // Root may write anywhere.
  if (process.getuid?.() === 0) return
  chmodSync(folder, 0o500)
  await t.rejects(openEmbeddedStorage({ path: join(folder, 'profiles') }), { code: 'HINDSIGHT_STORAGE_UNUSABLE', message: /EACCES/ })
})

t.test('a file that cannot grow rejects writes, and is read', { skip: process.platform === 'win32' }, async (t) => {
  const path = place(t)
  // A limit of the shell stands for a disk that is full.
  const child = spawn('sh', ['-c', `ulimit -f 2000; exec "${process.execPath}" --import=tsx "${join(import.meta.dirname, 'processes/full.ts')}" "${path}"`], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let printed = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => { printed += text })
  child.stdout.setEncoding('utf8').on('data', (text: string) => { output += text })
  t.same(await once(child, 'close'), [0, null])
  const { written, refused, read, message } = JSON.parse(output) as { written: number, refused: number, read: number, message: string }
  t.ok(written > 0 && refused > 0, `${written} batches written, ${refused} refused`)
  t.equal(read, written)
  t.match(message, `The store "${path}" cannot be used: `)
  // How often depends on how many are under way at once.
  t.ok(printed.split('Write error:').length - 1 < refused / 4, `LMDB does not print for each of ${refused}: ${printed}`)
  const storage = await opened(t, { path })
  t.equal((await isConsistent(t, storage)).length, written)
  await storage.put([profile('00000a')])
  t.equal(storage.has('00000a'), true)
})

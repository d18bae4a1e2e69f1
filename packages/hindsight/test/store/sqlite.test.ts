import diagnostics from 'node:diagnostics_channel'
import { existsSync, rmSync, statSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import t from 'tap'
import { Profiler } from '../../src/store/profiler.js'
import { SqliteStorage } from '../../src/store/sqlite.js'
import { profile, tokens } from '../parts/fixture.js'
import { connection, isConsistent, listed, opened, place, put, recordsOf, until } from './support.js'

const workers: Worker[] = []
diagnostics.subscribe('worker_threads', (message) => { workers.push((message as { worker: Worker }).worker) })
const latest = (): Worker => workers.at(-1) as Worker

/** Makes the thread end by an exception, before it reads what is posted from now on. */
async function crash (): Promise<void> {
  const worker = latest()
  worker.postMessage(null)
  await new Promise((resolve) => worker.once('exit', resolve))
}

t.test('the first call to any store starts one thread for all stores', async (t) => {
  const [first, second] = [opened(t, { path: place(t) }), opened(t, { path: place(t) })]
  await turn()
  t.equal(workers.length, 0, 'opening a store does not start it')
  await Promise.all([put(first, [profile('000001')]), put(second, [profile('000002')]), first.stats()])
  t.equal(workers.length, 1)
})

t.test('closing an unused store starts no thread and creates no file', async (t) => {
  const path = place(t)
  const before = workers.length
  await opened(t, { path }).close()
  t.equal(workers.length, before)
  t.notOk(existsSync(path))
})

t.test('a database stays open for the next store, and is closed after the delay of the last one', async (t) => {
  const path = place(t)
  // The package for Node 20 keeps an empty log until its statements are collected.
  const isOpen = (): boolean => (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
  const first = opened(t, { path, closeDelay: 60_000 })
  await put(first, [profile('000001')])
  await first.close()
  t.ok(isOpen())
  await t.rejects(first.stats(), { code: 'HINDSIGHT_STORAGE_CLOSED' })
  const second = opened(t, { path, closeDelay: 1 })
  await put(second, [profile('000002')])
  t.same(await listed(second), ['000002', '000001'])
  await second.close()
  await until(() => !isOpen())
  const third = opened(t, { path })
  t.same(await listed(third), ['000002', '000001'])
  await third.close()
  t.notOk(isOpen(), 'without a delay it is closed at once')
})

t.test('a file that is removed while no store uses it is created anew', async (t) => {
  const path = place(t)
  const first = opened(t, { path, closeDelay: 60_000 })
  await put(first, [profile('000001')])
  await first.close()
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix)
  const second = opened(t, { path })
  await put(second, [profile('000002')])
  t.same(await isConsistent(t, second), ['000002'], 'without a warning')
})

t.test('pending calls are rejected when the thread ends, and the next call starts it again', async (t) => {
  const path = place(t)
  const [storage, second] = [opened(t, { path }), opened(t, { path })]
  await put(storage, [profile('000001')])
  const count = workers.length
  const crashed = crash()
  const results = await Promise.allSettled([put(storage, [profile('000002')]), second.stats()])
  await crashed
  for (const result of results) {
    t.match(result, {
      status: 'rejected',
      reason: { code: 'HINDSIGHT_STORAGE_UNUSABLE', message: /cannot be used: its thread ended: Cannot read properties/ }
    })
  }
  await put(storage, [profile('000003')])
  t.same(await isConsistent(t, storage), ['000003', '000001'])
  t.same(await listed(second), ['000003', '000001'])
  t.equal(workers.length, count + 1)
})

t.test('a thread that ends while idle is started again by the next call', async (t) => {
  const storage = opened(t, { path: place(t) })
  await put(storage, [profile('000001')])
  await latest().terminate()
  t.same(await listed(storage), ['000001'])
})

t.test('settle returns when all puts are written, even if the main thread reads no messages', async (t) => {
  const path = place(t)
  const storage = opened(t, { path })
  await storage.stats()
  const putting = tokens(1, 30).map(async (token) => { await storage.put(recordsOf([profile(token, { collectors: { text: 'x'.repeat(20_000) } })])) })
  storage.settle(60_000)
  const rows = connection(t, path).prepare('select count(*) as written from profiles').all()
  t.match(rows, [{ written: 30 }])
  storage.settle(60_000)
  await Promise.all(putting)
  t.same(await listed(storage), tokens(1, 30).reverse())
})

t.test('settle starts the thread if it is not running', async (t) => {
  await latest().terminate()
  const path = place(t)
  const storage = opened(t, { path })
  storage.settle(60_000)
  const putting = put(storage, [profile('000001')])
  storage.settle(60_000)
  t.match(connection(t, path).prepare('select token from profiles').all(), [{ token: '000001' }])
  await putting
})

t.test('settle returns after its timeout', async (t) => {
  const path = place(t)
  const storage = opened(t, { path })
  await put(storage, [profile('000001')])
  const other = connection(t, path)
  other.exec('begin immediate')
  let isDone = false
  const putting = put(storage, [profile('000002')]).then(() => { isDone = true })
  storage.settle(30)
  await turn()
  t.equal(isDone, false)
  other.exec('rollback')
  await putting
  t.same(await listed(storage), ['000002', '000001'])
})

t.test('the event loop is not blocked by a search of many profiles', async (t) => {
  const storage = opened(t, { path: place(t) })
  for (let at = 1; at <= 8_000; at += 500) {
    await put(storage, tokens(at, at + 499).map((token) => profile(token, { url: `http://h/${token}/${'ab'.repeat(1_000)}` })))
  }
  let turns = 0
  // On a busy machine the search may have ended before the thread has the CPU again.
  for (let tries = 0; tries < 10 && turns < 10; tries++) {
    const searching = storage.search({ limit: 1, criteria: { url: 'abc' } })
    turns = 0
    while (await Promise.race([searching, turn(null)]) === null) turns++
    t.same((await searching).profiles, [])
  }
  t.ok(turns >= 10, `${turns} turns of the event loop`)
})

t.test('arguments that cannot be posted are an error of that call only', async (t) => {
  const storage = opened(t, { path: place(t), warn: () => {} })
  await t.rejects(storage.search({ limit: 1, criteria: { url: (() => {}) as unknown as string } }), /could not be cloned/)
  await put(storage, [profile('000001')])
  await latest().terminate()
  t.same(await listed(storage), ['000001'])
})

t.test('with mocked timers, closing a profiler writes the queued profiles', async (t) => {
  const path = place(t)
  const profiler = new Profiler({ storage: new SqliteStorage({ path }), warn: (message) => t.fail(message) })
  const release = mockTimers()
  t.teardown(release)
  t.ok(tokens(1, 300).every((token) => profiler.save(profile(token))))
  await profiler.close()
  release()
  t.equal(profiler.queue.counters.written, 300)
  t.same(await listed(opened(t, { path })), tokens(1, 300).reverse())
})

/** As test runners do it: nothing that is scheduled from now on is called. */
function mockTimers (): () => void {
  const { setTimeout, setImmediate, setInterval } = globalThis
  const nothing = (): unknown => ({ ref () {}, unref () {}, hasRef: () => false, refresh () {} })
  Object.assign(globalThis, { setTimeout: nothing, setImmediate: nothing, setInterval: nothing })
  return () => { Object.assign(globalThis, { setTimeout, setImmediate, setInterval }) }
}

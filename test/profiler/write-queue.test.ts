import t from 'tap'
import type { Profile, ProfileDraft } from '../../plugins/profiler/profile.js'
import { DraftBatch } from '../../plugins/profiler/storage/draft-batch.js'
import { WriteQueue, type WriteQueueOptions } from '../../plugins/profiler/write-queue.js'
import { profile, tokens } from './fixture.js'

interface Opened {
  queue: WriteQueue
  /** The tokens of each batch that the store was given. */
  batches: string[][]
  warnings: Array<[message: string, error: string | undefined]>
}

/** A queue whose batches and warnings are kept, and whose store does as told. */
function open ({ write = () => {}, ...given }: Partial<WriteQueueOptions> & { write?: ConstructorParameters<typeof DraftBatch>[0] } = {}): Opened {
  const batches: string[][] = []
  const warnings: Opened['warnings'] = []
  const queue = new WriteQueue({
    maxWaiting: 1_000,
    prepare: (profile) => profile,
    quiet: 0,
    warn: (message, error) => warnings.push([message, (error as Error | undefined)?.message]),
    open: () => new DraftBatch((profiles) => {
      batches.push(profiles.map(({ token }) => token))
      return write(profiles)
    }),
    ...given
  })
  return { queue, batches, warnings }
}

t.test('what comes together is written together, at most 256 at once', async t => {
  const { queue, batches } = open()
  for (const token of tokens(1, 600)) t.equal(queue.add(token, profile(token)), true)
  t.same(batches, [], 'nothing is written in the turn of the request')
  await queue.flush()
  t.same(batches.map(batch => batch.length), [256, 256, 88])
  t.same(batches.flat(), tokens(1, 600))
  t.same(queue.counters, { written: 600, dropped: 0, failed: 0 })
})

t.test('it is written without being asked to', async t => {
  const { queue, batches } = open()
  queue.add('000001', profile('000001'))
  // Timers of the queue keep no process alive.
  for (let waited = 0; batches.length === 0 && waited < 5_000; waited += 10) await new Promise(resolve => setTimeout(resolve, 10))
  t.same(batches, [['000001']])
})

t.test('a token that comes again while it waits is written once, as it was last', async t => {
  const written: Array<Profile | ProfileDraft> = []
  const { queue } = open({ write: profiles => { written.push(...profiles) } })
  queue.add('000001', profile('000001'))
  queue.add('000001', () => profile('000001', { status: 500 }))
  await queue.flush()
  t.same(written.map(({ status }) => status), [500])
  t.equal(queue.counters.written, 1)
})

t.test('one that comes again when the one before is packed is written behind it', async t => {
  const written: number[][] = []
  const { queue } = open({ write: async profiles => { written.push(profiles.map(({ status }) => status)) } })
  queue.add('000001', () => profile('000001'))
  await new Promise(resolve => setImmediate(resolve))
  t.equal(queue.get('000001')?.status, 200, 'packed')
  t.equal(queue.add('000001', () => profile('000001', { status: 500 })), true)
  t.equal(queue.get('000001')?.status, 500)
  t.equal(queue.waiting, 1)
  await new Promise(resolve => setImmediate(resolve))
  t.equal(queue.get('000001')?.status, 500)
  await queue.flush()
  t.same(written, [[200], [500]])
  t.same(queue.counters, { written: 2, dropped: 0, failed: 0 })
  t.equal(queue.has('000001'), false)
})

t.test('a batch that cannot be begun costs only what was to be in it', async t => {
  let away = true
  const { queue, warnings } = open({ open: () => { if (away) throw new Error('away'); return new DraftBatch(() => {}) } })
  queue.add('000001', profile('000001'))
  await queue.flush()
  away = false
  queue.add('000002', profile('000002'))
  await queue.flush()
  t.same(queue.counters, { written: 1, dropped: 0, failed: 1 })
  t.same(warnings.map(([, error]) => error), ['away', undefined])
})

t.test('what is too much for one batch is the first of the next, and is waited for', async t => {
  const { queue, batches } = open()
  for (const token of tokens(1, 300)) queue.add(token, profile(token))
  const flushed = queue.flush()
  // While the first batch is being packed and written.
  for (const token of tokens(301, 320)) queue.add(token, profile(token))
  await flushed
  t.equal(queue.has('000300'), false, 'all that was there when it was asked')
  await queue.flush()
  t.same(batches.flat(), tokens(1, 320), 'oldest first')
})

t.test('flush waits for the newer one of a token, whatever comes in between', async t => {
  let go = () => {}
  const { queue } = open({ write: async () => await new Promise<void>(resolve => { go = resolve }) })
  queue.add('000001', profile('000001'))
  const first = queue.flush()
  queue.add('000002', profile('000002'))
  await new Promise(resolve => setImmediate(resolve))
  queue.add('000002', profile('000002', { status: 500 }))
  const flushed = queue.flush()
  queue.add('000003', profile('000003'))
  const letWrite = setInterval(() => go(), 1)
  t.teardown(() => clearInterval(letWrite))
  await first
  await flushed
  t.equal(queue.has('000002'), false, 'the older one and another were written before')
  await queue.flush()
  t.equal(queue.counters.written, 4)
})

t.test('one that comes again and cannot be made leaves the one before, which is written by itself', async t => {
  const { queue, batches } = open()
  queue.add('000001', profile('000001'))
  await new Promise(resolve => setImmediate(resolve))
  queue.add('000001', () => { throw new Error('broken') })
  await new Promise(resolve => setImmediate(resolve))
  t.equal(queue.get('000001')?.token, '000001')
  for (let waited = 0; batches.length === 0 && waited < 5_000; waited += 10) await new Promise(resolve => setTimeout(resolve, 10))
  t.same(batches, [['000001']])
  await queue.flush()
  t.same(queue.counters, { written: 1, dropped: 0, failed: 1 })
})

t.test('a batch of somebody else that throws anywhere is counted, and holds nobody up', async t => {
  const away = () => { throw new Error('away') }
  const broken = { add () {}, get () { return undefined }, write () {}, isFull: false }
  const cases = [{ ...broken, add: away }, { ...broken, write: away }, { ...broken, get isFull (): boolean { return away() } }]
  for (const batch of cases) {
    const { queue } = open({ open: () => batch })
    for (const token of tokens(1, 3)) queue.add(token, profile(token))
    await queue.flush()
    t.equal(queue.counters.written + queue.counters.failed, 3)
    t.ok(queue.counters.failed > 0)
    t.equal(queue.waiting, 0)
  }
  const { queue } = open({ open: () => ({ ...broken, isFull: true }) })
  for (const token of tokens(1, 3)) queue.add(token, profile(token))
  await queue.flush()
  t.equal(queue.counters.written, 3, 'one that is always full takes one at a time')
})

t.test('above its bound it drops, counts and says so once', async t => {
  const { queue, warnings } = open({ maxWaiting: 2 })
  t.same(tokens(1, 4).map(token => queue.add(token, profile(token))), [true, true, false, false])
  t.equal(queue.add('000001', profile('000001')), true, 'one that waits already needs no room')
  await queue.flush()
  t.same(queue.counters, { written: 2, dropped: 2, failed: 0 })
  t.same(warnings, [
    ['Profiles are lost: more are waiting to be written than profiler.maxQueue allows; the store is too slow.', undefined],
    ['Profiles are kept again; 2 were lost.', undefined]
  ])
})

t.test('a store that fails is counted, and told when it begins and when it ends', async t => {
  let error: string | undefined
  const { queue, warnings } = open({ write: async () => { if (error !== undefined) throw new Error(error) } })
  for (const [token, why] of [['000001', 'full'], ['000002', 'full'], ['000003', undefined], ['000004', 'away']] as const) {
    error = why
    queue.add(token, profile(token))
    await queue.flush()
  }
  t.same(warnings, [
    ['Profiles are lost: the store failed.', 'full'],
    ['Profiles are kept again; 2 were lost.', undefined],
    ['Profiles are lost: the store failed.', 'away']
  ])
  t.same(queue.counters, { written: 1, dropped: 0, failed: 3 })
})

t.test('losses that come and go are told once a minute', async t => {
  let count = 0
  const { queue, warnings } = open({ quiet: 60_000, write: () => { if (count++ % 2 === 0) throw new Error('away') } })
  for (const token of tokens(1, 10)) {
    queue.add(token, profile(token))
    await queue.flush()
  }
  t.same(queue.counters, { written: 5, dropped: 0, failed: 5 })
  t.equal(warnings.length, 2)
})

t.test('a profile that cannot be made or prepared costs only itself', async t => {
  const { queue, batches } = open({ prepare: (one) => { if (one.status === 418) throw new Error('no tea'); return one } })
  queue.add('000001', () => { throw new Error('broken') })
  queue.add('000002', profile('000002', { status: 418 }))
  queue.add('000003', profile('000003'))
  queue.add('000004', () => { throw new Error('broken too') })
  t.equal(queue.get('000004'), undefined, 'one that is asked for first')
  await queue.flush()
  t.same(batches, [['000003']])
  t.same(queue.counters, { written: 1, dropped: 0, failed: 3 })
})

t.test('a store that hangs is waited for only as long as is said', async t => {
  let go = () => {}
  const { queue } = open({ write: async () => await new Promise<void>(resolve => { go = resolve }) })
  queue.add('000001', profile('000001'))
  await queue.flush(20)
  t.equal(queue.has('000001'), true)
  t.equal(queue.get('000001')?.token, '000001')
  go()
  await queue.flush()
  t.equal(queue.has('000001'), false)
})

t.test('what waits is bounded by the bytes that it holds, too', async t => {
  const { queue } = open({ maxWaitingBytes: 1_000 })
  t.equal(queue.add('000001', profile('000001'), 5_000), true, 'one alone may be large')
  t.equal(queue.add('000002', profile('000002'), 1), false)
  await queue.flush()
  t.equal(queue.add('000003', () => { throw new Error('broken') }, 900), true)
  t.equal(queue.add('000004', profile('000004'), 200), false)
  t.equal(queue.add('000003', profile('000003'), 100), true, 'it is replaced, and so are its bytes')
  t.equal(queue.add('000005', profile('000005'), 800), true)
  await queue.flush()
  t.equal(queue.add('000006', () => { throw new Error('broken') }, 900), true)
  t.equal(queue.get('000006'), undefined)
  t.equal(queue.add('000007', profile('000007'), 1_000), true, 'one that could not be made holds nothing any more')
  await queue.flush()
  t.same(queue.counters, { written: 4, dropped: 2, failed: 1 })
})

t.test('a batch that is long in the making lets others work meanwhile, and is found all the same', async t => {
  const { queue, batches } = open()
  const slow = (token: string) => () => {
    for (const until = performance.now() + 9; performance.now() < until;);
    return profile(token)
  }
  for (const token of tokens(1, 12)) queue.add(token, slow(token))
  const found: Array<string | undefined> = []
  const flushed = queue.flush()
  const over = Symbol('over')
  while (await Promise.race([flushed.then(() => over), new Promise(resolve => setImmediate(resolve))]) !== over) {
    found.push(queue.get('000001')?.token)
  }
  t.ok(found.length >= 4, `${found.length} turns`)
  t.same(new Set(found.slice(0, -1)), new Set(['000001']))
  t.equal(batches.length, 1)
})

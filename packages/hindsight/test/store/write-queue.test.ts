import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { Profile } from '../../src/store/profile.js'
import { recordOf, type ProfileRecord } from '../../src/store/summary.js'
import { WriteQueue, type WriteQueueOptions } from '../../src/store/write-queue.js'
import { profile, tokens } from '../parts/fixture.js'
import { holdTimers } from '../support/timers.js'

interface Opened {
  queue: WriteQueue
  /** The tokens of each batch that the store was given. */
  batches: string[][]
  warnings: Array<[message: string, error: string | undefined]>
}

/** A queue whose batches and warnings are kept; `put` is what its store does with a batch. */
function open ({ put = () => {}, ...options }: Partial<WriteQueueOptions> = {}): Opened {
  const batches: string[][] = []
  const warnings: Opened['warnings'] = []
  const queue = new WriteQueue({
    maxWaiting: 1_000,
    warnInterval: 0,
    warn: (message, error) => warnings.push([message, (error as Error | undefined)?.message]),
    put: (records) => {
      batches.push(records.map(({ summary }) => summary.token))
      return put(records)
    },
    ...options
  })
  return { queue, batches, warnings }
}

const building = (token: string, changes: Partial<Profile> = {}) => (): ProfileRecord => recordOf(profile(token, changes))
const broken = (): never => { throw new Error('broken') }

t.test('profiles that are added together are written together, 256 at most', async (t) => {
  const { queue, batches } = open()
  t.ok(tokens(1, 600).every((token) => queue.add(token, building(token))))
  t.equal(queue.waiting, 600)
  t.same(batches, [], 'no write occurs in the turn of the request')
  await queue.flush()
  t.same(batches.map((batch) => batch.length), [256, 256, 88])
  t.same(batches.flat(), tokens(1, 600))
  t.same(queue.counters, { written: 600, dropped: 0, failed: 0 })
  t.equal(queue.waiting, 0)
})

t.test('a profile is written without a flush', async (t) => {
  const { queue, batches } = open()
  queue.add('000001', building('000001'))
  // Timers of the queue keep no process alive.
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(alive))
  while (batches.length === 0) await turn()
  t.same(batches, [['000001']])
})

t.test('a record is built once, with its batch', async (t) => {
  holdTimers(t)
  const { queue, batches } = open()
  let built = 0
  queue.add('000001', () => { built++; return building('000001')() })
  await turn()
  t.equal(built, 0)
  await queue.flush()
  t.equal(built, 1)
  t.same(batches, [['000001']])
})

t.test('records are built in the next turn where 16 wait', async (t) => {
  const { queue } = open()
  let built = 0
  const build = (token: string) => (): ProfileRecord => { built++; return building(token)() }
  for (const token of tokens(1, 16)) queue.add(token, build(token))
  t.equal(built, 0)
  await new Promise((resolve) => setImmediate(resolve))
  // On a busy machine the time of one turn ends before all are built.
  t.ok(built > 0)
  await queue.flush()
  t.same([built, queue.counters.written], [16, 16])
})

t.test('a record that is read immediately is built immediately', async (t) => {
  const { queue } = open()
  queue.add('000001', building('000001', { status: 201 }))
  t.equal(queue.get('000001')?.summary.status, 201)
  t.equal(queue.get('000002'), undefined)
  t.same([queue.get('000001') !== undefined, queue.get('000002') !== undefined], [true, false])
})

t.test('a token that is added again while queued is written once, in its last version', async (t) => {
  holdTimers(t)
  const written: number[][] = []
  const { queue } = open({ put: (records) => { written.push(records.map(({ summary }) => summary.status)) } })
  queue.add('000001', building('000001'))
  queue.add('000002', building('000002', { status: 201 }))
  await turn()
  t.equal(queue.get('000001')?.summary.status, 200)
  t.equal(queue.add('000001', building('000001', { status: 500 })), true)
  t.equal(queue.get('000001')?.summary.status, 500)
  t.equal(queue.waiting, 2)
  await queue.flush()
  t.same(written, [[201, 500]], 'it is the newest')
  t.same(queue.counters, { written: 2, dropped: 0, failed: 0 })
  t.equal(queue.get('000001') !== undefined, false)
})

t.test('a token that is added again during its write is written twice', async (t) => {
  const written: number[] = []
  const { queue } = open({ put: async (records) => { await turn(); written.push(...records.map(({ summary }) => summary.status)) } })
  queue.add('000001', building('000001'))
  const first = queue.flush()
  queue.add('000001', building('000001', { status: 500 }))
  t.equal(queue.get('000001')?.summary.status, 500)
  await first
  t.equal(queue.get('000001')?.summary.status, 500)
  await queue.flush()
  t.same(written, [200, 500])
})

t.test('flush waits for all profiles that were added before it, in any batch', async (t) => {
  const { queue, batches } = open()
  for (const token of tokens(1, 300)) queue.add(token, building(token))
  const flushed = queue.flush()
  for (const token of tokens(301, 320)) queue.add(token, building(token))
  await flushed
  t.equal(queue.get('000300') !== undefined, false)
  await queue.flush()
  t.same(batches.flat(), tokens(1, 320), 'oldest first')
})

t.test('flush waits for the newer profile of a token, and for no token that is added later', async (t) => {
  let release = (): void => {}
  const { queue } = open({ put: async () => await new Promise<void>((resolve) => { release = resolve }) })
  queue.add('000001', building('000001'))
  const first = queue.flush()
  queue.add('000002', building('000002'))
  queue.add('000002', building('000002', { status: 500 }))
  const second = queue.flush()
  release()
  await first
  await turn()
  queue.add('000003', building('000003'))
  release()
  await second
  t.same([queue.get('000002') !== undefined, queue.get('000003') !== undefined], [false, true])
  const third = queue.flush()
  await turn()
  release()
  await third
  t.equal(queue.counters.written, 3)
})

t.test('above its bound the queue drops profiles, counts them and warns once', async (t) => {
  const { queue, warnings } = open({ maxWaiting: 2 })
  t.same(tokens(1, 4).map((token) => queue.add(token, building(token))), [true, true, false, false])
  t.equal(queue.add('000001', building('000001')), true, 'a token that is queued needs no additional slot')
  await queue.flush()
  t.same(queue.counters, { written: 2, dropped: 2, failed: 0 })
  t.same(warnings, [
    ['Profiles are lost: as many as profiler.maxQueue allows are waiting to be written; the store is too slow.', undefined],
    ['Profiles are written again; 2 were lost.', undefined]
  ])
  t.equal(queue.add('000005', building('000005')), true)
})

t.test('profiles that are being written count as queued', async (t) => {
  let release = (): void => {}
  const { queue } = open({ maxWaiting: 2, put: async () => await new Promise<void>((resolve) => { release = resolve }) })
  for (const token of tokens(1, 2)) queue.add(token, building(token))
  const flushed = queue.flush()
  t.equal(queue.waiting, 2)
  t.equal(queue.get('000001')?.summary.token, '000001')
  t.equal(queue.add('000003', building('000003')), false)
  release()
  await flushed
  t.equal(queue.add('000003', building('000003')), true)
})

t.test('failed profiles are counted, with one warning at the first failure and one at recovery', async (t) => {
  let error: string | undefined
  const { queue, warnings } = open({ put: async () => { if (error !== undefined) throw new Error(error) } })
  for (const [token, why] of [['000001', 'full'], ['000002', 'full'], ['000003', undefined], ['000004', 'unavailable']] as const) {
    error = why
    queue.add(token, building(token))
    await queue.flush()
  }
  t.same(warnings, [
    ['Profiles are lost: the store failed', 'full'],
    ['Profiles are written again; 2 were lost.', undefined],
    ['Profiles are lost: the store failed', 'unavailable']
  ])
  t.same(queue.counters, { written: 1, dropped: 0, failed: 3 })
  t.equal(queue.lastLoss, 'the store failed: unavailable')
})

t.test('a store that throws synchronously is handled like one that rejects', async (t) => {
  const { queue, warnings } = open({ put: () => { throw new Error('unavailable') } })
  for (const token of tokens(1, 3)) queue.add(token, building(token))
  await queue.flush()
  t.same(queue.counters, { written: 0, dropped: 0, failed: 3 })
  t.same(warnings, [['Profiles are lost: the store failed', 'unavailable']])
  t.equal(queue.waiting, 0)
})

t.test('alternating failures and recoveries are reported once a minute', async (t) => {
  let count = 0
  const { queue, warnings } = open({ warnInterval: 60_000, put: () => { if (count++ % 2 === 0) throw new Error('unavailable') } })
  for (const token of tokens(1, 10)) {
    queue.add(token, building(token))
    await queue.flush()
  }
  t.same(queue.counters, { written: 5, dropped: 0, failed: 5 })
  t.equal(warnings.length, 2)
})

t.test('a profile that cannot be built does not affect the others', async (t) => {
  const { queue, batches, warnings } = open()
  queue.add('000001', broken)
  queue.add('000002', building('000002'))
  queue.add('000003', broken)
  t.equal(queue.get('000003'), undefined, 'one that is read first')
  await queue.flush()
  t.same(batches, [['000002']])
  t.same(queue.counters, { written: 1, dropped: 0, failed: 2 })
  t.same(warnings, [['Profiles are lost: one could not be built', 'broken'], ['Profiles are written again; 2 were lost.', undefined]])
  t.equal(queue.waiting, 0)
})

t.test('no batch is written if no profile can be built', async (t) => {
  const { queue, batches } = open()
  for (const token of tokens(1, 300)) queue.add(token, broken)
  await queue.flush()
  t.same(batches, [])
  t.same(queue.counters, { written: 0, dropped: 0, failed: 300 })
  queue.add('000001', building('000001'))
  await queue.flush()
  t.same(batches, [['000001']])
})

t.test('flush waits for a store that hangs until its timeout', async (t) => {
  let release = (): void => {}
  const { queue } = open({ put: async () => await new Promise<void>((resolve) => { release = resolve }) })
  queue.add('000001', building('000001'))
  await queue.flush(20)
  t.equal(queue.get('000001') !== undefined, true)
  t.equal(queue.get('000001')?.summary.token, '000001')
  release()
  await queue.flush()
  t.equal(queue.get('000001') !== undefined, false)
})

t.test('the queue is bounded by the bytes of its JSON', async (t) => {
  const { queue } = open({ maxWaitingBytes: 2_000 })
  const large = building('000001', { collectors: { text: 'x'.repeat(2_000) } })
  queue.add('000001', large)
  t.ok(queue.get('000001'))
  t.equal(queue.add('000002', building('000002')), false)
  t.match(queue.lastLoss, /^more than 2 kB are waiting to be written/)
  await queue.flush()
  t.equal(queue.add('000002', large), true)
  t.ok(queue.get('000002'))
  t.equal(queue.add('000003', building('000003')), false)
  await queue.flush()
  queue.add('000004', broken)
  t.equal(queue.get('000004'), undefined)
  t.equal(queue.add('000005', building('000005')), true, 'a profile that could not be built takes no space')
  await queue.flush()
  t.same(queue.counters, { written: 3, dropped: 2, failed: 1 })
})

t.test('a profile that replaces a large one frees its bytes', async (t) => {
  const { queue } = open({ maxWaitingBytes: 5_000 })
  queue.add('000001', building('000001', { collectors: { text: 'x'.repeat(4_000) } }))
  t.ok(queue.get('000001'))
  t.equal(queue.add('000001', building('000001')), true)
  queue.add('000002', building('000002', { collectors: { text: 'x'.repeat(4_000) } }))
  t.ok(queue.get('000002'))
  t.equal(queue.add('000003', building('000003')), true)
  await queue.flush()
  t.equal(queue.counters.written, 3)
})

t.test('drain returns the records that are not written yet, for a process that exits', async (t) => {
  let release = (): void => {}
  const { queue, batches } = open({ put: async () => await new Promise<void>((resolve) => { release = resolve }) })
  queue.add('000001', building('000001'))
  const flushed = queue.flush()
  for (const token of tokens(2, 4)) queue.add(token, token === '000003' ? broken : building(token))
  t.same(queue.drain().map(({ summary }) => summary.token), ['000001', '000002', '000004'])
  t.same(queue.drain(), [])
  t.equal(queue.waiting, 0)
  release()
  await flushed
  await queue.flush()
  t.same(batches, [['000001']])
})

t.test('profiles that take long to build are built in several turns of the event loop', async (t) => {
  const queue = new WriteQueue({ put () {}, maxWaiting: 10, warn () {} })
  const built: string[] = []
  const build = (token: string) => (): ProfileRecord => {
    built.push(token)
    for (const until = performance.now() + 60; performance.now() < until;);
    return { json: '{}' } as ProfileRecord
  }
  // Timers of the queue keep no process alive.
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(alive))
  for (const token of ['aaaaaa', 'bbbbbb', 'cccccc']) queue.add(token, build(token))
  while (built.length === 0) await turn()
  t.same(built, ['aaaaaa'])
  await queue.flush()
  t.same(built, ['aaaaaa', 'bbbbbb', 'cccccc'])
})

import t from 'tap'
import { EventRecorder } from '../../../plugins/kernel/event-recorder.js'
import { newSlot, type Slot } from '../../../plugins/kernel/lifecycle.js'
import { share } from '../../../plugins/kernel/shared-part.js'
import type { Profile } from '../../../plugins/profiler/profile.js'
import { ChunkWriter } from '../../../plugins/profiler/storage/profile-chunk.js'
import { readProfile } from '../../../plugins/profiler/storage/read-chunk.js'
import { failure, profile } from '../fixture.js'
import { sample } from '../sample.js'

type Event = Profile['events'][number]

const event = (changes: Partial<Event> = {}): Event => ({ stage: 'kernel.request', listener: 'cors', pass: 'main', outcome: 'ran', start: 0.125, duration: 0.001, ...changes })

function chunkOf (profiles: readonly Profile[]): { data: Buffer, sizes: number[] } {
  const writer = new ChunkWriter()
  for (const one of profiles) writer.add(one)
  return writer.finish()
}

t.test('what is packed is read, equal and in its order', async (t) => {
  const many = Array.from({ length: 300 }, (_, i) => event({ listener: `listener ${i}` }))
  const cases: Array<[name: string, events: Event[]]> = [
    ['no events', []],
    ['one', [event()]],
    ['with a reason', [event({ outcome: 'skipped', reason: 'not configured ü' })]],
    ['with changes', [event({ changes: { headers: [{ name: 'vary', from: null, to: 'origin' }], status: { from: 200, to: 404 } } }), event()]],
    ['changes of nothing', [event({ changes: {} })]],
    ['finer than a microsecond', [event({ start: 0.12345 }), event({ duration: 1 / 3 })]],
    ['a long request', [event({ start: 4_294_967.296, duration: 16_777.216 }), event({ start: 4_294_967.295, duration: 16_777.215 })]],
    ['before its time', [event({ start: -0.001 })]],
    ['with more than is known', [{ ...event(), more: 1 } as Event, event()]],
    ['with less', [{ stage: 'kernel.request', listener: 'x' } as unknown as Event]],
    ['more listeners than have a number', [...many, ...many]]
  ]
  const profiles = cases.map(([, events], i) => profile(String(i).padStart(6, '0'), { events }))
  const { data } = chunkOf(profiles)
  cases.forEach(([name], slot) => {
    const read = readProfile(data, slot)
    t.strictSame(read, JSON.parse(JSON.stringify(profiles[slot])), name)
    t.equal(Object.keys(read).join(), Object.keys(profiles[slot] ?? {}).join(), 'in the order of the profile')
  })
})

t.test('what profiles have in common is written once, and read by each', async (t) => {
  const headers = share({ 'user-agent': 'x'.repeat(5_000) })
  const locale = share({ locale: 'en', deep: [{ a: 1 }] })
  const frame = share({ file: 'a.ts', line: 1, column: 2, function: 'f', own: true, excerpt: { start: 1, lines: ['y'.repeat(5_000)] } })
  const changes = share({ headers: [{ name: 'vary', from: null, to: 'origin' }] })
  const context = share({ err: { stack: 'z'.repeat(5_000) } })
  const [exception] = failure('000001').exceptions
  const profiles = Array.from({ length: 10 }, (_, i) => profile(String(i).padStart(6, '0'), {
    collectors: { locale, request: { method: 'GET', headers, query: { i } }, own: i },
    events: [event({ changes }), event({ changes: { status: { from: 200, to: i } } }), event({ changes })],
    exceptions: i % 2 === 0 ? [] : [{ ...exception, frames: [frame, frame] } as never],
    logs: [{ time: '2026-01-01T00:00:00.000Z', level: 'error', channel: 'app', message: `${i}`, context }]
  }))
  const { data, sizes } = chunkOf(profiles)
  profiles.forEach((one, slot) => {
    const read = readProfile(data, slot)
    t.strictSame(read, JSON.parse(JSON.stringify(one)))
    t.equal(Object.keys(read.collectors).join(), 'locale,request,own', 'in its order')
    const [other] = [read.collectors.request as { headers: object }]
    t.notOk(Object.isFrozen(other.headers), 'and may be changed by who reads it')
  })
  t.ok(data.length < 25_000, `${data.length} bytes`)
  t.equal(sizes.reduce((sum, size) => sum + size, 0), data.length)
})

t.test('columns are packed as the events that they are', async (t) => {
  const recorder = new EventRecorder([newSlot(0, 'kernel.request', 'one'), newSlot(1, 'kernel.request', 'two', 'not configured'), newSlot(2, 'kernel.response', 'three')], 0, (_name, value) => value)
  const reply = { statusCode: 200, getHeaders: () => ({}), raw: { getHeaderNames: () => [] } } as never
  const slots = ['one', 'two', 'three'].map((name, index) => newSlot(index, index === 2 ? 'kernel.response' : 'kernel.request', name))
  recorder.record(slots[0] as Slot, 'main', 'ran', recorder.before(reply), reply, null)
  recorder.record(slots[2] as Slot, 'main', 'skipped', recorder.before(reply), reply, 'for a reason')
  const draft = { ...profile('000001'), events: recorder.columns() }
  const writer = new ChunkWriter()
  writer.add(draft)
  const read = readProfile(writer.finish().data, 0)
  t.strictSame(read.events, recorder.events())
  t.same(read.events.map(({ listener, outcome, reason }) => [listener, outcome, reason]), [['one', 'ran', undefined], ['two', 'skipped', 'not configured'], ['three', 'skipped', 'for a reason']])
  t.strictSame(read, JSON.parse(JSON.stringify(draft)), 'as all other stores keep it')
})

t.test('a profile that cannot be packed leaves the others whole', async (t) => {
  const shared = share({ 'user-agent': 'x'.repeat(100) })
  const writer = new ChunkWriter()
  writer.add(profile('000001', { collectors: { shared } }))
  t.throws(() => writer.add(profile('000002', { collectors: { big: 1n } })))
  t.strictSame(readProfile(writer.finish().data, 0).collectors, { shared: { 'user-agent': 'x'.repeat(100) } })
  writer.add(profile('000003', { collectors: { shared } }))
  const { data } = writer.finish()
  t.same([readProfile(data, 0).token, readProfile(data, 1).token], ['000001', '000003'])
})

t.test('what is no value is told as JSON tells it', async (t) => {
  const part = share({ a: 1 })
  // eslint-disable-next-line no-sparse-arrays -- a hole is what this is about
  const list: unknown[] = [part, , undefined, () => 1, Symbol('x'), null, 2, 'c']
  Object.assign(list, { more: 'beside the places' })
  const one = profile('000001', { collectors: { list, none: undefined, call: () => 1, symbol: Symbol('x'), date: new Date(0), zero: 0, not: NaN } })
  const { data } = chunkOf([one, one])
  for (const slot of [0, 1]) t.strictSame(readProfile(data, slot), JSON.parse(JSON.stringify(one)))
})

t.test('hostile text stays what it is', async (t) => {
  const text = '</script>\u0000\n\ud83d😀__proto__'
  const one = sample(text)
  t.strictSame(readProfile(chunkOf([one]).data, 0), JSON.parse(JSON.stringify(one)))
})

t.test('the sizes of a chunk sum up to it', async (t) => {
  for (const count of [1, 2, 7, 64]) {
    const { data, sizes } = chunkOf(Array.from({ length: count }, (_, i) => failure(String(i).padStart(6, '0'), { events: [event()] })))
    t.equal(sizes.length, count)
    t.equal(sizes.reduce((sum, size) => sum + size, 0), data.length)
  }
})

t.test('a chunk is full in time, and leaves out what is too large', async (t) => {
  const writer = new ChunkWriter()
  t.equal(writer.add(profile('000001', { url: 'x'.repeat(1_000) }), 999), false)
  t.equal(writer.length, 0)
  t.equal(writer.add(profile('000002'), 999), true)
  t.equal(writer.isFull, false)
  t.equal(writer.add(profile('000003', { url: 'ü'.repeat(1_000_000) })), true)
  t.equal(writer.isFull, true)
  const { data } = writer.finish()
  t.equal(readProfile(data, 0).token, '000002')
  t.equal(readProfile(data, 1).url.length, 1_000_000)
})

t.test('a profile that is damaged, or not there, throws', async (t) => {
  const { data } = chunkOf([profile('000001', { events: [event()] })])
  t.throws(() => readProfile(data, 1), { message: 'A chunk has no such profile' })
  t.throws(() => readProfile(data.subarray(0, 4), 0))
  for (let at = 0; at < data.length; at++) {
    const damaged = Buffer.from(data)
    damaged[at] = (damaged[at] ?? 0) ^ 0xFF
    try {
      readProfile(damaged, 0)
    } catch (error) {
      t.ok(error instanceof Error)
    }
  }
})

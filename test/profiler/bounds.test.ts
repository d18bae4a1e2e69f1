import t from 'tap'
import { boundProfile } from '../../plugins/profiler/bounds.js'
import type { Profile } from '../../plugins/profiler/profile.js'
import { failure, profile } from './fixture.js'

const LIMIT = 64 * 1024
const size = (profile: Profile) => Buffer.byteLength(JSON.stringify(profile))
const logs = (count: number) => Array.from({ length: count }, (_, i) => (
  { time: '2026-01-02T03:04:05.678Z', level: 'info' as const, channel: 'app', message: `line ${i} ${'x'.repeat(200)}`, context: {} }))

t.test('a small profile stays as it is', async t => {
  t.same(boundProfile(failure('000001'), LIMIT), failure('000001'))
})

t.test('a long string is cut with a note, and the original is left alone', async t => {
  const original = profile('000001', { url: 'x'.repeat(70_000), collectors: { a: [{ b: 'y'.repeat(10_001) }] } })
  const bounded = boundProfile(original, LIMIT)
  t.equal(bounded.url, `${'x'.repeat(10_000)}… (60,000 more characters)`)
  t.match(JSON.stringify(bounded.collectors), /^\{"a":\[\{"b":"y{10000}… \(1 more characters\)"\}\]\}$/)
  t.equal(original.url.length, 70_000)
})

t.test('what is no JSON becomes some', async t => {
  const cyclic: Record<string, unknown> = { date: new Date(0), big: 1n, nan: NaN, gone: undefined, list: [undefined] }
  cyclic.self = cyclic
  t.same(boundProfile(profile('000001', { collectors: { cyclic } }), LIMIT).collectors,
    { cyclic: { date: '1970-01-01T00:00:00.000Z', big: '1', nan: null, list: [null], self: '[circular]' } })
})

t.test('excerpts go first', async t => {
  const original = failure('000001')
  const frame = original.exceptions[1]!.frames[1]!
  original.exceptions[1]!.frames = Array.from({ length: 40 }, () => ({ ...frame, excerpt: { start: 1, lines: ['z'.repeat(3_000)] } }))
  original.logs = logs(20)
  const bounded = boundProfile(original, LIMIT)
  t.ok(size(bounded) <= LIMIT)
  t.equal(bounded.exceptions[1]?.frames.length, 40)
  t.notMatch(JSON.stringify(bounded), /excerpt/)
  t.equal(bounded.logs.length, 20)
})

t.test('then the log, but for its end and a note', async t => {
  const bounded = boundProfile(failure('000001', { logs: logs(1_000) }), LIMIT)
  t.ok(size(bounded) <= LIMIT)
  t.equal(bounded.logs[0]?.message, '900 earlier lines were left out: the profile was larger than 65,536 bytes.')
  t.match(bounded.logs.at(-1)?.message, /^line 999 /)
  t.equal(bounded.logs.length, 101)
})

t.test('then what a collector has too much of', async t => {
  const bounded = boundProfile(profile('000001', { collectors: { big: 'y '.repeat(4_900).split(' ').map(y => y.repeat(20)), small: { a: 1 } } }), LIMIT)
  t.match(bounded.collectors, { big: { error: /^[\d,]+ bytes were left out: the profile was larger than 65,536 bytes\.$/ }, small: { a: 1 } })
})

t.test('in the end it always fits', async t => {
  const frame = { file: 'f'.repeat(9_000), line: 1, column: 1, function: 'g'.repeat(9_000), own: true }
  const exception = { name: 'E', message: 'm'.repeat(9_000), frames: Array.from({ length: 200 }, () => frame), stack: 's'.repeat(9_000) }
  const bounded = boundProfile(profile('000001', {
    url: 'u'.repeat(9_000),
    exceptions: Array.from({ length: 50 }, () => ({ ...exception, errors: [[exception]] })),
    logs: logs(3_000),
    events: Array.from({ length: 2_000 }, () => ({ stage: 'kernel.request', listener: 'l'.repeat(400), pass: 'main', outcome: 'ran', start: 0, duration: 0 })),
    collectors: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`c${i}`, 'd'.repeat(9_000)]))
  }), 256 * 1024)
  t.ok(size(bounded) <= 256 * 1024, `${size(bounded)}`)
  t.match(bounded.exceptions.at(-1)?.message, /^m/)
})

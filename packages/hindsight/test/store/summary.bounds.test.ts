import t from 'tap'
import { boundedRecord, boundProfile, fittingLogs } from '../../src/store/summary.js'
import type { Profile } from '../../src/store/profile.js'
import { failure, profile } from '../parts/fixture.js'

const LIMIT = 64 * 1024
const size = (profile: Profile) => Buffer.byteLength(JSON.stringify(profile))
const logs = (count: number) => Array.from({ length: count }, (_, i) => (
  { time: '2026-01-02T03:04:05.678Z', level: 'info' as const, channel: 'app', message: `line ${i} ${'x'.repeat(200)}`, context: {} }))

t.test('a small profile is unchanged', async t => {
  t.same(boundProfile(failure('000001'), LIMIT), failure('000001'))
})

t.test('a long string is truncated with a note, and the original is unchanged', async t => {
  const original = profile('000001', { url: 'x'.repeat(70_000), collectors: { a: [{ b: 'y'.repeat(10_001) }] } })
  const bounded = boundProfile(original, LIMIT)
  t.equal(bounded.url, `${'x'.repeat(10_000)}… (60,000 more characters)`)
  t.match(JSON.stringify(bounded.collectors), /^\{"a":\[\{"b":"y{10000}… \(1 more characters\)"\}\]\}$/)
  t.equal(original.url.length, 70_000)
})

t.test('values that are not JSON are converted', async t => {
  const cyclic: Record<string, unknown> = { date: new Date(0), big: 1n, nan: NaN, gone: undefined, list: [undefined] }
  cyclic.self = cyclic
  t.same(boundProfile(profile('000001', { collectors: { cyclic } }), LIMIT).collectors,
    { cyclic: { date: '1970-01-01T00:00:00.000Z', big: '1', nan: null, list: [null], self: '[circular]' } })
})

t.test('excerpts are removed first', async t => {
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

const note = (profile: Profile): number => {
  const count = /^([\d,]+) lines were left out, of the oldest and least severe: the profile was larger than [\d.]+ [kM]B\.$/.exec(
    profile.logs[0]?.message ?? ''
  )?.[1]
  return Number(count?.replaceAll(',', ''))
}

t.test('log lines are removed next, with a note of their number', async t => {
  for (const [count, limit] of [[1_000, LIMIT], [10_019, 512 * 1024]] as const) {
    const bounded = boundProfile(failure('000001', { logs: logs(count) }), limit)
    t.ok(size(bounded) <= limit, `${size(bounded)} of ${limit}`)
    t.ok(size(bounded) > limit * 0.98, `${size(bounded)} of ${limit}`)
    const [, ...kept] = bounded.logs
    t.equal(note(bounded), count - kept.length)
    t.same(
      kept.map(({ message }) => message.split(' ')[1]), Array.from({ length: kept.length }, (_, i) => String(count - kept.length + i)),
      'the newest, in their order'
    )
  }
})

t.test('errors and warnings are kept before other lines, and the last lines remain', async t => {
  const severe = logs(2_000).map((line, i) => i === 3 ? { ...line, level: 'error' as const } : i === 4 ? { ...line, level: 'warn' as const } : line)
  const bounded = boundProfile(profile('000001', { logs: severe }), LIMIT)
  t.match(bounded.logs.slice(1, 4).map(({ level, message }) => `${level} ${message.slice(0, 7)}`), ['error line 3', 'warn line 4', /^info line 1/])
  t.equal(note(bounded), 2_000 - bounded.logs.length + 1)

  const loud = logs(2_000).map((line, i) => ({ ...line, level: i < 1_000 ? 'error' as const : 'info' as const }))
  const { logs: kept } = boundProfile(profile('000001', { logs: loud }), LIMIT)
  const infos = kept.filter(({ level }) => level === 'info').length
  t.ok(infos > 40 && infos < 80, `${infos}`)
  t.match(kept.at(-1)?.message, /^line 1999 /)
})

t.test('only the line that is too long is removed', async t => {
  const lines = logs(1_000)
  const context = { list: Array.from({ length: 20 }, () => 'y'.repeat(9_000)) }
  const bounded = boundProfile(profile('000001', { logs: lines.map((line, i) => i === 999 ? { ...line, context } : line) }), LIMIT)
  t.ok(size(bounded) > LIMIT * 0.98 && size(bounded) <= LIMIT, `${size(bounded)}`)
  t.match(bounded.logs.at(-1)?.message, /^line 998 /)
})

t.test('an eighth of the size is left for the log if a collector is too large', async t => {
  const bounded = boundProfile(profile('000001', { logs: logs(1_000), collectors: { big: Array.from({ length: 20 }, () => 'y'.repeat(9_000)) } }), LIMIT)
  t.match(bounded.collectors.big, { error: /were left out/ })
  t.ok(bounded.logs.length > 15 && size(bounded) <= LIMIT, `${bounded.logs.length}`)
})

t.test('data of large collectors is removed next', async t => {
  const bounded = boundProfile(profile('000001', { collectors: { big: 'y '.repeat(4_900).split(' ').map(y => y.repeat(20)), small: { a: 1 } } }), LIMIT)
  t.match(bounded.collectors, { big: { error: /^[\d.]+ kB were left out: the profile was larger than 65\.5 kB\.$/ }, small: { a: 1 } })
})

t.test('a profile of any content fits the limit', async t => {
  const frame = { file: 'f'.repeat(9_000), line: 1, column: 1, function: 'g'.repeat(9_000), own: true }
  const exception = { name: 'E', message: 'm'.repeat(9_000), frames: Array.from({ length: 40 }, () => frame), stack: 's'.repeat(9_000) }
  const bounded = boundProfile(profile('000001', {
    url: 'u'.repeat(9_000),
    exceptions: Array.from({ length: 20 }, () => ({ ...exception, errors: [[exception]] })),
    logs: logs(3_000),
    events: Array.from({ length: 2_000 }, () => ({ stage: 'kernel.request', listener: 'l'.repeat(400), pass: 'main', outcome: 'ran', start: 0, duration: 0 })),
    collectors: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`c${i}`, 'd'.repeat(9_000)]))
  }), 256 * 1024)
  t.ok(size(bounded) <= 256 * 1024, `${size(bounded)}`)
  t.match(bounded.exceptions.at(-1)?.message, /^m/)
})

t.test('a log that fits is unchanged, and a log that was truncated twice has one note', async (t) => {
  t.same(fittingLogs(logs(100), LIMIT, 'it is too long'), logs(100))
  t.same(fittingLogs([], LIMIT, 'it is too long'), [])
  const first = fittingLogs(logs(1_000), LIMIT, 'it is too long')
  t.match(
    first[0], { level: 'warn', channel: 'profiler', message: `${1_001 - first.length} lines were left out, of the oldest and least severe: it is too long.` }
  )
  const second = boundProfile(profile('000001', { logs: first }), LIMIT / 2)
  t.equal(note(second), 1_001 - second.logs.length)
  t.equal(second.logs.filter(({ channel }) => channel === 'profiler').length, 1)
  const [only, ...others] = fittingLogs(logs(3), 300, 'it is too long')
  t.match(only, { time: logs(1)[0]?.time, message: /^3 lines were left out/ })
  t.same(others, [])
})

t.test('the record of a profile that fits is its unchanged JSON, and a larger one is bounded', async (t) => {
  const given = failure('000001', { url: 'x'.repeat(20_000) })
  t.strictSame(JSON.parse(boundedRecord(given, LIMIT).json), given)
  const { json, summary } = boundedRecord(profile('000001', { logs: logs(1_000), collectors: { big: 1n } }), LIMIT)
  t.ok(Buffer.byteLength(json) <= LIMIT)
  t.match(JSON.parse(json), { collectors: { big: '1' } })
  t.equal(summary.warnings, 0, 'not that lines were left out')
})

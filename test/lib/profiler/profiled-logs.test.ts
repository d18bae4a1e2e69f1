import t from 'tap'
import { createMask, type Mask } from '../../../lib/mask/mask.js'
import { RequestLog } from '../../../lib/logs/request-log.js'
import { boundProfile } from '../../../lib/profiler/bounds.js'
import { profiledLogs } from '../../../lib/profiler/profiled-logs.js'
import { profile } from './fixture.js'

const LIMIT = 64 * 1024
const mask = createMask()

function logOf (lines: number, level: (i: number) => number, rest: (i: number) => string): RequestLog {
  const log = new RequestLog()
  for (let i = 0; i < lines; i++) log.add(level(i), `{"level":30,"time":1,"pid":1,"hostname":"h",${rest(i)}"msg":"line ${i}"}\n`)
  return log
}

function bounded (log: RequestLog, room: number, by: Mask = mask) {
  const { logs, leftOut } = profiledLogs(log, by, room)
  return boundProfile(profile('000001', { logs, ...(leftOut > 0 && { logsLeftOut: leftOut }) }), LIMIT)
}

t.test('a log that fits is there as a whole', async t => {
  const { logs, leftOut } = profiledLogs(logOf(100, () => 30, () => '"password":"hunter2",'), mask, LIMIT)
  t.equal(logs.length, 100)
  t.equal(leftOut, 0)
  t.same(logs[7]?.context, { password: '******' })
  t.same(profiledLogs(null, mask, LIMIT), { logs: [], leftOut: 0 })
})

t.test('of a long log the same is left as where all of it was read, but for lines that fill the last room', async t => {
  const kinds: Array<[name: string, level: (i: number) => number, rest: (i: number) => string]> = [
    ['short', () => 30, () => ''],
    ['of all lengths', () => 20, (i) => `"a":"${'x'.repeat(i * 7919 % 900)}",`],
    ['of all levels', (i) => 10 * (1 + i % 6), (i) => `"a":${i},`],
    ['grave at the beginning', (i) => i < 1_500 ? 50 : 30, () => '"token":"abcdef",'],
    ['some of them long', (i) => i % 100 === 3 ? 40 : 30, (i) => i % 50 === 3 ? `"a":"${'y'.repeat(30_000)}",` : '']
  ]
  for (const [name, level, rest] of kinds) {
    const log = logOf(3_000, level, rest)
    const short = bounded(log, LIMIT)
    const [kept, whole] = [short, bounded(log, Infinity)].map(({ logs }) => logs.slice(1).map(({ level, message }) => `${level} ${message}`)) as [string[], string[]]
    t.ok(kept.length > 20 && [...kept, ...whole].filter((line) => !kept.includes(line) || !whole.includes(line)).length <= 3, `${name}: ${kept.length} and ${whole.length} lines`)
    t.same([kept[0], kept.at(-1)], [whole[0], whole.at(-1)])
    const left = /^([\d,]+) lines were left out/.exec(short.logs[0]?.message ?? '')?.[1]?.replaceAll(',', '')
    t.equal(Number(left) + kept.length, 3_000)
    t.notOk('logsLeftOut' in short)
    t.ok(Buffer.byteLength(JSON.stringify(short)) <= LIMIT)
  }
})

t.test('and hardly more is read than is left', async t => {
  let read = 0
  const counting: Mask = { ...mask, text: (text) => { read++; return mask.text(text) } }
  const { logs } = bounded(logOf(10_000, (i) => i % 500 === 0 ? 50 : 30, () => ''), LIMIT, counting)
  t.ok(read >= logs.length - 1 && read < logs.length * 1.2, `${read} of ${logs.length}`)
})

t.test('one that does not fit is read once', async t => {
  let read = 0
  const counting: Mask = { ...mask, text: (text) => { read++; return mask.text(text) } }
  const { logs } = profiledLogs(logOf(400, () => 40, () => `"a":"${'x'.repeat(8_000)}",`), counting, LIMIT)
  t.ok(logs.length > 3)
  t.ok(read <= logs.length + 20, `${read} for ${logs.length}`)
})

t.test('what lines have in common counts for each of them', async t => {
  const name = 'n'.repeat(8_000)
  const log = new RequestLog()
  for (let i = 0; i < 250; i++) log.add(50, `{"level":50,"time":1,"err":{"stack":"e"},"${name}":1,"msg":"same"}\n`)
  for (const room of [LIMIT, Infinity]) {
    const whole = bounded(log, room)
    t.ok(Buffer.byteLength(JSON.stringify(whole)) <= LIMIT)
    t.match(whole.logs[0]?.message, /lines were left out/)
  }
})

t.test('where no line fits, the note has a time all the same', async t => {
  const { logs } = boundProfile(profile('000001', { logs: [], logsLeftOut: 3, collectors: { big: 'x'.repeat(1_000) } }), LIMIT)
  t.match(logs, [{ time: profile('000001').time, message: /^3 lines were left out/ }])
  t.equal(logs.length, 1)
})

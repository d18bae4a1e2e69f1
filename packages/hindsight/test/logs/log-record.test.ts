import pino from 'pino'
import t from 'tap'
import { createMask, type Mask } from '../../src/mask/mask.js'
import { levelName, RequestLog, severeLines, stacksLast } from '../../src/logs/log-record.js'
import type { ListenerEvent } from '../../src/recording/events.js'
import { Recording } from '../../src/recording/recording.js'

const mask = createMask()
const START = new Recording()
const startedTime = Date.parse('2026-01-02T03:04:05.000Z')
Object.assign(START.timing, { startedAt: 1_000, startedTime })

const NUMBERS = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 }

/** Adds a line as pino writes it, with its field `msg` as the message. */
function add (log: RequestLog, level: number, text: string, at = performance.now()): void {
  const message = /"msg":("(?:[^"\\]|\\.)*")/.exec(text)?.[1]
  log.add({ at, level: levelName(level, NUMBERS), line: { text, message: message === undefined ? undefined : JSON.parse(message) } })
}

t.test('levels have the names that the logger gives their numbers', async t => {
  for (const [level, name] of [
    [10, 'trace'], [20, 'debug'], [30, 'info'], [35, 'info'], [40, 'warn'], [50, 'error'], [60, 'fatal'], [100, 'fatal'], [0, 'trace']
  ] as const) t.equal(levelName(level, NUMBERS), name)
  const descending = { fatal: 1, error: 2, warn: 3, info: 4, debug: 5, trace: 6 }
  for (const [name, level] of Object.entries(descending)) t.equal(levelName(level, descending), name)
})

t.test('a line that is not JSON is kept as its message', async t => {
  const log = new RequestLog(START)
  add(log, 40, 'plain text\n')
  t.match(log.records(), [{ level: 'warn', channel: 'app', message: 'plain text', context: {} }])
})

t.test('a line without a message has that among its fields, or that of its error', async t => {
  const log = new RequestLog(START)
  add(log, 50, '{"level":50,"cause":{"message":"boom","stack":"Error: boom"}}')
  add(log, 30, '{"level":30,"a":1}')
  log.add({ at: performance.now(), level: 'info', line: { text: '{"level":30,"text":"a field","b":2}' } })
  t.match(log.records(), [{ message: 'boom' }, { message: '', context: { a: 1 } }, { message: '', context: { text: 'a field', b: 2 } }])
  log.add({ at: performance.now(), level: 'info', line: { text: '{"level":30,"text":"first"}' } })
  log.add({ at: performance.now(), level: 'info', line: { text: '{"level":30,"a":"a message","text":"a message"}', message: 'a message' } })
  t.match(log.records().slice(3), [{ message: 'first', context: {} }, { message: 'a message', context: { a: 'a message' } }])
})

t.test('lines above the bound that no logger has written are counted', async t => {
  const log = new RequestLog(START)
  for (let i = 0; i < 10_002; i++) log.note('info', { channel: 'request', message: 'x', context: {} })
  t.ok(log.records().some(({ channel, message }) => channel === 'profiler' && message.startsWith('2 more log lines of this request were not kept')))
})

t.test('lines above the bounds are counted', async t => {
  const log = new RequestLog(START)
  for (let i = 0; i < 10_003; i++) add(log, 30, '{"msg":"x"}')
  t.equal(log.records().length, 10_001)
  t.ok(log.records().some(({ channel, message }) => channel === 'profiler' && message === '3 more log lines of this request were not kept'))
  const large = new RequestLog(START)
  // Of one line 10,000 characters or more are kept, of all together some megabytes.
  for (let i = 0; i < 2_000; i++) add(large, 30, JSON.stringify({ msg: 'x'.repeat(1024 * 64) }))
  t.ok(large.records().length < 2_000)
  t.ok(large.records().some(({ message }) => /more log lines/.test(message)))
})

const event = (listener: string, outcome: ListenerEvent['outcome'], start: number): ListenerEvent =>
  ({ stage: 'kernel.request', listener, pass: 'main', outcome, start, duration: 0 })
const notified = (listener: string): string => `Notified event "kernel.request" to listener "${listener}".`

t.test('notifications are ordered among the lines of the same millisecond; skipped listeners have none', async t => {
  const log = new RequestLog(START)
  add(log, 30, '{"msg":"before"}', 999.8)
  add(log, 30, '{"msg":"between"}', 1000.25)
  add(log, 30, '{"msg":"after"}', 1009.5)
  const events = [event('router', 'ran', 0.2), event('locale', 'skipped', 0.3), event('firewall', 'ran', 0.4), event('pagination', 'raised', 9.001)]
  const records = severeLines(log, events, startedTime, mask).logs
  t.same(
    records.map(({ offset, message }) => [offset, message]),
    [[0, 'before'], [0.2, notified('router')], [0.25, 'between'], [0.4, notified('firewall')], [9.001, notified('pagination')], [9.5, 'after']]
  )
  t.match(records[1], { level: 'debug', channel: 'event', time: '2026-01-02T03:04:05.000Z' })
  t.same(records.map(({ time }) => time), records.map(({ time }) => time).sort(), 'the times never decrease')
  t.same(severeLines(undefined, [], 0, mask), { logs: [] })
})

t.test('the order and the times of lines do not depend on the clock of the machine', async t => {
  const now = Date.now
  t.teardown(() => { Date.now = now })
  const recording = new Recording()
  Object.assign(recording.timing, { startedAt: performance.now(), startedTime })
  const log = new RequestLog(recording)
  for (const [i, message] of ['first', 'second', 'third'].entries()) {
    Date.now = () => startedTime - i * 60_000
    if (i === 1) log.note('info', { channel: 'app', message, context: {} })
    else add(log, 30, JSON.stringify({ msg: message }))
  }
  const records = log.records()
  t.same(records.map(({ message }) => message), ['first', 'second', 'third'])
  t.ok(records.every(({ time }) => Date.parse(time) >= startedTime))
})

t.test('a debug line of Hindsight has its place in the log, whether or not the logger writes it', async (t) => {
  const written: unknown[] = []
  const logger = { debug: (...line: unknown[]) => { written.push(line) } } as never
  const log = new RequestLog(START)
  add(log, 30, '{"msg":"first"}')
  log.debug(logger, { channel: 'router', context: { route: 'home' }, message: 'second' })
  add(log, 30, '{"msg":"third"}')
  t.match(log.records(), [{ message: 'first' }, { level: 'debug', channel: 'router', message: 'second', context: { route: 'home' } }, { message: 'third' }])
  t.same(written, [])
  log.writesDebug = true
  log.debug(logger, { channel: 'router', context: { route: 'home' }, message: 'fourth' })
  t.same(written, [[{ channel: 'router', route: 'home' }, 'fourth']])
  t.equal(log.records().length, 3, 'the logger returns the line')
})

t.test('a line is masked with the given mask', async (t) => {
  const log = new RequestLog(START)
  add(log, 30, '{"level":30,"time":1,"pid":1,"hostname":"h","reqId":"req-1","token":"abc","err":{"stack":"password=hunter2"},"msg":"for https://u:pw@host/"}\n')
  const [shown] = severeLines(log, [], 0, mask).logs
  t.match(shown, { level: 'info', message: 'for https://u:******@host/', context: { token: '******' } })
  t.notMatch(JSON.stringify(shown), 'hunter2')
  t.same(severeLines(log, [], 0, { ...mask, value: (value) => value }).logs[0]?.context.token, 'abc')
})

t.test('lines are in the order in which they were written', async (t) => {
  const log = new RequestLog(START)
  add(log, 30, '{"msg":"third"}', 2_000)
  add(log, 30, '{"msg":"first"}', 1_000.5004)
  add(log, 30, '{"msg":"second"}', 1_000.5004)
  const at = (ms: number): string => new Date(startedTime + ms).toISOString()
  t.same(
    log.records().map(({ message, time, offset }) => [message, time, offset]), [['first', at(0), 0.5], ['second', at(0), 0.5], ['third', at(1_000), 1_000]]
  )
})

t.test('only the message of a long line is kept', async (t) => {
  const log = new RequestLog(START)
  add(log, 40, JSON.stringify({ level: 40, channel: 'import', body: 'x'.repeat(100_000), msg: 'the "end"' }))
  t.match(
    log.records(), [{ level: 'warn', channel: 'import', message: 'the "end"', context: { cut: '100,061 characters: the fields of this line were left out' } }]
  )
})

t.test('at most 200 lines are masked, errors and warnings first; the others are counted', async t => {
  let read = 0
  const counting: Pick<Mask, 'text' | 'value'> = { value: (value) => mask.value(value), text: (text) => { read++; return mask.text(text) } }
  const log = new RequestLog(START)
  for (let i = 0; i < 5_000; i++) add(log, i % 1_000 === 7 ? 50 : i === 8 ? 40 : 30, `{"level":30,"time":1,"msg":"line ${i}"}`)
  const { logs, logsOmitted } = severeLines(log, [], 0, counting)
  t.equal(read, 200)
  t.equal(logs.length, 200)
  t.same(logs.slice(0, 5).map(({ message }) => message), ['line 7', 'line 8', 'line 1007', 'line 2007', 'line 3007'])
  t.equal(logs.at(-1)?.message, 'line 4999')
  t.same(logsOmitted, 4_800)
  const loud = new RequestLog(START)
  for (let i = 0; i < 1_500; i++) add(loud, 50, '{"msg":"x"}')
  t.same(severeLines(loud, [], 0, mask).logsOmitted, 1_300)
})

t.test('the fields of a line are masked once by one mask', async (t) => {
  let masked = 0
  const counting = (): Pick<Mask, 'text' | 'value'> => ({ value: (value) => { masked++; return mask.value(value) }, text: mask.text })
  const log = new RequestLog(START)
  add(log, 30, '{"level":30,"msg":"sent","token":"abc","to":"ada"}')
  const [page, profile] = [counting(), counting()]
  for (const [one, times] of [[page, 1], [page, 1], [profile, 2]] as const) {
    t.match(severeLines(log, [], 0, one).logs, [{ message: 'sent', context: { token: '******', to: 'ada' } }])
    t.equal(masked, times)
  }
})

t.test('a logged DOMException has no legacy number, and not the constants of its prototype', async (t) => {
  const err = pino.stdSerializers.err(new DOMException('too late', 'TimeoutError'))
  t.equal(err.code, 23)
  t.match(err, { TIMEOUT_ERR: 23 })
  t.strictSame(Object.keys(stacksLast(err) as object), ['type', 'message', 'name', 'stack'])
  const own = { type: 'Error', code: 23, NO_ERR: 1 }
  t.strictSame(stacksLast(own), own)
})

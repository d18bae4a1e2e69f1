import t from 'tap'
import type { LogRecord } from '../../../src/logs/log-record.js'
import { logs as logsPanel } from '../../../src/parts/logs/index.js'
import { profile } from '../fixture.js'
import { sample } from '../sample.js'
import { shown, texts } from '../support.js'

const line = (level: string, message: string, changes: Partial<LogRecord> = {}): LogRecord =>
  ({ time: '2026-01-02T03:04:05.700Z', level: level as LogRecord['level'], channel: 'app', message, context: {}, ...changes })
const five = profile('000001', {
  logs: [
    line('debug', 'one'), line('info', 'two', { channel: 'db' }), line('warn', 'three'), line('error', 'four', { context: { reason: 'Disk' } }),
    line('odd', 'five')
  ]
})
const visible = (query: Record<string, unknown>) =>
  texts(shown(logsPanel, five, query), 'tbody td.text > span')

t.test('every line has its level, channel, message and context', async t => {
  const { logs: [first, second] = [], ...others } = sample()
  const root = shown(logsPanel, { ...others, logs: [{ ...first, offset: 1 }, second] as never })
  t.same(texts(root, 'tbody tr'), ['03:04:05.678 +1 ms inforequest incoming plainplain{ "plain": "plain" }', '03:04:05.679 errorplain plain'])
  t.same([...root.querySelectorAll('tbody tr')].map((row) => row.className), ['log log-info', 'log log-error'])
  t.same([...root.querySelectorAll('details')].map((details) => details.open), [false])
})

t.test('the first error in the log, or else the first warning, is a finding of a request that was not refused', async t => {
  const place = { source: '/app/src/shop.js:70:9' }
  const findings = (logs: LogRecord[], status = 200) => logsPanel.findings?.({}, profile('000001', { duration: 10, status, logs }))
  const warning = line('warn', 'stock is low', place)
  const error = line('error', 'mail failed.', { ...place, offset: 5 })
  t.same(findings([line('info', 'start'), warning, error]), [{ order: 12, text: 'An error was logged: mail failed (/app/src/shop.js:70)' }])
  t.same(findings([warning]), [{ order: 45, text: 'A warning was logged: stock is low (/app/src/shop.js:70)' }])
  t.same(findings([{ ...warning, channel: 'process' }]), [{ order: 45, text: 'A warning was emitted: stock is low (/app/src/shop.js:70)' }])
  t.same(findings([{ ...line('warn', '2 lines were left out'), channel: 'profiler', context: { linesLeftOut: 2 } }]), [])
  t.same(findings([line('fatal', '')]), [{ order: 12, text: 'An error was logged' }])
  t.same(findings([line('info', 'start')]), [])
  t.same(findings([{ ...error, offset: 11 }]), [], 'after the response')
  t.same(findings([error], 403), [], 'the refusal comes first')
})

t.test('the filter selects lines by level and text', async t => {
  for (const [query, expected] of [
    [{}, ['two', 'three', 'four', 'five']],
    [{ level: 'trace' }, ['one', 'two', 'three', 'four', 'five']],
    [{ level: 'warn' }, ['three', 'four', 'five']],
    [{ level: 'nonsense' }, ['two', 'three', 'four', 'five']],
    [{ level: ['trace', 'error'] }, ['four', 'five']],
    [{ q: 'THRE' }, ['three']],
    [{ q: 'disk' }, ['four']]
  ] as const) t.same(visible(query), expected, JSON.stringify(query))
})

t.test('the form shows the current filter and the number of lines for each choice', async t => {
  const root = shown(logsPanel, five, { level: 'warn', q: '"x' })
  t.same(
    texts(root, 'option'), ['All lines (5)', 'Debug and above (5)', 'Info and above (4)', 'Warnings and above (3)', 'Errors and above (2)', 'Fatal only (1)']
  )
  t.same(texts(root, 'option[selected]'), ['Warnings and above (3)'])
  t.equal(root.querySelector('[name=q]')?.getAttribute('value'), '"x')
  t.same(texts(root, '.log-count'), ['0 of 5 lines'])
})

/** Before Node.js 22 the panel says that it has no lines of the console. */
const consoleNote = Number(process.versions.node.split('.')[0]) >= 22 ? [] : ['Lines of console.log and its like need Node.js 22 or later.']

t.test('of a very long log the most severe and the latest lines are shown', async t => {
  const logs = Array.from({ length: 10_000 }, (_, i) => line(i % 100 === 0 ? 'error' : 'info', `m${i}`))
  const long = profile('000001', { logs })
  const root = shown(logsPanel, long)
  t.equal(root.querySelectorAll('tbody tr').length, 1_000)
  t.same(texts(root, '.note'), ['10,000 of 10,000 lines', '9,000 lines that are less severe or older are left out.', ...consoleNote])
  t.match(root.querySelector('tbody tr:first-child')?.textContent, /m0$/)
  t.match(root.querySelector('tbody tr:last-child')?.textContent, /m9999$/)
  t.equal(shown(logsPanel, long, { level: 'error' }).querySelectorAll('tbody tr').length, 100)
})

t.test('a row divides the lines that came after the response', async t => {
  const at = (offset: number) => line('info', `at ${offset}`, { offset })
  const rows = (logs: ReturnType<typeof at>[], kind?: 'job') =>
    texts(shown(logsPanel, profile('000001', { duration: 20, logs, ...kind && { kind } })), 'tbody tr').map((text) => text.replace(/^.*(?=at )/, ''))
  t.same(rows([at(1), at(20), at(21), at(30)]), ['at 1', 'at 20', 'After the response', 'at 21', 'at 30'])
  t.same(rows([at(1), at(21)], 'job'), ['at 1', 'After the end', 'at 21'])
  t.same(rows([at(1), at(20)]), ['at 1', 'at 20'])
})

t.test('an empty log has a sentence', async t => {
  t.same(texts(shown(logsPanel, profile('000001')), '.note'), ['No log messages.', ...consoleNote])
})

t.test('notifications of listeners are hidden until they are requested', async t => {
  const logs = [line('info', 'one'), line('debug', 'Notified', { channel: 'event' }), line('debug', 'two')]
  const of = profile('000001', { logs })
  const messages = (query: Record<string, unknown>) => texts(shown(logsPanel, of, query), 'tbody td.text')
  t.same(messages({ level: 'trace' }), ['one', 'two'])
  t.same(messages({ level: 'trace', events: '1' }), ['one', 'Notified', 'two'])
  t.same(messages({ events: '1' }), ['one', 'Notified'])
  const root = shown(logsPanel, of)
  t.same(texts(root, '.log-count'), ['1 of 2 lines'])
  t.same(texts(root, 'label:has([name=events])'), ['Listeners (1)'])
  t.same(texts(root, 'option')[0], 'All lines (2)')
  t.ok(shown(logsPanel, of, { events: '1' }).querySelector('[name=events][checked]'))
})

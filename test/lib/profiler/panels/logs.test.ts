import t from 'tap'
import type { LogRecord } from '../../../../lib/logs/log-record.js'
import { logsPanel } from '../../../../lib/profiler/panels/logs.js'
import { profile } from '../fixture.js'
import { sample } from '../sample.js'
import { shown, texts } from './support.js'

const line = (level: string, message: string, changes: Partial<LogRecord> = {}): LogRecord =>
  ({ time: '2026-01-02T03:04:05.700Z', level: level as LogRecord['level'], channel: 'app', message, context: {}, ...changes })
const five = profile('000001', {
  logs: [line('debug', 'one'), line('info', 'two', { channel: 'db' }), line('warn', 'three'), line('error', 'four', { context: { reason: 'Disk' } }), line('odd', 'five')]
})
const visible = (query: Record<string, unknown>) => texts(shown(logsPanel, five, query), 'tbody tr:not([hidden]) td:first-child ~ td.text').map((text) => text.replace(/Context.*/, ''))

t.test('every line has its level, channel, message and context', async t => {
  const root = shown(logsPanel, sample())
  t.same(texts(root, 'tbody tr'), ['03:04:05.678+0 ms inforequest incoming plainContext plain{ "plain": "plain" }', '03:04:05.679+1 ms errorplain plain'])
  t.same([...root.querySelectorAll('tbody tr')].map((row) => row.className), ['log log-info', 'log log-error'])
  t.same([...root.querySelectorAll('details')].map((details) => details.open), [false])
})

t.test('the filter selects lines by level, channel and text', async t => {
  for (const [query, expected] of [
    [{}, ['two', 'three', 'four', 'five']],
    [{ level: 'trace' }, ['one', 'two', 'three', 'four', 'five']],
    [{ level: 'warn' }, ['three', 'four', 'five']],
    [{ level: 'nonsense' }, ['two', 'three', 'four', 'five']],
    [{ level: ['trace', 'error'] }, ['four', 'five']],
    [{ channel: 'db' }, ['two']],
    [{ channel: ['db', 'app'] }, ['two', 'three', 'four', 'five']],
    [{ channel: 'none' }, []],
    [{ q: 'THRE' }, ['three']],
    [{ q: 'disk' }, ['four']]
  ] as const) t.same(visible(query), expected, JSON.stringify(query))
})

t.test('the form shows the current filter and the number of lines for each choice', async t => {
  const root = shown(logsPanel, five, { level: 'warn', channel: 'db', q: '"x', time: 'relative' })
  t.same(texts(root, 'option'), ['All lines (4)', 'Debug and above (4)', 'Info and above (3)', 'Warnings and above (2)', 'Errors and above (1)', 'Fatal only (0)'])
  t.same(texts(root, 'option[selected]'), ['Warnings and above (2)'])
  t.same([...root.querySelectorAll('[name=channel]')].map((box) => [box.getAttribute('value'), box.hasAttribute('checked')]), [['app', false], ['db', true]])
  t.equal(root.querySelector('[name=q]')?.getAttribute('value'), '"x')
  t.equal(root.querySelector('[name=time][checked]')?.getAttribute('value'), 'relative')
  t.same(texts(root, '.log-count'), ['0 of 5 lines'])
  t.equal(shown(logsPanel, profile('000001', { logs: [line('info', 'a')] })).querySelector('.channels'), null, 'a single channel has no filter')
})

t.test('the first error is linked before the lines', async t => {
  t.same(texts(shown(logsPanel, five), '.lead'), ['One error, first: four'])
  t.equal(shown(logsPanel, five).querySelector('.lead a')?.getAttribute('href'), '?panel=logs&level=error#line-4')
  t.equal(shown(logsPanel, profile('000001', { logs: [line('warn', 'a')] })).querySelector('.lead'), null)
})

t.test('a very long log is split into pages, which the server filters', async t => {
  const logs = Array.from({ length: 10_000 }, (_, i) => line(i % 100 === 0 ? 'error' : 'info', `m${i}`))
  const long = profile('000001', { logs })
  const root = shown(logsPanel, long)
  t.equal(root.querySelectorAll('tbody tr').length, 500)
  t.same(texts(root, '.pages'), ['Page 1 of 20 Later lines'])
  t.equal(root.querySelector('.is-live'), null)
  t.same(texts(root, '.log-count'), ['10,000 of 10,000 lines'])
  t.equal(root.querySelector('.lead a')?.getAttribute('href'), '?panel=logs&level=error#line-1')
  const last = shown(logsPanel, long, { page: '20' })
  t.match(last.querySelector('tbody tr:last-child')?.textContent, /m9999/)
  const later = shown(logsPanel, long, { level: 'info', q: 'm', channel: 'app', page: '3' })
  t.same([...later.querySelectorAll('.pages a')].map((link) => link.getAttribute('href')), [
    '?panel=logs&level=info&channel=app&q=m&time=absolute&page=2', '?panel=logs&level=info&channel=app&q=m&time=absolute&page=4'
  ])
  t.equal(shown(logsPanel, long, { level: 'error' }).querySelectorAll('tbody tr').length, 100)
  for (const page of ['0', '-1', 'x', '1e9']) t.ok(shown(logsPanel, long, { page }).querySelectorAll('tbody tr').length > 0, page)
})

t.test('an empty log has a sentence', async t => {
  t.equal(shown(logsPanel, profile('000001')).textContent, 'No log messages.')
})

t.test('notifications of listeners are hidden until they are requested', async t => {
  const logs = [line('info', 'one'), line('debug', 'Notified', { channel: 'event' }), line('debug', 'two')]
  const of = profile('000001', { logs })
  const messages = (query: Record<string, unknown>) => texts(shown(logsPanel, of, query), 'tbody td.text')
  t.same(messages({ level: 'trace' }), ['one', 'two'])
  t.same(messages({ level: 'trace', channel: ['app', 'event'] }), ['one', 'Notified', 'two'])
  const root = shown(logsPanel, of)
  t.same(texts(root, '.log-count'), ['1 of 2 lines, without 1 notification of a listener'])
  t.same(texts(root, 'label:has([name=channel]:checked)'), ['app 2'])
  t.same(texts(root, 'option')[0], 'All lines (2)')
  const query = Object.fromEntries(new URLSearchParams(root.querySelector('.log-count a')?.getAttribute('href') ?? ''))
  t.same(query, { panel: 'logs', level: 'debug', events: '1', q: '', time: 'absolute' })
  t.same(messages(query), ['one', 'Notified', 'two'])
  t.equal(shown(logsPanel, of, query).querySelector('[name=events]')?.getAttribute('value'), '1')
})

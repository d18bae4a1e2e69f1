import type { LogRecord } from '../../../logs/log-record.js'
import { html } from '../../../view/html.js'
import { script as readScript, style as readStyle } from '../../../view/asset.js'
import { visibleLine } from '../../../view/visible.js'
import type { Profile } from '../../profile.js'
import { json, note, scrollable } from '../../pages/components.js'
import { addressOf, fieldOf, fieldsOf, PLAIN_VIEW } from '../panel.js'
import type { Panel, PanelView } from '../panel.js'
import { counted } from '../../../view/counted.js'
import { filterForm } from './filter-form.js'
import { isProblem, isShown, LEVELS, readFilter, type LogFilter } from './filter.js'

// A page of more rows than this is no longer read; as many are filtered in the page itself.
const PAGE = 500

/** What was logged while the request was handled. */
export const logsPanel: Panel = {
  name: 'logs',
  label: 'Logs',
  group: 'overview',
  always: true,
  count: (profile) => profile.logs.filter(({ level }) => level !== 'debug' && level !== 'trace').length,
  problem: (profile) => profile.logs.some(isProblem),
  style: readStyle(import.meta.url, './style.css'),
  script: readScript(import.meta.url, './script.js'),
  render: (profile, view = PLAIN_VIEW) => profile.logs.length === 0 ? note('Nothing was logged.') : log(profile, view)
}

function log (profile: Profile, view: PanelView): string {
  const { logs } = profile
  const filter = readFilter(fieldOf(view, 'level'), fieldsOf(view, 'channel'), fieldOf(view, 'q'), fieldOf(view, 'time'))
  const lines = logs.map((record, i) => ({ record, number: i + 1 }))
  const isLive = lines.length <= PAGE
  const fitting = lines.filter(({ record }) => isShown(record, filter))
  const pages = isLive ? 1 : Math.max(1, Math.ceil(fitting.length / PAGE))
  const page = Math.min(pages, Math.max(1, Math.trunc(Number(fieldOf(view, 'page'))) || 1))
  const shown = isLive ? lines : fitting.slice((page - 1) * PAGE, page * PAGE)
  return problemsOf(logs, isLive ? null : filter) + filterForm(logs, filter, isLive) +
    html`<p class="note log-count" role="status">${fitting.length.toLocaleString('en')} of ${counted(logs.length, 'line')}</p>` +
    scrollable('Log lines', html`<table class="rows logs"><thead><tr>
<th scope="col">Time</th><th scope="col">Level</th><th scope="col">Channel</th><th scope="col">Message</th>
</tr></thead><tbody>!${shown.map(({ record, number }) => row(record, number, Date.parse(profile.time), !isShown(record, filter)))}</tbody></table>`) +
    pagesNav(page, pages, filter)
}

// What went wrong is seen ahead of what led to it.
function problemsOf (logs: readonly LogRecord[], filter: LogFilter | null): string {
  const errors = logs.map((record, i) => ({ record, number: i + 1 })).filter(({ record: { level } }) => level === 'error' || level === 'fatal')
  const first = errors[0]
  if (first === undefined) return ''
  const text = `${errors.length === 1 ? 'One error' : counted(errors.length, 'error')}, first: ${visibleLine(String(first.record.message)).slice(0, 200)}`
  const href = filter === null ? `#line-${first.number}` : addressOf('logs', [['level', 'error']], `line-${first.number}`)
  return html`<p class="lead bad"><a href="${href}">${text}</a></p>`
}

function row ({ time, level: given, channel, message, context }: LogRecord, number: number, startedAt: number, hidden: boolean): string {
  const level = LEVELS.find((one) => one === String(given)) ?? 'other'
  const since = Date.parse(time) - startedAt
  return html`<tr id="line-${number}" class="log log-!${level}" data-level="!${LEVELS.indexOf(level as never)}"!${hidden ? ' hidden' : ''}>
<td><time datetime="${time}">${String(time).slice(11, 23)}</time>!${Number.isNaN(since) ? '' : html`<span class="since">+${since} ms</span>`}</td>
<td><span class="level">${String(given)}</span></td><td>${channel}</td>
<td class="text">${message}!${contextOf(context)}</td></tr>`
}

function contextOf (context: unknown): string {
  const names = typeof context === 'object' && context !== null ? Object.keys(context) : []
  if (names.length === 0) return ''
  const told = names.slice(0, 4).map(visibleLine).join(', ') + (names.length > 4 ? ', …' : '')
  return html`<details><summary>Context <span class="names">${told}</span></summary>!${json(context)}</details>`
}

function pagesNav (page: number, pages: number, { level, channels, text, time }: LogFilter): string {
  if (pages === 1) return ''
  const fields = [['level', level], ...channels.map((channel) => ['channel', channel]), ['q', text], ['time', time]] as Array<[string, string]>
  const link = (to: number, label: string): string => to < 1 || to > pages ? '' : html`<a href="${addressOf('logs', [...fields, ['page', String(to)]])}">${label}</a> `
  return html`<nav class="pages" aria-label="Pages of the log">!${link(page - 1, 'Earlier lines')}<span>Page ${page} of ${pages}</span> !${link(page + 1, 'Later lines')}</nav>`
}

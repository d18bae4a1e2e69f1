import type { LogRecord } from '../../../logs/log-record.js'
import { html } from '../../../view/html.js'
import { json, note, scrollable } from '../../ui/components.js'
import type { Panel } from '../panel.js'

// A page of more rows than this is no longer read; the JSON has them all.
const MAX_ROWS = 1_000
const PROBLEMS = new Set(['warn', 'error', 'fatal'])

/** What was logged while the request was handled. */
export const logsPanel: Panel = {
  name: 'logs',
  label: 'Logs',
  count: profile => profile.logs.length,
  problem: profile => profile.logs.some(record => PROBLEMS.has(record.level)),
  render: ({ logs }) => logs.length === 0 ? note('Nothing was logged.') : table(logs)
}

function table (logs: LogRecord[]): string {
  const shown = logs.slice(-MAX_ROWS)
  const hidden = logs.length - shown.length
  return (hidden > 0 ? note(`${hidden.toLocaleString('en')} earlier lines are left out here; the JSON has them.`) : '') +
    scrollable('Log lines', html`<table class="rows logs"><thead><tr>
<th scope="col">Time</th><th scope="col">Level</th><th scope="col">Channel</th><th scope="col">Message</th>
</tr></thead><tbody>!${shown.map(row)}</tbody></table>`)
}

function row (record: LogRecord): string {
  const level = String(record.level)
  return html`<tr class="log log-${/^[a-z]+$/.test(level) ? level : 'other'}">
<td><time datetime="${record.time}">${String(record.time).slice(11, 23)}</time></td>
<td><span class="level">${level}</span></td><td>${record.channel}</td>
<td class="text">${record.message}!${context(record.context)}</td></tr>`
}

function context (context: unknown): string {
  if (typeof context !== 'object' || context === null || Object.keys(context).length === 0) return ''
  return html`<details><summary>Context</summary>!${json(context)}</details>`
}

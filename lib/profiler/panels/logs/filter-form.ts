import type { LogRecord } from '../../../logs/log-record.js'
import { html } from '../../../view/html.js'
import { LEVELS, type LogFilter } from './filter.js'

const WORDS: Readonly<Record<string, string>> = { trace: 'All lines', debug: 'Debug and up', info: 'Info and up', warn: 'Warnings and up', error: 'Errors and up', fatal: 'Fatal only' }
const MAX_CHANNELS = 20

/** The form that filters a log: by the server without a script, at once with one where all lines are in the page. */
export function filterForm (logs: readonly LogRecord[], { level, channels, text, time }: LogFilter, isLive: boolean): string {
  const levels = counted(logs.map((record) => String(record.level)))
  const upwards = (from: number): number => LEVELS.slice(from).reduce((sum, name) => sum + (levels.get(name) ?? 0), 0)
  return html`<form method="get" class="filters log-filters!${isLive ? ' is-live' : ''}"><input type="hidden" name="panel" value="logs">
<label>Level <select name="level">!${LEVELS.map((name, i) =>
    html`<option value="${name}"!${name === level ? ' selected' : ''}>${WORDS[name]} (${upwards(i)})</option>`)}</select></label>
!${channelsOf(logs, channels)}
<fieldset><legend>Time</legend>!${(['absolute', 'relative'] as const).map((name) =>
    html`<label><input type="radio" name="time" value="${name}"!${name === time ? ' checked' : ''}>${name}</label>`)}</fieldset>
<label>Containing <input type="search" name="q" value="${text}" maxlength="500" autocomplete="off" spellcheck="false"></label>
<button type="submit">Filter</button></form>`
}

function channelsOf (logs: readonly LogRecord[], wanted: readonly string[]): string {
  const counts = [...counted(logs.map(({ channel }) => String(channel)))]
  if (counts.length < 2 || counts.length > MAX_CHANNELS) return ''
  return html`<fieldset class="channels"><legend>Channels</legend>!${counts.map(([name, count]) =>
    html`<label><input type="checkbox" name="channel" value="${name}"!${wanted.length === 0 || wanted.includes(name) ? ' checked' : ''}>${name} <span class="none">${count}</span></label>`)}</fieldset>`
}

function counted (names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

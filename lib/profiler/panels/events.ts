import type { ListenerEvent } from '../../lifecycle/events.js'
import { html } from '../../view/html.js'
import { milliseconds, note, place, scrollable, section, table } from '../pages/components.js'
import type { Profile } from '../profile.js'
import { headerHistory, type HeaderStep } from './header-history.js'
import { dataOf, onlyErrors, PLAIN_VIEW, runsOf, type Panel, type PanelView } from './panel.js'

/** The listeners and hooks in the order in which they ran, what each changed, and the history of each header. */
export const eventsPanel: Panel = {
  name: 'events',
  label: 'Events',
  group: 'overview',
  always: true,
  count: ({ events }) => events.filter(({ outcome }) => outcome !== 'skipped').length,
  problems: ({ events }) => onlyErrors(events.filter(({ outcome }) => outcome === 'raised')),
  render (profile, view = PLAIN_VIEW) {
    const { events } = profile
    const isObserved = dataOf(profile, 'config').lifecycle === 'observe'
    const numbered = events.map((event, i) => ({ ...event, number: i + 1 }))
    const ran = events.length === 0
      ? note(isObserved ? 'No application hook ran.' : 'No listener was reached.')
      : filters(events) + runsOf(numbered, ({ pass }) => pass).map((run) => passTable(run, view)).join('')
    return ran + headerTable(profile, view)
  }
}

interface NumberedEvent extends ListenerEvent {
  /** From 1. */
  number: number
}

function filters (events: readonly ListenerEvent[]): string {
  const skipped = events.filter(({ outcome }) => outcome === 'skipped').length
  const box = (name: string, count: number): string =>
    html`<label><input type="checkbox" class="show-${name}" checked>${name} <span>${count}</span></label>`
  return html`<div class="filters"><fieldset><legend>Show</legend>!${box('called', events.length - skipped)}` +
    html`!${box('skipped', skipped)}</fieldset></div>`
}

function passTable (events: readonly NumberedEvent[], view: PanelView): string {
  const title = events[0]?.pass === 'error' ? 'Error pass' : 'Main pass'
  const stages = runsOf(events, ({ stage }) => stage).map((run) => html`<tbody>
<tr class="stage"><th scope="rowgroup" colspan="5">${run[0]?.stage}</th></tr>!${
    run.map((event) => row(event, view))}</tbody>`)
  return section(title, scrollable(title, html`<table class="rows events" aria-label="${title}"><thead><tr>
<th scope="col">#</th><th scope="col">Listener</th><th scope="col">Outcome</th><th scope="col">Changes</th>
<th scope="col" class="number">Duration</th></tr></thead>!${stages}</table>`))
}

function row (event: NumberedEvent, view: PanelView): string {
  const { number, listener, outcome, duration } = event
  return html`<tr id="event-${number}" class="event event-${/^[a-z]+$/.test(outcome) ? outcome : 'other'}">
<td class="number">${number}</td><th scope="row">${listener}</th>
<td><span class="outcome">${outcome}</span></td><td class="text">!${effects(event, view)}</td>
<td class="number">${outcome === 'skipped' ? '' : milliseconds(duration)}</td></tr>`
}

function effects ({ reason, changes = {}, plugin, source }: ListenerEvent, { editor }: PanelView): string {
  const { status, headers = [] } = changes
  const owner = plugin === undefined ? '' : html`<b>${plugin}</b> `
  return [
    source === undefined ? '' : html`<div class="source">!${owner}!${place(source, editor)}</div>`,
    reason === undefined ? '' : html`<div class="reason">${reason}</div>`,
    status === undefined ? '' : html`<div>status: !${change(String(status.from), String(status.to))}</div>`,
    ...headers.map(({ name, from, to }) => html`<div><span class="header">${name}</span>: !${change(from, to)}</div>`)
  ].join('')
}

function change (from: string | null, to: string | null): string {
  if (from === null) return html`<ins>${to}</ins>`
  return to === null ? html`<del>${from}</del> (removed)` : html`<del>${from}</del> → <ins>${to}</ins>`
}

function headerTable (profile: Profile, view: PanelView): string {
  const rows = [...headerHistory(profile)].map(([name, steps]) => html`<tr><th scope="row" class="header">${name}</th>
<td><ol>!${steps.map((step) => stepMarkup(step, view))}</ol></td></tr>`)
  return section('Response headers, and where they were set', rows.length === 0
    ? note('None was set.')
    : table('Headers', ['Header', 'History'], rows, 'rows history'))
}

function stepMarkup ({ action, by, event, source, to }: HeaderStep, { editor }: PanelView): string {
  const author = event === undefined ? html`<span class="by">${by}</span>` : html`<a href="#event-${event}">${by}</a>`
  const where = source === undefined ? '' : html` <span class="place">!${place(source, editor)}</span>`
  return html`<li>${action} by !${author}!${where}!${to === null ? '' : html`: <code>${to}</code>`}</li>`
}

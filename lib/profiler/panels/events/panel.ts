import type { ListenerEvent } from '../../../lifecycle/events.js'
import { shortFile } from '../../../error-page/shared.js'
import { html } from '../../../view/html.js'
import { style as readStyle } from '../../../view/asset.js'
import type { Profile } from '../../profile.js'
import { milliseconds, note, place, scrollable, section } from '../../pages/components.js'
import { dataOf, PLAIN_VIEW, type Panel, type PanelView } from '../panel.js'
import { headerHistory, type HeaderStep } from './header-history.js'
import { ORDER } from './order.js'

const PASSES = { main: 'Main pass', error: 'Error pass' }

/** Which listeners were called, skipped and never reached, in the order in which they ran, and what each did to the response. */
export const eventsPanel: Panel = {
  name: 'events',
  label: 'Events',
  group: 'overview',
  always: true,
  count: (profile) => profile.events.filter(({ outcome }) => outcome !== 'skipped').length,
  problem: (profile) => profile.events.some((event) => event.outcome === 'raised'),
  style: readStyle(import.meta.url, './style.css'),
  render (profile, view = PLAIN_VIEW) {
    const { events } = profile
    const isObserved = dataOf(profile, 'config').lifecycle === 'observe'
    if (events.length === 0) return note(isObserved ? 'No hook of the application ran.' : 'No listener was reached.') + (isObserved ? headers(profile, view) : '')
    return filters(events) + passesOf(events).map((events) => pass(events)).join('') + (isObserved ? '' : unreached(events)) + headers(profile, view)
  }
}

interface Numbered extends ListenerEvent {
  number: number
}

function filters (events: readonly ListenerEvent[]): string {
  const skipped = events.filter(({ outcome }) => outcome === 'skipped').length
  return html`<div class="filters"><fieldset><legend>Show</legend>
<label><input type="checkbox" class="show-called" checked>called <span>${events.length - skipped}</span></label>
<label><input type="checkbox" class="show-skipped" checked>skipped <span>${skipped}</span></label></fieldset></div>`
}

/** Neighbours that share a pass belong together: the order of the events is never changed. */
function passesOf (events: ListenerEvent[]): Numbered[][] {
  return runsOf(events.map((event, i) => ({ ...event, number: i + 1 })), (event) => event.pass)
}

function runsOf (events: Numbered[], key: (event: Numbered) => string): Numbered[][] {
  const runs: Numbered[][] = []
  for (const event of events) {
    const last = runs.at(-1)
    if (last?.[0] !== undefined && key(last[0]) === key(event)) last.push(event)
    else runs.push([event])
  }
  return runs
}

function pass (events: Numbered[]): string {
  const title = PASSES[events[0]?.pass ?? 'main'] ?? 'Pass'
  return section(title, scrollable(title, html`<table class="rows events" aria-label="${title}"><thead><tr>
<th scope="col">#</th><th scope="col">Listener</th><th scope="col">Outcome</th><th scope="col">What it did</th><th scope="col" class="number">Duration</th>
</tr></thead>!${runsOf(events, (event) => event.stage).map((run) => html`<tbody>
<tr class="stage"><th scope="rowgroup" colspan="5">${run[0]?.stage}</th></tr>!${run.map(row)}</tbody>`)}</table>`))
}

function row (event: Numbered): string {
  return html`<tr id="event-${event.number}" class="event event-${/^[a-z]+$/.test(event.outcome) ? event.outcome : 'other'}">
<td class="number">${event.number}</td><th scope="row">${event.listener}</th>
<td><span class="outcome">${event.outcome}</span></td><td class="text">!${deeds(event)}</td>
<td class="number">!${event.outcome === 'skipped' ? '' : milliseconds(event.duration)}</td></tr>`
}

function deeds ({ reason, changes, plugin, source }: ListenerEvent): string {
  return [
    source === undefined ? '' : html`<div class="source">!${plugin === undefined ? '' : html`<b>${plugin}</b> `}<code>${shortFile(source)}</code></div>`,
    reason === undefined ? '' : html`<div class="reason">${reason}</div>`,
    changes?.status === undefined ? '' : html`<div>status: !${fromTo(String(changes.status.from), String(changes.status.to))}</div>`,
    ...(changes?.headers ?? []).map(({ name, from, to }) => html`<div><span class="header">${name}</span>: !${fromTo(from, to)}</div>`),
    changes?.attributes === undefined || changes.attributes.length === 0
      ? ''
      : html`<div>attributes: ${changes.attributes.join(', ')}</div>`
  ].join('')
}

function fromTo (from: string | null, to: string | null): string {
  if (from === null) return html`<ins>${to}</ins>`
  return to === null ? html`<del>${from}</del> (removed)` : html`<del>${from}</del> → <ins>${to}</ins>`
}

// What ended the main pass is why the rest of it did not come.
function unreached (events: readonly ListenerEvent[]): string {
  const reached = new Set(events.map(({ stage, listener }) => `${stage} ${listener}`))
  const stages = ORDER.map(([stage, listeners]) => ({ stage, missing: listeners.filter((listener) => !reached.has(`${stage} ${listener}`)) })).filter(({ missing }) => missing.length > 0)
  if (stages.length === 0) return section('Never reached', note('All 42 places of the lifecycle were reached.'))
  const end = events.find(({ pass, outcome }) => pass === 'main' && (outcome === 'raised' || outcome === 'answered'))
  const why = end === undefined ? 'The request ended before they came.' : `The main pass ended at ${end.listener} of ${end.stage}, which ${end.outcome === 'raised' ? 'raised an error' : 'answered'}.`
  return section('Never reached', html`<p class="note">${why}</p><table class="pairs unreached" aria-label="Never reached"><tbody>!${stages.map(({ stage, missing }) =>
    html`<tr><th scope="row">${stage}</th><td>${missing.join(', ')}</td></tr>`)}</tbody></table>`)
}

function headers (profile: Profile, view: PanelView): string {
  const history = [...headerHistory(profile)]
  return section('Headers of the response, and who set them', history.length === 0
    ? note('None was set.')
    : scrollable('Headers', html`<table class="rows history" aria-label="Headers"><thead><tr><th scope="col">Header</th><th scope="col">History</th></tr></thead><tbody>!${history.map(([name, steps]) =>
      html`<tr><th scope="row" class="header">${name}</th><td><ol>!${steps.map((one) => step(one, view))}</ol></td></tr>`)}</tbody></table>`))
}

function step ({ by, event, source, from, to }: HeaderStep, { editor }: PanelView): string {
  const who = event === undefined ? html`<span class="by">${by}</span>` : html`<a href="#event-${event}">${by}</a>`
  const where = source === undefined ? '' : html` <span class="place">!${place(source, editor)}</span>`
  if (to === null) return html`<li>removed by !${who}!${where}</li>`
  return html`<li>!${from === null ? 'set' : 'changed'} by !${who}!${where}: <code>${to}</code></li>`
}

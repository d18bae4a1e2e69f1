import type { ListenerEvent } from '../../../kernel/events.js'
import { html } from '../../../view/html.js'
import type { Profile } from '../../profile.js'
import { milliseconds, note, scrollable, section } from '../../ui/components.js'
import type { Panel } from '../panel.js'

const PASSES = { main: 'Main pass', error: 'Error pass' }

/** Which listeners were reached, in the order in which they ran, and what each did. */
export const eventsPanel: Panel = {
  name: 'events',
  label: 'Events',
  count: profile => profile.events.length,
  problem: profile => profile.events.some(event => event.outcome === 'raised'),
  render: profile => profile.events.length === 0
    ? note('No listener was reached.')
    : passesOf(profile.events).map(events => pass(events, profile)).join('')
}

interface Numbered extends ListenerEvent {
  number: number
}

/** Neighbours that share a pass belong together: the order of the events is never changed. */
function passesOf (events: ListenerEvent[]): Numbered[][] {
  return runsOf(events.map((event, i) => ({ ...event, number: i + 1 })), event => event.pass)
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

function pass (events: Numbered[], profile: Profile): string {
  const title = PASSES[events[0]?.pass ?? 'main'] ?? 'Pass'
  const end = Math.max(profile.duration || 0, ...profile.events.map(event => event.start + event.duration), 0.001)
  return section(title, scrollable(title, html`<table class="rows events" aria-label="${title}"><thead><tr>
<th scope="col">#</th><th scope="col">Listener</th><th scope="col">Outcome</th><th scope="col">What it did</th>
<th scope="col" class="number">Start</th><th scope="col" class="number">Duration</th><td></td>
</tr></thead>!${runsOf(events, event => event.stage).map(run => html`<tbody>
<tr class="stage"><th scope="rowgroup" colspan="7">${run[0]?.stage}</th></tr>!${run.map(event => row(event, end))}</tbody>`)}</table>`))
}

function row (event: Numbered, end: number): string {
  return html`<tr class="event event-${/^[a-z]+$/.test(event.outcome) ? event.outcome : 'other'}">
<td class="number">${event.number}</td><th scope="row">${event.listener}</th>
<td><span class="outcome">${event.outcome}</span></td><td class="text">!${deeds(event)}</td>
<td class="number">${milliseconds(event.start)}</td><td class="number">${milliseconds(event.duration)}</td>
<td>!${event.outcome === 'skipped' ? '' : bar(event, end)}</td></tr>`
}

function deeds ({ reason, changes }: ListenerEvent): string {
  return [
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

// A policy without inline styles leaves the attributes of SVG to say how wide a bar is.
function bar ({ start, duration }: ListenerEvent, end: number): string {
  const x = Math.min(98, start / end * 100)
  const width = Math.max(2, Math.min(100 - x, duration / end * 100))
  return html`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect x="${x.toFixed(1)}" y="0" width="${width.toFixed(1)}" height="8"/></svg>`
}

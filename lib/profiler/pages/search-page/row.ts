import { html } from '../../../view/html.js'
import { visibleLine } from '../../../view/visible.js'
import type { ProfileSummary } from '../../summary.js'
import { milliseconds, moment, pinForm, statusBadge } from '../components.js'
import type { PageOptions } from '../layout/component.js'
import { counted } from '../../../view/counted.js'

/** Where a row stands: the search that it is part of, as its query, and when it is written (ms). */
export interface RowPlace {
  back: string
  now: number
}

/** One profile in the list. */
export function row (profile: ProfileSummary, options: PageOptions, { back, now }: RowPlace): string {
  const { token, status, error, warnings, pinned } = profile
  return html`<tr!${error ? ' class="has-problem"' : warnings > 0 ? ' class="has-warning"' : ''}>
<th scope="row"><input type="checkbox" name="profile" value="${token}" form="compare" aria-label="Compare ${token}"><a href="${options.base}/${token}">${token}</a>!${pinned ? '<span class="pin" title="pinned"><span aria-hidden="true">★</span><span class="hidden-visually"> pinned</span></span>' : ''}</th>
<td>!${statusBadge(status)}!${error ? '<span class="hidden-visually"> failed</span>' : ''}</td>
<td>${profile.method}</td><td class="text">${visibleLine(profile.url)}!${remarks(profile)}</td>
<td class="number">${milliseconds(profile.duration)}</td><td>${profile.ip}</td>
<td>!${moment(profile.time, now)}</td><td>!${pinForm(options, { token, pinned, back })}</td></tr>`
}

function remarks ({ exception, warnings, parent }: ProfileSummary): string {
  return (exception === null ? '' : html`<div class="exception-line">${visibleLine(exception)}</div>`) +
    (exception !== null || warnings === 0 ? '' : html`<div class="warning-line">${counted(warnings, 'warning')} logged</div>`) +
    (parent === null || parent === undefined ? '' : html`<div class="parent-line">caused by <code>${parent}</code></div>`)
}

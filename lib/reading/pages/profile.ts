import { STATUS_CODES } from 'node:http'
import { visibleLine, wordFor } from '../../view/visible.js'
import { html } from '../../view/html.js'
import { addressOf, countOf, labelOf, panelsOf, problemsOf, renderPanel, resultsOf } from '../../parts/read.js'
import { GROUPS, type PanelView, type Part } from '../../parts/part.js'
import type { Profile } from '../../store/profile.js'
import { milliseconds, moment, postForm, statusClass } from '../../view/components.js'
import { layout, type PageOptions } from './layout.js'

export interface ProfilePageOptions extends PageOptions, Omit<PanelView, 'base'> {
  /** The value of the hidden field `form_token`. */
  formToken: string
  pinned: boolean
  /** Whether the page offers to replay the request. */
  replayable: boolean
}

/** The panel that is shown first. */
export const FIRST_PANEL = 'overview'
/** The formats of a request: the last segment of the URL, and the text of the link. The first three can be copied. */
const FORMATS = [['curl', 'curl'], ['fetch', 'fetch'], ['test', 'test'], ['http', 'HTTP file'], ['har', 'HAR']] as const

/** The page of one profile: a summary, the menu of panels, and one panel. */
export function profilePage (profile: Profile, part: Part, options: ProfilePageOptions): string {
  const { status, method, url } = profile
  const label = labelOf(part)
  const title = `${status === 0 ? 'Not ended:' : status} ${method} ${url.replace(/^https?:\/\/[^/]*(?=\/)/, '')}` +
    (part.name === FIRST_PANEL ? '' : ` – ${label}`)
  const groups = groupsOf(panelsOf(options.parts, profile)).map(({ title, panels }, i) =>
    html`<p id="group-${i}">${title}</p><ul aria-labelledby="group-${i}">!${
      panels.map((item) => menuItem(item, item.name === part.name, profile))}</ul>`)
  return layout(options, title, html`<main class="profile">
!${summary(profile, options)}
<div class="columns">
<nav class="menu" aria-label="Panels"><input type="checkbox" class="menu-toggle" aria-label="All panels">
<div class="menu-groups">!${groups}</div></nav>
<section class="panel panel-${part.name} in-!${groupOf(part)}" id="content" tabindex="-1" aria-labelledby="panel-title">
<h2 id="panel-title">${label}</h2>!${renderPanel(part, profile, options)}</section>
</div>
</main>`, status)
}

/** The groups of the menu that have panels, with their titles. */
export function groupsOf (panels: readonly Part[]): Array<{ title: string, panels: Part[] }> {
  return Object.entries(GROUPS)
    .map(([name, title]) => ({ title, panels: panels.filter((part) => groupOf(part) === name) }))
    .filter(({ panels }) => panels.length > 0)
}

function groupOf ({ panel }: Part): keyof typeof GROUPS {
  return panel?.group ?? 'application'
}

function summary (profile: Profile, options: ProfilePageOptions): string {
  const { token, status, method, url, duration, route, time, ip } = profile
  const path = `${options.base}/${token}`
  const error = Array.isArray(profile.exceptions) ? profile.exceptions.at(-1) : undefined
  const reason = { 444: 'No Response', 499: 'Client Closed Request' }[status] ?? STATUS_CODES[status] ?? ''
  return html`<section class="summary is-!${statusClass(status)}" aria-label="Summary">
<div class="band"><p class="band-status"><strong>${status === 0 ? 'Not ended' : status}</strong> ${reason}</p>
<h1><span class="method">${method}</span> <span class="url">${visibleLine(url)}</span></h1>
!${error ? html`<p class="band-error">${visibleLine(`${error.name}: ${error.message}`)}</p>` : ''}</div>
!${notices(profile, options)}<div class="facts-row"><dl><div><dt>Duration</dt><dd>${milliseconds(duration)}</dd></div>
<div><dt>Route</dt><dd>${route?.name ?? 'none'}</dd></div>
<div><dt>Time</dt><dd>!${moment(time)}</dd></div>
<div><dt>IP address</dt><dd><a href="${options.base}/search?${String(new URLSearchParams({ ip }))}">${ip}</a></dd></div>
<div><dt>Token</dt><dd><code>${token}</code> <a href="${path}.json">JSON</a>
<a href="${path}.md">Markdown</a></dd></div></dl>
!${status === 0 ? '' : pinForm(path, options)}</div>
!${actions(path, options.replayable)}
</section>`
}

function notices (profile: Profile, { parts }: ProfilePageOptions): string[] {
  const recorded = parts.filter(({ name }) => name in profile.collectors)
  return resultsOf(recorded, profile, (part, data) => part.notice?.(data, profile))
    .filter(({ sentences }) => Array.isArray(sentences) && sentences.length > 0)
    .map(({ title, sentences }) => html`<div class="blocked"><h2>${String(title)}</h2><ul>!${sentences.map((sentence) =>
      html`<li>${visibleLine(String(sentence))}</li>`)}</ul></div>`)
}

function pinForm (path: string, { formToken, pinned }: ProfilePageOptions): string {
  const effect = pinned ? 'Pinned: it is kept until you unpin it.' : 'Pinned profiles are kept.'
  return postForm(`${path}/pin`, formToken, html`<span class="note">${effect}</span>` +
    html`<button type="submit" name="pinned" value="${pinned ? '0' : '1'}">${pinned ? 'Unpin' : 'Pin'}</button>`,
  'pin-form')
}

function actions (path: string, isReplayable: boolean): string {
  const links = (formats: ReadonlyArray<readonly [name: string, text: string]>, attribute: string): string[] =>
    formats.map(([name, text]) => html`<li><a href="${path}/as/${name}" !${attribute}>${text}</a></li>`)
  return html`<div class="actions-row"><a href="${path}.md" data-copy>Copy for an AI assistant</a>
<details class="copy-as"><summary>Copy as</summary><ul>!${links(FORMATS.slice(0, 3), 'data-copy')}</ul></details>
<details class="copy-as"><summary>Download</summary><ul>!${links(FORMATS, 'download')}</ul></details>
!${isReplayable ? html`<a href="${path}/replay">Replay…</a>` : ''}</div>`
}

function menuItem (part: Part, isCurrent: boolean, profile: Profile): string {
  const { errors, warnings } = problemsOf(part, profile)
  const count = countOf(part, profile)
  const badge = (mood: string, number: number, word: string): string => number === 0
    ? ''
    : html` <span class="count!${mood}">${number}<span class="hidden-visually"> ${wordFor(number, word)}</span></span>`
  const hasProblem = errors + warnings > 0
  // The count of entries is for the application's own panels; ours show problems only.
  const entries = groupOf(part) === 'application' && !hasProblem ? badge('', count ?? 0, 'item') : ''
  const isEmpty = count === 0 && !hasProblem
  return html`<li><a href="${addressOf(part.name)}"!${isCurrent ? ' aria-current="page"' : ''}` +
    html`!${isEmpty ? ' class="is-empty"' : ''}><span>${labelOf(part)}` +
    html`!${isEmpty ? '<span class="hidden-visually"> (no data)</span>' : ''}</span><span class="badges">` +
    html`!${badge(' bad', errors, 'error')}!${badge(' warn', warnings, 'warning')}!${entries}</span></a></li>`
}

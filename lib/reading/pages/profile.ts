import { STATUS_CODES } from 'node:http'
import { wordFor } from '../../view/counted.js'
import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import { groupsOf } from '../../parts/index.js'
import { addressOf, blockedSentences } from '../../parts/part.js'
import type { Panel, PanelView, Problems } from '../../parts/part.js'
import type { Profile } from '../../profiler/profile.js'
import { milliseconds, moment, postForm, statusClass } from '../../view/components.js'
import { layout, type PageOptions } from './layout.js'

export interface ProfilePageOptions extends PageOptions, Omit<PanelView, 'base' | 'problems'> {
  /** The value of the hidden field `form_token`. */
  formToken: string
  pinned: boolean
  /** Whether the page offers to replay the request. */
  replayable: boolean
}

/** The formats of a request: the last segment of the URL, and the text of the link. The first three can be copied. */
const FORMATS = [['curl', 'curl'], ['fetch', 'fetch'], ['test', 'test'], ['http', 'HTTP file'], ['har', 'HAR']] as const

/** The page of one profile: a summary, the menu of panels, and one panel. */
export function profilePage (profile: Profile, panel: Panel, options: ProfilePageOptions): string {
  const { status, method, url } = profile
  const title = `${status} ${method} ${url.replace(/^https?:\/\/[^/]*(?=\/)/, '')}` +
    (panel.name === 'overview' ? '' : ` – ${panel.label}`)
  const problems: Array<readonly [Panel, Problems]> = []
  const groups = groupsOf(profile).map(({ title, panels }, i) => {
    const items = panels.map((item) => {
      const found = item.problems(profile)
      if (found.errors + found.warnings > 0) problems.push([item, found])
      return menuItem(item, item.name === panel.name, found, item.count(profile))
    })
    return html`<p id="group-${i}">${title}</p><ul aria-labelledby="group-${i}">!${items}</ul>`
  })
  return layout(options, title, html`<main class="profile">
!${summary(profile, options)}
<div class="columns">
<nav class="menu" aria-label="Panels"><input type="checkbox" class="menu-toggle" aria-label="All panels">
<div class="menu-groups">!${groups}</div></nav>
<section class="panel panel-${panel.name}" id="content" tabindex="-1" aria-labelledby="panel-title">
<h2 id="panel-title">${panel.label}</h2>!${panel.render(profile, { ...options, problems })}</section>
</div>
</main>`, status)
}

function summary (profile: Profile, options: ProfilePageOptions): string {
  const { token, status, method, url, duration, route, time, ip } = profile
  const path = `${options.base}/${token}`
  const error = Array.isArray(profile.exceptions) ? profile.exceptions.at(-1) : undefined
  const reason = { 444: 'No Response', 499: 'Client Closed Request' }[status] ?? STATUS_CODES[status] ?? ''
  return html`<section class="summary is-!${statusClass(status)}" aria-label="Summary">
<div class="band"><p class="band-status"><strong>${status}</strong> ${reason}</p>
<h1><span class="method">${method}</span> <span class="url">${visibleLine(url)}</span></h1>
!${error ? html`<p class="band-error">${visibleLine(`${error.name}: ${error.message}`)}</p>` : ''}</div>
!${blockedList(profile)}<div class="facts-row"><dl><div><dt>Duration</dt><dd>${milliseconds(duration)}</dd></div>
<div><dt>Route</dt><dd>${route?.name ?? 'none'}</dd></div>
<div><dt>Time</dt><dd>!${moment(time)}</dd></div>
<div><dt>IP address</dt><dd><a href="${options.base}/search?${String(new URLSearchParams({ ip }))}">${ip}</a></dd></div>
<div><dt>Token</dt><dd><code>${token}</code> <a href="${path}.json">JSON</a>
<a href="${path}.md">Markdown</a></dd></div></dl>
!${pinForm(path, options)}</div>
!${actions(path, options.replayable)}
</section>`
}

function blockedList (profile: Profile): string {
  const sentences = blockedSentences(profile)
  if (sentences.length === 0) return ''
  const title = profile.status >= 400 ? 'Why was it refused?' : 'What does the browser block?'
  return html`<div class="blocked"><h2>${title}</h2><ul>!${sentences.map((sentence) =>
    html`<li>${visibleLine(sentence)}</li>`)}</ul></div>`
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

/** `count` is the number of entries of the panel; undefined: unknown. */
function menuItem (panel: Panel, isCurrent: boolean, { errors, warnings }: Problems, count?: number): string {
  const badge = (mood: string, number: number, word: string): string => number === 0
    ? ''
    : html` <span class="count!${mood}">${number}<span class="hidden-visually"> ${wordFor(number, word)}</span></span>`
  const hasProblem = errors + warnings > 0
  // The count of entries is for the application's own panels; ours show problems only.
  const entries = panel.group === 'application' && !hasProblem ? badge('', count ?? 0, 'item') : ''
  const isEmpty = count === 0 && !hasProblem
  return html`<li><a href="${addressOf(panel.name)}"!${isCurrent ? ' aria-current="page"' : ''}` +
    html`!${isEmpty ? ' class="is-empty"' : ''}><span>${panel.label}` +
    html`!${isEmpty ? '<span class="hidden-visually"> (no data)</span>' : ''}</span><span class="badges">` +
    html`!${badge(' bad', errors, 'error')}!${badge(' warn', warnings, 'warning')}!${entries}</span></a></li>`
}

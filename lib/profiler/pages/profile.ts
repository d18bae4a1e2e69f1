import { STATUS_CODES } from 'node:http'
import type { EditorLink } from '../../view/editor.js'
import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import { groupsOf } from '../panels/index.js'
import { addressOf, blockedSentences, type Panel, type PanelView } from '../panels/panel.js'
import type { Profile } from '../profile.js'
import type { ProfileSummary } from '../summary.js'
import { failed, milliseconds, moment, pinForm, statusBadge, statusClass } from './components.js'
import { layout, type PageOptions } from './layout.js'

export interface ProfilePageOptions extends PageOptions {
  pinned: boolean
  /** Whether the page offers to replay the request. */
  replayable: boolean
  /** Requests that this one caused, newest first. */
  children: readonly ProfileSummary[]
  query: Readonly<Record<string, unknown>>
  editor: EditorLink | null
  /** Whether the page offers to repeat the request with a CPU profile. */
  repeatsCpu: boolean
}

/** The formats of a request: the last segment of the URL, and the text of the link. */
const FORMATS: Readonly<Record<string, string>> = {
  curl: 'curl', fetch: 'fetch', http: 'HTTP file', har: 'HAR', tap: 'Test for tap', node: 'Test for node:test'
}

/** The page of one profile: a summary, the menu of panels, and one panel. */
export function profilePage (profile: Profile, panel: Panel, options: ProfilePageOptions): string {
  const title = `${profile.status} ${profile.method} ${profile.url} – ${panel.label}`
  const groups = groupsOf(profile).map(({ title, panels }, i) => {
    const items = panels.map((item) => menuItem(item, item.name === panel.name, profile))
    return html`<p id="group-${i}">${title}</p><ul aria-labelledby="group-${i}">!${items}</ul>`
  })
  return layout(options, title, html`<main class="profile">
!${summary(profile, options)}
<div class="columns">
<nav class="menu" aria-label="Panels"><input type="checkbox" class="menu-toggle" aria-label="All panels">
<div class="menu-groups">!${groups}</div></nav>
<section class="panel panel-${panel.name}" id="content" tabindex="-1" aria-labelledby="panel-title">
<h2 id="panel-title">${panel.label}</h2>!${panelContent(panel, profile, options)}</section>
</div>
</main>`)
}

function summary (profile: Profile, options: ProfilePageOptions): string {
  const { token, status, method, url, duration, route, time, ip } = profile
  const path = `${options.base}/${token}`
  const error = Array.isArray(profile.exceptions) ? profile.exceptions.at(-1) : undefined
  const reason = status === 499 ? 'Client Closed Request' : STATUS_CODES[status] ?? ''
  // Names with many methods may wrap between them.
  const routeName = (route?.name ?? 'none').split('|').map((part) => html`${part}`).join('|<wbr>')
  return html`<section class="summary is-!${statusClass(status)}" aria-label="Summary">
<div class="band"><p class="band-status"><strong>${status}</strong> ${reason}</p>
<h1><span class="method">${method}</span> <span class="url">${visibleLine(url)}</span></h1>
!${error ? html`<p class="band-error">${visibleLine(`${error.name}: ${error.message}`)}</p>` : ''}</div>
!${blockedList(profile)}<div class="facts-row"><dl><div><dt>Duration</dt><dd>${milliseconds(duration)}</dd></div>
<div><dt>Route</dt><dd>!${routeName}</dd></div>
<div><dt>Time</dt><dd>!${moment(time)}</dd></div>
<div><dt>IP address</dt><dd><a href="${options.base}/search?${String(new URLSearchParams({ ip }))}">${ip}</a></dd></div>
<div><dt>Token</dt><dd><code>${token}</code> <a href="${path}.json">JSON</a>
<a href="${path}.md">Markdown</a></dd></div></dl>
!${pinForm(options, { token, pinned: options.pinned })}</div>
!${relatives(profile, options)}
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

function relatives ({ parent, replayOf, token }: Profile, { base, children }: ProfilePageOptions): string {
  const link = (token: string): string => html`<a href="${base}/${token}">${token}</a>`
  const items = children.map((child) =>
    html`<li>!${link(child.token)} !${statusBadge(child.status)} ${child.method} ${visibleLine(child.url)}</li>`)
  return (parent === undefined ? '' : html`<p class="relatives">Parent request: !${link(parent)}</p>`) +
    (replayOf === undefined
      ? ''
      : html`<p class="relatives">Replay of !${link(replayOf)}: ` +
        html`<a href="${base}/${replayOf}/compare/${token}">differences</a></p>`) +
    (items.length === 0
      ? ''
      : html`<div class="relatives"><a href="${base}/search?parent=${token}">Sub-requests</a><ul>!${items}</ul></div>`)
}

function actions (path: string, replayable: boolean): string {
  const formats = Object.entries(FORMATS).map(([name, label]) =>
    html`<li><a href="${path}/as/${name}" download>${label}</a></li>`)
  return html`<div class="actions-row"><span>Compare with the ` +
    html`<a href="${path}/compare/previous">previous of this route</a> or its ` +
    html`<a href="${path}/compare/previous?error=0">last success</a></span>
<details class="copy-as"><summary>Copy as</summary><ul>!${formats}</ul></details>` +
    html`!${replayable ? html`<a href="${path}/replay">Replay…</a>` : ''}</div>`
}

function menuItem (panel: Panel, isCurrent: boolean, profile: Profile): string {
  const count = valueOf(() => panel.count?.(profile)) ?? 0
  const problem = valueOf(() => panel.problem?.(profile)) === true
  const mark = '<span class="mark" title="has a problem"><span aria-hidden="true">●</span>' +
    '<span class="hidden-visually"> (has a problem)</span></span>'
  return html`<li><a href="${addressOf(panel.name)}"!${isCurrent ? ' aria-current="page"' : ''}` +
    html`!${problem ? ' class="has-problem"' : ''}><span>${panel.label}!${problem ? mark : ''}</span>` +
    html`!${count === 0 ? '' : html` <span class="count!${problem ? ' bad' : ''}">${count}</span>`}</a></li>`
}

// Data of another version or of the application may not fit the panel: then only the panel shows an error.
function panelContent (panel: Panel, profile: Profile, view: PanelView): string {
  try {
    return panel.render(profile, view)
  } catch (error) {
    return failed(`its data cannot be shown (${error instanceof Error ? error.message : String(error)})`)
  }
}

function valueOf<T> (read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

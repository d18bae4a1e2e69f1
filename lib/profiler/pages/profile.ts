import { STATUS_CODES } from 'node:http'
import type { EditorLink } from '../../view/editor.js'
import { wordFor } from '../../view/counted.js'
import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import { groupsOf } from '../panels/index.js'
import { addressOf, blockedSentences, isProblem, problemsOf } from '../panels/panel.js'
import type { Panel, PanelView, Problems } from '../panels/panel.js'
import type { Profile } from '../profile.js'
import type { ProfileSummary } from '../summary.js'
import { failed, milliseconds, moment, note, pinForm, statusClass } from './components.js'
import { layout, type PageOptions } from './layout.js'

export interface ProfilePageOptions extends PageOptions {
  pinned: boolean
  /** Whether the page offers to replay the request. */
  replayable: boolean
  /** The newest older profile of the same route, and the newest of a success. */
  previous: ProfileSummary | null
  lastSuccess: ProfileSummary | null
  /** The request that caused this one; null: its profile is not stored, or there is none. */
  parent: ProfileSummary | null
  /** Requests that this one caused, newest first. */
  children: readonly ProfileSummary[]
  /** Of a failure: its differences from the last success of its route, as markup. */
  differences: string
  query: Readonly<Record<string, unknown>>
  editor: EditorLink | null
}

/** The formats of a request: the last segment of the URL, and the text of the link. */
const FORMATS: Readonly<Record<string, string>> = {
  curl: 'curl', fetch: 'fetch', test: 'test', http: 'HTTP file', har: 'HAR'
}
/** Those that are copied: source that is pasted elsewhere. */
const COPIED = ['curl', 'fetch', 'test']

/** The panel in place of one that a profile does not have. */
export function missingPanel (sentence: string): Panel {
  return { name: 'missing', label: 'Panel not found', group: 'overview', render: () => note(sentence) }
}

/** The page of one profile: a summary, the menu of panels, and one panel. */
export function profilePage (profile: Profile, panel: Panel, options: ProfilePageOptions): string {
  const { status, method, url } = profile
  const title = `${status} ${method} ${url.replace(/^https?:\/\/[^/]*(?=\/)/, '')}` +
    (panel.name === 'overview' ? '' : ` – ${panel.label}`)
  const problems = new Map<Panel, Problems>()
  const groups = groupsOf(profile).map(({ title, panels }, i) => {
    for (const item of panels) problems.set(item, problemsOf(item, profile))
    const items = panels.map((item) => menuItem(item, item.name === panel.name, profile, problems.get(item)))
    return html`<p id="group-${i}">${title}</p><ul aria-labelledby="group-${i}">!${items}</ul>`
  })
  const view = { ...options, problems: [...problems].filter(([, one]) => isProblem(one)) }
  return layout(options, title, html`<main class="profile">
!${summary(profile, options)}
<div class="columns">
<nav class="menu" aria-label="Panels"><input type="checkbox" class="menu-toggle" aria-label="All panels">
<div class="menu-groups">!${groups}</div></nav>
<section class="panel panel-${panel.name}" id="content" tabindex="-1" aria-labelledby="panel-title">
<h2 id="panel-title">${panel.label}</h2>!${panelContent(panel, profile, view)}</section>
</div>
</main>`, status)
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
!${actions(path, options)}
</section>`
}

function blockedList (profile: Profile): string {
  const sentences = blockedSentences(profile)
  if (sentences.length === 0) return ''
  const title = profile.status >= 400 ? 'Why was it refused?' : 'What does the browser block?'
  return html`<div class="blocked"><h2>${title}</h2><ul>!${sentences.map((sentence) =>
    html`<li>${visibleLine(sentence)}</li>`)}</ul></div>`
}

function actions (path: string, { base, replayable, previous, lastSuccess }: ProfilePageOptions): string {
  const link = (other: ProfileSummary | null, label: string, why: string): string => other === null
    ? html`<a role="link" aria-disabled="true" class="is-disabled" title="${why}">${label}</a>`
    : html`<a href="${base}/${other.token}/compare/${path.slice(-6)}">${label}</a>`
  const items = (names: readonly string[], attribute: string): string[] => names.map((name) =>
    html`<li><a href="${path}/as/${name}" !${attribute}>${FORMATS[name]}</a></li>`)
  return html`<div class="actions-row"><span>Compare with the !${
    link(previous, 'previous of this route', 'No older profile of it is stored')} or its !${
    link(lastSuccess, 'last success', 'No older success of it is stored')}</span>
<a href="${path}.md" data-copy>Copy for an AI assistant</a>
<details class="copy-as"><summary>Copy as</summary><ul>!${items(COPIED, 'data-copy')}</ul></details>
<details class="copy-as"><summary>Download</summary><ul>!${items(Object.keys(FORMATS), 'download')}</ul></details>
!${replayable ? html`<a href="${path}/replay">Replay…</a>` : ''}</div>`
}

function menuItem (panel: Panel, isCurrent: boolean, profile: Profile, problems?: Problems): string {
  const { errors = 0, warnings = 0 } = problems ?? {}
  const count = valueOf(() => panel.count?.(profile))
  const badge = (mood: string, number: number, word: string): string => number === 0
    ? ''
    : html` <span class="count!${mood}">${number}<span class="hidden-visually"> ${wordFor(number, word)}</span></span>`
  // The count of entries is for the application's own panels; ours show problems only.
  const own = panel.group === 'application' && errors + warnings === 0 ? badge('', count ?? 0, 'item') : ''
  const empty = count === 0 && errors + warnings === 0
  return html`<li><a href="${addressOf(panel.name)}"!${isCurrent ? ' aria-current="page"' : ''}` +
    html`!${empty ? ' class="is-empty"' : ''}><span>${panel.label}` +
    html`!${empty ? '<span class="hidden-visually"> (no data)</span>' : ''}</span><span class="badges">` +
    html`!${badge(' bad', errors, 'error')}!${badge(' warn', warnings, 'warning')}!${own}</span></a></li>`
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

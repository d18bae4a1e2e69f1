import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import { panelsOf } from '../panels/index.js'
import type { Panel } from '../panels/panel.js'
import type { Profile } from '../profile.js'
import { isFailure, type ProfileSummary } from '../storage/summary.js'
import { failed, milliseconds, statusBadge } from './components.js'
import { layout } from './layout.js'
import type { PageOptions } from './layout.js'

export interface ProfilePageOptions extends PageOptions {
  pinned: boolean
  /** The requests that this one caused, newest first. */
  children: readonly ProfileSummary[]
}

/** The page of one profile: what the request was, a menu of panels, and the panel that was chosen. */
export function profilePage (profile: Profile, panel: Panel, options: ProfilePageOptions): string {
  const path = `${options.base}/${profile.token}`
  const failure = isFailure(profile)
  return layout(options, `${profile.status} ${profile.method} ${profile.url} – ${panel.label}`, html`<main>
<section class="summary ${failure ? 'is-failure' : 'is-fine'}" aria-label="Summary">
<h1><span class="method">${profile.method}</span> <span class="url">${visibleLine(profile.url)}</span></h1>
<dl><div><dt>Status</dt><dd>!${statusBadge(profile.status)}</dd></div>
<div><dt>Duration</dt><dd>${milliseconds(profile.duration)}</dd></div>
<div><dt>Time</dt><dd><time datetime="${profile.time}">${readable(profile.time)}</time></dd></div>
<div><dt>Client</dt><dd>${profile.ip}</dd></div>
<div><dt>Route</dt><dd>${profile.route?.name ?? 'none'}</dd></div>
<div><dt>Token</dt><dd><code>${profile.token}</code> <a href="${path}.json">JSON</a></dd></div></dl>
!${relatives(profile, options)}
<form method="post" action="${path}/pin" class="pin-form"><input type="hidden" name="form_token" value="${options.formToken}"><button name="pinned" value="${options.pinned ? '0' : '1'}">${options.pinned ? 'Unpin' : 'Pin'}</button>
<span class="note">${options.pinned ? 'Pinned: it stays until you unpin it.' : 'A pinned profile is not evicted.'}</span></form>
</section>
<div class="columns">
<nav class="menu" aria-label="Panels"><ul>!${panelsOf(profile).map(item => menuItem(item, item.name === panel.name, profile, path))}</ul></nav>
<section class="panel" aria-labelledby="panel-title"><h2 id="panel-title">${panel.label}</h2>!${rendered(panel, profile)}</section>
</div>
</main>`)
}

function relatives ({ parent, token }: Profile, { base, children }: ProfilePageOptions): string {
  const links = children.map((child) => html`<li><a href="${base}/${child.token}">${child.token}</a> !${statusBadge(child.status)} ${child.method} ${visibleLine(child.url)}</li>`)
  return (parent === undefined ? '' : html`<p class="relatives">Caused by <a href="${base}/${parent}">${parent}</a></p>`) +
    (links.length === 0 ? '' : html`<details class="relatives" open><summary><a href="${base}/search?parent=${token}">Requests that it caused</a></summary><ul>!${links}</ul></details>`)
}

function menuItem (panel: Panel, current: boolean, profile: Profile, path: string): string {
  const count = told(() => panel.count?.(profile))
  const problem = told(() => panel.problem?.(profile)) === true
  return html`<li><a href="${path}?panel=${encodeURIComponent(panel.name)}"!${current ? ' aria-current="page"' : ''}!${problem ? ' class="has-problem"' : ''}><span>${panel.label}!${
    problem ? '<span class="mark" title="has a problem"><span aria-hidden="true">●</span><span class="hidden-visually"> (has a problem)</span></span>' : ''}</span>!${
    count === undefined ? '' : html` <span class="count">${count}</span>`}</a></li>`
}

/** Data of another version, or of a collector that went wrong, must not take the page down with it. */
function rendered (panel: Panel, profile: Profile): string {
  try {
    return panel.render(profile)
  } catch (error) {
    return failed(`its data cannot be shown (${error instanceof Error ? error.message : String(error)})`)
  }
}

function told<T> (ask: () => T): T | undefined {
  try {
    return ask()
  } catch {
    return undefined
  }
}

function readable (time: string): string {
  return String(time).replace('T', ' ').replace('Z', ' UTC')
}

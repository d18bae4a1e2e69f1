import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import { panelsOf } from '../panels/index.js'
import type { Panel } from '../panels/panel.js'
import type { Profile } from '../profile.js'
import { isFailure } from '../storage/summary.js'
import { failed, milliseconds, statusBadge } from './components.js'
import { layout } from './layout.js'
import type { PageOptions } from './layout.js'

/** The page of one profile: what the request was, a menu of panels, and the panel that was chosen. */
export function profilePage (profile: Profile, panel: Panel, options: PageOptions): string {
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
</section>
<div class="columns">
<nav class="menu" aria-label="Panels"><ul>!${panelsOf(profile).map(item => menuItem(item, item.name === panel.name, profile, path))}</ul></nav>
<section class="panel" aria-labelledby="panel-title"><h2 id="panel-title">${panel.label}</h2>!${rendered(panel, profile)}</section>
</div>
</main>`)
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

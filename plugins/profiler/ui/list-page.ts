import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import type { ProfilePage } from '../storage/storage.js'
import type { ProfileSummary } from '../storage/summary.js'
import { milliseconds, note, scrollable, statusBadge } from './components.js'
import { layout } from './layout.js'
import type { PageOptions } from './layout.js'

/** The page that lists what is stored, newest first, with a mark on what failed. */
export function listPage ({ profiles, next }: Omit<ProfilePage, 'head'>, limit: number, options: PageOptions): string {
  return layout(options, 'Profiles', html`<main>
<h1>Profiles</h1>
!${profiles.length === 0
  ? note('No request has been profiled yet. Send one to the application, then load this page again.')
  : table(profiles, options.base)}
!${next === null ? '' : html`<p class="more"><a rel="next" href="${options.base}/?limit=${limit}&amp;cursor=${encodeURIComponent(next)}">Older profiles</a></p>`}
</main>`)
}

function table (profiles: ProfileSummary[], base: string): string {
  return scrollable('Stored profiles', html`<table class="rows profiles"><thead><tr>
<th scope="col">Token</th><th scope="col">Status</th><th scope="col">Method</th><th scope="col">URL</th>
<th scope="col" class="number">Duration</th><th scope="col">Client</th><th scope="col">Time</th>
</tr></thead><tbody>!${profiles.map(profile => row(profile, base))}</tbody></table>`)
}

function row (profile: ProfileSummary, base: string): string {
  return html`<tr!${profile.error ? ' class="has-problem"' : ''}>
<th scope="row"><a href="${base}/${profile.token}">${profile.token}</a></th>
<td>!${statusBadge(profile.status)}!${profile.error ? '<span class="hidden-visually"> failed</span>' : ''}</td>
<td>${profile.method}</td><td class="text">${visibleLine(profile.url)}</td>
<td class="number">${milliseconds(profile.duration)}</td><td>${profile.ip}</td>
<td><time datetime="${profile.time}">${String(profile.time).replace('T', ' ').replace('Z', '')}</time></td></tr>`
}

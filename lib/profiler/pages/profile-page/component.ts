import { STATUS_CODES } from 'node:http'
import type { EditorLink } from '../../../view/editor.js'
import { html } from '../../../view/html.js'
import { style as readStyle } from '../../../view/asset.js'
import { visibleLine } from '../../../view/visible.js'
import { blockedSentences } from '../../blocked/sentences.js'
import { groupsOf } from '../../panels/index.js'
import { addressOf, type Panel, type PanelView } from '../../panels/panel.js'
import type { Profile } from '../../profile.js'
import type { ProfileSummary } from '../../summary.js'
import { failed, milliseconds, moment, pinForm, statusBadge, statusClass } from '../components.js'
import { layout } from '../layout/component.js'
import type { PageOptions } from '../layout/component.js'
import { actions } from './actions.js'

export interface ProfilePageOptions extends PageOptions {
  pinned: boolean
  /** Whether requests can be sent again from here. */
  replayable: boolean
  /** The requests that this one caused, newest first. */
  children: readonly ProfileSummary[]
  /** The fields of the address. */
  query: Readonly<Record<string, unknown>>
  editor: EditorLink | null
  /** Whether a request can be repeated with a CPU profile. */
  repeatsCpu: boolean
}

/** How the summary, the menu and the place of the panel look. */
export const style = readStyle(import.meta.url, './style.css')

/** The page of one profile: what the request was, a menu of panels, and the panel that was chosen. */
export function profilePage (profile: Profile, panel: Panel, options: ProfilePageOptions): string {
  return layout(options, `${profile.status} ${profile.method} ${profile.url} – ${panel.label}`, html`<main class="profile">
!${summary(profile, options)}
<div class="columns">
<nav class="menu" aria-label="Panels"><input type="checkbox" class="menu-toggle" aria-label="All panels"><div class="menu-groups">!${groupsOf(profile).map(({ title, panels }, i) =>
  html`<p id="group-${i}">${title}</p><ul aria-labelledby="group-${i}">!${panels.map((item) => menuItem(item, item.name === panel.name, profile))}</ul>`)}</div></nav>
<section class="panel panel-${panel.name}" id="content" tabindex="-1" aria-labelledby="panel-title"><h2 id="panel-title">${panel.label}</h2>!${rendered(panel, profile, options)}</section>
</div>
</main>`)
}

function summary (profile: Profile, options: ProfilePageOptions): string {
  const { base } = options
  const path = `${base}/${profile.token}`
  const error = Array.isArray(profile.exceptions) ? profile.exceptions.at(-1) : undefined
  return html`<section class="summary is-!${statusClass(profile.status)}" aria-label="Summary">
<div class="band"><p class="band-status"><strong>${profile.status}</strong> ${reason(profile.status)}</p>
<h1><span class="method">${profile.method}</span> <span class="url">${visibleLine(profile.url)}</span></h1>
!${error ? html`<p class="band-error">${visibleLine(`${error.name}: ${error.message}`)}</p>` : ''}</div>
!${blocked(profile)}<div class="facts-row"><dl><div><dt>Duration</dt><dd>${milliseconds(profile.duration)}</dd></div>
<div><dt>Route</dt><dd>!${routeName(profile.route?.name ?? 'none')}</dd></div>
<div><dt>Time</dt><dd>!${moment(profile.time)}</dd></div>
<div><dt>Client</dt><dd><a href="${base}/search?${new URLSearchParams({ ip: profile.ip }).toString()}">${profile.ip}</a></dd></div>
<div><dt>Token</dt><dd><code>${profile.token}</code> <a href="${path}.json">JSON</a> <a href="${path}.md">Markdown</a></dd></div></dl>
!${pinForm(options, { token: profile.token, pinned: options.pinned })}</div>
!${relatives(profile, options)}
!${actions(profile, options)}
</section>`
}

// A route of many methods breaks between them.
function routeName (name: string): string {
  return name.split('|').map((part) => html`${part}`).join('|<wbr>')
}

// Ahead of all else: who was refused wants to know by what.
function blocked (profile: Profile): string {
  const sentences = blockedSentences(profile)
  if (sentences.length === 0) return ''
  return html`<div class="blocked"><h2>${profile.status >= 400 ? 'Why was it refused?' : 'What does the browser keep back?'}</h2><ul>!${sentences.map((sentence) => html`<li>${visibleLine(sentence)}</li>`)}</ul></div>`
}

function reason (status: number): string {
  return status === 499 ? 'Client Closed Request' : STATUS_CODES[status] ?? ''
}

function relatives ({ parent, replayOf, token }: Profile, { base, children }: ProfilePageOptions): string {
  const links = children.map((child) => html`<li><a href="${base}/${child.token}">${child.token}</a> !${statusBadge(child.status)} ${child.method} ${visibleLine(child.url)}</li>`)
  return (parent === undefined ? '' : html`<p class="relatives">Caused by <a href="${base}/${parent}">${parent}</a></p>`) +
    (replayOf === undefined ? '' : html`<p class="relatives">Sent again from <a href="${base}/${replayOf}">${replayOf}</a>: <a href="${base}/${replayOf}/compare/${token}">how they differ</a></p>`) +
    (links.length === 0 ? '' : html`<div class="relatives"><a href="${base}/search?parent=${token}">Requests that it caused</a><ul>!${links}</ul></div>`)
}

function menuItem (panel: Panel, current: boolean, profile: Profile): string {
  const count = told(() => panel.count?.(profile))
  const problem = told(() => panel.problem?.(profile)) === true
  return html`<li><a href="${addressOf(panel.name)}"!${current ? ' aria-current="page"' : ''}!${problem ? ' class="has-problem"' : ''}><span>${panel.label}!${
    problem ? '<span class="mark" title="has a problem"><span aria-hidden="true">●</span><span class="hidden-visually"> (has a problem)</span></span>' : ''}</span>!${
    count === undefined || count === 0 ? '' : html` <span class="count!${problem ? ' bad' : ''}">${count}</span>`}</a></li>`
}

/** Data of another version, or of a collector that went wrong, must not take the page down with it. */
function rendered (panel: Panel, profile: Profile, view: PanelView): string {
  try {
    return panel.render(profile, view)
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

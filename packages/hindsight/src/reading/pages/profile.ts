import { STATUS_CODES } from '../../http/node-http.js'
import { html, timeOfDay, visibleLine, wordFor, type HtmlValue, type SafeHtml } from '../../view/text.js'
import { addressOf, countOf, labelOf, panelsOf, problemsOf, renderPanel, resultsOf } from '../../parts/read.js'
import { GROUPS, type PanelView, type Part } from '../../parts/part.js'
import { cutOffStatus, isFailure, type Profile } from '../../store/profile.js'
import {
  formatTime, timeElement, pathOf, postForm, statusClass, statusOf, withPlaces
} from '../../view/components.js'
import { pageLayout, type PageOptions } from './layout.js'

interface ProfilePageOptions extends PageOptions, Omit<PanelView, 'base' | 'debug'> {
  /** The value of the hidden field `form_token`. */
  formToken: string
  pinned: boolean
  /** The tokens of the profiles that were stored before and after this one. */
  older?: string | undefined
  newer?: string | undefined
}

export const FIRST_PANEL = 'overview'
/** The formats of a request: the last segment of the URL. */
const FORMATS = ['curl', 'test']

/** The page of one profile: a summary, the menu of panels, and one panel. */
export function profilePage (profile: Profile, part: Part, options: ProfilePageOptions): SafeHtml {
  const { status, method, url } = profile
  const outcome = cutOffStatus(profile) ?? profile.outcome
  const label = labelOf(part)
  let title = `${outcome ?? (status || 'No response:')} ${method} ${pathOf(url)}`
  if (part.name !== FIRST_PANEL) title += ` – ${label}`
  return pageLayout(options, title, html`<main class="profile">
${summary(profile, part, options)}
${notices(profile, part, options)}<div class="columns">
<nav class="menu" aria-label="Panels"><input type="checkbox" class="menu-toggle" aria-label="All panels">
<div class="menu-groups">${menu(profile, part, options)}</div></nav>
<section class="panel panel-${part.name} in-${groupOf(part)}" id="content" tabindex="-1" aria-labelledby="panel-title">
<h2 id="panel-title">${label}</h2>${renderPanel(part, profile, options)}</section>
</div>
</main>`, statusOf(status, outcome, isFailure(profile)))
}

/** The panels by group, the first panel of which stands for it; those without data are folded. */
function menu (profile: Profile, current: Part, { parts }: ProfilePageOptions): SafeHtml {
  const panels = panelsOf(parts, profile)
  const item = (part: Part): SafeHtml => menuItem(part, part.name === current.name, profile)
  const isEmpty = (part: Part): boolean => {
    const { errors, warnings } = problemsOf(part, profile)
    return part.name !== current.name && countOf(part, profile) === 0 && errors + warnings === 0
  }
  const groups = menuGroups(panels.filter((part) => !isEmpty(part))).map(({ title, panels }): HtmlValue => {
    const [first, ...others] = panels as [Part, ...Part[]]
    // Panels of the application are equals.
    if (title === GROUPS.application) return panels.map((part) => html`<li>${item(part)}</li>`)
    const list = others.length > 0 && html`<ul>${others.map((part) => html`<li>${item(part)}</li>`)}</ul>`
    return html`<li>${item(first)}${list}</li>`
  })
  const empty = panels.filter(isEmpty).map((part) => html`<li>${item(part)}</li>`)
  const folded = html`<summary>${empty.length} without data</summary><ul>${empty}</ul>`
  return html`<ul>${groups}</ul>${empty.length > 0 && html`<details class="empty">${folded}</details>`}`
}

/** The groups of the menu that have panels, with their titles. */
export function menuGroups (panels: readonly Part[]): Array<{ title: string, panels: Part[] }> {
  return Object.entries(GROUPS)
    .map(([name, title]) => ({ title, panels: panels.filter((part) => groupOf(part) === name) }))
    .filter(({ panels }) => panels.length > 0)
}

function groupOf ({ panel }: Part): keyof typeof GROUPS {
  return panel?.group ?? 'application'
}

/** What identifies the request, in one line that stays visible, and what can be done with its profile. */
function summary (profile: Profile, { name, panel }: Part, options: ProfilePageOptions): SafeHtml {
  const { token, status, kind, method, url, duration, route, time, ip, queued } = profile
  const outcome = cutOffStatus(profile) ?? profile.outcome
  const isRequest = kind === undefined
  const { base, debug, older, newer } = options
  const path = `${base}/${token}`
  const reason = outcome === undefined && ({ 499: 'Client Closed Request' }[status] ?? STATUS_CODES[status])
  const query = panel?.always === true && name !== FIRST_PANEL ? addressOf(name) : ''
  const neighbor = (other: string | undefined, rel: string, text: string, key: string): HtmlValue =>
    other !== undefined &&
    html`<a rel="${rel}" href="${base}/${other}${query}" title="${text} profile (${key})">${text}</a>`
  const color = statusClass(statusOf(status, outcome, isFailure(profile)))
  return html`<section class="summary is-${color}" aria-label="Summary">
<p class="code"><strong>${outcome ?? (status || 'No response')}</strong> <span>${reason}</span></p>
<h1><span class="method">${method}</span> <span class="url">${visibleLine(pathOf(url))}</span></h1>
<p>${formatTime(duration)}${queued !== undefined && ` after ${formatTime(queued)} in the queue`}</p>
<p class="clock"><time datetime="${time}" title="${time}">${timeOfDay(String(time))}</time></p>
<div class="tools-row">${(isRequest ? status !== 0 : outcome !== 'running') && pinForm(path, options)}
${debug && isRequest && html`<a href="${path}/replay">Replay…</a>`}
<details class="popup" name="tools"><summary>Copy</summary><div>
<a href="${path}.md" data-copy>For an AI assistant</a>${formats(path, isRequest)}</div></details>
<details class="popup" name="tools"><summary>Details</summary><div>
<dl>${isRequest && html`<dt>URL</dt><dd class="url">${visibleLine(url)}</dd>
<dt>Route</dt><dd>${route?.name ?? 'none'}</dd>`}
<dt>Time</dt><dd>${timeElement(time)}</dd>
${isRequest && html`<dt>Client</dt>
<dd><a href="${base}/search?${String(new URLSearchParams({ ip }))}">${ip}</a></dd>`}
<dt>Token</dt><dd><code>${token}</code></dd></dl></div></details>
${neighbor(newer, 'prev', 'Newer', 'K')}${neighbor(older, 'next', 'Older', 'J')}</div>
</section>`
}

/** Sentences about the request, open on the first panel. */
function notices (profile: Profile, { name }: Part, options: ProfilePageOptions): SafeHtml[] {
  const { parts, editor } = options
  const recorded = parts.filter(({ name }) => name in profile.collectors)
  const isOpen = name === FIRST_PANEL
  return resultsOf(recorded, profile, (part, data) => part.notice?.(data, profile))
    .filter(({ sentences }) => Array.isArray(sentences) && sentences.length > 0)
    .map(({ title, sentences, form }) => {
      const items = sentences.map((sentence) => html`<li>${withPlaces(visibleLine(String(sentence)), editor)}</li>`)
      return html`<details class="blocked"${isOpen && html` open`}><summary>${String(title)}</summary>\
<ul>${items}</ul>${form && form(options)}</details>`
    })
}

function pinForm (path: string, { formToken, pinned }: ProfilePageOptions): SafeHtml {
  const [action, value, effect, icon] = pinned
    ? ['Unpin', '0', 'Pinned: it is kept until you unpin it.', '★']
    : ['Pin', '1', 'Pinned profiles are kept.', '☆']
  return postForm(`${path}/pin`, formToken, html`<button type="submit" name="pinned" value="${value}" \
title="${effect}" aria-label="${action}">${icon}</button>`, 'pin-form')
}

function formats (path: string, isRequest: boolean): SafeHtml {
  const names = isRequest ? FORMATS : []
  const copies = names.map((name) => html`<a href="${path}/as/${name}" data-copy>As ${name}</a>`)
  const files = names.map((name) => html`<a href="${path}/as/${name}" download>${name}</a> `)
  return html`${copies}<p>Open: <a href="${path}.json">JSON</a> <a href="${path}.md">Markdown</a></p>\
${isRequest && html`<p>Download: ${files}</p>`}`
}

function menuItem (part: Part, isCurrent: boolean, profile: Profile): SafeHtml {
  const { errors, warnings } = problemsOf(part, profile)
  // The count of entries is for the panels of the application; ours show problems only.
  const entries = part.collect !== undefined && errors + warnings === 0 && countOf(part, profile)
  return html`<a href="${addressOf(part.name)}"${isCurrent && html` aria-current="page"`}><span>${labelOf(part)}\
</span><span class="badges">${badge(' bad', errors, 'error')}${badge(' warn', warnings, 'warning')}\
${badge('', entries || 0, 'item')}</span></a>`
}

function badge (mood: string, number: number, word: string): HtmlValue {
  if (number === 0) return null
  return html` <span class="count${mood}">${number}\
<span class="hidden-visually"> ${wordFor(number, word)}</span></span>`
}

import type { Nonces } from '../../../http/responses.js'
import type { Part, ToolbarItem } from '../../../parts/part.js'
import { byOrder, resultsOf } from '../../../parts/read.js'
import { isFailure, type Profile, type UnfinishedProfile } from '../../../store/profile.js'
import { statusClass, statusOf } from '../../../view/components.js'
import type { EditorLink } from '../../../view/editor.js'
import { html, visibleLine, type HtmlValue, type SafeHtml } from '../../../view/text.js'
import { addressesOf, toolbarAssets } from '../layout.js'

/** The toolbar of a profile. */
interface Toolbar {
  /** The JSON of `/_wdt/<token>.json`; null: not available. Durations are milliseconds. */
  data: Record<string, unknown> & Pick<Profile, 'token' | 'time' | 'status'> & { url: string }
  items: Item[]
  /** The class of its status. */
  color: string
  /** The links to the form of a replay, with what parts can record then. */
  replays: SafeHtml[]
}

/** An item with the name of the panel that it links to. */
type Item = ToolbarItem & { panel: string }

/** The toolbar of a profile; `url` is the URL of its page. */
export function toolbarOf (
  profile: UnfinishedProfile, url: string, parts: readonly Part[], editor: EditorLink | null
): Toolbar {
  const { token, time, status, method, duration } = profile
  const items = parts.flatMap((part) =>
    resultsOf([part], profile, (_, data) => part.toolbar?.(data, profile, editor))
      .map((item) => ({ panel: part.name, ...item, isInternal: part.collect === undefined }))).sort(byOrder)
  const values = items.map(({ isInternal, values }) => isInternal ? values : {})
  const data = Object.assign({ token, url, time, status, method, duration }, ...values) as Toolbar['data']
  const color = statusClass(statusOf(status, undefined, isFailure(profile)))
  return { data, items, color, replays: replayLinks(profile, url, parts) }
}

/** A page of the application has no token for a button that sends a request again at once: the form has it. */
function replayLinks ({ kind }: UnfinishedProfile, url: string, parts: readonly Part[]): SafeHtml[] {
  if (kind !== undefined) return []
  return parts.filter(({ replay }) => replay !== undefined).map(({ name, replay }) =>
    html`<p><a href="${url}/replay?${name}=1" target="_top">${replay?.label}…</a></p>`)
}

const REQUESTS = html`<button type="button" class="head">\
<span class="count">0</span> <span class="label">requests<span class="failed"></span></span></button>\
<div class="pop"><p>Requests of this page<span class="failed"></span>, timed by the browser</p><ol></ol></div></li>`

/**
 * The markup of the toolbar. A shadow root separates its styles from those of the page. It is hidden until its
 * stylesheet is loaded. `base` is the path of the profiler's routes. `nonces` are for policies that do not allow the
 * URLs of the files.
 */
export function renderToolbar ({ data, items, color, replays }: Toolbar, base: string, nonces?: Nonces): SafeHtml {
  const { url, token, status, time } = data
  const files = addressesOf(toolbarAssets, base)
  const link = html`href="${url}" target="_top"`
  const nonceOf = (kind: keyof Nonces): HtmlValue => nonces !== undefined && html` nonce="${nonces[kind]}"`
  return html`<hindsight-toolbar><template shadowrootmode="open">
<link rel="stylesheet" href="${files.style}"${nonceOf('style')}>
<aside class="frame" aria-label="Debug toolbar" hidden>
<input class="fold" type="checkbox" title="Fold the toolbar" aria-label="Fold the toolbar">
<a class="small status-${color}" ${link}>${status}<span class="hidden"> Profile ${token}</span></a>
<ul>${items.map((item) => itemMarkup(item, url))}<li class="item requests" data-since="${time}">${REQUESTS}
<li class="item profile"><a class="head" ${link}><span class="label">Profile </span><code>${token}</code></a>
<div class="pop"><p><a href="${url}.md" target="_top">Markdown for an AI assistant</a></p>${replays}</div>
</li></ul>
</aside></template><script src="${files.script}"${nonceOf('script')}></script></hindsight-toolbar>`
}

/** The markup of the toolbar of a page that another server renders: it has no profile of that page. */
export const PAGE_TOOLBAR = html`<aside class="frame" aria-label="Debug toolbar" hidden>
<input class="fold" type="checkbox" title="Fold the toolbar" aria-label="Fold the toolbar">
<a class="small" href="_profiler/" target="_top">Profiles</a>
<ul><li class="item requests">${REQUESTS}
<li class="item profile"><a class="head" href="_profiler/" target="_top">Profiles</a></li></ul></aside>`

function itemMarkup (
  { panel, className = 'own', title, head: given, facts = {}, more }: Item, url: string
): HtmlValue {
  const head = html`${given}`
  if (String(head) === '') return null
  const rows = Object.entries(facts).map(([label, value]) =>
    html`<div><dt>${label}</dt><dd>${visibleLine(String(value))}</dd></div>`)
  const pop = rows.length > 0 && html`<dl class="pop">${rows}${more}</dl>`
  return html`<li class="item ${className}"><a class="head" href="${url}?panel=${panel}" target="_top">\
<span class="hidden">${String(title)}: </span>${head}</a>${pop}</li>`
}

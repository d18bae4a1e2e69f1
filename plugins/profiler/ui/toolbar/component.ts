import { asset } from '../../../view/asset.js'
import { html } from '../../../view/html.js'
import { visibleLine } from '../../../view/visible.js'
import type { Profile } from '../../profile.js'
import { milliseconds } from '../components.js'

/** What the bar tells of a request. */
export interface ToolbarData {
  token: string
  /** Where the profile is. */
  url: string
  status: number
  method: string
  /** The name of the route; null where none matched. */
  route: string | null
  /** Milliseconds: so far, where the response is not over yet. */
  duration: number
  /** Lines of the log. */
  logs: number
  /** Those of them that tell an error. */
  errors: number
}

const style = asset(import.meta.url, './style.css')
const ERRORS = new Set(['error', 'fatal'])

/** How many lines a log has, and how many of them tell an error. */
export function countLogs (logs: ReadonlyArray<{ level: string }>): { logs: number, errors: number } {
  return { logs: logs.length, errors: logs.filter(({ level }) => ERRORS.has(level)).length }
}

/** What the bar tells of a stored profile. */
export function toolbarOf ({ token, status, method, route, duration, logs }: Profile, url: string): ToolbarData {
  return { token, url, status, method, route: route?.name ?? null, duration, ...countLogs(logs) }
}

/**
 * The bar as markup for any page: in a shadow root of its own, fixed above the page, and without script, so that
 * neither can disturb the other. Its one style element carries the nonce.
 */
export function toolbar ({ token, url, status, method, route, duration, logs, errors }: ToolbarData, nonce: string): string {
  // A route that nobody has named is called by its method and pattern.
  const name = route === null ? 'no route' : route.startsWith(`${method} `) ? route.slice(method.length + 1) : route
  return html`<hindsight-toolbar><template shadowrootmode="open"><style nonce="${nonce}">!${style}</style><aside class="frame" aria-label="Debug toolbar">
<input class="fold" type="checkbox" title="Fold the toolbar" aria-label="Fold the toolbar">
<ul>
<li class="status status-${Math.trunc(Number(status) / 100)}" title="Status">${status}</li>
<li class="route" title="${method} ${visibleLine(name)}"><span class="label long">${method}</span><span class="name">${visibleLine(name)}</span></li>
<li title="Time until the page was complete">${milliseconds(duration)}</li>
<li class="logs" title="Log lines">${logs} <span class="label long">logs</span></li>
<li class="errors!${errors > 0 ? ' some' : ''}" title="Log lines that tell an error">${errors} <span class="label">!${errors === 1 ? 'error' : 'errors'}</span></li>
<li class="profile"><a href="${url}" target="_top"><span class="label">Profile </span><code>${token}</code></a></li>
</ul>
</aside></template></hindsight-toolbar>`
}

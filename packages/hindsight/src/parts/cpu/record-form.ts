import type { Profile } from '../../store/profile.js'
import { postForm } from '../../view/components.js'
import { html, type HtmlValue } from '../../view/text.js'
import type { PanelView } from '../part.js'

/**
 * The button that replays a request, records its CPU profile and opens it. Where a replay may have side effects, or
 * values are masked, the form of the replay asks first.
 */
export function recordForm (
  { token, kind, method, status, collectors }: Profile, { base, debug, formToken = '' }: PanelView
): HtmlValue {
  // Only a request can be sent again.
  if (kind !== undefined || debug !== true || status === 0 || collectors.cpu !== undefined) return null
  const path = `${base}/${token}/replay`
  const text = 'Record a CPU profile'
  if (method !== 'GET' && method !== 'HEAD') return html`<a class="button record" href="${path}?cpu=1">${text}…</a>`
  return postForm(path, formToken, html`<button type="submit" name="cpu" value="1">${text}</button>`, 'record')
}

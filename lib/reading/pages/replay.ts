import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import type { FilledRequest } from '../replay/fill.js'
import type { MaskedValue } from '../replay/stored-request.js'
import { note, postForm, section } from '../../view/components.js'
import { layout, type PageOptions } from './layout.js'

/** A stored request as it will be sent. */
export interface ReplayView {
  token: string
  /** The value of the hidden field `form_token`. */
  formToken: string
  /** Masked values stay masked. */
  request: FilledRequest
  /** Whether its method is safe (RFC 9110, section 9.2.1). */
  safe: boolean
  /** The masked values. */
  masked: readonly MaskedValue[]
  /** What differs from the original request. */
  notes: readonly string[]
  /** Why it cannot be sent. */
  problem?: string
}

/** The page that shows a request, asks for its masked values, and sends it. */
export function replayPage (view: ReplayView, options: PageOptions): string {
  const { token, request, problem, notes } = view
  const failure = problem === undefined
    ? ''
    : html`<p class="failure" role="alert">The request cannot be replayed: ${problem}</p>`
  const list = html`<ul>!${notes.map((one) => html`<li>${one}</li>`)}</ul>`
  return layout(options, `Replay ${token}`, html`<main id="content" class="replay">
<h1>Replay</h1>
<p class="note">The request of the profile <a href="${options.base}/${token}">${token}</a> is replayed
in this process, not over the network. The new profile is compared with this one.</p>
!${failure}
!${section('The request', html`<pre class="data sent">${messageOf(request)}</pre>`, '', 2)}
!${notes.length === 0 ? '' : section('Differences from the original', list, '', 2)}
!${problem === undefined ? section('Send', form(view, options), '', 2) : ''}
</main>`)
}

function form ({ token, formToken, request: { method }, safe, masked }: ReplayView, { base }: PageOptions): string {
  const fields = masked.map(({ name, required }) =>
    html`<label class="masked-value"><span>${visibleLine(name)}</span> ` +
    html`<input type="text" name="value.${name}" spellcheck="false"!${required ? ' required' : ''}></label>`)
  const warning = html`<p class="warning">${method} may repeat side effects (RFC 9110, section 9.2.1).</p>
<label class="confirm"><input type="checkbox" name="confirm" value="1" required> Replay this ${method}</label>`
  return postForm(`${base}/${token}/replay`, formToken, html`
!${masked.length === 0 ? '' : note('These values are masked in the profile. Empty values are not sent.')}!${fields}
!${safe ? '' : warning}<label class="confirm"><input type="checkbox" name="cpu" value="1"> Record a CPU profile</label>
<button type="submit">Replay</button>`)
}

function messageOf ({ method, target, headers, body }: FilledRequest): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().map((one) => `${name}: ${visibleLine(one)}`))
  return [`${method} ${target}`, ...lines, ...body === undefined ? [] : ['', body]].join('\n')
}

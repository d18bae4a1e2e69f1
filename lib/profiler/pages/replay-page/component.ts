import { html } from '../../../view/html.js'
import { style as readStyle } from '../../../view/asset.js'
import { visibleLine } from '../../../view/visible.js'
import type { FilledRequest } from '../../replay/fill.js'
import type { Gap } from '../../replay/stored-request.js'
import { chapter, note } from '../components.js'
import { layout, type PageOptions } from '../layout/component.js'

/** A request that may be sent again, as it will be sent. */
export interface ReplayView {
  token: string
  /** What is masked stays so. */
  request: FilledRequest
  /** Whether its method is not meant to change anything. */
  safe: boolean
  gaps: readonly Gap[]
  notes: readonly string[]
  /** Why it cannot be sent; null where it can. */
  problem: string | null
}

/** How the request and its form look. */
export const style = readStyle(import.meta.url, './style.css')

/** The page that shows a request as it will be sent, asks for what is masked, and sends it. */
export function replayPage (view: ReplayView, options: PageOptions): string {
  const { token, request, problem, notes } = view
  return layout(options, `Send ${token} again`, html`<main id="content" class="replay">
<h1>Send again</h1>
<p class="note">The request of the profile <a href="${options.base}/${token}">${token}</a> is sent to this application once more, in this process and not over the network. It leaves a profile of its own, and you see how the two differ.</p>
!${problem === null ? '' : html`<p class="failure" role="alert">It cannot be sent again: ${problem}</p>`}
!${chapter('The request', html`<pre class="data sent">${messageOf(request)}</pre>`)}
!${notes.length === 0 ? '' : chapter('What is not as it was', html`<ul>!${notes.map((one) => html`<li>${one}</li>`)}</ul>`)}
!${problem === null ? chapter('Send it', form(view, options)) : ''}
</main>`)
}

function form ({ token, request: { method }, safe, gaps }: ReplayView, { base, formToken }: PageOptions): string {
  return html`<form method="post" action="${base}/${token}/replay" autocomplete="off"><input type="hidden" name="form_token" value="${formToken}">
!${gaps.length === 0 ? '' : note('The profile has these masked. What you leave empty is not sent.') + gaps.map(field).join('')}
!${safe ? '' : html`<p class="warning">${method} is no safe method (RFC 9110, section 9.2.1): what the request did, it may do again.</p><label class="confirm"><input type="checkbox" name="confirm" value="1" required> Send this ${method} again</label>`}
<button type="submit">Send again</button></form>`
}

function field ({ name, where, required }: Gap): string {
  return html`<label class="gap"><span>${visibleLine(where)}</span> <input type="text" name="value.${name}" spellcheck="false"!${required ? ' required' : ''}></label>`
}

function messageOf ({ method, target, headers, body }: FilledRequest): string {
  const lines = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${visibleLine(one)}`))
  return [`${method} ${target}`, ...lines, ...body === null ? [] : ['', body]].join('\n')
}

import { html } from '../../../view/html.js'
import type { Profile } from '../../profile.js'
import type { PageOptions } from '../layout/component.js'

/** What the request of a profile can be written as: the last part of an address, and what the menu calls it. */
const FORMATS: ReadonlyArray<readonly [name: string, label: string]> = [
  ['curl', 'curl'], ['fetch', 'fetch'], ['http', 'HTTP file'], ['har', 'HAR'], ['tap', 'Test for tap'], ['node', 'Test for node:test']
]

/** What can be done with one profile: comparing it with one before, having its request as a text, and sending that again. */
export function actions ({ token }: Profile, { base, replayable }: Pick<PageOptions, 'base'> & { replayable: boolean }): string {
  const path = `${base}/${token}`
  return html`<div class="actions-row"><span>Compare with the <a href="${path}/compare/previous">previous of this route</a> or its <a href="${path}/compare/previous?error=0">last success</a></span>
<details class="copy-as"><summary>Copy as</summary><ul>!${FORMATS.map(([name, label]) => html`<li><a href="${path}/as/${name}" download>${label}</a></li>`)}</ul></details>!${replayable ? html`<a href="${path}/replay">Send again…</a>` : ''}</div>`
}

import { html } from '../../../view/html.js'
import type { Profile } from '../../profile.js'
import type { PageOptions } from '../layout/component.js'

/** What can be done with one profile: comparing it with one before. */
export function actions ({ token }: Profile, { base }: Pick<PageOptions, 'base'>): string {
  const path = `${base}/${token}`
  return html`<div class="actions-row"><span>Compare with the <a href="${path}/compare/previous">previous of this route</a> or its <a href="${path}/compare/previous?error=0">last success</a></span></div>`
}

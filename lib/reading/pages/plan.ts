import { html } from '../../view/html.js'
import { addressOf } from '../../parts/read.js'
import { layout, type PageOptions } from './layout.js'

/** The page that shows how a database runs a query; `number` is its number in the profile, from 1. */
export function planPage (token: string, number: number, content: string, options: PageOptions): string {
  const address = `${options.base}/${token}${addressOf('queries', `query-${number}`)}`
  return layout(options, `Plan of query ${number}`, html`<main id="content" class="replay">
<h1>Plan</h1>
<p class="note">This is how the database would run <a href="${address}">query ${number}</a> of the profile
<a href="${options.base}/${token}">${token}</a> now. It did not run it.</p>
!${content}
</main>`)
}

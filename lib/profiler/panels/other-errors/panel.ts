import { failed, note } from '../../pages/components.js'
import { exceptionsMarkup } from '../exceptions/panel.js'
import { failureOf, PLAIN_VIEW } from '../panel.js'
import type { Panel } from '../panel.js'
import type { FlattenedException } from '../../../errors/exception.js'
import { html } from '../../../view/html.js'

/** What was raised beside the first error: after the response began, in an error handler, or caught by a framework. */
export const otherErrorsPanel: Panel = {
  name: 'otherErrors',
  label: 'Other errors',
  group: 'overview',
  count: ({ collectors }) => Array.isArray(collectors.otherErrors) ? collectors.otherErrors.length : undefined,
  problem: ({ collectors }) => collectors.otherErrors !== undefined,
  render: (profile, view = PLAIN_VIEW) => {
    const failure = failureOf(profile, 'otherErrors')
    if (failure !== undefined) return failed(failure)
    const { otherErrors } = profile.collectors
    const chains = (Array.isArray(otherErrors) ? otherErrors : []).filter(Array.isArray) as FlattenedException[][]
    if (chains.length === 0) return note('No other error was raised.')
    return note('Raised beside the first error, after the response began, or caught by a framework.') +
      chains.map((chain, i) => html`<section class="part"><h3>Error ${i + 1} of ${chains.length}</h3>!${exceptionsMarkup(chain, view, 4)}</section>`).join('')
  }
}

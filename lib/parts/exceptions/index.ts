import { renderChain, renderTraces } from '../../error-page/exceptions.js'
import type { FlattenedException } from '../../errors/exception.js'
import { note, section } from '../../view/components.js'
import { createPanel, type PanelView } from '../part.js'

/** The exceptions of the response, from the root cause to the last. */
export const exceptionsPanel = createPanel('exceptions', 'Exceptions', 'overview', {
  always: true,
  count: (_, { exceptions }) => exceptions.length,
  errors: (_, { exceptions }) => exceptions.length,
  render: (_, { exceptions }, view) =>
    exceptions.length === 0 ? note('No exceptions.') : exceptionsMarkup(exceptions, view)
})

/** Further errors: raised after the response began, in an error handler, or caught by a framework. */
export const otherErrorsPanel = createPanel('otherErrors', 'Other errors', 'overview', {
  errors: (_, { collectors: { otherErrors } }) => Array.isArray(otherErrors) ? otherErrors.length : 0,
  render: (_, { collectors: { otherErrors } }, view) => {
    const chains = [otherErrors].flat().filter(Array.isArray) as FlattenedException[][]
    if (chains.length === 0) return note('No other error was raised.')
    return note('Raised besides the first error, after the response began, or caught by a framework.') +
      chains.map((chain, i) => section(`Error ${i + 1} of ${chains.length}`, exceptionsMarkup(chain, view, 4))).join('')
  }
})

/** A chain of exceptions, root cause first, with their stack traces; `level` is the level of the headings. */
function exceptionsMarkup (chain: readonly FlattenedException[], { editor }: PanelView, level = 3): string {
  return renderChain(chain, { editor, shown: new Set() }, level) + section('Stack traces', renderTraces(chain))
}

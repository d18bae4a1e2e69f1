import { flattenError } from '../diagnostics/flatten-error.js'
import { listener, Skip } from '../kernel/listener.js'
import { stateOf } from '../kernel/request-state.js'

const nothingRaised = new Skip('nothing was raised')

/** In an error pass: turns the raised value, whatever it is, into the flattened exceptions that the diagnostic handler renders. */
export const error = listener('kernel.controller_arguments', 'error', (app) => {
  if (!app.hindsight.debug) return 'not in debug mode'
  return (request) => {
    const state = stateOf(request)
    if (!state.failed) return nothingRaised
    state.exceptions = flattenError(state.raised)
  }
})

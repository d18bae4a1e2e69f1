import type { FastifyRequest } from 'fastify'
import { listener, Skip } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'

const notObserved = new Skip('the request leaves no profile')

/**
 * In an error pass: turns the raised value, of any type, into the flattened exceptions that the error handler renders.
 */
export const error = listener('kernel.controller_arguments', 'error', async (app) => {
  if (!app.hindsight.observed) return 'not in debug mode'
  const { flattenError } = await import('../lib/errors/flatten-error.js')
  return {
    when: 'error',
    hook: (request: FastifyRequest) => {
      const state = stateOf(request)
      if (!state.observed) return notObserved
      state.exceptions = flattenError(state.raised)
    }
  }
})

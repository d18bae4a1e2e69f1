import type { FastifyRequest } from 'fastify'
import { listener, Skip } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'

const notObserved = new Skip('the request is not profiled')

/** Flattens and masks the error, in an error pass, for the diagnostic page and the profile. */
export const error = listener('kernel.controller_arguments', 'error', async (app) => {
  if (!app.hindsight.observed) return 'not in debug mode'
  const { exceptionsOf } = await import('../lib/errors/masked-exceptions.js')
  return {
    when: 'error',
    hook: (request: FastifyRequest) => {
      if (!stateOf(request).observed) return notObserved
      exceptionsOf(request)
    }
  }
})

import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'
import { explainNoMatch, traceOf } from 'fastify-hindsight/recorder'

/** Sets the not-found handler. Throws where the application has set one before. */
export const notFoundHandler = fp(async function notFoundHandler (app: FastifyInstance) {
  try {
    // Only for `reply.callNotFound()`: for all other requests the router listener has thrown before.
    app.setNotFoundHandler(function notFound (request, reply) {
      const noMatch = explainNoMatch(traceOf(request))
      if ('error' in noMatch) throw noMatch.error
      return reply.redirect(noMatch.redirect, 301)
    })
  } catch (cause) {
    const message = 'The service sets the not-found handler, and the application has set one before. ' +
      'Remove it, or set it in a plugin with a prefix'
    throw new Error(message, { cause })
  }
}, { fastify: '5.x', name: 'hindsight/not-found-handler' })

import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'
import { explainNoMatch } from '../packages/hindsight/src/routing/no-match.js'

/** Sets the not-found handler of `full` mode. Throws where the application has set one before. */
export const notFoundHandler = fp(async function notFoundHandler (app: FastifyInstance) {
  try {
    // Only for `reply.callNotFound()`: for all other requests the router listener has thrown before.
    app.setNotFoundHandler(function notFound (request, reply) {
      const noMatch = explainNoMatch(request)
      if ('error' in noMatch) throw noMatch.error
      return reply.redirect(noMatch.redirect, 301)
    })
  } catch (cause) {
    const message = 'lifecycle: \'full\' sets the not-found handler, and the application has set one before. ' +
      'Remove it, set it in a plugin with a prefix, or use lifecycle: \'observe\''
    throw new Error(message, { cause })
  }
}, { fastify: '5.x', name: 'hindsight/not-found-handler' })

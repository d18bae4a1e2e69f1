import { framingProblem, isLast } from '../lib/http/framing.js'
import { listener } from '../lib/lifecycle/listener.js'
import { kRefused } from '../lib/http/malformed.js'

/**
 * Rejects what is malformed at the message level: an invalid or untrusted host, forwarding headers in conflict,
 * a version that the connection does not speak, an end that is not certain, an invalid method override, a URL that cannot be decoded.
 */
export const requestValidation = listener('kernel.request', 'request-validation', (app) => {
  const { originOf } = app.hindsight
  return (request, reply) => {
    // The server's options have looked already; an application that was made without them looks here.
    const refused = request.raw[kRefused] ?? framingProblem(request.raw) ?? originOf(request).problem
    if (isLast(request.raw)) reply.header('connection', 'close')
    if (refused !== null && refused !== undefined) throw refused
  }
})

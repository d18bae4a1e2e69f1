import { framingProblem, isLast } from '../lib/http/framing.js'
import { messageState } from '../lib/http/request-target.js'
import { listener } from '../lib/lifecycle/listener.js'

/**
 * Rejects requests that are malformed at the message level: an invalid or untrusted host, conflicting forwarding
 * headers, an unsupported version, an uncertain end, an invalid method override, a URL that cannot be decoded.
 */
export const requestValidation = listener('kernel.request', 'request-validation', (app) => (request, reply) => {
  const { raw } = request
  // An application without our server options has not checked the framing yet.
  const problem = messageState(raw).refused ?? framingProblem(raw) ?? app.hindsight.originOf(request).problem
  if (isLast(raw)) reply.header('connection', 'close')
  if (problem !== null) throw problem
})

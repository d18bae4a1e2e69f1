import { messageState } from 'fastify-hindsight/recorder'
import { framingProblem, isLast } from '../lib/malformed.js'
import { defineListener } from '../lib/listener.js'

/** Rejects messages that are malformed: host, forwarding headers, version, end, method override or URL. */
export const requestValidation = defineListener('kernel.request', 'request-validation', (app) => (request, reply) => {
  const { raw } = request
  // An application without our server options has not checked the framing yet.
  const { method, refused } = messageState(raw)
  if (method !== undefined) raw.method = method
  const problem = refused ?? framingProblem(raw) ?? app.hindsight.originOf(request).problem
  if (isLast(raw)) reply.header('connection', 'close')
  if (problem !== null) throw problem
})

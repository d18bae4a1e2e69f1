import { listener } from '../kernel/listener.js'
import { kRefused } from '../kernel/malformed.js'

/**
 * Rejects what is malformed at the message level: an invalid or untrusted host, forwarding headers in conflict,
 * an invalid method override, a URL that cannot be decoded.
 */
export const requestValidation = listener('kernel.request', 'request-validation', (app) => {
  const { originOf } = app.hindsight
  return (request) => {
    const refused = request.raw[kRefused] ?? originOf(request).problem
    if (refused !== null && refused !== undefined) throw refused
  }
})

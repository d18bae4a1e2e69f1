import { listener } from '../kernel/listener.js'
import { badRequest } from '../kernel/http-errors.js'
import { kRefused } from '../kernel/malformed.js'

/**
 * Rejects what is malformed at the message level: an invalid or untrusted host, forwarding headers in conflict,
 * a version that the connection does not speak, an invalid method override, a URL that cannot be decoded.
 */
export const requestValidation = listener('kernel.request', 'request-validation', (app) => {
  const { originOf } = app.hindsight
  return (request) => {
    // HTTP/2 has a preface and a connection of its own, HTTP/0.9 no headers; a version that is only claimed is a way to smuggle (RFC 9112, section 2.3).
    if (request.raw.httpVersionMajor !== 1 && !('stream' in request.raw)) {
      throw badRequest(`HTTP/${request.raw.httpVersion} is not spoken on this connection: HTTP/1.1 is.`)
    }
    const refused = request.raw[kRefused] ?? originOf(request).problem
    if (refused !== null && refused !== undefined) throw refused
  }
})

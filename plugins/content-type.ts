import { isRedirect, onRedirect } from '../lib/http/responses.js'
import { listener, Skip } from '../lib/lifecycle/listener.js'

const kept = new Skip('the route has set the header')

/** Keeps browsers from guessing another content type (Fetch, section 3.6). */
export const contentType = listener('kernel.response', 'content-type', () => (_request, reply) => {
  if (isRedirect(reply)) return onRedirect
  if (reply.hasHeader('x-content-type-options')) return kept
  reply.header('x-content-type-options', 'nosniff')
})

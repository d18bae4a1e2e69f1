import { notOnRedirect, setIfAbsent } from '../lib/full/responses.js'
import { isRedirect } from '../lib/http/responses.js'
import { listener } from '../lib/full/listener.js'

/** Sets `X-Content-Type-Options`, so that browsers do not guess another type (Fetch, section 3.6). */
export const contentType = listener('kernel.response', 'content-type', () => (_request, reply) => {
  if (isRedirect(reply)) return notOnRedirect
  return setIfAbsent(reply, 'x-content-type-options', 'nosniff')
})

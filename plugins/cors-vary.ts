import { ruleFinder } from '../lib/http/request-target.js'
import { addVary, isCacheable } from '../lib/http/responses.js'
import { listener, Skip } from '../lib/lifecycle/listener.js'

const noRule = new Skip('no CORS rule for this path')
const notCacheable = new Skip('the response is not cacheable')

/** Adds `Vary: Origin` to cacheable responses of paths under CORS (Fetch, section 3.3.5). */
export const corsVary = listener('kernel.response', 'cors-vary', (_app, { cors = [] }) => {
  if (cors.length === 0) return 'not configured'
  const ruleOf = ruleFinder(cors)
  return (request, reply) => {
    if (ruleOf(request) === null) return noRule
    if (!isCacheable(reply)) return notCacheable
    addVary(reply, 'Origin')
  }
})

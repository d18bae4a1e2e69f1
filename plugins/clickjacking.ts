import { notOnRedirect, setIfAbsent } from '../lib/full/responses.js'
import { isRedirect } from '../lib/http/responses.js'
import { ruleFinder } from '../lib/http/request-target.js'
import { listener, Skip } from '../lib/full/listener.js'

const allowed = new Skip('framing is allowed for this path')

/** Sets `X-Frame-Options`. */
export const clickjacking = listener('kernel.response', 'clickjacking', (_app, { clickjacking: rules = [] }) => {
  if (rules === false) return 'not configured'
  const ruleOf = ruleFinder(rules)
  return (request, reply) => {
    if (isRedirect(reply)) return notOnRedirect
    const value = ruleOf(request)?.frameOptions ?? 'DENY'
    if (value === false) return allowed
    return setIfAbsent(reply, 'x-frame-options', value)
  }
})

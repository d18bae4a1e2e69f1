import { isRedirect, onRedirect, setIfAbsent } from '../lib/http/responses.js'
import { ruleFinder, type PathRule } from '../lib/http/request-target.js'
import { listener, Skip } from '../lib/lifecycle/listener.js'

/** Which pages may frame those of a path (RFC 7034); false: any. */
interface FrameRule extends PathRule {
  frameOptions: 'DENY' | 'SAMEORIGIN' | false
}

export interface ClickjackingOptions {
  /** The rules, by path; the first that applies decides, otherwise `DENY`. False: no header at all. */
  clickjacking?: false | FrameRule[]
}

const allowed = new Skip('framing is allowed for this path')

/** Sets `X-Frame-Options`. */
export const clickjacking = listener('kernel.response', 'clickjacking', (
  _app, { clickjacking: rules = [] }: ClickjackingOptions
) => {
  if (rules === false) return 'not configured'
  const ruleOf = ruleFinder(rules)
  return (request, reply) => {
    if (isRedirect(reply)) return onRedirect
    const value = ruleOf(request)?.frameOptions ?? 'DENY'
    if (value === false) return allowed
    return setIfAbsent(reply, 'x-frame-options', value)
  }
})

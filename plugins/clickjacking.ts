import { isRedirect, onRedirect } from '../lib/http/responses.js'
import { ruleFinder, type PathRule } from '../lib/http/path-rules.js'
import { listener, Skip } from '../lib/lifecycle/listener.js'

/** Which pages may frame those of a path (RFC 7034); false: any. */
export interface FrameRule extends PathRule {
  frameOptions: 'DENY' | 'SAMEORIGIN' | false
}

export interface ClickjackingOptions {
  /** The rules, by path; the first that applies decides, otherwise `DENY`. False: no header at all. */
  clickjacking?: false | FrameRule[]
}

const kept = new Skip('the route has set the header')
const allowed = new Skip('framing is allowed for this path')

/** Sets `X-Frame-Options`. */
export const clickjacking = listener('kernel.response', 'clickjacking', (
  _app, { clickjacking: rules = [] }: ClickjackingOptions
) => {
  if (rules === false) return 'not configured'
  for (const { frameOptions } of rules) {
    if (!['DENY', 'SAMEORIGIN', false].includes(frameOptions)) {
      throw new Error(
        `clickjacking: frameOptions must be DENY, SAMEORIGIN or false, not ${JSON.stringify(frameOptions)}`
      )
    }
  }
  const ruleOf = ruleFinder(rules)
  return (request, reply) => {
    if (isRedirect(reply)) return onRedirect
    if (reply.hasHeader('x-frame-options')) return kept
    const value = ruleOf(request)?.frameOptions ?? 'DENY'
    if (value === false) return allowed
    reply.header('x-frame-options', value)
  }
})

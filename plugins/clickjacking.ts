import { helmetHeader } from '../lib/http/helmet-header.js'
import { isRedirect, onRedirect } from '../lib/http/responses.js'
import { listener, Skip } from '../lib/lifecycle/listener.js'
import { ruleFinder, type PathRule } from '../lib/http/path-rules.js'

/** Who may frame the pages of a path (RFC 7034); false: everybody. */
export interface FrameRule extends PathRule {
  frameOptions: 'DENY' | 'SAMEORIGIN' | false
}

export interface ClickjackingOptions {
  /** The rules, by path; the first that matches decides, `DENY` where none does. False: no header at all. */
  clickjacking?: false | FrameRule[]
}

const kept = new Skip('the route has set the header')
const allowed = new Skip('framing is allowed for this path')

/** Keeps pages out of the frames of others. */
export const clickjacking = listener('kernel.response', 'clickjacking', async (app, { clickjacking: rules = [] }: ClickjackingOptions) => {
  if (rules === false) return 'not configured'
  for (const { frameOptions } of rules) {
    if (frameOptions !== false) await helmetHeader(app, 'xFrameOptions', { action: frameOptions.toLowerCase() }, 'x-frame-options')
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

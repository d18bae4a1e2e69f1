import { isRedirect, onRedirect } from '../lib/http/responses.js'
import { listener, Skip } from '../lib/lifecycle/listener.js'

export interface XssProtectionOptions {
  /** The header's value, `0` by default as the auditor of old browsers does more harm than good; false for none. */
  xssProtection?: false | '0' | '1' | '1; mode=block'
}

const VALUES = ['0', '1', '1; mode=block']
const kept = new Skip('the route has set the header')

/** Switches the legacy auditor of old browsers off. */
export const xssProtection = listener('kernel.response', 'xss-protection', (
  _app, { xssProtection: value = '0' }: XssProtectionOptions
) => {
  if (value === false) return 'not configured'
  if (!VALUES.includes(value)) throw new Error(`xssProtection: "${String(value)}" is none of ${VALUES.join(', ')}`)
  return (_request, reply) => {
    if (isRedirect(reply)) return onRedirect
    if (reply.hasHeader('x-xss-protection')) return kept
    reply.header('x-xss-protection', value)
  }
})

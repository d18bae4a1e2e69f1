import { isRedirect, onRedirect, setIfAbsent } from '../lib/http/responses.js'
import { listener } from '../lib/lifecycle/listener.js'

export interface XssProtectionOptions {
  /** The header's value, `0` by default as the auditor of old browsers does more harm than good; false for none. */
  xssProtection?: false | '0' | '1' | '1; mode=block'
}

/** Sets `X-XSS-Protection`, which disables the auditor of old browsers. */
export const xssProtection = listener('kernel.response', 'xss-protection', (
  _app, { xssProtection: value = '0' }: XssProtectionOptions
) => {
  if (value === false) return 'not configured'
  return (_request, reply) => {
    if (isRedirect(reply)) return onRedirect
    return setIfAbsent(reply, 'x-xss-protection', value)
  }
})

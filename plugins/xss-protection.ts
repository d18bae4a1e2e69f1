import { notOnRedirect, setIfAbsent } from '../lib/full/responses.js'
import { isRedirect } from '../lib/http/responses.js'
import { listener } from '../lib/full/listener.js'

/** Sets `X-XSS-Protection`, which disables the auditor of old browsers. */
export const xssProtection = listener('kernel.response', 'xss-protection', (_app, { xssProtection: value = '0' }) => {
  if (value === false) return 'not configured'
  return (_request, reply) => {
    if (isRedirect(reply)) return notOnRedirect
    return setIfAbsent(reply, 'x-xss-protection', value)
  }
})

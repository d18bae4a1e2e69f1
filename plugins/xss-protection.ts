import { listener, setOnDocument } from '../lib/listener.js'

/** Sets `X-XSS-Protection`, which disables the auditor of old browsers. */
export const xssProtection = listener('kernel.response', 'xss-protection', (_app, { xssProtection: value = '0' }) =>
  value === false ? 'not configured' : (_request, reply) => setOnDocument(reply, 'x-xss-protection', value))

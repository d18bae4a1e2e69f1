import { defineListener, setOnDocument } from '../lib/listener.js'

/** Sets `X-XSS-Protection`, which disables the auditor of old browsers. */
export const xssProtection = defineListener('kernel.response', 'xss-protection', (_app, { xssProtection = '0' }) =>
  xssProtection === false
    ? 'not configured'
    : (_request, reply) => setOnDocument(reply, 'x-xss-protection', xssProtection))

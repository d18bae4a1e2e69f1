import type { FastifyReply } from 'fastify'
import { addVary, ruleFinder } from 'fastify-hindsight/recorder'
import { defineListener, Skip } from '../lib/listener.js'

const noRule = new Skip('no CORS rule for this path')
const notCacheable = new Skip('the response is not cacheable')

/** Adds `Vary: Origin` to cacheable responses of paths under CORS (Fetch, section 3.3.5). */
export const corsVary = defineListener('kernel.response', 'cors-vary', (_app, { cors = [] }) => {
  if (cors.length === 0) return 'not configured'
  const ruleOf = ruleFinder(cors)
  return (request, reply) => {
    if (ruleOf(request) === null) return noRule
    if (!isCacheable(reply)) return notCacheable
    addVary(reply, 'Origin')
  }
})

/** Whether shared caches may keep a response, as its own `Cache-Control` says (RFC 9111, section 3). */
function isCacheable (reply: FastifyReply): boolean {
  const control = reply.getHeader('cache-control')
  return typeof control === 'string' && /\b(?:public|max-age=[1-9]|s-maxage=[1-9])/i.test(control) &&
    !/\b(?:private|no-store|no-cache)\b/i.test(control)
}

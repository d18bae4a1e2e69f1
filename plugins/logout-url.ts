import type { FastifyRequest } from 'fastify'
import { defineListener } from '../lib/listener.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The absolute URL that ends the session, with a CSRF token if needed; null if the firewall has no logout. */
    logoutUrl (): string | null
    /** The same as a path of this origin. */
    logoutPath (): string | null
  }
}

/** Decorates requests with the URL that logs their user out. */
export const logoutUrl = defineListener('kernel.request', 'logout-url', async (app) => {
  if (app.service.security === undefined) return 'not configured'
  const { locationOf } = await import('../lib/security/guard.js')
  const { logoutPathOf } = await import('../lib/security/login.js')
  app.decorateRequest('logoutPath', function logoutPath (this: FastifyRequest) {
    return logoutPathOf(this)
  })
  app.decorateRequest('logoutUrl', function logoutUrl (this: FastifyRequest) {
    const path = logoutPathOf(this)
    return path === null ? null : locationOf(this, path)
  })
  return 'the URL is made when the handler calls logoutUrl() or logoutPath()'
})

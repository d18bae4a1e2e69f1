import { listener } from '../lib/listener.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The absolute URL that ends the session, with a CSRF token if needed; null if the firewall has no logout. */
    logoutUrl (): string | null
    /** The same as a path of this origin. */
    logoutPath (): string | null
  }
}

/** Gives requests the URL that logs their user out. Without a route there is none. */
export const logoutUrl = listener('kernel.request', 'logout-url', async (app) => {
  if (app.service.security === undefined) return 'not configured'
  const { locationOf } = await import('../lib/security/guard.js')
  const { logoutPathOf } = await import('../lib/security/login.js')
  app.decorateRequest('logoutPath', () => null)
  app.decorateRequest('logoutUrl', () => null)
  return (request) => {
    request.logoutPath = () => logoutPathOf(request)
    request.logoutUrl = () => {
      const path = logoutPathOf(request)
      return path === null ? null : locationOf(request, path)
    }
  }
})

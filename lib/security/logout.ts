import type { FastifyRequest } from 'fastify'
import { contextOf } from './context.js'
import { csrfToken } from './csrf.js'
import { CSRF_FIELD, purposeOf } from './login-routes.js'

/** The path that ends the session of a request, with a CSRF token where its firewall asks for one; null where it has no logout. */
export function logoutOf (request: FastifyRequest): string | null {
  const firewall = contextOf(request)?.firewall ?? null
  if (firewall === null || firewall.logout === null) return null
  const { path, csrf } = firewall.logout
  return csrf ? `${path}?${CSRF_FIELD}=${encodeURIComponent(csrfToken(request, purposeOf('logout', firewall.name)))}` : path
}

import type { FastifyInstance } from 'fastify'
import type { Security, SecurityOptions } from './security.js'

/** The security of an application, with what only those need loaded who have configured it; null where nobody has. */
export async function openSecurity (app: FastifyInstance, options: SecurityOptions): Promise<Security | null> {
  if (options.security === undefined) return null
  const { securityOf } = await import('./security.js')
  return securityOf(app, options)
}

import type { FastifyInstance } from 'fastify'
import type { HindsightOptions } from '../options.js'
import type { compileSecurity } from './compile.js'

/** The security of an application, which its listeners share. */
export type Security = Awaited<ReturnType<typeof compileSecurity>>

const opened = new WeakMap<object, Promise<Security>>()

/** The security of an application, compiled once; null if it is not configured, and then its modules are not loaded. */
export async function openSecurity (
  app: FastifyInstance, { security: settings, session }: HindsightOptions
): Promise<Security | null> {
  if (settings === undefined) return null
  const cookieName = (session === false ? undefined : session?.cookieName) ?? 'sessionId'
  const security = opened.get(app.hindsight) ??
    import('./compile.js').then(({ compileSecurity }) => compileSecurity(app, settings, cookieName))
  opened.set(app.hindsight, security)
  return await security
}

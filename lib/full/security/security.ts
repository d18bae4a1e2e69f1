import type { FastifyInstance } from 'fastify'
import type { HindsightOptions } from '../../options.js'
import type { compileSecurity } from './compile.js'

/** The security of an application, which its listeners share. */
export type Security = Awaited<ReturnType<typeof compileSecurity>>

declare module '../../lifecycle/services.js' {
  interface Services {
    security?: Promise<Security>
  }
}

/** The security of an application, compiled once; null if it is not configured, and then its modules are not loaded. */
export async function openSecurity (
  app: FastifyInstance, { security: settings }: HindsightOptions
): Promise<Security | null> {
  if (settings === undefined) return null
  const { hindsight } = app
  hindsight.security ??= import('./compile.js').then(({ compileSecurity }) => compileSecurity(app, settings))
  return await hindsight.security
}

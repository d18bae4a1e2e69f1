import { join } from 'node:path'
import autoload from '@fastify/autoload'
import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'
import { readEnvironment, readServerOptions } from './environment.js'
import { hindsight } from './hindsight.js'
import type { HindsightOptions } from '../lib/options.js'
import { boundConnections, serverOptions, type ServerSettings } from './server-options.js'
import { withSharedState } from './shared-state.js'

// A process that runs this file as TypeScript can load routes in TypeScript.
if (import.meta.url.endsWith('.ts')) process.env.FASTIFY_AUTOLOAD_TYPESCRIPT ??= '1'

/** The server options that belong to the application; fastify-cli takes them with `--options`. */
export const options = serverOptions(readServerOptions())

interface AppOptions {
  /** Options of the lifecycle; by default those of the environment. */
  hindsight?: HindsightOptions
  /** Limits of clients that are no server options; by default those of the environment. */
  limits?: Partial<ServerSettings>
  /** The folder whose routes are loaded. */
  routesDir?: string
}

/** The application: the lifecycle, and the routes of `routes/`. */
export default fp(async function application (app: FastifyInstance, given: AppOptions) {
  const { hindsight: settings = readEnvironment().options, limits = readServerOptions() } = given
  const { routesDir = join(import.meta.dirname, '../routes') } = given
  boundConnections(app, limits)
  await app.register(hindsight, await withSharedState(app, { lifecycle: 'full', charset: true, ...settings }))
  // The plugin registers the routes of debug mode.
  const isDebugRoute = (path: string): boolean => /^[\\/]*(?:_profiler|_wdt|_error)(?:[\\/]|$)/.test(path)
  await app.register(autoload, { dir: routesDir, ignoreFilter: isDebugRoute })
}, { fastify: '5.x', name: 'hindsight-application' })

import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import autoload from '@fastify/autoload'
import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'
import { boundConnections } from './connections.js'
import { readEnvironment } from './environment.js'
import { hindsight } from './hindsight.js'
import type { HindsightOptions } from './options.js'
import { readLimits, readMethodOverride, type ServerLimits } from './server-limits.js'
import { serverOptions } from './server-options.js'
import { withSharedState } from './shared-state.js'

// Whoever runs this file as TypeScript can load routes that are.
if (import.meta.url.endsWith('.ts')) process.env.FASTIFY_AUTOLOAD_TYPESCRIPT ??= '1'

const routes = join(dirname(fileURLToPath(import.meta.url)), '../routes')
// The plugin brings them.
const DEBUG_ROUTES = ['_profiler', '_wdt', '_error']

/** The server options that belong to the application; fastify-cli takes them with `--options`. */
export const options = serverOptions({ ...readLimits(), methodOverride: readMethodOverride() })

export interface AppOptions {
  /** Options of the lifecycle; by default what the environment says. */
  hindsight?: HindsightOptions
  /** What clients may cost the server, beside what `options` say of it; by default what the environment says. */
  limits?: Partial<ServerLimits>
  /** The folder whose routes are loaded beside the profiler's own. */
  routesDir?: string
}

/** The application: the lifecycle, and the routes of `routes/`. */
export default fp(async function application (app: FastifyInstance, given: AppOptions) {
  const settings: HindsightOptions = { lifecycle: 'full', charset: true, ...given.hindsight ?? readEnvironment().options }
  boundConnections(app, given.limits ?? readLimits())
  await app.register(hindsight, await withSharedState(app, settings))
  const isDebugRoute = (path: string): boolean => DEBUG_ROUTES.includes(path.split(/[\\/]/).find((step) => step !== '') ?? '')
  await app.register(autoload, { dir: given.routesDir ?? routes, ignoreFilter: isDebugRoute })
}, { fastify: '5.x', name: 'hindsight-application' })

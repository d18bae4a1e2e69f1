import type { FastifyInstance, LogLevel } from 'fastify'
import type { RecordedConfig } from '../routing/route-table.js'
import errorRoutes from './_error/index.js'
import profilerRoutes from './_profiler/index.js'
import toolbarRoutes from './_wdt/index.js'

export interface ProfilerPagesOptions {
  /** The path before `/_profiler`, without a slash at its end. Default: none. */
  base?: string
  /** What each route declares in its `config` besides its name. */
  config?: RecordedConfig
  /** The level of the routes' log lines. */
  logLevel?: LogLevel
  /** Whether the toolbar and the previews of error pages are left out. Default: false. */
  onlyProfiler?: boolean
}

declare module 'fastify' {
  interface FastifyInstance {
    /** What the routes of the profiler declare: only instances of `profilerPages` have it. */
    profilerRoute: Pick<ProfilerPagesOptions, 'config' | 'logLevel'>
  }
}

/** A Fastify plugin with the routes of the profiler: `/_profiler`, the toolbar `/_wdt` and the previews `/_error`. */
export async function profilerPages (
  app: FastifyInstance, { base = '', config = {}, logLevel, onlyProfiler = false }: ProfilerPagesOptions
): Promise<void> {
  app.decorate('profilerRoute', { config, ...logLevel !== undefined && { logLevel } })
  await app.register(profilerRoutes, { prefix: `${base}/_profiler` })
  if (onlyProfiler) return
  await app.register(toolbarRoutes, { prefix: `${base}/_wdt` })
  await app.register(errorRoutes, { prefix: `${base}/_error` })
}

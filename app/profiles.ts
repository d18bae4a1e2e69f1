import type { FastifyInstance } from 'fastify'
import type { HindsightOptions } from './options.js'
import { onMalformed } from '../lib/http/refused-message.js'
import { malformedRecorder } from '../lib/profiler/malformed-profile.js'
import { Profiler } from '../lib/profiler/profiler.js'
import type { ProfilerSettings } from '../lib/profiler/settings.js'
import { openStorage } from '../lib/profiler/storage/open.js'
import { DEFAULT_BOUNDS } from '../lib/profiler/storage/storage.js'

/** Opens the store of an application's profiles, and closes it with the application. */
export async function openProfiler (
  app: FastifyInstance, settings: ProfilerSettings | null, { debug, session, security, leave }: HindsightOptions
): Promise<void> {
  const { warn } = app.hindsight
  const { maxQueue, maxProfileBytes, ...others } = settings ?? { storage: 'memory' }
  const role = debug === true ? undefined : settings?.role
  if (role !== undefined && security === undefined) {
    throw new Error('profiler.role (PROFILER_ROLE) needs the option security, with a firewall for /_profiler: ' +
      'without it no user has a role')
  }
  if (role !== undefined && leave?.includes('is-granted') === true) {
    throw new Error('Option "leave": "is-granted" cannot be left to the application, as it keeps the pages of the ' +
      'profiler for profiler.role (PROFILER_ROLE)')
  }
  const { otlp = false } = settings ?? {}
  const exporter = otlp === false ? undefined : (await import('../lib/profiler/otlp/open.js')).openExporter(otlp, warn)
  // An application that is only observed starts whether or not its profiles can be stored.
  const storage = await openStorage({ ...DEFAULT_BOUNDS, ...others, checkPlace: app.hindsight.mode === 'full', warn })
  const secret = session === false ? undefined : session?.secret
  const profiler = new Profiler({
    storage,
    warn,
    ...(exporter !== undefined && { exporter }),
    ...(role !== undefined && { role }),
    ...(maxQueue !== undefined && { maxQueue }),
    ...(maxProfileBytes !== undefined && { maxProfileBytes }),
    ...(secret !== undefined && { secret: Array.isArray(secret) ? String(secret[0]) : secret })
  })
  app.hindsight.profiler = profiler
  app.hindsight.closing.push(() => profiler.close())
  if (debug === true) onMalformed(app, malformedRecorder(app))
}

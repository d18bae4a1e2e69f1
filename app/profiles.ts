import type { FastifyInstance } from 'fastify'
import type { HindsightOptions } from './options.js'
import { onMalformed } from '../lib/http/refused-message.js'
import { malformedRecorder } from '../lib/profiler/build-profile.js'
import type { Profile } from '../lib/profiler/profile.js'
import { Profiler } from '../lib/profiler/profiler.js'
import type { ProfilerSettings } from '../lib/profiler/settings.js'
import { openStorage } from '../lib/profiler/storage/open.js'
import { DEFAULT_BOUNDS } from '../lib/profiler/storage/storage.js'
import type { Warn } from '../lib/profiler/write-queue.js'

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
  // An application that is only observed starts whether or not its profiles can be stored.
  const storage = await openStorage({ ...DEFAULT_BOUNDS, ...others, checkPlace: app.hindsight.mode === 'full', warn })
  const secret = session === false ? undefined : session?.secret
  const profiler = new Profiler({
    storage,
    warn,
    trace: settings?.openTelemetry === true ? await openTracing(warn) : undefined,
    ...(role !== undefined && { role }),
    ...(maxQueue !== undefined && { maxQueue }),
    ...(maxProfileBytes !== undefined && { maxProfileBytes }),
    ...(secret !== undefined && { secret: Array.isArray(secret) ? String(secret[0]) : secret })
  })
  app.hindsight.profiler = profiler
  app.hindsight.closing.push(() => profiler.close())
  if (debug === true) onMalformed(app, malformedRecorder(app))
}

/** Makes the function that creates the spans of a profile; throws where `@opentelemetry/api` is not installed. */
async function openTracing (warn: Warn): Promise<(profile: Profile) => void> {
  const { createSpans } = await import('../lib/profiler/spans/create-spans.js').catch((error: unknown) => {
    const message = 'profiler.openTelemetry needs the package @opentelemetry/api: npm install @opentelemetry/api'
    throw new Error(message, { cause: error })
  })
  return (profile) => {
    try {
      createSpans(profile)
    } catch (error) {
      warn('The spans of a profile were not created', error)
    }
  }
}

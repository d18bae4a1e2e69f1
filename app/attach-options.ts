import { optionsOfEnvironment } from './environment.js'
import type { HindsightOptions } from './options.js'

/** What the environment says of applications that are attached to; null where they are not to be. */
export function attachOptions (source: NodeJS.ProcessEnv = process.env): HindsightOptions | null {
  const { debug = false, session: _session, health: _health, profiler, ...options } = optionsOfEnvironment(source)
  if (typeof profiler !== 'object' || !(debug || profiler.production === true)) return null
  // Nobody has a role in an application that knows nothing of ours.
  const { role: _role, ...settings } = profiler
  return { ...options, debug, profiler: settings }
}

import { optionsOfEnvironment } from './environment.js'
import type { HindsightOptions } from './options.js'

/** The options of the preload: what the environment says about profiles and the debug surface. No listener is switched on. */
export function preloadOptions (source: NodeJS.ProcessEnv = process.env): HindsightOptions {
  const { debug, debugClients, debugHosts, editor, editorPaths, trustedProxies, profiler } = optionsOfEnvironment(source)
  // A role needs the option security.
  const { role: _role, ...settings } = typeof profiler === 'object' ? profiler : {}
  return { debug, debugClients, debugHosts, editor, editorPaths, trustedProxies, profiler: profiler === false ? false : settings } as HindsightOptions
}

import type { HindsightOptions } from './options.js'

/**
 * Begins to load what debug mode needs beside production: what runs as TypeScript is found and read by a thread of its own, which would have nothing to do
 * while Fastify is compiled and evaluated by this one. Whoever needs a module imports it as ever, and is told why where it cannot be loaded.
 */
export function beginToLoadDebugModules ({ debug, profiler = {} }: HindsightOptions): void {
  if (debug !== true) return
  const roots: Array<Promise<unknown>> = [import('../lib/error-page/diagnostic-page.js')]
  if (profiler !== false) {
    roots.push(
      import('../lib/profiler/profiler.js'),
      import('../lib/profiler/build-profile.js'),
      import('../lib/profiler/pages/toolbar/insert.js'),
      import('../routes/_profiler/index.js'),
      import('../routes/_wdt/index.js')
    )
  }
  for (const loading of roots) loading.catch(() => {})
}

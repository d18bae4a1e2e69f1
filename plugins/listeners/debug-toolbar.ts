import { listener } from '../kernel/listener.js'

export interface DebugToolbarOptions {
  /** Whether HTML pages carry the debug toolbar in debug mode; true by default. */
  toolbar?: boolean
  /** Whether responses say by `Server-Timing` where the time went, in debug mode and to those who may see it; false by default. */
  serverTiming?: boolean
}

/** Tells the client where the profile of its request is, by a header and, in HTML pages, by a bar. */
export const debugToolbar = listener('kernel.response', 'debug-toolbar', async (app, { toolbar: shown = true, serverTiming = false }: DebugToolbarOptions) => {
  if (!app.hindsight.debug) return 'not in debug mode'
  const { toolbarHook } = await import('../profiler/ui/toolbar/insert.js')
  const hook = toolbarHook(app, shown)
  if (!serverTiming) return hook
  const { addServerTiming } = await import('../profiler/server-timing.js')
  return (request, reply, payload) => {
    if (app.hindsight.mayReadDebug(request)) addServerTiming(request, reply)
    return hook(request, reply, payload)
  }
})

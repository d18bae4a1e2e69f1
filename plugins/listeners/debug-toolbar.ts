import { listener } from '../kernel/listener.js'

export interface DebugToolbarOptions {
  /** Whether HTML pages carry the debug toolbar in debug mode; true by default. */
  toolbar?: boolean
}

/** Tells the client where the profile of its request is, by a header and, in HTML pages, by a bar. */
export const debugToolbar = listener('kernel.response', 'debug-toolbar', async (app, { toolbar: shown = true }: DebugToolbarOptions) => {
  if (!app.hindsight.debug) return 'not in debug mode'
  const { toolbarHook } = await import('../profiler/ui/toolbar/insert.js')
  return toolbarHook(app, shown)
})

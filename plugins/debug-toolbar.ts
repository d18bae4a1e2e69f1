import { addServerTiming, loadDebugPages, traceOf } from 'fastify-hindsight/recorder'
import { defineListener, Skip } from '../lib/listener.js'

const noProfile = new Skip('the request has no profile, or its client may not see it')

/** Sets `X-Debug-Token-Link` and inserts the toolbar into HTML pages. */
export const debugToolbar = defineListener('kernel.response', 'debug-toolbar', async (app, options) => {
  if (!app.hindsight.debug) return 'not in debug mode'
  const { toolbar = true, serverTiming = false } = options
  const { insertToolbar } = await loadDebugPages()
  const insert = insertToolbar(app)
  return (request, _reply, payload) => {
    const trace = traceOf(request)
    if (serverTiming && app.hindsight.mayReceiveDetails(request)) addServerTiming(trace)
    const url = app.hindsight.recorder?.link(trace) ?? null
    if (url === null) return noProfile
    return toolbar ? trace.recording.measureInternal(() => insert(trace, payload, url)) : undefined
  }
})

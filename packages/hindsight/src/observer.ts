import type { Opening } from './begin.js'
import { pageServer } from './page-server.js'
import { openServices } from './prepare.js'
import type { RequestTrace } from './recording/trace.js'
import { insertToolbar } from './reading/pages/toolbar/insert.js'
import { diagnosticAnswer } from './recording/diagnostic-page.js'
import { addServerTiming, endHandler, watchErrorHandlers } from './recording/handler-time.js'
import type { PreparedServices } from './services.js'

export type Observer = Awaited<ReturnType<typeof openObserver>>

/** Opens the store of profiles, and returns the functions that the hooks of an observed application call. */
export async function openObserver (opening: Opening, prepared: PreparedServices) {
  const { options, settings, setup: { app, debug, recording: setting, routeTable, warn } } = opening
  const { toolbar = true, serverTiming = false } = options
  const services = await openServices(opening.setup, prepared)
  opening.publish(services)
  const { mayReceiveDetails } = services
  if (services.recorder === null) throw new Error('No request is recorded')
  const recorder = services.recorder
  const insert = toolbar && debug ? insertToolbar(app) : null

  /** Records a response; returns its payload, which may be changed, or a promise of it that does not reject. */
  function respond (trace: RequestTrace, payload: unknown): unknown {
    const { request, reply, recording } = trace
    // Otherwise an earlier hook has done it.
    if (setting !== 'always') trace.beginResponse(reply, payload)
    endHandler(recording)
    const profile = recorder.respond(trace, payload)
    if (profile === null && !recording.isRecording) return payload
    recorder.collectRequest(trace)
    if (profile !== null) recording.profile = profile
    const page = debug && recording.sending.isReplaceable
      ? recording.measureInternal(() => diagnosticAnswer(trace, payload))
      : null
    if (page === null) recording.events?.setCurrentCode(reply, 'Hindsight')
    const url = profile === null ? null : recorder.link(trace)
    const inserted = url !== null && page === null && request.method !== 'HEAD'
      ? recording.measureInternal(() => insert?.(trace, payload, url))
      : undefined
    const finishResponse = (sent: unknown): unknown => {
      if (serverTiming && mayReceiveDetails(request)) addServerTiming(trace)
      recorder.collectResponse(trace, sent, payload)
      recorder.ready(trace)
      return sent
    }
    if (!(inserted instanceof Promise)) return finishResponse(inserted ?? page ?? payload)
    return inserted.then((sent) => {
      try {
        return finishResponse(sent)
      } catch (error) {
        warn('A response was not recorded', error)
        return sent
      }
    })
  }

  return {
    pages: settings !== null && debug ? pageServer(app) : null,
    /** Begins a request; false where it is recorded only if it fails. */
    begin (trace: RequestTrace): boolean {
      trace.route = routeTable.matchOf(trace.request)
      recorder.begin(trace)
      return recorder.openLog(trace)
    },
    /** Begins what delays the first hook of a request, such as the start of its CPU profile. */
    arrive: setting === 'always' && debug ? (trace: RequestTrace) => recorder.arrive(trace) : null,
    collectRequest: (trace: RequestTrace): void => recorder.collectRequest(trace),
    fail (trace: RequestTrace, error: unknown): void {
      recorder.fail(trace, error)
      watchErrorHandlers(trace, recorder)
    },
    respond
  }
}

import { requestContext, traceOf } from 'fastify-hindsight/recorder'
import { defineListener, Skip } from '../lib/listener.js'

const notRecorded = new Skip('the request is recorded only if it fails')

/** Starts the log capture and the asynchronous context of a request. */
export const debugHandlers = defineListener('kernel.request', 'debug-handlers', (app, { stackDepth = 50 }) => {
  const { debug, recorder, recording } = app.hindsight
  if (recorder === null) return 'not in debug mode'
  if (debug) Error.stackTraceLimit = Math.max(Error.stackTraceLimit, stackDepth)
  if (recording !== 'always' && !recorder.hasPinoLogger) return 'the logger of the application is not pino'
  return (request) => {
    const trace = traceOf(request)
    const isRecording = recorder.openLog(trace)
    // A connection that is kept alive may still have the context of the request before.
    if (isRecording) requestContext.enterWith(trace.context)
    else if (requestContext.getStore() !== undefined) requestContext.enterWith(undefined)
    if (!isRecording) return notRecorded
  }
})

import { traceOf } from 'fastify-hindsight/recorder'
import { defineListener, Skip } from '../lib/listener.js'

const nothingRaised = new Skip('nothing was raised')

/** Flattens and masks the error, in an error pass, for the diagnostic page and the profile. */
export const error = defineListener('kernel.controller_arguments', 'error', (app) => {
  const { recorder } = app.hindsight
  if (recorder === null) return 'not in debug mode'
  return (request) => {
    const trace = traceOf(request)
    if (!trace.failed) return nothingRaised
    recorder.collectExceptions(trace)
  }
})

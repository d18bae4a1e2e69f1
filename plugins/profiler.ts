import { traceOf } from 'fastify-hindsight/recorder'
import { defineListener, Skip } from '../lib/listener.js'

const notProfiled = new Skip('requests of the profiler itself, of routes with `profile: false` and those that the ' +
  'options leave out are not profiled')

/** Assigns the token of the request's profile, and sends it to clients that may see the debug surface. */
export const profiler = defineListener('kernel.response', 'profiler', (app, options) => {
  const { recorder } = app.hindsight
  if (recorder === null) return 'not in debug mode'
  if (options.profiler === false) return 'not configured'
  return (request, _reply, payload) => recorder.respond(traceOf(request), payload) === null ? notProfiled : undefined
})

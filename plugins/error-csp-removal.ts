import { traceOf } from 'fastify-hindsight/recorder'
import { defineListener, Skip } from '../lib/listener.js'

const notOurs = new Skip('the response is not a diagnostic page')

/** Replaces the policy of the application by the strict policy of the diagnostic page. */
export const errorCspRemoval = defineListener('kernel.response', 'error-csp-removal', (app) => {
  if (!app.hindsight.debug) return 'not in debug mode'
  return (request, reply) => {
    const { diagnosticPolicy } = traceOf(request)
    if (diagnosticPolicy === undefined) return notOurs
    reply.removeHeader('content-security-policy-report-only')
    reply.header('content-security-policy', diagnosticPolicy)
  }
})

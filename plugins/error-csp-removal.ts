import { listener, Skip } from '../lib/listener.js'
import { stateOf } from '../packages/hindsight/src/lifecycle/state.js'

const notOurs = new Skip('the response is not a diagnostic page')

/** Replaces the policy of the application by the strict policy of the diagnostic page. */
export const errorCspRemoval = listener('kernel.response', 'error-csp-removal', (app) => {
  if (!app.hindsight.debug) return 'not in debug mode'
  return (request, reply) => {
    const { ownPolicy } = stateOf(request)
    if (ownPolicy === undefined) return notOurs
    reply.removeHeader('content-security-policy-report-only')
    reply.header('content-security-policy', ownPolicy)
  }
})

import { setIfAbsent } from '../lib/http/responses.js'
import { listener } from '../lib/lifecycle/listener.js'

export interface RobotsOptions {
  /** Whether responses ask not to be indexed; by default in debug mode only. */
  noIndex?: boolean
}

/** Keeps search engines off a service that is not meant for the public. */
export const robots = listener('kernel.response', 'robots', (app, { noIndex = app.hindsight.debug }: RobotsOptions) => {
  if (!noIndex) return 'not configured'
  return (_request, reply) => setIfAbsent(reply, 'x-robots-tag', 'noindex')
})

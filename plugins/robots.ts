import { setIfAbsent } from '../lib/http/responses.js'
import { listener } from '../lib/lifecycle/listener.js'

export interface RobotsOptions {
  /** Whether responses have `X-Robots-Tag: noindex`; by default in debug mode only. */
  noIndex?: boolean
}

/** Sets `X-Robots-Tag`, so that search engines do not index the service. */
export const robots = listener('kernel.response', 'robots', (app, { noIndex = app.hindsight.debug }: RobotsOptions) => {
  if (!noIndex) return 'not configured'
  return (_request, reply) => setIfAbsent(reply, 'x-robots-tag', 'noindex')
})

import { listener, Skip } from '../lib/lifecycle/listener.js'

export interface RobotsOptions {
  /** Whether responses ask not to be indexed; by default in debug mode only. */
  noIndex?: boolean
}

const kept = new Skip('the route has set the header')

/** Keeps search engines off a service that is not meant for the public. */
export const robots = listener('kernel.response', 'robots', (app, { noIndex = app.hindsight.debug }: RobotsOptions) => {
  if (!noIndex) return 'not configured'
  return (_request, reply) => {
    if (reply.hasHeader('x-robots-tag')) return kept
    reply.header('x-robots-tag', 'noindex')
  }
})

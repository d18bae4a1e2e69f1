import { defineListener, setIfAbsent } from '../lib/listener.js'

/** Sets `X-Robots-Tag`, so that search engines do not index the service. */
export const robots = defineListener('kernel.response', 'robots', (app, { noIndex = app.hindsight.debug }) => {
  if (!noIndex) return 'not configured'
  return (_request, reply) => setIfAbsent(reply, 'x-robots-tag', 'noindex')
})

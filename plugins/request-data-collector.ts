import { listener } from '../lib/lifecycle/listener.js'

/** Records the request: method, URL, headers, query, cookies, body, attributes, and whether the session was used. */
export const requestDataCollector = listener('kernel.controller', 'request-data-collector', async (app) => {
  if (!app.hindsight.observed) return 'not in debug mode'
  const { requestCollector } = await import('../lib/parts/request/collector.js')
  return { hook: requestCollector(app), when: 'observed' }
})

/** Records the response: status, headers, content type and size, and the kind of a body that is no text. */
export const requestDataCollectorResponse = listener('kernel.response', 'request-data-collector', async (app) => {
  if (!app.hindsight.observed) return 'not in debug mode'
  const { responseCollector } = await import('../lib/parts/request/collector.js')
  return { hook: responseCollector(), when: 'observed' }
})
